# SPDX-License-Identifier: Apache-2.0
"""Random programs against the whole interface: they only raise documented exceptions, and never
crash.

The library checks its records at the end of each program. A crash ends pytest itself, and leaves
the program in hypothesis' database. Every other failure prints the code that repeats it.
"""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gangsched as gs

#: Documented exceptions. Any other exception is a defect.
ALLOWED = (
    gs.GangError, TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError,
    OSError,
)

NAMES = st.sampled_from(
    ["n0", "n1", "n2", "x", "", "nobody", "é", "a\0b", "\ud800", None, 0, -1, 2**64, 2**63, 1.5]
)
NUMBERS = st.one_of(
    st.integers(-3, 70),
    st.sampled_from(
        [
            0.25,
            0.5,
            1e9,
            -1.0,
            2**31,
            2**53,
            2**63,
            -(2**63),
            1e308,
            float("nan"),
            float("inf"),
            True,
            None,
            "3",
        ]
    ),
)
WORDS = st.sampled_from(
    [
        "up", "down", "draining", "gone", "rack", "node", "island", "pack", "fgd", "host", "gpu",
        "", "q", "a",
    ]
)
PLAIN = st.one_of(
    NAMES, NUMBERS, WORDS, st.lists(NUMBERS, max_size=3), st.just({}), st.binary(max_size=3)
)

REQUESTS = st.dictionaries(
    st.sampled_from(
        [
            "count", "min", "gpu", "cpu", "mem_mib", "same", "prefer", "policy", "exclusive",
            "where", "numa", "spread", "max_skew", "subgroup_size", "gpu_devices", "labels",
            "affinity", "colour", "tasks",
        ]
    ),
    PLAIN,
    max_size=5,
)
SANE = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(1, 20),
        "min": st.integers(0, 4),
        "gpu": st.sampled_from([0, 0.3, 1, 2, 8]),
        "cpu": st.integers(0, 16),
        "same": st.sampled_from(["rack", "node", "island"]),
        "policy": st.sampled_from(["pack", "spread", "topology", "fgd", "headroom"]),
        "exclusive": st.booleans(),
    },
)


def attempt(function, *arguments, **keywords):
    try:
        return function(*arguments, **keywords)
    except ALLOWED:
        return None


class ClusterProgram:
    """A cluster, and steps that a random program can make with it."""

    def __init__(self):
        self.cluster = gs.Cluster.uniform(3, gpus=8, racks=2, island=4)
        self.held, self.snapshots = [], []

    def step(self, kind, request, name, number, word):
        made = self.cluster
        held = self.held[number % len(self.held)] if self.held and isinstance(number, int) else None
        snapshot = self.snapshots[-1] if self.snapshots else None
        actions = {
            0: lambda: self.held.append(made.allocate(request)),
            1: lambda: held and held.release(),
            2: lambda: held and held.grow(number),
            3: lambda: held and held.shrink([number]),
            4: lambda: made.add({"name": name, "gpus": number, "topology": {"rack": word}}),
            5: lambda: made.remove(name),
            6: lambda: made.set_state(name, word),
            7: lambda: made.change(name, cpus=number),
            8: lambda: self.snapshots.append(made.snapshot()),
            9: lambda: snapshot and snapshot.place(request),
            10: lambda: snapshot and held and snapshot.release(held),
            11: lambda: (made.explain(request), made.fits(request), made.fits_ever(request)),
            12: lambda: (
                made.table(),
                str(made),
                made._repr_html_(),
                made.to_dict(),
                held and held.tasks,
            ),
            13: lambda: made.set_gpu_healthy(name, number, bool(number)),
            14: lambda: made.allocate(request, score=lambda group, rows: [number] * len(rows)),
            15: lambda: held and (held.hosts(word), held.explain(number), repr(held)),
            16: lambda: made.set_partition(name, word),
            17: lambda: snapshot and (snapshot.close() if number == 3 else snapshot.totals()),
            18: lambda: copy.copy(made.nodes).sum(numeric_only=True),
            19: lambda: made.close() if number == 7 else None,
        }
        attempt(actions[kind % len(actions)])

    def end(self):
        if not self.cluster.closed:
            self.cluster.check()
            for held in self.held:
                attempt(held.release)
            self.cluster.check()
            self.cluster.close()
        for snapshot in self.snapshots:
            snapshot.close()


@given(
    st.lists(
        st.tuples(st.integers(0, 19), st.one_of(SANE, SANE, REQUESTS), NAMES, NUMBERS, WORDS),
        max_size=30,
    )
)
def test_random_programs_on_clusters(program):
    world = ClusterProgram()
    for step in program:
        world.step(*step)
    world.end()


@given(
    st.recursive(
        PLAIN,
        lambda inner: st.dictionaries(
            st.sampled_from(
                [
                    "a", "b", "queues", "limit", "gpu", "name", "parent", "weight", "order",
                    "guaranteed", "cells", "child", "users",
                ]
            ),
            inner,
            max_size=4,
        )
        | st.lists(inner, max_size=3),
        max_leaves=12,
    )
)
def test_random_values_as_queues_clusters_traces_and_requests(value):
    for make in (gs.Queues, gs.Cluster.from_json, gs.Trace, gs.Request, gs.Trace.from_text):
        made = attempt(make, value)
        if isinstance(made, gs.Queues):
            assert gs.Queues(made.to_dict()).to_dict() == made.to_dict()
            str(made), made._repr_html_()
        if isinstance(made, gs.Request):
            with gs.Cluster.uniform(1) as cluster:
                attempt(cluster.allocate, made)


JOBS = st.lists(
    st.fixed_dictionaries(
        {"submit_s": st.integers(0, 300), "run_s": st.integers(0, 100)},
        optional={
            "gpu": st.integers(0, 9),
            "count": st.integers(1, 4),
            "min": st.integers(1, 4),
            "time_limit_s": st.integers(0, 120),
            "priority": st.integers(-2, 2),
            "queue": st.sampled_from(["a", "b", "c"]),
            "user": st.sampled_from(["u", "v"]),
        },
    ),
    max_size=25,
)
TREES = st.sampled_from(
    [
        None,
        {"a": {}, "b": {"limit": {"gpu": 4}}, "c": {"guaranteed": {"gpu": 8}}},
        {
            "a": {"backfill": "easy"},
            "b": {"order": "shortest", "preempt_mode": "suspend", "grace_s": 5},
            "c": {"max_running": 1},
        },
        {
            "a": {"block": "strict", "order": "fifo"},
            "b": {"order": "fair"},
            "c": {"order": "least-served"},
        },
    ]
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "policy": st.sampled_from(["fifo", "sjf", "srtf", "las", "las-started", "queues"]),
        "runtime_estimates": st.sampled_from(["limit", "run", "predicted"]),
        "tick_s": st.sampled_from([0, 7]),
        "pass_s": st.sampled_from([0, 11]),
        "restart_s": st.sampled_from([0, 3]),
        "stop_s": st.sampled_from([0, 2]),
        "checkpoint_s": st.sampled_from([0, 10, float("inf")]),
        "node_mtbf_s": st.sampled_from([0, 200]),
        "task_mtbf_s": st.sampled_from([0, 100]),
        "loss": st.sampled_from(["fail", "restart", "refill", "shrink", "count"]),
        "place": st.sampled_from(["cluster", "consolidated"]),
        "same_instant": st.sampled_from(["together", "one-by-one"]),
        "preemptible": st.sampled_from([None, True, False]),
        "elastic": st.sampled_from([0, 0.7, 1]),
        "seed": st.integers(0, 3),
        "max_restarts": st.integers(0, 3),
    },
)


@given(
    JOBS, TREES, OPTIONS, st.lists(st.tuples(st.integers(0, 14), SANE, NUMBERS, WORDS), max_size=12)
)
def test_random_programs_on_simulations(jobs, tree, options, program):
    for job in jobs:
        job["min"] = min(job.get("min", 1), job.get("count", 1))
    with gs.Cluster.uniform(2, gpus=4) as cluster, gs.Trace(jobs) as trace:
        simulation = attempt(
            gs.Simulation, cluster, trace, tree, default_queue="a" if tree else None, **options
        )
        if simulation is None:
            return
        with simulation:
            for kind, request, number, word in program:
                actions = {
                    0: lambda: simulation.run(until_s=number),
                    1: lambda: simulation.run(events=number),
                    2: lambda: simulation.submit(
                        request, run_s=number, queue=word if tree else None
                    ),
                    3: lambda: simulation.cancel(number),
                    4: lambda: simulation.hold(number),
                    5: lambda: simulation.release(number),
                    6: lambda: simulation.requeue(number),
                    7: lambda: simulation.set_target(number, 1),
                    8: lambda: simulation.set_time_limit(0, number),
                    9: lambda: simulation.set_node("n1", word, number),
                    10: lambda: (
                        simulation.explain(number),
                        simulation.job(number),
                        str(simulation.queues),
                    ),
                    11: lambda: simulation.result().jobs,
                    12: lambda: simulation.add(trace, number),
                    13: lambda: simulation.set_priority(number, 3),
                    14: lambda: simulation.summary(warm_up_s=number),
                }
                attempt(actions[kind])
                simulation.cluster.check()
            simulation.run(events=3000)
            result = simulation.result()
            simulation.cluster.check()
            assert len(result.jobs) == simulation.info.jobs
            if simulation.info.events < 2000:
                with simulation.fork() as other:
                    assert other.info == simulation.info and other.result().jobs.equals(result.jobs)
                    attempt(lambda: (simulation.run(events=200), other.run(events=200)))
                    assert other.info == simulation.info and other.result().jobs.equals(
                        simulation.result().jobs
                    )
                    other.cluster.check()


WHAT = st.one_of(
    st.fixed_dictionaries({"nodes": st.sampled_from([["n0"], ["n1"], ["n0", "n1"]])}),
    st.fixed_dictionaries(
        {"count": st.integers(1, 2), "gpu": st.integers(1, 4)},
        optional={"gang_size": st.just(1), "exclusive": st.booleans()},
    ),
    st.fixed_dictionaries({"level": st.just("rack"), "domain_count": st.just(1)}),
    st.fixed_dictionaries(
        {
            "combine": st.sampled_from(["all", "any", "order", "order-no-gap"]),
            "stages": st.just(
                [{"nodes": ["n0"]}, {"duration_s": 9, "tasks": [{"count": 1, "gpu": 2}]}]
            ),
        }
    ),
)
WHEN = st.fixed_dictionaries(
    {"duration_s": st.integers(1, 60)},
    optional={
        "start_s": st.integers(0, 400),
        "arrival_s": st.integers(0, 300),
        "deadline_s": st.integers(200, 900),
        "purge_s": st.integers(0, 30),
        "prefer": st.sampled_from(["earliest", "latest", "cheapest"]),
        "period_s": st.sampled_from([100, 150]),
        "repetitions": st.integers(0, 3),
        "notice_s": st.integers(0, 9),
    },
)
WHOM = st.fixed_dictionaries(
    {},
    optional={
        "queue": st.just("a"),
        "users": st.just(["u"]),
        "owner": st.sampled_from(["u", "v"]),
        "job": st.integers(0, 4),
        "flags": st.lists(
            st.sampled_from(["maintenance", "overlap", "ignore-jobs", "flex", "magnetic"]),
            unique=True,
            max_size=2,
        ),
    },
)
RESERVATIONS = st.tuples(WHAT, WHEN, WHOM).map(
    lambda parts: {key: value for part in parts for key, value in part.items()}
)
WILD = st.dictionaries(
    st.sampled_from(
        [
            "name", "start_s", "duration_s", "nodes", "stages", "tasks", "level", "flags", "job",
            "queue", "combine", "count", "gpu", "colour", "users", "prefer", "deadline_s",
        ]
    ),
    PLAIN,
    max_size=4,
)
CHANGES = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "limit": st.sampled_from([{"gpu": 4}, {"gpu": 8}, None]),
            "weight": st.sampled_from([1, 2.5, None]),
            "guaranteed": st.sampled_from([{"gpu": 2}, None]),
            "order": st.sampled_from(["fifo", "shortest", "fair"]),
            "backfill": st.sampled_from(["easy", "conservative", "none"]),
            "state": st.sampled_from(["open", "draining", "closed"]),
        },
    ),
    st.dictionaries(
        st.sampled_from(
            ["limit", "weight", "parent", "state", "guaranteed", "order", "colour", "queues"]
        ),
        PLAIN,
        max_size=3,
    ),
)


def forecast(simulation, reservation, request, change, number, word):
    """A copy that is changed and run ahead, twice."""
    which = number % 4 if isinstance(number, int) else 0
    with simulation.forecast(
        horizon_s=1000,
        max_events=3000,
        samples=1 + which,
        run_time=None if word == "up" else lambda job, sample, draw: 100 * draw,
    ) as ahead:
        for step in (
            lambda: ahead.reserve(reservation, name="ahead"),
            lambda: ahead.submit(request, queue="a" if simulation.tree else None, time_limit_s=30),
            lambda: ahead.change_queue("a", **change),
            lambda: ahead.add_nodes([{"name": "new", "gpus": 4, "cpus": 8}]),
            lambda: ahead.drain("n0"),
            lambda: ahead.cancel(number),
            lambda: ahead.set_queues({"a": {}, "b": {}, "c": {}}),
        )[which:]:
            attempt(step)
        rows = attempt(ahead.run)
        if rows is not None:
            assert rows == ahead.run() and len(rows.table) == len(rows)
            for row in rows:
                assert (row.start_s is None) == (row.what != "start") and (
                    row.start_s is None or row.start_s >= simulation.now_s
                )
        len(ahead.plan().table), ahead.reservations, ahead.queues
        ahead.cluster.check()


def audit(simulation):
    simulation.cluster.check()
    with simulation._scheduler() as sched:
        assert gs.lib.gang_sched_check(sched, gs.ffi.NULL) == 0


@given(
    JOBS,
    TREES,
    st.lists(
        st.tuples(
            st.sampled_from([0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13]),
            st.integers(0, 2),
            st.one_of(RESERVATIONS, RESERVATIONS, RESERVATIONS, WILD),
            SANE,
            CHANGES,
            NUMBERS,
            WORDS,
        ),
        min_size=3,
        max_size=16,
    ),
)
def test_random_programs_of_reservations_forecasts_and_queues(jobs, tree, program):
    for job in jobs:
        job["min"] = min(job.get("min", 1), job.get("count", 1))
        job.setdefault("time_limit_s", 90)
    with gs.Cluster.uniform(2, gpus=4, racks=1) as cluster, gs.Trace(jobs) as trace:
        simulation = gs.Simulation(cluster, trace, tree, default_queue="a" if tree else None)
        with simulation:
            for i, (kind, which, wild, request, change, number, word) in enumerate(program):
                name = "r%d" % which
                actions = {
                    0: lambda: simulation.run(until_s=simulation.now_s + 20),
                    1: lambda: simulation.run(events=number),
                    2: lambda: simulation.reserve({"name": name, "duration_s": 30, **wild}),
                    3: lambda: simulation.submit(
                        gpu=1 + which, run_s=20, time_limit_s=30, queue="a" if tree else None
                    ),
                    4: lambda: simulation.change_reservation(name, **wild),
                    5: lambda: simulation.cancel_reservation(name),
                    6: lambda: (
                        len(simulation.reservations.table),
                        simulation.plan().table,
                        simulation.occurrences(name),
                    ),
                    7: lambda: simulation.limit_reservations(
                        word, maximum={"gpu": number}, window_s=number
                    ),
                    8: lambda: simulation.submit(
                        request,
                        run_s=20,
                        time_limit_s=25,
                        queue="a" if tree else "default",
                        reservation=name,
                    ),
                    9: lambda: simulation.change_queue(
                        "abc"[which] if tree else "default", **change
                    ),
                    10: lambda: simulation.set_queues(
                        {"a": {}, "b": change, "c": {"weight": number}}
                    ),
                    11: lambda: forecast(simulation, wild, request, change, number, word),
                    12: lambda: simulation.set_node("n1", "down" if i % 2 else "up"),
                    13: lambda: simulation.cluster.set_mix([request] if i % 2 else wild),
                }
                attempt(actions[kind])
                audit(simulation)
            simulation.run(events=2000)
            audit(simulation)
            if simulation.info.events < 1500:
                with simulation.fork() as other:
                    assert (
                        other.info[1:] == simulation.info[1:]
                        and other.reservations == simulation.reservations
                    )
                    assert other.plan() == simulation.plan() and other.tree == simulation.tree


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                sorted(name for name in dir(gs.lib) if name.endswith(("_name", "_strerror")))
            ),
            st.integers(-(2**31), 2**31 - 1),
        ),
        max_size=10,
    )
)
def test_names_of_any_number(calls):
    for name, number in calls:
        function = getattr(gs.lib, name)
        if (
            "trace_format" in name
            or "why" in name
            or "policy" in name
            or "result" in name
            or "strerror" in name
        ):
            found = function(number)
            assert found == gs.ffi.NULL or isinstance(gs.ffi.string(found), bytes)


@pytest.mark.parametrize("name", ["Cluster", "Simulation", "Trace", "Snapshot", "Forecast"])
def test_objects_that_were_never_made(name):
    """``__new__`` alone makes an empty object: its use raises, and does not crash."""
    kind = getattr(gs, name)
    thing = kind.__new__(kind)
    for member in ("close", "_held", "__len__"):
        with pytest.raises(AttributeError):
            value = getattr(thing, member)()
            value.__enter__()
