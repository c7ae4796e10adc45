# SPDX-License-Identifier: Apache-2.0
"""Errors: each result code has a class, which is also a builtin exception."""

import pytest

import gangsched as gs
from gangsched import errors

BUILTIN = {
    "GANG_EINVAL": ValueError,
    "GANG_ENOMEM": MemoryError,
    "GANG_ENOENT": LookupError,
    "GANG_EEXIST": ValueError,
    "GANG_ESTALE": LookupError,
    "GANG_EBUSY": RuntimeError,
    "GANG_ERANGE": ValueError,
    "GANG_ENOFIT": RuntimeError,
    "GANG_ENEVER": gs.DoesNotFit,
    "GANG_E2BIG": ValueError,
    "GANG_ELIMIT": RuntimeError,
    "GANG_EPARSE": ValueError,
    "GANG_EIO": OSError,
    "GANG_ENOTSUP": NotImplementedError,
    "GANG_ECYCLE": ValueError,
    "GANG_EPERM": PermissionError,
    "GANG_ECLOSED": RuntimeError,
}


def test_every_result_of_the_library_has_a_class():
    codes = {
        name: getattr(gs.lib, name)
        for name in dir(gs.lib)
        if name.startswith("GANG_E") and name in BUILTIN
    }
    code = -1
    while gs.ffi.string(gs.lib.gang_result_name(code)) != b"GANG_E?":
        name = gs.ffi.string(gs.lib.gang_result_name(code)).decode()
        assert codes[name] == code, "a new result: give it a class"
        code -= 1
    assert len(codes) == -code - 1


@pytest.mark.parametrize("name, builtin", BUILTIN.items())
def test_a_result_is_raised_as_its_builtin(name, builtin):
    code = getattr(gs.lib, name)
    with pytest.raises(builtin) as caught:
        errors.check(code, what="the thing")
    assert isinstance(caught.value, gs.GangError)
    assert (caught.value.code, caught.value.name) == (code, name)
    assert str(caught.value).startswith("the thing: ")


def test_a_result_that_is_newer_is_still_an_error():
    with pytest.raises(gs.GangError) as caught:
        errors.check(-999)
    assert (caught.value.code, caught.value.name) == (-999, "GANG_E?")
    assert errors.check(0) is None


def test_a_place_in_a_text_has_line_and_column():
    with pytest.raises(gs.ParseError) as caught:
        gs.Cluster.from_json('{"nodes": [\n  {"name": }]}')
    assert caught.value.line == 2 and caught.value.column > 5
    with pytest.raises(gs.ParseError, match="'a' is repeated"):
        gs.Queues('{"a": 1, "a": 2}')
    for text in ("[]", "[1, 2]", "[1]", "{", "[" * 100000):
        with pytest.raises(gs.ParseError):
            gs.Cluster.from_json(text)


def test_a_number_is_not_taken_for_a_file_descriptor():
    import os

    read, write = os.pipe()
    for make in (
        gs.Cluster.from_json,
        gs.Queues,
        gs.Trace.read,
        gs.Cluster.from_csv,
        gs.Cluster.from_hwloc,
    ):
        with pytest.raises((TypeError, gs.GangError)):
            make(write)
    os.write(write, b"x")  # the descriptor is still open
    assert os.read(read, 1) == b"x"
    os.close(read)
    os.close(write)


def test_text_with_zero_bytes_or_surrogates_is_refused():
    with gs.Cluster() as made:
        for name in ("a\0b", "\ud800"):
            with pytest.raises(ValueError):
                made.node_id(name)
        with pytest.raises(TypeError):
            made.node_id(None)
        for name in ("a\0b", "\ud800", ""):
            with pytest.raises(gs.GangError):
                made.add(name=name)
