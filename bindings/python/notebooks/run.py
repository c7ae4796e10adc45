#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes the notebooks, and removes what depends on the machine from their output.

::

    export PYTHONPATH=build/release/python/lib
    python3 bindings/python/notebooks/run.py             # execute and write all notebooks
    python3 bindings/python/notebooks/run.py --check     # write nothing

Notebooks that read a real trace find it below ``$GANG_SHARED``; without it they make one. Lines of
output are "ok NAME" and "not ok NAME", after lines "# NAME: reason".
"""

import argparse
import base64
import os
import re
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence

import nbformat

HERE = Path(__file__).resolve().parent

#: The size limit of a committed notebook, bytes.
MOST_BYTES = 300_000

#: The time limit of one notebook, seconds.
LIMIT_S = 120

#: Outputs must not contain folders of a machine or addresses of objects.
_OF_A_MACHINE = re.compile(
    r"(?<![\w.<])/(?:home|root|tmp|usr|work|mnt|opt|var)/\w|\bat 0x[0-9a-f]{6,}"
)


# ---- executing ---------------------------------------------------------------------------------


def execute(path: Path) -> Any:
    """The notebook with its output, executed by this interpreter.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        With the traceback of the cell.
    """
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    kernels = AsyncKernelManager(
        kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[])
    )
    client = NotebookClient(
        book,
        km=kernels,
        timeout=LIMIT_S,
        record_timing=False,
        resources={"metadata": {"path": str(HERE)}},
    )
    client.execute()
    return book


# ---- normalising -------------------------------------------------------------------------------


def normalise(book: Any) -> Any:
    """Remove run numbers, times, program versions, progress bars and metadata of front ends."""
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    book.nbformat, book.nbformat_minor = 4, 5
    for number, cell in enumerate(book.cells, 1):
        cell["id"] = "cell-%02d" % number
        cell["metadata"] = {}
        if cell.cell_type == "code":
            cell["execution_count"] = None
            cell["outputs"] = list(_outputs(cell.get("outputs", ())))
    return book


def _outputs(outputs: Sequence[Any]) -> Iterator[Any]:
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            continue  # progress bars, warnings of other libraries
        output.pop("execution_count", None)
        if output.output_type == "execute_result":
            output = nbformat.v4.new_output(
                "execute_result", data=output.data, execution_count=None
            )
        data = output.get("data", {})
        if "image/png" in data:
            data["image/png"] = _plain_png(data["image/png"])
            data.pop("text/plain", None)
        if "metadata" in output:
            output["metadata"] = {}
        yield output


def _plain_png(text: str) -> str:
    """A picture without its text chunks, which name the program."""
    raw = base64.b64decode(text)
    kept, at = [raw[:8]], 8
    while at < len(raw):
        (length,) = struct.unpack(">I", raw[at : at + 4])
        if raw[at + 4 : at + 8] not in (b"tEXt", b"iTXt", b"zTXt", b"tIME"):
            kept.append(raw[at : at + length + 12])
        at += length + 12
    return base64.b64encode(b"".join(kept)).decode("ascii")


# ---- checking ----------------------------------------------------------------------------------


def faults(path: Path) -> List[str]:
    """The defects of a committed notebook."""
    book = nbformat.read(path, as_version=4)
    found: List[str] = []
    try:
        nbformat.validate(book)
    except nbformat.ValidationError as error:
        found.append("no valid notebook: %s" % str(error).splitlines()[0])
    if path.stat().st_size > MOST_BYTES:
        found.append("%d bytes, more than %d" % (path.stat().st_size, MOST_BYTES))
    if nbformat.writes(normalise(nbformat.from_dict(book))) != path.read_text(
        encoding="utf-8"
    ).rstrip("\n"):
        found.append("not as run.py writes it: run it")
    if not any(cell.get("outputs") for cell in book.cells):
        found.append("no output: run run.py")
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                found.append("%s: an exception in the output" % cell.id)
            for text in _texts(output):
                match = _OF_A_MACHINE.search(text)
                if match:
                    found.append("%s: output of this machine: %r" % (cell.id, match.group()))
    return found


def _texts(output: Any) -> Iterator[str]:
    yield output.get("text", "")
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/"):
            yield value


def _kernel_environment(folder: str) -> Dict[str, str]:
    """An environment without the user's settings, which leaves no files behind."""
    paths = [
        os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path
    ]
    return {
        "IPYTHONDIR": folder,
        "JUPYTER_CONFIG_DIR": folder,
        "JUPYTER_RUNTIME_DIR": folder,
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", folder),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        # A notebook runs in its own folder.
        "PYTHONPATH": os.pathsep.join(paths),
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Execute the notebooks.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="all of them, if none is given")
    parser.add_argument(
        "--check", action="store_true", help="look at what is committed, and write nothing"
    )
    parser.add_argument("--no-data", action="store_true", help="as if there were no real traces")
    options = parser.parse_args(arguments)
    if options.no_data:
        os.environ["GANG_SHARED"] = "none"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(_kernel_environment(folder))
        for path in options.notebooks or sorted(HERE.glob("*.ipynb")):
            name = path.stem + ("_without_data" if options.no_data else "")
            wrong = faults(path) if options.check else []
            began = time.monotonic()
            try:
                book = execute(path)
            except (
                Exception
            ) as error:  # an exception of a cell or of its kernel fails this notebook
                wrong.append(re.sub(r"\x1b\[[0-9;]*m", "", str(error)))
            else:
                if not options.check:
                    path.write_text(nbformat.writes(normalise(book)) + "\n", encoding="utf-8")
                    wrong = faults(path)
            for one in wrong:
                print("# %s: %s" % (name, one))
            took = "%.1f s" % (time.monotonic() - began)
            print("not ok %s" % name if wrong else "ok %s # %s" % (name, took), flush=True)
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
