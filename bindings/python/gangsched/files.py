# SPDX-License-Identifier: Apache-2.0
"""Files that may be compressed."""

import bz2
import gzip
import io
import lzma
import os
from typing import IO, Any, Callable, TextIO, Tuple, Union, cast

_MAGIC: Tuple[Tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


def open_bytes(path: "Union[str, os.PathLike[str]]") -> IO[bytes]:
    """Open to read; what is compressed by gzip, bzip2 or xz, by its first bytes, is read as it was before.

    Raises:
        OSError: it cannot be opened.
    """
    file = open(path, "rb")
    head = file.peek(6)
    for magic, opener in _MAGIC:
        if head.startswith(magic):
            file.close()
            return cast("IO[bytes]", opener(path, "rb"))
    return file


def open_text(path: "Union[str, os.PathLike[str]]") -> TextIO:
    """The same, as text in UTF-8."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")
