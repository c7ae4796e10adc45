# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of files, compressed or not."""

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
    """Open a file to read.

    The first bytes tell whether gzip, bzip2 or xz must decompress it.

    Raises
    ------
    OSError
        The file cannot be opened.
    """
    path = os.fspath(path)  # refuses a file descriptor, which open() would accept
    file = open(path, "rb")
    head = file.peek(6)
    for magic, opener in _MAGIC:
        if head.startswith(magic):
            file.close()
            return cast("IO[bytes]", opener(path, "rb"))
    return file


@contextmanager
def plain_file(
    path: "Optional[Union[str, os.PathLike[str]]]",
) -> "Iterator[Optional[Union[str, os.PathLike[str]]]]":
    """The path of an uncompressed file: the file itself, or a temporary copy."""
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
    """The decompressed contents of a file.

    Raises
    ------
    ParseError
        The compressed data is damaged.
    OSError
        The file cannot be read.
    """
    try:
        with open_bytes(path) as file:
            return file.read()
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ParseError(
            "%s: the compressed data is damaged: %s" % (os.fspath(path), error)
        ) from None


def read_text(path: "Union[str, os.PathLike[str]]") -> str:
    """The contents of a file as text in UTF-8.

    Raises
    ------
    ParseError
        The file is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError("%s: not UTF-8: %s" % (os.fspath(path), error.reason)) from None


def writer_for(path: "Union[str, os.PathLike[str]]") -> IO[bytes]:
    """Open a file to write.

    A name that ends in ``.gz``, ``.bz2`` or ``.xz`` selects compression.
    """
    openers: Dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    path = os.fspath(path)
    opener = openers.get(os.path.splitext(path)[1], open)
    return cast("IO[bytes]", opener(path, "wb"))
