# SPDX-License-Identifier: Apache-2.0
"""What a simulation may be told: from the words of Python to the structs of the library."""

import math
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._native import ffi, lib, new, utf8
from .case import Case
from .errors import GangError, InvalidArgument, OutOfRange

KNOW = {
    "limit": lib.GANG_SIM_KNOW_LIMIT,
    "run": lib.GANG_SIM_KNOW_RUN,
    "predicted": lib.GANG_SIM_KNOW_PREDICTED,
}
SAME_INSTANT = {"together": lib.GANG_SIM_TOGETHER, "one-by-one": lib.GANG_SIM_ONE_BY_ONE}
POLICIES = {
    "queues": lib.GANG_SIM_POLICY_QUEUES,
    "fifo": lib.GANG_SIM_POLICY_FIFO,
    "sjf": lib.GANG_SIM_POLICY_SJF,
    "srtf": lib.GANG_SIM_POLICY_SRTF,
    "las": lib.GANG_SIM_POLICY_LAS,
    "las-started": lib.GANG_SIM_POLICY_LAS_STARTED,
}
PLACE = {"cluster": lib.GANG_SIM_PLACE_CLUSTER, "consolidated": lib.GANG_SIM_PLACE_CONSOLIDATED}
RECORD = {"allocations": lib.GANG_SIM_RECORD_ALLOCATIONS, "timeline": lib.GANG_SIM_RECORD_TIMELINE}
LOSS = {
    "count": lib.GANG_LOSS_COUNT,
    "fail": lib.GANG_LOSS_FAIL,
    "restart": lib.GANG_LOSS_RESTART,
    "refill": lib.GANG_LOSS_REFILL,
    "shrink": lib.GANG_LOSS_SHRINK,
}

#: Seconds, and the member of gang_sim_opts that has them as ns.
_TIMES = {
    "start_s": "start_ns",
    "tick_s": "tick_ns",
    "pass_s": "pass_ns",
    "las_split_gpu_s": "las_split_ns",
    "restart_s": "restart_ns",
    "stop_s": "stop_ns",
    "checkpoint_s": "checkpoint_ns",
    "node_mtbf_s": "node_mtbf_ns",
    "node_repair_s": "node_repair_ns",
    "task_mtbf_s": "task_mtbf_ns",
    "sample_s": "sample_ns",
    "linger_s": "linger_ns",
}
_WORDS = {"know": KNOW, "same_instant": SAME_INSTANT, "loss": LOSS, "place": PLACE}
_FLAGS = ("recorded_ends", "no_limits")
_NUMBERS = ("max_restarts",)

#: Of the scheduler itself: members of gang_sched_opts, times in seconds.
_SCHED_NUMBERS = (
    "usage_weight_milli",
    "max_preempted_tasks",
    "max_moves",
    "saturation_milli",
)
_SCHED_FLAGS = ("observe_only", "no_preemption", "scale_guarantees")

#: Names of all options of a simulation.
NAMES = frozenset([*_TIMES, *_WORDS, *_FLAGS, *_NUMBERS, "elastic", "preemptible", "refused_s", *_SCHED_NUMBERS, *_SCHED_FLAGS])


def ns(seconds: float, name: str) -> int:
    """Seconds as ns, exactly where they are whole.

    Raises:
        OutOfRange: more than 2^63 ns, or not finite. InvalidArgument: no number.
    """
    if isinstance(seconds, bool) or not hasattr(seconds, "__float__"):
        raise InvalidArgument("%s: %r is no number" % (name, seconds), path=name)
    if not math.isfinite(seconds):
        raise OutOfRange("%s: must be finite" % name, path=name)
    found = int(seconds) * 10**9 if seconds == int(seconds) else round(seconds * 1e9)
    if abs(found) >= 2**63:
        raise OutOfRange("%s: %g s is too much" % (name, seconds), path=name)
    return int(found)


def runs(run_s: Union[Sequence[float], Mapping[str, float]], groups: Sequence[Mapping[str, Any]]) -> List[int]:
    """ns of each group, from seconds in their order or by their names.

    Raises:
        InvalidArgument: not one for each of them. OutOfRange.
    """
    if not isinstance(run_s, Mapping):
        return [ns(value, "run_s[%d]" % i) for i, value in enumerate(run_s)]
    names = [str(group.get("name", "")) for group in groups]
    for name in [*run_s, *names]:
        if name not in run_s or names.count(name) != 1:
            raise InvalidArgument("run_s: one group '%s', and its run time, are wanted" % name, path="run_s")
    return [ns(run_s[name], "run_s['%s']" % name) for name in names]


def word(table: Mapping[str, int], value: Any, name: str) -> int:
    """The number of a word.

    Raises:
        InvalidArgument: it is none of the table.
    """
    if not isinstance(value, str) or value not in table:
        raise InvalidArgument("%s is one of %s, not %r" % (name, ", ".join(table), value), path=name)
    return table[value]


def whole(value: Any, name: str) -> int:
    """A whole number that the library takes.

    Raises:
        InvalidArgument: it is none. OutOfRange.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgument("%s: %r is no whole number" % (name, value), path=name)
    found = int(value)
    if abs(found) >= 2**63:
        raise OutOfRange("%s: %d is too much" % (name, found), path=name)
    return found


def fill(
    options: Mapping[str, Any],
    tree: Optional[Case],
    default_queue: Optional[str],
    seed: int,
    policy: int,
    record: Union[str, Sequence[str]],
    keep: List[Any],
) -> Any:
    """A ``struct gang_sim_opts *``.

    Args:
        options: those of :data:`NAMES` that are given.
        tree: the queues as the library has read them.
        keep: what must live as long as the struct.

    Raises:
        InvalidArgument, OutOfRange: with the name of the option as path.
    """
    opts, sched = new("gang_sim_opts"), new("gang_sched_opts")
    sched.max_moves = -1  # nobody is moved unless that is asked for, as in C without gang_sched_opts
    unknown = sorted(set(options) - NAMES)
    if unknown:
        raise InvalidArgument("there is no option '%s'" % unknown[0], path=unknown[0])
    for name, value in options.items():
        if value is None:
            continue
        if name == "checkpoint_s" and value == math.inf:
            opts.checkpoint_ns = -1
        elif name in _TIMES:
            setattr(opts, _TIMES[name], ns(value, name))
        elif name in _WORDS:
            setattr(opts, name, word(_WORDS[name], value, name))
        elif name in _FLAGS:
            setattr(opts, name, 1 if value else 0)
        elif name in _NUMBERS:
            setattr(opts, name, whole(value, name))
        elif name == "elastic":
            opts.elastic_milli = _elastic(value)
        elif name == "preemptible":
            opts.preemptible = 1 if value else -1
        elif name == "refused_s":
            sched.refused_ns = _at_least(0, ns(value, name), name)
        elif name in _SCHED_NUMBERS:
            setattr(sched, name, _at_least(-1 if name == "max_moves" else 0, whole(value, name), name))
        else:
            setattr(sched, name, 1 if value else 0)
    opts.seed = whole(seed, "seed") % 2**64
    opts.policy = policy
    if not hasattr(record, "__iter__"):
        raise InvalidArgument("record: %r is no list of %s" % (record, ", ".join(RECORD)), path="record")
    for what in [record] if isinstance(record, str) else record:
        opts.record |= word(RECORD, what, "record")
    opts.sched = sched
    keep.append(sched)
    if tree is not None:
        _queues(opts, sched, tree)
        keep.append(tree)
    if default_queue is not None:
        keep.append(ffi.new("char[]", utf8(default_queue, "default_queue")))
        opts.default_queue = keep[-1]
        sched.default_queue = keep[-1]
    return opts


def _at_least(least: int, value: int, name: str) -> int:
    """The library says of these only that one is negative."""
    if value < least:
        raise OutOfRange("%s: must be %d or more" % (name, least), path=name)
    return value


def said(error: GangError, options: Mapping[str, Any]) -> GangError:
    """The same error about an option as it was given: in seconds."""
    name = {member: name for name, member in _TIMES.items()}.get(error.path, "")
    if name not in options:
        return error
    return type(error)("%s: %r is out of range" % (name, options[name]), error.code, path=name)


def _elastic(value: Any) -> int:
    """The exponent in thousandths; 0 is said as -1."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise InvalidArgument("elastic: %r is no number" % (value,), path="elastic")
    if not 0 <= value <= 1000:
        raise OutOfRange("elastic: must be from 0 to 1000", path="elastic")
    return round(value * 1000) or -1


def _queues(opts: Any, sched: Any, tree: Case) -> None:
    case = tree.c
    opts.queues, opts.queue_count = case.queues, case.queue_count
    if case.default_queue != ffi.NULL:
        opts.default_queue = case.default_queue
        sched.default_queue = case.default_queue
    sched.rules, sched.rule_count = case.rules, case.rule_count
    sched.excluded_kinds, sched.excluded_kind_count = case.excluded_kinds, case.excluded_kind_count
    sched.half_life_ns = case.half_life_ns


#: A policy: its name, or a function that scores.
Policy = Union[str, Callable[..., Any], None]


def policy_number(policy: Policy) -> int:
    """What gang_sim_opts.policy is; a function is used beside the order of the queues."""
    if policy is None or callable(policy):
        return int(lib.GANG_SIM_POLICY_QUEUES)
    return word(POLICIES, policy, "policy")


def as_kwargs(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Those that are said, for a representation."""
    return {name: value for name, value in options.items() if value is not None}
