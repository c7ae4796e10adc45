# SPDX-License-Identifier: Apache-2.0
"""Builds the extension ``gangsched._gangsched``: the whole public C interface, by cffi.

Where the library comes from:

* ``GANGSCHED_BUILD=build/dev`` names a build folder of the source tree. The extension then contains
  the static library, so that the wheel only needs Debian's libjansson, libhwloc and liburcu.
* Without it, ``pkg-config gangsched`` finds an installed library, and the extension links the
  shared library.

One extension serves all versions of Python from 3.9 on (the limited API, ``abi3``).
"""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import cffi

import ffi_headers

HERE = Path(__file__).resolve().parent

#: Functions that the library calls back. The module that uses a function has its body.
CALLBACKS = """
extern "Python" {
    int gangsched_py_write(const char *bytes, size_t length, void *user);
    int32_t gangsched_py_task(const struct gang_task *task, void *user);
    int32_t gangsched_py_explain(const struct gang_explanation *explanation, void *user);
    int32_t gangsched_py_wait(const struct gang_wait *wait, void *user);
    int32_t gangsched_py_place_score(int32_t group, const struct gang_candidate *candidates,
                                     size_t candidate_size, size_t count, int64_t *scores, void *user);
    int32_t gangsched_py_event(const struct gang_sim_event *event, void *user);
    int32_t gangsched_py_go_on(int64_t now_ns, int64_t events, void *user);
    int32_t gangsched_py_score(const struct gang_sim_view *view, double *score, void *user);
    int64_t gangsched_py_speed(size_t index, int64_t tasks, int64_t count, void *user);
    int32_t gangsched_py_plan(const struct gang_plan_item *item, void *user);
    int32_t gangsched_py_expected(const struct gang_expected *expected, void *user);
    int64_t gangsched_py_run_time(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw, void *user);
    int32_t gangsched_py_forecast_goes_on(void *user);
    int32_t gangsched_py_place(size_t index, int64_t run_ns, struct gang_job_spec *job, void *user);
    int64_t gangsched_py_restart(size_t index, int64_t gpu_milli, void *user);
}
"""


def _pkg_config(*arguments: str) -> List[str]:
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), *arguments]
    return shlex.split(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def _from_build_tree(build: Path) -> Dict[str, Any]:
    cache, archive = build / "CMakeCache.txt", build / "lib" / "libgangsched.a"
    if not cache.exists() or not archive.exists():
        raise SystemExit("GANGSCHED_BUILD=%s: there is no library built" % build)
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", cache.read_text(), re.M)
    assert home
    root = Path(home.group(1))
    return {
        "headers": root / "include" / "gangsched",
        "names": ffi_headers.exported(root / "lib" / "exports.list"),
        "include_dirs": [str(root / "include")],
        "extra_objects": [str(archive)],
        "depends": [str(archive)],
        # core.h requires that the library is never unloaded. Hidden names cannot clash.
        # Debug information of the library would make up nine tenths of the file.
        "extra_link_args": ["-Wl,-z,nodelete", "-Wl,--exclude-libs,ALL", "-Wl,-s", "-pthread", "-lm"]
        + _pkg_config("--libs", "jansson", "hwloc", "liburcu-bp"),
    }


def _from_installed() -> Dict[str, Any]:
    try:
        include = Path(_pkg_config("--variable=includedir", "gangsched")[0])
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit(
            "libgangsched is not installed (pkg-config does not know gangsched); "
            "or set GANGSCHED_BUILD to a build folder of its source tree"
        ) from None
    return {
        "headers": include / "gangsched",
        "names": None,
        "include_dirs": [str(include)],
        # A prefix that the loader does not search works, too.
        "extra_link_args": _pkg_config("--libs", "gangsched")
        + ["-Wl,-rpath," + _pkg_config("--variable=libdir", "gangsched")[0]],
    }


def _build_folder(given: str) -> Path:
    """The folder that GANGSCHED_BUILD names. pip builds in another folder than the caller's, so a
    relative name is looked up from that, too.
    """
    begins = [Path.cwd(), Path(os.environ.get("PWD", ".")), HERE.parent.parent]
    for begin in begins:
        if (begin / given / "CMakeCache.txt").exists():
            return (begin / given).resolve()
    return Path(given).resolve()


def builder() -> cffi.FFI:
    """The FFI object for setup.py."""
    build = os.environ.get("GANGSCHED_BUILD")
    where = _from_build_tree(_build_folder(build)) if build else _from_installed()
    headers = where.pop("headers")
    found = ffi_headers.read(headers, where.pop("names"))
    ffi = cffi.FFI()
    bulk = (HERE / "ffi_bulk.h").read_text()
    ffi.cdef(found.cdef() + CALLBACKS + ffi_headers.without_comments(bulk))
    includes = ["#include <gangsched/%s>" % path.name for path in ffi_headers.in_order(headers)]
    source = [line for line in includes if "hwloc" not in line]
    ffi.set_source(
        "gangsched._gangsched",
        "\n".join([*source, found.hwloc(), found.source(), (HERE / "ffi_bulk.c").read_text()]),
        define_macros=[("Py_LIMITED_API", "0x03090000")],
        **where,
    )
    return ffi
