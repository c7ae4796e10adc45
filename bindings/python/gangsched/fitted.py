# SPDX-License-Identifier: Apache-2.0
"""A model of a workload, fitted to a trace, that makes new workloads."""

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

from .dates import Time
from .errors import InvalidArgument
from .trace import Trace, as_trace
from .vocabulary import in_seconds

if TYPE_CHECKING:
    import pandas

HOUR_S = 3600.0
#: Hours of a week.
WEEK = 168

#: Members of a job that the model draws, or that mean nothing for another job.
_DRAWN = ("job", "submit_s", "run_s", "start_s", "end")


class WorkloadModel:
    """Arrivals by the hour of the week, and a mix of users, sizes and run times.

    :func:`fit_workload` makes it. Plain data, which can be pickled.

    * **Arrivals**: a Poisson process whose rate depends on the hour of the week; the rate of each
      hour is multiplied by a gamma-distributed number of mean 1 and variance :attr:`dispersion`
      (a negative binomial distribution of the jobs of an hour), as jobs come in bursts.
    * **Mix**: each job has the user, the queue and the request (all members but times) of a job of
      the trace, drawn at random.
    * **Run times**: of the jobs of the same size (GPUs; without GPUs, cores): drawn from their
      distribution, linear between two neighbours on a logarithmic axis. The time limit is that of
      the lower neighbour. A job that was stopped at its limit runs to its limit again.

    Successive jobs are independent of each other, unlike those of :func:`resample`, which keeps the
    weeks of users.
    """

    def __init__(self, jobs: List[Dict[str, Any]], epoch: Any) -> None:
        import numpy

        self._jobs = [{key: job[key] for key in job if key not in _DRAWN} for job in jobs]
        self._epoch = epoch
        self._sizes = [size_of(job) for job in jobs]
        run = numpy.array([job["run_s"] for job in jobs], dtype=float)
        limit = numpy.array([job.get("time_limit_s", 0) for job in jobs], dtype=float)
        #: run times in ascending order, and their time limits, by size
        self._runs: Dict[Tuple[str, float], Tuple[Any, Any]] = {}
        sizes = numpy.array([repr(size) for size in self._sizes])
        for size in set(self._sizes):
            mine = sizes == repr(size)
            order = numpy.argsort(run[mine], kind="stable")
            self._runs[size] = run[mine][order], limit[mine][order]
        submit = numpy.array([job["submit_s"] for job in jobs], dtype=float)
        self._rates, self._dispersion = _arrivals(submit)

    @property
    def rates(self) -> Any:
        """Jobs an hour, for each of the 168 hours of a week from second 0 of the trace on."""
        return self._rates.copy()

    @property
    def dispersion(self) -> float:
        """The variance of the rate of an hour over its square; 0: a Poisson process."""
        return self._dispersion

    @property
    def sizes(self) -> "pandas.DataFrame":
        """One row a size: ``gpus`` (0: none), ``cpus`` (of jobs without GPUs), ``fraction`` of the
        jobs, ``run_s_mean``, ``run_s_p50``, ``run_s_p90``.
        """
        import numpy
        import pandas

        rows = []
        for (kind, amount), (run, _) in sorted(self._runs.items()):
            rows.append({
                "gpus": amount if kind == "gpus" else 0.0,
                "cpus": amount if kind == "cpus" else numpy.nan,
                "fraction": len(run) / len(self._jobs),
                "run_s_mean": float(run.mean()),
                "run_s_p50": float(numpy.percentile(run, 50)),
                "run_s_p90": float(numpy.percentile(run, 90)),
            })
        return pandas.DataFrame(rows)

    @property
    def users(self) -> "pandas.Series[Any]":
        """The fraction of the jobs of each user, the largest first; "": jobs without one."""
        import pandas

        names = pandas.Series([job.get("user", "") for job in self._jobs], dtype=object)
        found: "pandas.Series[Any]" = names.value_counts(normalize=True)
        return found.rename("fraction")

    def generate(
        self,
        *,
        weeks: float = 1,
        load: float = 1.0,
        seed: int = 0,
        epoch: Optional[Time] = None,
    ) -> Trace:
        """A new workload.

        Parameters
        ----------
        weeks : float
            Its length, above 0.
        load : float
            Jobs an hour, as a multiple of those of the trace; above 0.
        seed : int
            Of the draws, 0 or more. The same seed gives the same workload with the same numpy.
        epoch
            The date of second 0; None: that of the trace. The hours of the week count from there.

        Returns
        -------
        Trace
            The jobs by time of submission, named ``0``, ``1``... They have no recorded start and
            end. O(hours + jobs).

        Raises
        ------
        InvalidArgument
            A parameter out of range.
        """
        import numpy

        for name, fine in (
            ("weeks", 0 < weeks < 1e6),
            ("load", 0 < load < float("inf")),
            ("seed", hasattr(seed, "__index__") and seed >= 0),
        ):
            if not fine:
                raise InvalidArgument("%s is out of range" % name, path=name)
        draw = numpy.random.default_rng(seed)
        submitted = self._times(draw, weeks, load)
        donors = draw.integers(0, len(self._jobs), len(submitted))
        ranks = draw.random(len(submitted))
        made = []
        drawn = zip(submitted.tolist(), donors.tolist(), ranks.tolist())
        for i, (at, donor, rank) in enumerate(drawn):
            run_s, limit_s = self._drawn(self._sizes[donor], rank)
            job = {**self._jobs[donor], "job": str(i), "submit_s": at, "run_s": run_s}
            job.pop("time_limit_s", None)
            if limit_s:
                job["time_limit_s"] = limit_s
            made.append(job)
        return Trace(made, epoch=self._epoch if epoch is None else epoch)

    def _times(self, draw: Any, weeks: float, load: float) -> Any:
        import numpy

        hours = int(numpy.ceil(weeks * WEEK))
        mean = load * numpy.resize(self._rates, hours)
        mean[-1] *= weeks * WEEK - (hours - 1)
        if self._dispersion:
            mean = mean * draw.gamma(1 / self._dispersion, self._dispersion, hours)
        counts = draw.poisson(mean)
        begin = numpy.repeat(numpy.arange(hours), counts)
        length = numpy.minimum(1.0, weeks * WEEK - begin)
        at = (begin + draw.random(len(begin)) * length) * HOUR_S
        return numpy.round(numpy.sort(at), 3)

    def _drawn(self, size: Tuple[str, float], rank: float) -> Tuple[float, float]:
        """The run time and the time limit at a fraction of the jobs of a size."""
        runs, limits = self._runs[size]
        at = rank * (len(runs) - 1)
        low = int(at)
        below, above = float(runs[low]), float(runs[min(low + 1, len(runs) - 1)])
        limit = float(limits[low])
        if 0 < limit <= below:
            return limit, limit
        if below > 0:
            found = below * (above / below) ** (at - low)
        else:
            found = below + (above - below) * (at - low)
        return round(found, 3), max(limit, round(found, 3)) if limit else 0.0

    def __repr__(self) -> str:
        return "<WorkloadModel: %d jobs, %.4g jobs an hour, %d users, %d sizes>" % (
            len(self._jobs), self._rates.mean(), len(self.users), len(self._runs)
        )


def fit_workload(trace: Any) -> WorkloadModel:
    """Fit a model to a trace, which makes workloads like it.

    >>> import gangsched as gs
    >>> jobs = gs.Trace([{"submit_s": 1800 * i, "run_s": 60 + i % 7, "gpu": 1 + i % 2, "user": "u"}
    ...                  for i in range(1000)])
    >>> model = gs.fit_workload(jobs)
    >>> model.sizes.fraction.tolist(), round(model.rates.mean(), 1)
    ([0.5, 0.5], 2.0)
    >>> busy = model.generate(weeks=4, load=1.5, seed=1)
    >>> 0.9 < len(busy) / (4 * 168 * 3) < 1.1
    True

    Parameters
    ----------
    trace
        The jobs, or the path of a trace; two weeks or more, so that each hour of the week counts
        several times. Of an hour of the week that the trace lacks, the same hour of other days
        counts, or else the average.

    Returns
    -------
    WorkloadModel

    Raises
    ------
    InvalidArgument
        No jobs.
    """
    trace = as_trace(trace)
    jobs = [in_seconds(job) for job in trace]
    if not jobs:
        raise InvalidArgument("trace: no jobs", path="trace")
    return WorkloadModel(jobs, trace.epoch)


def size_of(job: Mapping[str, Any]) -> Tuple[str, float]:
    """The GPUs of a job; of a job without GPUs, its cores."""
    groups = job["tasks"] if isinstance(job.get("tasks"), list) else [job]
    total = {"gpu": 0.0, "cpu": 0.0}
    for group in groups:
        count = group.get("count", 1)
        devices = group.get("gpu_devices", 1) if group.get("gpu", 0) < 1 else 1
        total["gpu"] += count * group.get("gpu", 0) * devices
        total["cpu"] += count * group.get("cpu", 0)
    return ("gpus", round(total["gpu"], 3)) if total["gpu"] else ("cpus", round(total["cpu"], 3))


def _arrivals(submit: Any) -> Tuple[Any, float]:
    """Jobs an hour by the hour of the week, and how much more they vary than a Poisson process."""
    import numpy

    first, last = submit.min() / HOUR_S, submit.max() / HOUR_S
    begin, end = int(numpy.floor(first)), int(numpy.floor(last)) + 1
    counts = numpy.bincount((submit // HOUR_S).astype(int) - begin, minlength=end - begin)
    seen = numpy.ones(end - begin)  # which fraction of each hour the trace has
    if end - begin > 1:
        seen[0], seen[-1] = begin + 1 - first, max(last - (end - 1), 1 / HOUR_S)
    else:
        seen[0] = max(last - first, 1 / HOUR_S)
    hour = numpy.arange(begin, end) % WEEK
    jobs, hours = (numpy.bincount(hour, weights=of, minlength=WEEK) for of in (counts, seen))
    rates = _rates_of(jobs, hours)
    whole = seen == 1
    mean = rates[hour[whole]]
    # hours of the week that occur once have no variance: their rate is their count
    often = numpy.bincount(hour[whole], minlength=WEEK)[hour[whole]]
    use = often > 1
    # sample variance of each hour of the week: its mean has used one of the weeks
    squares = (counts[whole][use] - mean[use]) ** 2 * often[use] / (often[use] - 1)
    # the square of a sample mean is too large by the variance of that mean
    means = (mean[use] ** 2 - squares / often[use]).sum()
    extra = float((squares - mean[use]).sum() / means) if means > 0 else 0.0
    return rates, max(extra, 0.0)


def _rates_of(jobs: Any, hours: Any) -> Any:
    """Jobs an hour, for each hour of the week. If the trace covers less than half of an hour of the
    week, the rate of the same hour of the day is taken.
    """
    import numpy

    days = (jobs.reshape(7, 24).sum(axis=0), hours.reshape(7, 24).sum(axis=0))
    mean = jobs.sum() / max(hours.sum(), 1.0)
    of_day = numpy.where(days[1] >= 0.5, days[0] / numpy.maximum(days[1], 0.5), mean)
    return numpy.where(hours >= 0.5, jobs / numpy.maximum(hours, 0.5), numpy.tile(of_day, 7))


__all__ = ["WorkloadModel", "fit_workload"]
