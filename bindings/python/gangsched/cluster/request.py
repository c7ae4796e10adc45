# SPDX-License-Identifier: Apache-2.0
"""What a job needs: task groups, minima, constraints, a policy."""

import weakref
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

from .._native import Call, callback, ffi, lib, new, text
from ..case import Case, job_dict
from ..errors import InvalidArgument, check, new_error
from ..handle import Box
from ..scoring import direction
from ..vocabulary import request_members
from .candidates import Candidates

#: Scores candidate nodes for one task of a group, the highest first unless it says otherwise:
#: ``score(group, candidates) -> scores``.
Score = Callable[[int, Any], Any]


class Request(Mapping[str, Any]):
    """An immutable request, independent of any cluster.

    Any thread.

    A request of one group of tasks is flat; several groups are a list::

        Request(count=16, gpu=1, cpu=8, mem_mib=65536, same="rack")
        Request(tasks=[{"name": "ps", "count": 2, "cpu": 4}, {"name": "worker", "count": 8, "gpu": 1}])

    Members of a group of tasks:

    ``count``, ``min``
        Its tasks (1), and how many of them must start together (all).
    ``cpu``, ``mem_mib``, ``gpu``
        Of one task: cores (decimals allowed), MiB, and GPUs: whole ones, or a share below 1 of each
        of ``gpu_devices`` devices (1). Each 0 if not given. Instead of a share ``gpu_mem_mib``:
        memory of each of the devices. ``amounts``: other resources, a dict by kind.
    ``gpu_models``, ``profile``
        A list of models that the task can use; a MIG profile (``"3g.20gb"``).
    ``same``, ``prefer``
        A level of the topology: one domain is required, or preferred (``"rack"``, ``"node"``,
        ``"numa"``, ``"island"``...).
    ``subgroup_size`` with ``subgroup_same`` or ``subgroup_prefer``
        The same, for each subgroup of this many tasks.
    ``spread`` with ``max_skew`` (1), ``max_per_node``, ``max_per_domain`` with ``domain_level``
        Tasks lie evenly over the domains of the level ``spread``: their numbers differ by at most
        ``max_skew``. Maximum numbers of tasks on a node, and in a domain.
    ``where``, ``selector``, ``partition``
        Nodes: a label expression (``"gen >= 3 and not zone in (a, b)"``), labels as a dict, and a
        partition.
    ``numa``, ``near_nic``, ``same_devices``
        ``"prefer"``, ``"strict"`` or ``"none"``; GPUs near a network card; GPUs of the same numbers
        on each node.

    Members of the request as a whole: ``min`` (over all groups), ``groups`` (sets of groups, with
    minima and levels of their own), ``same``, ``prefer``, ``policy`` (``"pack"``, ``"spread"``,
    ``"topology"``, ``"fgd"``...), ``exclusive`` (nodes alone), ``labels`` and ``affinity``. Where
    jobs are meant (:meth:`gangsched.Simulation.submit`), also ``name``, ``queue``, ``user``,
    ``priority``, ``preemptible``, ``time_limit_s``, ``after`` and the other members of a job.

    Parameters
    ----------
    spec
        The members as a dict; keywords override them.
    score
        A function that chooses nodes (policy ``host``)::

            def emptiest(group, candidates):      # Candidates, one element a node
                return candidates.gpus_free       # highest first

        :func:`gangsched.lowest_first` reverses the order. Scores are integers, or floats, which
        keep their exact order; the largest int64 or infinity is the best. The lowest int64 or minus
        infinity excludes a node (with ``lowest_first`` the largest and infinity). NaN is an
        InvalidArgument that names the node. The columns are those of :class:`Candidates`. The
        search calls it on the thread of the call. It must not change the cluster. An exception ends
        the call without a change.

    Examples
    --------
    >>> import gangsched as gs
    >>> cluster = gs.Cluster.uniform(2, gpus=4)
    >>> cluster.fits(gs.Request(count=8, gpu=1)), cluster.fits(gs.Request(count=9, gpu=1))
    (True, False)
    """

    def __init__(
        self,
        spec: Optional[Mapping[str, Any]] = None,
        *,
        score: Optional[Score] = None,
        **keywords: Any
    ) -> None:
        self._job = job_dict(spec, keywords)
        #: whether the caller gave `tasks`
        self._flat = "tasks" not in {**(spec or {}), **keywords}
        self.score: Optional[Score] = (
            spec.score if isinstance(spec, Request) and score is None else score
        )

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> "Request":
        """The request of a job of a trace, or of a row of its table.

        Submission, run time and what was recorded are left out; queue, user, priority and time
        limit stay, for :meth:`gangsched.Simulation.submit`.

        >>> import gangsched as gs
        >>> trace = gs.Trace([{"job": "a", "submit_s": 0, "run_s": 60, "count": 2, "gpu": 4}])
        >>> request = gs.Request.from_job(trace["a"])
        >>> gs.Cluster.uniform(1).allocate(request).info()["gpus"]
        8.0
        """
        return cls(request_members(job))

    def __getitem__(self, key: str) -> Any:
        return self._job[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._job)

    def __len__(self) -> int:
        return len(self._job)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return "Request(%s)" % ", ".join(
            "%s=%r" % item for item in self._job.items() if item[0] != "name"
        )

    def __reduce__(self) -> Any:
        return _again, (self._job, self.score)


def _again(job: Dict[str, Any], score: Optional[Score]) -> Request:
    return Request(job, score=score)


class Scorer(Call):
    """Connects gang_score_fn with a Python function."""

    def __init__(self, score: Score, cluster: Optional[Box]) -> None:
        super().__init__()
        self.score = score
        #: whether its lowest scores go first
        self.lowest = direction(score)
        #: the function, for a message
        self.what = "score()"
        self._cluster = cluster

    def node_name(self, number: int) -> str:
        """The name of a node, for a message."""
        info = new("gang_node_info")
        assert self._cluster is not None
        if lib.gang_node_get(self._cluster.pointer, number, info) != lib.GANG_OK:
            return "?"
        return text(info.name)


def _order_of(scores: Any) -> Any:
    """Integers in the exact order of floats without NaN; minus infinity becomes the lowest int64.

    The bits of an IEEE 754 number, read as an integer, are ordered like the number; those of a
    negative one in reverse.
    """
    import numpy

    scores = scores.astype(numpy.float64) + 0.0  # -0.0 and 0.0 are equal
    bits = scores.view(numpy.int64)
    ordered = numpy.where(bits < 0, numpy.int64(-(2**63)) - bits, bits)
    ordered[numpy.isneginf(scores)] = -(2**63)
    return ordered


@callback(failed=lib.GANG_EINVAL)
def gangsched_py_place_score(
    group: int, rows: Any, size: int, count: int, scores: Any, user: Any
) -> int:
    import numpy

    scorer: Scorer = ffi.from_handle(user)
    names = ["node", "cpu_free", "memory_free", "gpu_free", "gpus_free", "tasks"]
    kind = numpy.dtype(
        {
            "names": names,
            "formats": ["u8"] + ["i8"] * 5,
            "offsets": [8 * i for i in range(6)],
            "itemsize": size,
        }
    )
    seen = numpy.frombuffer(ffi.buffer(rows, size * count), dtype=kind).copy()
    out = numpy.frombuffer(ffi.buffer(scores, 8 * count), dtype=numpy.int64)
    candidates = Candidates(seen, scorer.node_name)
    found = numpy.asarray(scorer.score(group, candidates))
    if found.shape != (count,):
        raise InvalidArgument(
            "%s must give one number for each of %d candidates" % (scorer.what, count)
        )
    if found.dtype.kind == "f":
        unknown = numpy.flatnonzero(numpy.isnan(found))
        if len(unknown):
            node = scorer.node_name(int(seen["node"][unknown[0]]))
            raise InvalidArgument(
                "%s gave NaN for candidate %d, node %r" % (scorer.what, unknown[0], node)
            )
        found = _order_of(-found if scorer.lowest else found)
    elif scorer.lowest:
        found = _reversed(found)
    out[:] = found
    return 0


def _reversed(scores: Any) -> Any:
    """Integers in reverse order; the largest int64 becomes the lowest, which excludes a node."""
    import numpy

    scores = scores.astype(numpy.int64)
    last = numpy.iinfo(numpy.int64).max
    return numpy.where(scores == last, -last - 1, -numpy.maximum(scores, -last))


class Compiled:
    """A request that a cluster has checked; freed with this object."""

    def __init__(self, box: Box, scorer: Optional[Scorer]) -> None:
        self.pointer = box.pointer
        self.scorer = scorer
        weakref.finalize(self, box.release).atexit = False


def compile_for(cluster: Box, request: Request, frame: Mapping[str, Any]) -> Compiled:
    """Check a request for a cluster.

    Parameters
    ----------
    frame
        Levels and kinds of the cluster, for the JSON reader.

    Raises
    ------
    InvalidArgument, OutOfRange, NotFound, ParseError
        With the path, e.g. ``tasks[1].gpu``.
    """
    prefix = "jobs[0] tasks[0]" if request._flat else "jobs[0]"
    case = Case({**frame, "jobs": [dict(request)]}, path_prefix=prefix)
    spec = ffi.new("struct gang_request_spec *", case.c.jobs[0].request)
    scorer = None
    if request.score is not None:
        scorer = Scorer(request.score, cluster)
        spec.policy = lib.GANG_POLICY_HOST
        spec.score = lib.gangsched_py_place_score
        spec.score_user = scorer.user
    out, error = ffi.new("gang_request **"), new_error()
    check(lib.gang_request_new(cluster.pointer, spec, out, error), error)
    return Compiled(Box(out[0], lib.gang_request_free, cluster), scorer)
