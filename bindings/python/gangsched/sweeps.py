# SPDX-License-Identifier: Apache-2.0
"""Many simulations: several policies, or grids of parameters, on any executor."""

import itertools
import os
import re
import signal
import traceback
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional,
    Tuple, Union,
)

from .errors import InvalidArgument
from .sim.result import Result, flat
from .sim.simulation import simulate
from .trace import Trace, as_trace

if TYPE_CHECKING:
    import pandas

#: Where calls run. None: in this process; a number: that many processes; or an object with
#: submit(): an executor of concurrent.futures (also mpi4py's MPIPoolExecutor), a client of Dask.
Executor = Any


class Comparison(Mapping[str, Result]):
    """Results by label."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self._results = dict(results)

    def __getitem__(self, label: str) -> Result:
        return self._results[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def table(self) -> "pandas.DataFrame":
        """One row a label.

        The columns are the numbers of the summaries: ``wait_s_mean``, ``jct_s_p99``,
        ``gpu_utilisation``...
        """
        import pandas

        return pandas.DataFrame.from_dict(
            {label: flat(one.summary()) for label, one in self.items()}, orient="index"
        )

    def cdf(self, column: str = "wait_s", axes: Any = None, title: Optional[str] = None) -> Any:
        """The distributions of a column of jobs, one line a label.

        Returns the matplotlib axes.

        ``title``: see :meth:`Result.cdf`.
        """
        from .viz.plots import cdf

        return cdf(self, column, axes, title)

    def plot(
        self,
        columns: Iterable[str] = ("wait_s_mean", "jct_s_mean", "bounded_slowdown_mean"),
        axes: Any = None,
    ) -> Any:
        """Bars of columns of :attr:`table`. Returns the matplotlib axes."""
        from .viz.plots import bars

        return bars(self.table, list(columns), axes)

    def report(self, path: "Union[str, os.PathLike[str]]", **options: Any) -> None:
        """Write all results as one self-contained HTML page, see :func:`gangsched.report.html`."""
        from .report.page import write

        write(self, path, **options)

    def __repr__(self) -> str:
        return "<Comparison: %s>" % ", ".join(self)

    def _repr_html_(self) -> str:
        from .viz.plots import summary_html

        return summary_html(self)


def _one(arguments: Mapping[str, Any]) -> Result:
    return simulate(**arguments)


def compare(
    policies: Union[str, Iterable[Any], Mapping[str, Any]],
    cluster: Any,
    trace: Union[Trace, str],
    queues: Any = None,
    *,
    executor: Executor = None,
    progress: bool = False,
    **options: Any,
) -> Comparison:
    """Simulate the same jobs on the same cluster under several policies.

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"submit_s": 0, "run_s": run_s, "gpu": 8} for run_s in (90, 30, 60)])
    >>> found = gs.compare(["fifo", "sjf"], gs.Cluster.uniform(1), jobs)
    >>> found.table.wait_s_mean.tolist()
    [70, 40]

    ::

        strict = {"queues": tree.with_all(block="strict")}
        gs.compare({"strict": strict, "mine": my_policy}, cluster, trace)

    Parameters
    ----------
    policies
        Names or functions, labelled by their names; or a dict from labels to a name, a function, or
        a dict of arguments of :func:`simulate`.
    executor
        See :func:`sweep`. Other processes need functions that can be pickled.
    options
        Options of all simulations. With ``stream`` each simulation gets a subfolder with its label.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C. Its ``partial_result`` is a Comparison of the simulations that were complete.
    """
    listed = (
        policies
        if isinstance(policies, Mapping)
        else _labelled([policies] if isinstance(policies, str) else policies)
    )
    trace = as_trace(trace)
    common = {"cluster": cluster, "trace": trace, "queues": queues, **options}
    calls = [
        {**common, **(policy if isinstance(policy, Mapping) else {"policy": policy})}
        for policy in listed.values()
    ]
    if common.get("stream") is not None:
        for call, folder in zip(
            calls, _unlike(re.sub(r"[^\w.+-]+", "_", label).lstrip(".") or "_" for label in listed)
        ):
            if call["stream"] is common["stream"]:
                call["stream"] = Path(common["stream"]) / folder
    try:
        found = sweep(
            _one, [{"arguments": call} for call in calls], executor=executor, progress=progress
        )
    except KeyboardInterrupt as stop:
        complete = stop.partial_result  # type: ignore[attr-defined]
        labels = [
            label for label, call in zip(listed, calls)
            if any(one["arguments"] is call for one in complete.params)
        ]
        partial = Comparison(dict(zip(labels, complete.values)))
        stop.partial_result = partial  # type: ignore[attr-defined]
        raise
    return Comparison(dict(zip(listed, found.values)))


def _labelled(policies: Iterable[Any]) -> Dict[str, Any]:
    """Policies by label. Drops repeated policies, and numbers equal labels."""
    once: List[Any] = []
    for policy in policies:
        if policy not in once:
            once.append(policy)
    return dict(zip(_unlike(_label(policy) for policy in once), once))


def _unlike(labels: Iterable[str]) -> List[str]:
    """Distinct labels: ``a``, ``a-2``, ``a-3``."""
    made: List[str] = []
    for label in labels:
        tried, number = label, 2
        while tried in made:
            tried, number = "%s-%d" % (label, number), number + 1
        made.append(tried)
    return made


def _label(policy: Any) -> str:
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "__name__", policy))


class Failed(NamedTuple):
    """The value of a call that raised an exception, with ``on_error="keep"``."""

    kind: str  #: class of the exception, e.g. ``NeverFits``
    text: str  #: its message
    traceback: str  #: where it was raised, as Python prints it


class Sweep:
    """The values of all calls, in the order of the grid.

    Attributes
    ----------
    params
        One dict for each call.
    values
        The value of each call, in the same order; :class:`Failed` of one that failed.
    """

    def __init__(self, params: List[Dict[str, Any]], values: List[Any]) -> None:
        self.params = params
        self.values = values

    def __len__(self) -> int:
        return len(self.params)

    def __iter__(self) -> Iterator[Any]:
        return iter(zip(self.params, self.values))

    @property
    def table(self) -> "pandas.DataFrame":
        """One row a call: its parameters and its value.

        A :class:`Result` adds its summary, a dict its members, any other value the column
        ``value``. A call that failed has the column ``error``, and no other numbers.
        """
        import pandas

        return pandas.DataFrame([{**params, **_row(value)} for params, value in self])

    @property
    def failed(self) -> List[Tuple[Dict[str, Any], Failed]]:
        """The parameters of the calls that failed, each with its error."""
        return [(params, value) for params, value in self if isinstance(value, Failed)]

    def __repr__(self) -> str:
        failed = len(self.failed)
        return "<Sweep: %d calls%s>" % (len(self), ", %d failed" % failed if failed else "")


def _row(value: Any) -> Dict[str, Any]:
    if isinstance(value, Failed):
        return {"error": "%s: %s" % (value.kind, value.text)}
    if isinstance(value, Result):
        return flat(value.summary())
    if isinstance(value, Mapping):
        return flat(value)
    return {"value": value}


def grid_of(
    grid: Union[Mapping[str, Iterable[Any]], Iterable[Mapping[str, Any]]]
) -> List[Dict[str, Any]]:
    """All combinations of a dict of lists, the last list varies fastest; copies a list of dicts."""
    if isinstance(grid, Mapping):
        names = list(grid)
        return [
            dict(zip(names, values))
            for values in itertools.product(*(list(grid[name]) for name in names))
        ]
    return [dict(params) for params in grid]


def sweep(
    fn: Callable[..., Any],
    grid: Union[Mapping[str, Iterable[Any]], Iterable[Mapping[str, Any]]],
    *,
    executor: Executor = None,
    progress: bool = False,
    on_error: str = "raise",
) -> Sweep:
    """Call ``fn(**params)`` for each combination of parameters.

    >>> import gangsched as gs
    >>> def longest(nodes, policy):
    ...     jobs = gs.Trace([{"submit_s": 0, "run_s": 60, "gpu": 8} for _ in range(4)])
    ...     return gs.simulate(gs.Cluster.uniform(nodes), jobs, policy=policy).jobs.wait_s.max()
    >>> gs.sweep(longest, {"nodes": [1, 2], "policy": ["fifo"]}).values
    [180.0, 60.0]

    ::

        def run(gpus, seed):
            return gs.simulate(gs.Cluster.uniform(16, gpus=gpus), trace(), seed=seed, node_mtbf_s=1e6)

        gs.sweep(run, {"gpus": [4, 8], "seed": range(5)}, executor=4).table

    Parameters
    ----------
    fn
        The function. Other processes need a function and values that can be pickled.
    grid
        A dict of lists, or a list of dicts.
    executor
        None: run in this process, one call after the other. A number: that many processes. An
        executor of ``concurrent.futures`` or ``mpi4py.futures``, or a client of Dask, which stays
        open.
    progress
        True: show a bar (tqdm).
    on_error : {"raise", "keep"}
        ``keep``: a call that raises an exception has the value :class:`Failed`, and the others go
        on. A process that dies is no exception of a call.

    Raises
    ------
    Exception
        An exception of a call, with its own traceback; ``params`` of the exception are the
        parameters of that call. Calls that have not begun are cancelled.
    KeyboardInterrupt
        Ctrl-C. Its ``partial_result`` is a Sweep of the calls that were complete.
    """
    params = grid_of(grid)
    if on_error not in ("raise", "keep"):
        raise InvalidArgument(
            "on_error: expected 'raise' or 'keep', not %r" % (on_error,), path="on_error"
        )
    if on_error == "keep":
        fn = _Keeping(fn)
    found: Dict[int, Any] = {}
    try:
        with _bar(len(params), progress) as step:
            if executor is None:
                for i, one in enumerate(params):
                    with _naming(one):
                        found[i] = fn(**one)
                    step()
            elif isinstance(executor, int) and not isinstance(executor, bool):
                _in_processes(fn, params, executor, found, step)
            elif hasattr(executor, "submit"):
                futures = [_submit(executor, fn, one) for one in params]
                _gather(executor, futures, params, found, step)
            else:
                raise InvalidArgument(
                    "executor is None, a number of processes, or what has submit()"
                )
    except KeyboardInterrupt as stop:
        done = sorted(found)
        complete = Sweep([params[i] for i in done], [found[i] for i in done])
        stop.partial_result = complete  # type: ignore[attr-defined]
        raise
    return Sweep(params, [found[i] for i in range(len(params))])


class _Keeping:
    """A function that returns its exceptions. An exception itself may not survive pickling."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def __call__(self, /, **params: Any) -> Any:
        try:
            return self._fn(**params)
        except Exception as error:
            said = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            return Failed(type(error).__name__, str(error), said)


@contextmanager
def _naming(params: Mapping[str, Any]) -> Iterator[None]:
    """Note the parameters of a call in its exception."""
    try:
        yield
    except Exception as error:
        with suppress(AttributeError):  # an exception with slots
            error.params = dict(params)  # type: ignore[attr-defined]
        raise


def _submit(executor: Any, fn: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    # The parameters do not go as keywords, because submit() has keywords of its own (Dask
    # "workers", "priority", "key"..., mpi4py "fn"). Without pure=False Dask returns one future for
    # equal calls.
    if type(executor).__module__.split(".")[0] == "distributed":
        return executor.submit(_call, fn, params, pure=False)
    return executor.submit(_call, fn, params)


def _call(fn: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    return fn(**params)


def _cancel(executor: Any, futures: List[Any]) -> None:
    for future in futures:
        future.cancel()
    if isinstance(executor, ProcessPoolExecutor):
        # Python before 3.11.4 never shuts down a pool whose last calls were cancelled: the pool
        # waits for a call that was not cancelled. https://github.com/python/cpython/issues/94440
        with suppress(RuntimeError):
            executor.submit(int)


def _gather(
    executor: Any,
    futures: List[Any],
    params: List[Dict[str, Any]],
    found: Dict[int, Any],
    step: Callable[[], None],
) -> None:
    """Put the values of calls into ``found``."""
    futures.reverse()
    try:
        while futures:
            with _naming(params[len(found)]):
                found[len(found)] = futures[-1].result()
            # As long as a future exists, Dask keeps its result in the worker, and computes the
            # result again if the worker dies. This process has the result: drop the future.
            futures.pop()
            step()
    except BaseException:
        _cancel(executor, futures)
        raise


def _in_processes(
    fn: Callable[..., Any],
    params: List[Dict[str, Any]],
    workers: int,
    found: Dict[int, Any],
    step: Callable[[], None],
) -> None:
    """Run the calls in a pool of our own, and put their values into ``found``.

    A process that dies breaks the pool. The calls without a result then run again, in a second
    pool.
    """
    if workers < 1:
        raise InvalidArgument("executor: 1 process or more")
    for last in (False, True):
        missing = [i for i in range(len(params)) if i not in found]
        if not missing:
            break
        with ProcessPoolExecutor(min(workers, len(missing)), initializer=_deaf) as pool:
            try:
                _take(pool, fn, params, missing, workers, found, step)
            except BrokenExecutor:
                if last:
                    raise


def _take(
    pool: ProcessPoolExecutor,
    fn: Callable[..., Any],
    params: List[Dict[str, Any]],
    missing: List[int],
    workers: int,
    found: Dict[int, Any],
    step: Callable[[], None],
) -> None:
    """Put the values of calls into ``found``."""
    running: Dict[Any, int] = {}
    to_come = iter(missing)
    try:
        while True:
            # At most one call for each process: the pool could not cancel calls that it has queued.
            for i in itertools.islice(to_come, workers - len(running)):
                running[pool.submit(_heard, fn, params[i])] = i
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda one: running[one]):
                i = running.pop(future)
                with _naming(params[i]):
                    found[i] = future.result()
                step()
    except BaseException as error:
        _cancel(pool, list(running))
        if isinstance(error, KeyboardInterrupt):
            pass_on(pool, running)
        raise


def pass_on(pool: ProcessPoolExecutor, running: Iterable[Any]) -> None:
    """Pass Ctrl-C on to the processes of a pool whose calls do not end by themselves.

    A terminal sends Ctrl-C to all processes, an editor or ``kill -INT`` to one.
    """
    if wait(running, timeout=0.2).not_done:
        for process in list(getattr(pool, "_processes", None) or ()):
            with suppress(OSError):
                os.kill(process, signal.SIGINT)


def _deaf() -> None:
    """Ignore Ctrl-C in an idle process, because its end would break the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _heard(fn: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return fn(**params)
    finally:
        _deaf()


@contextmanager
def _bar(count: int, wanted: bool) -> Iterator[Callable[[], None]]:
    if not wanted:
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=count) as bar:
        yield lambda: bar.update() and None
