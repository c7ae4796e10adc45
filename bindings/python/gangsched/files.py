# SPDX-License-Identifier: Apache-2.0
"""Files that may be compressed."""

import bz2
import gzip
import io
import lzma
import os
import shutil
import tempfile
import zlib
from contextlib import contextmanager
from typing import IO, Any, Callable, Dict, Iterator, Optional, Tuple, Union, cast

from .errors import ParseError

_MAGIC: Tuple[Tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


def open_bytes(path: "Union[str, os.PathLike[str]]") -> IO[bytes]:
    """Open to read; what is compressed by gzip, bzip2 or xz, by its first bytes, is read as it was
    before.

    Raises
    ------
    OSError
        It cannot be opened.
    """
    path = os.fspath(path)  # a number, which open() takes, is no path
    file = open(path, "rb")
    head = file.peek(6)
    for magic, opener in _MAGIC:
        if head.startswith(magic):
            file.close()
            return cast("IO[bytes]", opener(path, "rb"))
    return file


@contextmanager
def plain_file(path: "Optional[Union[str, os.PathLike[str]]]") -> "Iterator[Optional[Union[str, os.PathLike[str]]]]":
    """A path for those who read files themselves: of what is compressed, that of a copy which is
    not.
    """
    if path is None or not os.path.isfile(path):
        yield path
        return
    with open_bytes(path) as file:
        if isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO):
            yield path
            return
        with tempfile.NamedTemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            yield copy.name


def read_bytes(path: "Union[str, os.PathLike[str]]") -> bytes:
    """All of a file, as :func:`open_bytes`.

    Raises
    ------
    ParseError
        What is compressed is damaged.
    OSError
        It cannot be read.
    """
    try:
        with open_bytes(path) as file:
            return file.read()
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ParseError("%s: the compressed data is damaged: %s" % (os.fspath(path), error)) from None


def read_text(path: "Union[str, os.PathLike[str]]") -> str:
    """The same, as text in UTF-8.

    Raises
    ------
    ParseError
        It is no such text.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError("%s: not UTF-8: %s" % (os.fspath(path), error.reason)) from None


def writer_for(path: "Union[str, os.PathLike[str]]") -> IO[bytes]:
    """Open to write, compressed if the name ends in ``.gz``, ``.bz2`` or ``.xz``."""
    openers: Dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    path = os.fspath(path)
    opener = openers.get(os.path.splitext(path)[1], open)
    return cast("IO[bytes]", opener(path, "wb"))
