# SPDX-License-Identifier: Apache-2.0
"""What comes into a simulation: traces, single jobs, states of nodes, commands on jobs."""

from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union

from .._native import ffi, lib
from ..case import Case, job_dict
from ..cluster.state import Node
from ..dates import Time, times_in
from ..enums import NodeState
from ..errors import GangError, NotFound, check, new_error, placed
from ..handle import Box
from ..trace import Trace, as_trace
from ..values import ns, runs, whole
from .scheduling import JobRef
from .state import SimulationState

if TYPE_CHECKING:
    import os

#: Seconds that a job runs; or one number a group, in the order of the groups or by name.
RunTime = Union[float, Sequence[float], Mapping[str, float]]


class SimulationIntake(SimulationState):
    """The part of a simulation that takes input."""

    #: boxes of the traces: they stay even if a trace is closed
    _boxes: List[Box]

    def add(self, trace: "Union[Trace, str, os.PathLike[str]]", shift_s: float = 0) -> None:
        """Let the jobs of a trace, or of its file, come ``shift_s`` seconds later than it says.

        Past jobs come now. If the trace has an epoch, it is that of the simulation, unless it has
        one: then jobs come at their dates.

        Raises
        ------
        NotFound
            A queue, with its place.
        InvalidArgument
            Only one of the two epochs has a time zone.
        Busy
            Called from a callback. Also the exceptions of :meth:`Trace.read`.
        """
        error, shift = new_error(), ns(shift_s, "shift_s")
        trace = as_trace(trace)
        with self._held() as sim, trace._held() as pointer:
            later = 0
            if trace.epoch is not None and self._epoch is not None:
                later = ns(self._time_s(trace.epoch, "trace.epoch"), "trace.epoch")
            try:
                check(lib.gang_sim_add_trace(sim, pointer, later + shift, error), error)
            except NotFound as failure:
                raise self._with_meant(failure, _quoted(failure.text)) from None
            self._open().require(trace._open())
            self._boxes.append(trace._open())
            self._traces.append(trace)
            if self._epoch is None:
                self._epoch = trace.epoch
            self._recipe.note("add", trace, shift_s)

    def submit(
        self, job: Optional[Mapping[str, Any]] = None, *, run_s: RunTime, **keywords: Any
    ) -> int:
        """Submit one job now.

        Its members are those of a :class:`gangsched.Request`, and:

        ``name``, ``queue``, ``user``, ``user_groups``
            Texts, and a list of them. The queue may be missing if there is one, or a default.
        ``priority``, ``preemptible``, ``hold``, ``never_preempts``
            A whole number (0; higher goes first); True (default), False or ``"above-min"``; True:
            it waits until it is released; True: nothing is preempted for it.
        ``time_limit_s``, ``begin_s``, ``deadline_s``
            How long it may run (as the queue says); when it may start, and by when it must have
            ended, seconds of the simulation or dates (any time).
        ``after``
            ``[{"job", "when": "start" | "end" | "success"}]``: jobs that must come first.
        ``reservation``, ``partitions``, ``array`` with ``array_max_running``
            A reservation inside which alone it starts; partitions in order of preference; the name
            of its array, and how many of its jobs run at once.
        ``loss``, ``max_restarts``, ``restart_delay_s``, ``refill_s``
            What follows when it loses tasks: ``"count"`` (default: they count as lost), ``"fail"``,
            ``"restart"``, ``"refill"``, ``"shrink"``; bounds of these.
        ``parallelism``, ``start_full``, ``prefer_wait_s``, ``start_within_s``, ``back_off_s``
            Tasks that run at a time; True: all tasks that fit start at once; how long it waits for
            preferred domains; after which wait it fails, or backs off.

        >>> import gangsched as gs
        >>> with gs.Simulation(gs.Cluster.uniform(1)) as simulation:
        ...     job = simulation.submit(count=4, gpu=1, run_s=60, time_limit_s=90)
        ...     simulation.run().now_s, simulation.job(job)["end"]
        (60.0, 'success')

        Groups may start after one another::

            simulation.submit(
                tasks=[
                    {"name": "data", "count": 2, "cpu": 4},
                    {"name": "train", "count": 8, "gpu": 1, "after": [{"group": "data", "when": "success"}]},
                ],
                run_s={"data": 600, "train": 36000},
            )

        Parameters
        ----------
        run_s : float, sequence or mapping
            Seconds that the job runs with all its tasks. If groups wait for each other, each gang
            of them runs that long. Or one run time for each group: a sequence, or a dict by the
            names of the groups. Groups that start together are one gang, which runs as long as its
            longest group.

        Returns
        -------
        int
            The index of the job.

        Raises
        ------
        GangError
            As for a request; NeverFits, NotAllowed, QueueClosed, LimitReached.
        NotFound
            A queue, or the ``reservation``.
        Busy
            Called from a callback. An exception of ``on_event`` comes after the submission.
        """
        spec = times_in(job_dict(job, keywords), ("begin_s", "deadline_s"), self._epoch)
        out, error = ffi.new("size_t *"), new_error()
        # The recipe gets the job without a queue: a replay may have another tree.
        queued = self._in_queue(spec)
        given: Any = run_s
        several = not isinstance(given, (int, float, str)) and hasattr(given, "__len__")
        times = runs(given, spec["tasks"]) if several else [ns(given, "run_s")]
        with self._held() as sim, self._host.places():
            case = Case({**self._frame(queued), "jobs": [queued]}, path_prefix="jobs[0]")
            try:
                if several:
                    check(
                        lib.gang_sim_submit_groups(sim, case.c.jobs, times, len(times), out, error),
                        error,
                    )
                else:
                    check(lib.gang_sim_submit(sim, case.c.jobs, times[0], out, error), error)
            except GangError as refusal:
                self._host.settle()  # an exception of a callback comes first
                refusal = placed(refusal, refusal.path.replace("run_ns", "run_s"))
                raise self._with_meant(refusal, queued.get("queue")) from None
            self._recipe.note("submit", spec, run_s=run_s)
            self._host.settle()  # an exception of on_event: the job is submitted nevertheless
        return int(out[0])

    def set_node(self, node: Node, state: str, at_s: Optional[Time] = None) -> None:
        """Set a node ``up``, ``draining`` or ``down`` at a time (seconds, or a date; None: now).

        A node that goes down loses its tasks.
        """
        number = self.cluster.node_id(node)
        value = NodeState.number_of(state, "state")
        at_s = self._time_s(at_s, "at_s")
        with self._held() as sim:
            at = self._raw_info(sim).now_ns if at_s is None else ns(at_s, "at_s")
            check(lib.gang_sim_set_node_state(sim, at, number, value), what="node %r" % (node,))
            self._recipe.note("set_node", node, state, at_s)

    def requeue(self, job: JobRef) -> None:
        """Stop a running job. It waits again, with its old submission time."""
        self._command("requeue", job)

    def set_target(self, job: JobRef, tasks: int) -> None:
        """Limit an elastic job to ``tasks`` tasks; -1: to the number that it requested."""
        self._command("set_target", job, whole(tasks, "tasks"))

    def _command(self, name: str, job: JobRef, *values: int) -> None:
        """Commands take effect when the simulation continues.

        They do nothing to a job that has ended.
        """
        with self._held() as sim:
            index, number = self.find(job), self._job_id(job)
            check(
                getattr(lib, "gang_job_" + name)(lib.gang_sim_sched(sim), number, *values),
                what="job %r" % (job,),
            )
            self._recipe.note("_command", name, index, *values)


def _quoted(text: str) -> str:
    """What stands in quotes in a message."""
    return text.split('"')[1] if text.count('"') >= 2 else ""
