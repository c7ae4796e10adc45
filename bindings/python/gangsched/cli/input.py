# SPDX-License-Identifier: Apache-2.0
"""Reads the input of the command line: trace, cluster, queues, options.

Errors name the file and the place in it.
"""

import argparse
import hashlib
import json
import lzma
import math
import os
import shutil
import sys
import tempfile
import zlib
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from .. import __version__
from ..case import load
from ..closest import unknown
from ..cluster.cluster import Cluster
from ..errors import GangError
from ..files import open_bytes
from ..enums import PolicyName
from ..sim.options import NAMES
from ..queues import Queues
from ..sim.simulation import simulate
from ..trace import Trace

if TYPE_CHECKING:
    from ..sim.result import Result


class Wrong(Exception):
    """Wrong input: one line with its place."""


class Misused(Wrong):
    """Contradictory or impossible arguments."""


class Run(NamedTuple):
    """Everything that the simulations of a command need."""

    cluster: Cluster
    trace: Trace
    queues: Optional[Queues]
    policies: List[Optional[str]]
    options: Dict[str, Any]  #: options of :func:`simulate`, with ``seed`` and ``until_s``
    source: Dict[str, Any]  #: the file of the trace: ``path``, ``sha256``, ``read`` (how)

    def simulate(self, policy: Optional[str], bar: bool) -> "Result":
        """Simulate one of the policies.

        After Ctrl-C: the results up to then.
        """
        try:
            return simulate(
                self.cluster, self.trace, self.queues, policy, progress=bar, **self.options
            )
        except KeyboardInterrupt as stop:
            if not hasattr(stop, "partial_result"):  # before the run began
                raise
            partial: "Result" = stop.partial_result
            return partial
        except GangError as error:
            if error.path.startswith("jobs["):
                raise Wrong("%s: %s" % (_name(self.source["path"]), error)) from None
            raise

    def as_dict(self, policy: Optional[str], line: str) -> Dict[str, Any]:
        """The contents of run.json, from which the run can be repeated."""
        tree = None if self.queues is None else self.queues.to_dict()
        made = {
            "gangsched": __version__,
            "command": line,
            "trace": self.source,
            "cluster": self.cluster.to_dict(),
        }
        options = {
            name: "inf" if value == math.inf else value for name, value in self.options.items()
        }
        return {**made, "queues": tree, "policy": policy, "options": options}


@contextmanager
def about(place: str) -> Iterator[None]:
    """Put the name of the file before errors of the block."""
    try:
        yield
    except (GangError, Wrong) as error:
        said, line = " ".join(str(error).split()), getattr(error, "line", 0)
        # If the error names a member, its text lacks the line.
        raise Wrong(
            "%s: %s"
            % (
                place,
                "line %d: %s" % (line, said) if line and "line %d" % line not in said else said,
            )
        ) from None
    except OSError as error:
        raise Wrong("%s: %s" % (place, error.strerror or error)) from None
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise Wrong("%s: cannot be decompressed: %s" % (place, error)) from None
    except UnicodeDecodeError as error:
        raise Wrong("%s: byte %d is not UTF-8" % (place, error.start)) from None


def _bytes(path: str) -> bytes:
    """The decompressed contents of a file, or standard input."""
    if path != "-":
        with open_bytes(path) as file:
            return file.read()
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        with open_bytes(copy.name) as file:
            return file.read()


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


# ---- from arguments --------------------------------------------------------------------------


def read(arguments: argparse.Namespace, policies: Sequence[Optional[str]]) -> Run:
    """Read the input that the arguments name.

    Raises
    ------
    Wrong
        With file and place.
    """
    if arguments.trace == "-" and arguments.cluster == "-":
        raise Misused("standard input is either the trace or the cluster")
    options = _settings(arguments.set)
    _known(policies)
    case = _case(arguments)
    cluster = _cluster(arguments, case)
    queues = _queues(arguments, case)
    _of_now(arguments)
    how = {
        "format": arguments.format, "on_error": arguments.on_error or "raise",
        "max_jobs": arguments.max_jobs,
        "gpus_per_task": arguments.gpus_per_task,
    }
    trace, source = _trace(arguments.trace, how)
    if arguments.default_queue is not None:
        options["default_queue"] = arguments.default_queue
    options["seed"] = arguments.seed or 0
    if arguments.until is not None:
        options["until_s"] = arguments.until
    return Run(cluster, trace, queues, list(policies), options, source)


def _of_now(arguments: argparse.Namespace) -> None:
    """Take the options that version 0.1 had, with a note."""
    if arguments.lenient:
        note("--lenient is now --on-error skip; the old name goes in the next version")
        arguments.on_error = arguments.on_error or "skip"
    if arguments.most:
        note("--most is now --max-jobs; the old name goes in the next version")
        arguments.max_jobs = arguments.max_jobs or arguments.most


def note(line: str) -> None:
    """Say something that does not stop the command."""
    with suppress(OSError):
        print("note: " + line, file=sys.stderr)


def _known(policies: Sequence[Optional[str]]) -> None:
    for policy in policies:
        if policy is not None and policy not in PolicyName.words():
            raise Misused("--policy: " + unknown("policy", policy, PolicyName.words()))


def _settings(given: Sequence[str]) -> Dict[str, Any]:
    """Parse ``name=value``, where the value is JSON or a word."""
    found: Dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or name not in NAMES:
            raise Misused(
                "--set %s: %s"
                % (one, "expected NAME=VALUE" if not equals else unknown("option", name, NAMES))
            )
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = _endless(text)
    return found


def _endless(value: Any) -> Any:
    """JSON has no infinity: "inf" stands for it."""
    return math.inf if value == "inf" else value


def _case(arguments: argparse.Namespace) -> Optional[Dict[str, Any]]:
    """The case in the cluster's file; None: the file is no case."""
    path = arguments.cluster
    if path is None:
        return None
    stem = path
    for ending in (".gz", ".bz2", ".xz"):
        stem = stem[: -len(ending)] if stem.endswith(ending) else stem
    if stem.endswith(".csv"):
        return None
    with about(_name(path)):
        return load_bytes(_bytes(path))


def load_bytes(content: bytes) -> Dict[str, Any]:
    """A JSON object.

    Raises
    ------
    GangError
        The text is no JSON object.
    """
    text = content.decode("utf-8-sig")
    # load() takes text without a leading brace for a path.
    return load(
        text if text.lstrip()[:1] in ("{", "[") else "[%s]" % text if text.strip() else "[]"
    )


def _cluster(arguments: argparse.Namespace, case: Optional[Mapping[str, Any]]) -> Cluster:
    shape = {
        name: getattr(arguments, name) for name in ("gpus", "cpus", "mem_gib", "gpu_model", "racks")
    }
    shape = {name: value for name, value in shape.items() if value is not None}
    if arguments.cluster is not None:
        if arguments.nodes is not None or shape:
            other = next(iter(shape)).replace("_", "-") if arguments.nodes is None else "nodes"
            raise Misused("--cluster has the nodes: --%s contradicts it" % other)
        with about(_name(arguments.cluster)):
            if case is None:
                return Cluster.from_csv(arguments.cluster)
            if not case.get("nodes"):
                raise GangError("there are no nodes")
            return Cluster.from_json(case)
    if arguments.nodes is None:
        raise Misused("give the machines: --cluster FILE, or --nodes N")
    with about("--nodes %d" % arguments.nodes):
        return Cluster.uniform(arguments.nodes, **shape)


def _queues(arguments: argparse.Namespace, case: Optional[Mapping[str, Any]]) -> Optional[Queues]:
    if arguments.queues is not None:
        with about(arguments.queues):
            tree = Queues(load_bytes(_bytes(arguments.queues)))
            if not len(tree):
                raise GangError("there are no queues")
            return tree
    if case is not None and case.get("queues"):
        with about(_name(arguments.cluster)):
            return Queues(case)
    return None


def _trace(path: str, how: Mapping[str, Any]) -> Any:
    """The trace, and its entry in run.json."""
    with about(_name(path)):
        content = _bytes(path)
        options = dict(how)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            trace = Trace.from_text(content, options.pop("format"), **options)
        for warning in said:
            about_it = str(warning.message)
            here = about_it.startswith("text: ")  # as Trace calls what is no file
            note("%s: %s" % (_name(path), about_it[6:] if here else about_it))
    source = {
        "path": path if path == "-" else os.path.abspath(path),
        "sha256": hashlib.sha256(content).hexdigest(),
        "read": dict(how),
    }
    return trace, source


# ---- from what was written -------------------------------------------------------------------


#: Arguments that run.json has.
_TOLD = (
    "cluster", "nodes", "gpus", "cpus", "mem_gib", "gpu_model", "racks", "queues", "default_queue",
    "seed", "until", "set", "format", "on_error", "max_jobs", "lenient", "most", "gpus_per_task",
)


def written(arguments: argparse.Namespace, policies: Sequence[Optional[str]]) -> Run:
    """Repeat the run that ``--out`` wrote, or run its input under other policies.

    Raises
    ------
    Wrong
        The folder has no run.json, or the trace has changed.
    """
    place = os.path.join(arguments.trace, "run.json")
    for name in _TOLD:
        if getattr(arguments, name) not in (None, False, 0, []):
            raise Misused("%s has the run: --%s contradicts it" % (place, name.replace("_", "-")))
    with about(place):
        saved = load_bytes(_bytes(place))
        try:
            source, options = saved["trace"], {
                name: _endless(value) for name, value in saved["options"].items()
            }
            path, digest, how = source["path"], source["sha256"], dict(source["read"])
            cluster = Cluster.from_json(saved["cluster"])
            queues = Queues(saved["queues"]) if saved["queues"] is not None else None
            wanted = list(policies) or [saved["policy"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise Wrong("not a folder of --out (%s)" % error) from None
    _known(wanted)
    if path == "-":
        raise Wrong("%s: the trace came from standard input and cannot be read again" % place)
    trace, now = _trace(path, how)
    if now["sha256"] != digest:
        raise Wrong("%s: has changed since %s was written" % (path, place))
    return Run(cluster, trace, queues, wanted, options, source)
