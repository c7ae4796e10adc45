# SPDX-License-Identifier: Apache-2.0
"""The commands of ``gangsched``, also ``python -m gangsched``: simulate, compare, convert, report.

Exit status 0; 1 for wrong input or output that cannot be written, with one line that names the
place; 2 for wrong usage; 130 after Ctrl-C; the results up to then are printed and written.
"""

import argparse
import contextlib
import errno
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .. import __version__
from .help import ABOUT, COMPARE, CONVERT, OF_C, REPORT, SIMULATE

if TYPE_CHECKING:
    from .input import Run
    from ..sim.result import Result

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

#: The default policies of ``compare``.
POLICIES = ("fifo", "sjf", "srtf", "las")


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run a command line, without the name of the program. Returns the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:  # the caller closed it
        return _fail("error: standard output is closed", FAILED)
    try:
        if given[:1] == ["convert"]:  # works without the extension and numpy
            from ..convert import main as convert

            return convert(given[1:])
        if given[:1] and given[0] in OF_C:
            return _hand_on(given)
        arguments = parser().parse_args(given)
        arguments.line = given
        return int(arguments.go(arguments))
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader has closed the pipe. Python must not flush the buffer again at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except SystemExit as stop:  # from argparse
        return stop.code if isinstance(stop.code, int) else USAGE
    except Exception as error:
        said = _said(error)
        if said is None:
            raise
        from .input import Misused

        return _fail("error: " + said, USAGE if isinstance(error, Misused) else FAILED)


def _hand_on(given: Sequence[str]) -> int:
    """Run a command of the C program. It takes the place of this process.

    The program is the one that GANGSCHED_CLI names, or else the first ``gangsched`` in the path
    that is no script.
    """
    folders = os.get_exec_path()
    for program in [os.environ.get("GANGSCHED_CLI")] + [
        os.path.join(folder, "gangsched") for folder in folders
    ]:
        if program and os.access(program, os.X_OK) and _is_binary(program):
            sys.stdout.flush()
            os.execv(program, [program, *given])
    return _fail(
        "error: %s is a command of the C program gangsched, which is not in the path; "
        "GANGSCHED_CLI may name it" % given[0],
        FAILED,
    )


def _is_binary(path: str) -> bool:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"
    return False


def _fail(line: str, status: int) -> int:
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr)
    return status


def _said(error: Exception) -> Optional[str]:
    """One line about wrong input; None: a defect of this program, which needs its traceback."""
    from .input import Wrong
    from ..errors import GangError

    if isinstance(error, (Wrong, GangError)):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        name = os.fspath(error.filename) if isinstance(error.filename, (str, os.PathLike)) else ""
        return "%s%s" % (name + ": " if name else "", error.strerror or error)
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, ModuleNotFoundError) and error.name in ("numpy", "pandas"):
        return "%s is needed and not installed (Debian: python3-%s)" % (error.name, error.name)
    return None


# ---- what may be said ------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = _parser(_top, "gangsched", ABOUT)
    top.add_argument("--version", action="version", version="gangsched " + __version__)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(
        name: str, what: str, about: str, go: Callable[[argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        made = _parser(commands.add_parser, name, about, help=what)
        made.set_defaults(go=go)
        return made

    one = command("simulate", "play a trace on a cluster", SIMULATE, _simulate)
    _input(one, "TRACE")
    one.add_argument(
        "--policy",
        metavar="NAME",
        help="fifo, first-fit, sjf, srtf, las, las-started, or queues: the order of the tree (default)",
    )
    _output(one)
    several = command("compare", "compare several policies", COMPARE, _compare)
    _input(several, "TRACE")
    several.add_argument(
        "--policy",
        metavar="A,B,...",
        action="append",
        help="policies, default: %s" % ",".join(POLICIES),
    )
    several.add_argument(
        "--jobs",
        metavar="N",
        type=several_processes,
        default=1,
        help="number of policies at a time, each in a process (default: 1)",
    )
    _output(several)
    page = command("report", "one HTML page of a run", REPORT, _report)
    _input(page, "TRACE|DIR")
    page.add_argument(
        "--policy", metavar="A[,B...]", action="append", help="one policy, or several to compare"
    )
    page.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="report.html",
        help="the page (default: report.html)",
    )
    page.add_argument("--title", metavar="TEXT", help="heading of the page")
    page.add_argument(
        "--worst",
        metavar="N",
        type=count,
        default=8,
        help="number of jobs whose waits are explained; 0 is faster (default: 8)",
    )
    page.add_argument("--quiet", action="store_true", help="no progress bar")
    _parser(
        commands.add_parser,
        "convert",
        CONVERT,
        help="configuration of YARN, Slurm, Kubernetes...",
        add_help=False,
    )
    return top


def _top(name: str, **more: Any) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=name, **more)


def _parser(
    make: Callable[..., argparse.ArgumentParser], name: str, about: str, **more: Any
) -> argparse.ArgumentParser:
    """A parser with ``about``: the first paragraph before the arguments, the rest after them."""
    first, _, rest = about.partition("\n\n")
    form = argparse.RawDescriptionHelpFormatter
    return make(
        name, description=first, epilog=rest, formatter_class=form, allow_abbrev=False, **more
    )


def _input(made: argparse.ArgumentParser, trace: str) -> None:
    made.add_argument(
        "trace",
        metavar=trace,
        help='the jobs; the first lines tell the format; "-": standard input',
    )
    group = made.add_argument_group("trace")
    group.add_argument(
        "--format",
        metavar="NAME",
        help="csv, jsonl, swf, procs, philly, philly-log, helios, pai, openb, batsim, tiresias",
    )
    group.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        help="an unusable row is an error (raise, the default), or left out (skip)",
    )
    group.add_argument(
        "--max-jobs", metavar="N", type=count, default=0, help="read only the first N jobs"
    )
    # The names before version 0.2.
    group.add_argument("--lenient", action="store_true", help=argparse.SUPPRESS)
    group.add_argument("--most", type=count, default=0, help=argparse.SUPPRESS)
    group.add_argument(
        "--gpus-per-task",
        metavar="N",
        type=count,
        default=0,
        help="GPUs of a task, for jobs that only have a number of GPUs (default: 8)",
    )
    group = made.add_argument_group("cluster (a file, or equal nodes)")
    group.add_argument("--cluster", metavar="FILE", help='JSON (nodes, and queues unless --queues is given), or CSV of nodes; "-": standard input')
    group.add_argument("--nodes", metavar="N", type=count, help="number of equal nodes")
    group.add_argument("--gpus", metavar="N", type=count, help="GPUs of each node (default: 8)")
    group.add_argument("--cpus", metavar="N", type=float, help="cores of each node (default: 64)")
    group.add_argument("--mem-gib", metavar="N", type=float, help="GiB of each node (default: 512)")
    group.add_argument("--gpu-model", metavar="NAME", help="model of all GPUs")
    group.add_argument("--racks", metavar="N", type=count, help="number of racks")
    group = made.add_argument_group("scheduling")
    group.add_argument(
        "--queues",
        metavar="FILE",
        help="JSON: a tree of queues as nested objects, or a case with a list of them",
    )
    group.add_argument(
        "--default-queue", metavar="NAME", help="queue of jobs whose queue is not in the tree"
    )
    group.add_argument(
        "--seed", metavar="N", type=int, help="seed of all random draws (default: 0)"
    )
    group.add_argument(
        "--until",
        metavar="TIME",
        type=seconds_or_date,
        help="stop at this time of the simulation: seconds, or a date, if the trace has one for "
        "second 0 (UnixStartTime of SWF)",
    )
    group.add_argument(
        "--set",
        metavar="OPTION=VALUE",
        action="append",
        default=[],
        help="any other option, see below; may be repeated",
    )


def _output(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("output")
    group.add_argument(
        "--json", action="store_true", help="print one JSON object instead of a table"
    )
    group.add_argument(
        "--out",
        metavar="DIR",
        help="write jobs.csv, allocations.csv, timeline.csv, summary.json, run.json to this folder",
    )
    group.add_argument("--report", metavar="FILE", help="write an HTML page")
    group.add_argument("--quiet", action="store_true", help="no progress bar")


def count(text: str) -> int:
    """A positive integer; argparse shows this name in errors."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value


def seconds_or_date(text: str) -> Union[float, str]:
    """A number, or a text for :mod:`gangsched.dates`."""
    try:
        return float(text)
    except ValueError:
        return text


def several_processes(text: str) -> int:
    """A number of processes; argparse shows this name in errors."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


# ---- commands --------------------------------------------------------------------------------


def _simulate(arguments: argparse.Namespace) -> int:
    from .input import read

    _ready(arguments.out, arguments.report)
    run = read(arguments, [arguments.policy])
    return _finish(arguments, run, _results(run, arguments), False)


def _compare(arguments: argparse.Namespace) -> int:
    from .input import read

    _ready(arguments.out, arguments.report)
    run = read(arguments, _policies(arguments.policy) or list(POLICIES))
    if arguments.jobs < 2:
        return _finish(arguments, run, _results(run, arguments), True)
    from .pool import simulate

    found, stopped = simulate(run, arguments.jobs)
    if not found:
        return _fail("interrupted", INTERRUPTED)
    status = _finish(arguments, run, found, True)
    if stopped and status == OK:  # some results are missing, the others are complete
        return _fail(
            "interrupted: %d of %d policies" % (len(found), len(run.policies)), INTERRUPTED
        )
    return status


def _report(arguments: argparse.Namespace) -> int:
    from ..report import page as report
    from .input import read, written

    _ready(None, arguments.output)
    policies: List[Optional[str]] = [*_policies(arguments.policy)]
    run = (
        written(arguments, policies)
        if os.path.isdir(arguments.trace)
        else read(arguments, policies or [None])
    )
    found = _results(run, arguments)
    shown: Any = found if len(run.policies) > 1 else list(found.values())[0]
    report.write(
        shown,
        arguments.output,
        title=arguments.title,
        worst_waits=arguments.worst,
        command=_line(arguments),
    )
    return _status(found)


def _ready(folder: Optional[str], page: Optional[str]) -> None:
    """Check before the simulation that the output can be written.

    Raises
    ------
    OSError
        With the path.
    """
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    if page is not None:
        os.stat(os.path.dirname(page) or ".")
        if os.path.isdir(page):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), page)


def _policies(given: Optional[Sequence[str]]) -> List[str]:
    return list(dict.fromkeys(name for one in given or () for name in one.split(",") if name))


def _line(arguments: argparse.Namespace) -> str:
    return "gangsched " + " ".join(shlex.quote(word) for word in arguments.line)


def _results(run: "Run", arguments: argparse.Namespace) -> "Dict[str, Result]":
    """One result for each policy, by name.

    After Ctrl-C: those that exist, the last one incomplete.
    """
    found: Dict[str, "Result"] = {}
    bar = not arguments.quiet and sys.stderr.isatty() and _has_bar()
    for policy in run.policies:
        made = run.simulate(policy, bar)
        found[policy or "queues"] = made
        if made.interrupted:
            break
    return found


def _has_bar() -> bool:
    import importlib.util

    return importlib.util.find_spec("tqdm") is not None


def _finish(
    arguments: argparse.Namespace, run: "Run", found: "Mapping[str, Result]", several: bool
) -> int:
    """Print, write the files, and return the status. The slowest output comes last."""
    from . import output as cli_output

    if arguments.json:
        sys.stdout.write(cli_output.as_json(found, several) + "\n")
    else:
        sys.stdout.write(cli_output.as_text(found, several))
    sys.stdout.flush()
    refused = cli_output.refusals(found, several)
    if refused:
        _fail("note: " + refused, OK)
    if arguments.out:
        for label, result in found.items():
            folder = os.path.join(arguments.out, label) if several else arguments.out
            cli_output.write_tables(
                result,
                folder,
                run.as_dict(label if several else arguments.policy, _line(arguments)),
            )
    if arguments.report:
        from ..report import page as report

        shown: Any = found if several else list(found.values())[0]
        report.write(shown, arguments.report, command=_line(arguments))
    return _status(found)


def _status(found: "Mapping[str, Result]") -> int:
    stopped = [result for result in found.values() if result.interrupted]
    if not stopped:
        return OK
    info = stopped[0].info
    said = "interrupted at %g s of the simulation: %d of %d jobs had ended" % (
        info.now_s, info.ended, info.jobs,
    )
    return _fail(said, INTERRUPTED)


__all__ = ["main", "parser"]
