#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes the notebooks, removes what depends on the machine from their output, and checks that
what is stored is what they put out today.

::

    export PYTHONPATH=build/release/python/lib
    python3 bindings/python/notebooks/run.py             # execute and write all notebooks
    python3 bindings/python/notebooks/run.py --check     # write nothing

Notebooks that read a real trace find it below ``$GANG_SHARED``; without it they make one. Lines of
output are "ok NAME" and "not ok NAME", after lines "# NAME: reason".
"""

import argparse
import base64
import io
import os
import re
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

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


#: Numbers in stored text may differ from new ones by this fraction of their size.
TOLERANCE = 1e-3

#: Output that no front end shows: a digest of the data that a picture draws. Pixels depend on fonts
#: and on the version of matplotlib, the data does not.
DATA = "application/vnd.gangsched.picture+json"

#: Runs when a kernel starts. Before the pictures of a cell are shown, it puts out their digests.
_STARTUP = '''
def _gangsched_digests(*_):
    import sys
    if "matplotlib.pyplot" not in sys.modules:
        return
    import hashlib, numpy
    from IPython.display import display
    from matplotlib import pyplot

    def values(artist):
        for name in ("get_xydata", "get_offsets", "get_segments", "get_array"):
            try:
                yield getattr(artist, name)()
            except Exception:
                pass
        for name in ("get_path", "get_paths"):
            try:
                found = getattr(artist, name)()
            except Exception:
                continue
            for path in found if isinstance(found, list) else [found]:
                yield path.vertices
        for name in ("get_xy", "get_width", "get_height", "get_text", "get_label"):
            try:
                found = getattr(artist, name)()
            except Exception:
                continue
            yield "" if name == "get_label" and str(found).startswith("_") else found

    for number in pyplot.get_fignums():
        digest = hashlib.sha256()
        for axes in pyplot.figure(number).axes:
            shown = [*axes.lines, *axes.patches, *axes.collections, *axes.images, *axes.texts]
            for artist in [axes.title, axes.xaxis.label, axes.yaxis.label, *shown]:
                for value in values(artist):
                    try:
                        numbers = numpy.ma.filled(numpy.ma.asarray(value, dtype=float), -1).ravel()
                        text = " ".join("%.4g" % (x + 0.0) for x in numbers)
                    except (TypeError, ValueError):
                        text = str(value)
                    digest.update(text.encode("utf-8") + b";")
        display({@DATA@: {"sha256": digest.hexdigest()}}, raw=True)

get_ipython().events.register("post_execute", _gangsched_digests)
'''.replace("@DATA@", repr(DATA))


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
            if not _is_transparent(output.get("data", {}).get("image/png")):
                found.append("%s: a picture that is not transparent" % cell.id)
            for text in _texts(output):
                match = _OF_A_MACHINE.search(text)
                if match:
                    found.append("%s: output of this machine: %r" % (cell.id, match.group()))
    return found


def _is_transparent(picture: Optional[str]) -> bool:
    """Whether the corner of a picture is, so that it suits dark pages, too."""
    from matplotlib.image import imread

    return picture is None or imread(io.BytesIO(base64.b64decode(picture)))[0, 0, -1] == 0


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def differences(stored: Any, now: Any) -> List[str]:
    """Where the stored outputs are not those of today. Pictures are compared by their data."""
    found: List[str] = []
    for before, after in zip(stored.cells, now.cells):
        old, new = ([*map(_comparable, cell.get("outputs", ()))] for cell in (before, after))
        if len(old) != len(new):
            found.append("%s: %d outputs are stored, %d come" % (before.id, len(old), len(new)))
        for said, comes in zip(old, new):
            place = _first_difference(said, comes)
            if place:
                found.append("%s: stored output is stale: %s" % (before.id, place))
    return found


def _same_data(path: Path) -> bool:
    """Whether the notebook reads what it read when its output was stored: a real trace, if any."""
    shared = Path(os.environ.get("GANG_SHARED", HERE / "../../../../shared"))
    return "GANG_SHARED" not in path.read_text(encoding="utf-8") or (shared / "data").is_dir()


def _comparable(output: Any) -> str:
    data = output.get("data", {})
    if DATA in data:
        return "picture %s" % data[DATA]["sha256"]
    if "image/png" in data:
        return "image"
    return str(output.get("text", "") or data.get("text/plain", "") or data.get("text/html", ""))


def _first_difference(said: str, comes: str) -> str:
    if said.startswith("picture") or comes.startswith("picture"):
        return "" if said == comes else "the data of a picture"
    if _NUMBER.sub("0", said).split() != _NUMBER.sub("0", comes).split():
        pairs = zip(said.split(), comes.split())
        return next(("%r, now %r" % pair for pair in pairs if pair[0] != pair[1]), "its length")
    for one, other in zip(_NUMBER.findall(said), _NUMBER.findall(comes)):
        a, b = float(one), float(other)
        if abs(a - b) > TOLERANCE * max(abs(a), abs(b), 1e-9):
            return "%s, now %s" % (one, other)
    return ""


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
        startup = Path(folder) / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00-digests.py").write_text(_STARTUP)
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
                if options.check and _same_data(path):
                    stored = nbformat.read(path, as_version=4)
                    wrong += differences(stored, normalise(book))
                elif not options.check:
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
