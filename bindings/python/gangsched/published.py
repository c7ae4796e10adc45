# SPDX-License-Identifier: Apache-2.0
"""Published set-ups by name: the arguments of a simulation, and where they come from."""

from typing import Any, Dict, Iterator, Mapping, Optional

from .closest import unknown
from .errors import NotFound
from .queues import Queues


class Preset(Mapping[str, Any]):
    """The arguments of :func:`simulate` for a published set-up.

    ::

        gs.simulate(cluster, trace, **gs.presets["tiresias"])
        gs.compare({"srtf": gs.presets["philly-srtf"], "mine": my_policy}, cluster, trace)
        gs.simulate(cluster, trace, **gs.presets["slurm-default"].on(tree))

    Attributes
    ----------
    name : str
        Its name in :data:`presets`.
    text : str
        What it stands for, and what of the original is left out.
    source : str
        Publication, program or manual.
    members : dict
        What each leaf of the tree of queues has.
    """

    def __init__(
        self, name: str, text: str, source: str, options: Mapping[str, Any],
        members: Mapping[str, Any],
    ) -> None:
        self.name, self.text, self.source = name, text, source
        self.members = dict(members)
        self._options = dict(options)

    def on(self, queues: Any) -> Dict[str, Any]:
        """The arguments with a tree of queues: its leaves get :attr:`members`, except what they name
        themselves."""
        tree = queues if isinstance(queues, Queues) else Queues(queues)
        for leaf in tree.leaves:
            own = tree[leaf]
            tree = tree.changed(
                leaf, **{key: value for key, value in self.members.items() if key not in own}
            )
        return {**self._options, "queues": tree}

    def _arguments(self) -> Dict[str, Any]:
        """With one queue for all jobs."""
        return {**self.on({"all": {}}), "default_queue": "all"}

    def __getitem__(self, argument: str) -> Any:
        return self._arguments()[argument]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments())

    def __len__(self) -> int:
        return len(self._arguments())

    def __repr__(self) -> str:
        return "<Preset %s: %s Source: %s>" % (self.name, self.text, self.source)


class Presets(Mapping[str, Preset]):
    """The presets, by name.

    >>> import gangsched as gs
    >>> print(", ".join(gs.presets))    # doctest: +ELLIPSIS
    philly-...
    """

    def __init__(self, listed: Mapping[str, Preset]) -> None:
        self._listed = dict(listed)

    def __getitem__(self, name: str) -> Preset:
        if name not in self._listed:
            raise NotFound(unknown("preset", name, self._listed))
        return self._listed[name]

    def __contains__(self, name: object) -> bool:
        return name in self._listed

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __repr__(self) -> str:
        return "\n".join(repr(one) for one in self.values())


def helios_restart_s(index: int, gpus: float) -> float:
    """Seconds that a preemption costs in Helios' simulator: 7 with one GPU, 30 on one node of 8,
    60 beyond."""
    return 7.0 if gpus <= 1 else 30.0 if gpus <= 8 else 60.0


def lucid_restart_s(index: int, gpus: float) -> float:
    """Seconds that a preemption costs in Lucid's simulator: 40 on one node of 8, 60 beyond."""
    return 40.0 if gpus <= 8 else 60.0


_HELIOS = (
    "Hu, Sun, Yan, Wen, Zhang: Characterization and Prediction of Deep Learning Workloads in "
    "Large-Scale GPU Datacenters, SC 2021; program S-Lab-System-Group/HeliosArtifact"
)
_LUCID = (
    "Hu, Zhang, Sun, Wen, Zhang: Lucid, ASPLOS 2023; Gu and others: Tiresias, NSDI 2019; program "
    "S-Lab-System-Group/Lucid"
)

#: One virtual cluster: gangs on as few nodes as hold them; a policy names its own victims.
_VIRTUAL_CLUSTER: Mapping[str, Any] = {
    "place": "consolidated", "preemptible": True, "no_preemption": True,
}

#: Slurm, YARN and KAI bound no wait.
_UNBOUNDED: Mapping[str, Any] = {"max_blocked_s": -1}


def _made(
    name: str, text: str, source: str, options: Mapping[str, Any],
    members: Optional[Mapping[str, Any]] = None,
) -> Preset:
    return Preset(name, text, source, options, members or {})


#: Published set-ups by name.
presets = Presets({one.name: one for one in (
    _made(
        "philly-fifo",
        "First come, first served; a job that does not fit holds back all later ones.",
        _HELIOS,
        {**_VIRTUAL_CLUSTER, "policy": "fifo"},
    ),
    _made(
        "philly-sjf",
        "The shortest job first, by its true run time; a job that does not fit holds back all "
        "longer ones.",
        _HELIOS,
        {**_VIRTUAL_CLUSTER, "policy": "sjf"},
        {"block": "strict"},
    ),
    _made(
        "philly-srtf",
        "The shortest remaining time first, preemptive, by true run times. A preemption costs 7, "
        "30 or 60 s; no work is lost. The end of a job is seen a second later.",
        _HELIOS,
        {**_VIRTUAL_CLUSTER, "policy": "srtf", "teardown_s": 1, "restart": helios_restart_s},
    ),
    _made(
        "tiresias",
        "Least attained service in two queues, decided every minute. A preemption costs 40 or "
        "60 s; no work is lost. The end of a job is seen a second later.",
        _LUCID,
        {
            **_VIRTUAL_CLUSTER, "policy": "las", "pass_s": 60, "teardown_s": 1,
            "restart": lucid_restart_s,
        },
    ),
    _made(
        "slurm-default",
        "sched/backfill beside priority/basic, no preemption: jobs by age; the first 500 waiting "
        "jobs have a planned start, and a later job starts only if it delays none of them. Time "
        "limits are exact here: no steps of a minute (bf_resolution), no window of a day.",
        "slurm.conf(5) of Slurm 22.05: SchedulerType, PriorityType, PreemptType, bf_max_job_test",
        {"policy": "queues", "no_preemption": True},
        {"order": "fifo", "backfill": "conservative", "plan_depth": 500, **_UNBOUNDED},
    ),
    _made(
        "yarn-capacity",
        "Capacity scheduler: queues by used over guaranteed capacity, jobs by priority and age; a "
        "job that does not fit holds back no later one; no preemption (the monitor is off). Gangs "
        "start whole here, where YARN hands out containers one by one.",
        "Hadoop 3.3, capacity-scheduler.xml and yarn-default.xml: ordering-policy, "
        "yarn.resourcemanager.scheduler.monitor.enable",
        {"policy": "queues", "no_preemption": True},
        {"order": "priority", **_UNBOUNDED},
    ),
    _made(
        "kai",
        "Fair shares by weight, jobs by priority and age; a higher priority preempts within its "
        "queue, a queue below its share reclaims from those above theirs, and up to 16 gangs move "
        "for one. No minimum run time.",
        "KAI-Scheduler: actions allocate, consolidation, reclaim, preempt; plugin proportion",
        {"policy": "queues", "max_moves": 16, "preempt_cooldown_s": 0},
        {"order": "priority", "within": "lower", "min_runtime_s": 0, "stale_s": 60, **_UNBOUNDED},
    ),
)})

__all__ = ["Preset", "Presets", "presets"]
