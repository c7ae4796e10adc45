# SPDX-License-Identifier: Apache-2.0
"""The options of a simulation, from their names in Python to the structs of the library."""

import math
from typing import (
    Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, Union,
)

from .._lazy import deprecated
from .._native import ffi, lib, new, utf8
from ..case import Case
from ..enums import Know, LossPolicy, Place, PolicyName, Record, SameInstant, Word
from ..errors import GangError, InvalidArgument, OutOfRange
from ..values import ns, whole
from ..closest import unknown

#: Options in seconds, and the member of gang_sim_opts in ns.
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
    "teardown_s": "linger_ns",
}
_WORDS: Mapping[str, Type[Word]] = {
    "runtime_estimates": Know, "same_instant": SameInstant, "loss": LossPolicy, "place": Place,
}
#: Options whose member of the struct has another name.
_MEMBERS = {"runtime_estimates": "know"}
_FLAGS = ("recorded_ends",)
_NUMBERS = ("max_restarts",)

#: Options of the scheduler: members of gang_sched_opts.
_SCHED_NUMBERS = (
    "max_preempted_tasks",
    "max_moves",
)
#: The same that are ratios, in C integers with GANG_WHOLE for 1.
_SCHED_RATIOS = ("usage_weight", "saturation")
_SCHED_FLAGS = ("observe_only", "no_preemption", "scale_guarantees")

#: The names of all options of a simulation.
NAMES = frozenset(
    [
        *_TIMES,
        *_WORDS,
        *_FLAGS,
        *_NUMBERS,
        "enforce_time_limits",
        "elastic",
        "preemptible",
        "refused_s",
        "preempt_cooldown_s",
        *_SCHED_NUMBERS,
        *_SCHED_RATIOS,
        *_SCHED_FLAGS,
    ]
)


#: Other arguments of a simulation, which an unknown option may have meant.
_OF_SIMULATIONS = (
    "cluster", "trace", "queues", "policy", "score_mode", "seed", "record", "events", "on_event",
    "speed", "restart", "shift_s", "default_queue", "stream", "mix", "until_s", "progress", "epoch",
)

#: Options of version 0.1 and their names now. The parts keep renaming tools away.
_OLD_NAMES = {
    "max_" "evictions": "max_preempted_tasks",
    "usage_weight_" "milli": "usage_weight",
    "saturation_" "milli": "saturation",
    "know": "runtime_estimates",
    "linger_s": "teardown_s",
    "no_limits": "enforce_time_limits",
}
#: Old options that say the opposite of their new ones.
_INVERTED = frozenset(["no_limits"])


class General(NamedTuple):
    """Arguments of a simulation that go into the same struct as its options."""

    default_queue: Optional[str]
    seed: int
    policy: int  #: number of the policy in the library
    record: Union[str, Sequence[str]]


def fill(
    options: Mapping[str, Any], tree: Optional[Case], general: General, keep: List[Any]
) -> Any:
    """A ``struct gang_sim_opts *``.

    Parameters
    ----------
    options : mapping
        Options by name, see :data:`NAMES`. None: not given.
    tree : Case, optional
        The queues as the library has read them.
    keep : list
        Gets the objects that must live as long as the struct.

    Raises
    ------
    InvalidArgument, OutOfRange
        A wrong option, with its name as path.
    """
    opts, sched = new("gang_sim_opts"), new("gang_sched_opts")
    # the scheduler moves jobs only on request, as in C without gang_sched_opts
    sched.max_moves = -1
    for old in sorted(set(options) & set(_OLD_NAMES)):
        deprecated("the option " + old, _OLD_NAMES[old])
    options = dict(_renamed(name, value) for name, value in options.items())
    wrong = sorted(set(options) - NAMES)
    if wrong:
        raise InvalidArgument(
            unknown("option", wrong[0], [*sorted(NAMES), *_OF_SIMULATIONS]), path=wrong[0]
        )
    for name, value in options.items():
        if value is not None:
            _set(opts, sched, name, value)
    opts.seed = whole(general.seed, "seed") % 2**64
    opts.policy = general.policy
    opts.record = _record(general.record)
    opts.sched = sched
    keep.append(sched)
    if tree is not None:
        _queues(opts, sched, tree)
        keep.append(tree)
    if general.default_queue is not None:
        keep.append(ffi.new("char[]", utf8(general.default_queue, "default_queue")))
        opts.default_queue = keep[-1]
        sched.default_queue = keep[-1]
    return opts


def _renamed(name: str, value: Any) -> Tuple[str, Any]:
    """An option by its name now; thousandths of version 0.1 as a ratio."""
    if name in _INVERTED and value is not None:
        value = not value
    if name in _OLD_NAMES and name.endswith("_" "milli") and value is not None:
        value = whole(value, name) / 1000
    return _OLD_NAMES.get(name, name), value


def _set(opts: Any, sched: Any, name: str, value: Any) -> None:
    if name == "checkpoint_s" and value == math.inf:
        opts.checkpoint_ns = -1
    elif name in _TIMES:
        setattr(opts, _TIMES[name], ns(value, name))
    elif name == "loss":
        number = LossPolicy.number_of(value, name)
        opts.loss = lib.GANG_SIM_LOSS_COUNT if number == lib.GANG_LOSS_COUNT else number
    elif name in _WORDS:
        setattr(opts, _MEMBERS.get(name, name), _WORDS[name].number_of(value, name))
    elif name in _FLAGS:
        setattr(opts, name, 1 if value else 0)
    elif name in _NUMBERS:
        setattr(opts, name, whole(value, name))
    elif name == "enforce_time_limits":
        opts.no_limits = 0 if value else 1
    elif name == "elastic":
        opts.elastic = _elastic(value)
    elif name == "preemptible":
        opts.preemptible = 1 if value else -1
    elif name == "refused_s":
        sched.refused_ns = _at_least(0, ns(value, name), name)
    elif name == "preempt_cooldown_s":
        sched.preempt_cooldown_ns = _at_least(0, ns(value, name), name) or -1
    elif name in _SCHED_RATIOS:
        setattr(sched, name, _ratio(value, name, 10**6))
    elif name in _SCHED_NUMBERS:
        setattr(sched, name, _at_least(-1 if name == "max_moves" else 0, whole(value, name), name))
    else:
        setattr(sched, name, 1 if value else 0)


def _record(record: Union[str, Sequence[str]]) -> int:
    """The bits of the tables to record."""
    if not hasattr(record, "__iter__"):
        raise InvalidArgument(
            "record: expected a list of %s, not %r" % (" or ".join(Record.words()), record),
            path="record",
        )
    bits = 0
    for table in [record] if isinstance(record, str) else record:
        bits |= Record.number_of(table, "record")
    return bits


def _at_least(least: int, value: int, name: str) -> int:
    """``value``, if it is in range. The library itself would not name the option."""
    if value < least:
        raise OutOfRange("%s: must be %d or more" % (name, least), path=name)
    return value


def in_seconds(error: GangError, options: Mapping[str, Any]) -> GangError:
    """The same error with the option in seconds."""
    name = {member: name for name, member in _TIMES.items()}.get(error.path, "")
    if name not in options:
        return error
    return type(error)("%s: %r is out of range" % (name, options[name]), error.code, path=name)


def _elastic(value: Any) -> int:
    """The exponent. The library takes -1 for 0, because 0 is its default."""
    return _ratio(value, "elastic", 1000) or -1


def _ratio(value: Any, name: str, most: int) -> int:
    """A number from 0 to ``most`` as the library has it, in millionths."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise InvalidArgument("%s: expected a number, not %r" % (name, value), path=name)
    if not 0 <= value <= most:
        raise OutOfRange("%s: must be from 0 to %d" % (name, most), path=name)
    return round(float(value) * int(lib.GANG_WHOLE))


def _queues(opts: Any, sched: Any, tree: Case) -> None:
    case = tree.c
    opts.queues, opts.queue_count = case.queues, case.queue_count
    if case.default_queue != ffi.NULL:
        opts.default_queue = case.default_queue
        sched.default_queue = case.default_queue
    sched.rules, sched.rule_count = case.rules, case.rule_count
    sched.excluded_kinds, sched.excluded_kind_count = case.excluded_kinds, case.excluded_kind_count
    sched.half_life_ns = case.half_life_ns


#: A policy: its name, or a function that scores jobs.
Policy = Union[str, Callable[..., Any], None]


def policy_number(policy: Policy) -> int:
    """The number of a policy for ``gang_sim_opts.policy``.

    A function scores on top of the order of the queues.
    """
    if policy is None or callable(policy):
        return PolicyName.QUEUES.number
    return PolicyName.number_of(policy, "policy")
