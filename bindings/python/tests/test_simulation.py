# SPDX-License-Identifier: Apache-2.0
"""Simulations: stopped, read, changed, continued; Python functions; Ctrl-C; threads and forks."""

import _thread
import gc
import itertools
import os
import pickle
import signal
import threading
import time
import types

import numpy
import pytest

import gangsched as gs
from gangsched.sim import host, running
from gangsched.sim.recipe import Recipe


def jobs(count, **fields):
    """``count`` jobs, one every ten seconds, each of a minute."""
    return gs.Trace(
        [{"submit_s": 10 * i, "run_s": 60, "count": 1, "gpu": 4, **fields} for i in range(count)]
    )


@pytest.fixture
def cluster():
    with gs.Cluster.uniform(nodes=2, gpus=8) as made:
        yield made


def done(simulation):
    simulation.run()
    return simulation.summary()


def test_a_simulation_in_steps_equals_one_in_one_run(cluster):
    with gs.Simulation(cluster, jobs(40)) as whole, gs.Simulation(cluster, jobs(40)) as slices:
        expected = done(whole)
        assert slices.run(until_s=100)[:2] == ("until", 100.0)
        assert slices.run(events=5).stop_reason == "events"
        assert slices.run(until_s=200.5).now_s == 200.5
        slices.run(seconds=0.01)
        assert done(slices) == expected and slices.info.ended == 40 == len(slices)
        assert slices.run().stop_reason == "done"


def test_on_event_sees_each_event(cluster):
    seen = []
    with gs.Simulation(cluster, jobs(6), on_event=seen.append, events=True) as simulation:
        simulation.run()
        assert simulation.events() == seen and simulation.events() == []
    assert [event.what for event in seen[:2]] == ["submitted", "started"] and seen[1].job == 0
    assert [event.end for event in seen if event.what == "ended"] == ["success"] * 6
    with gs.Simulation(cluster) as silent, pytest.raises(gs.InvalidArgument):
        silent.events()


def test_a_job_has_a_state_and_an_explanation(cluster):
    with gs.Simulation(cluster, jobs(8)) as simulation:
        simulation.run(until_s=45)
        assert simulation.job(0)["state"] == "running" and simulation.job(0)["start_s"] == 0.0
        assert simulation.job(4)["state"] == "pending" and simulation.job(4)["start_s"] is None
        why = simulation.explain(4)
        assert (
            why["state"] == "pending"
            and why["reasons"][0]["reason"] == "capacity"
            and "gpu" in str(why)
        )
        assert str(simulation.explain(0)) == "it is running" and "not come" in str(
            simulation.explain(7)
        )
        assert "preemption" not in simulation.explain(0)
        simulation.run()
        assert str(simulation.explain(4)) == "it has ended: success"
        assert simulation.names() == [str(i) for i in range(8)] and simulation.find("3") == 3
        for wrong in ("nobody", 8, -1):
            with pytest.raises(gs.NotFound):
                simulation.job(wrong)


def test_jobs_and_nodes_are_changed_between_runs(cluster):
    with gs.Simulation(cluster, jobs(4)) as simulation:
        simulation.run(until_s=25)
        extra = simulation.submit(count=2, gpu=2, run_s=30, name="extra")
        assert extra == 4 and simulation.job("extra")["tasks"] == 2
        simulation.cancel(0)
        simulation.set_node("n1", "down", at_s=40)
        simulation.set_node("n1", "up", at_s=300)
        late = simulation.submit(count=2, gpu=8, run_s=5)
        simulation.hold(late)
        simulation.run(until_s=200)
        assert (
            simulation.job(0)["end"] == "cancelled" and simulation.job("extra")["end"] == "success"
        )
        assert (
            simulation.cluster.node("n1")["state"] == "down"
            and simulation.job(late)["state"] == "pending"
        )
        simulation.run(until_s=400)
        assert simulation.explain(late)["category"] == "held"
        simulation.release(late)
        simulation.run()
        assert simulation.job(late)["end"] == "success"
        with pytest.raises(gs.NeverFits):
            simulation.submit(gpu=9, run_s=1)
        with pytest.raises(gs.OutOfRange):
            simulation.submit(gpu=1, run_s=-1)
        with pytest.raises(gs.NotFound):
            simulation.set_node("n7", "down")


def test_commands_reach_the_scheduler(cluster):
    long = jobs(3, run_s=1000)
    with gs.Simulation(cluster, long) as simulation:
        simulation.run(until_s=100)
        simulation.set_priority(0, 5)
        simulation.set_time_limit(1, 200)
        simulation.requeue(2)
        simulation.set_target(0, -1)
        simulation.run()
        assert simulation.job(1)["end"] == "timeout" and simulation.job(2)["starts"] == 2
    with gs.Simulation(cluster, long) as simulation, pytest.raises(gs.NotFound):
        simulation.cancel(2)


def test_a_fork_continues_independently(cluster):
    with gs.Simulation(cluster, jobs(20), seed=3) as simulation:
        simulation.run(until_s=55)
        simulation.run(events=3)
        simulation.submit(gpu=1, run_s=500)
        simulation.cancel(2)
        simulation.run(until_s=100)
        with simulation.fork() as other, simulation.fork(policy="srtf") as another:
            assert other.info == simulation.info and other.result().jobs.equals(
                simulation.result().jobs
            )
            other.set_node("n0", "down")
            assert done(other)["makespan_s"] > done(simulation)["makespan_s"]
            another.run()
            assert another.info.ended == 21


def test_a_fork_calls_no_function_again(cluster):
    calls, seen = [], []

    def policy(view):
        calls.append(view.now_s)
        return view.submit_s

    with gs.Simulation(
        cluster, jobs(30), policy=gs.lowest_first(policy), on_event=seen.append, events=True, seed=5, task_mtbf_s=90
    ) as simulation:
        simulation.run(until_s=150)
        # a direct change, which replays do not repeat
        simulation.cluster.set_state("n1", "draining")
        simulation.cluster.add(name="more", cpus=64, gpus=8)
        simulation.requeue(simulation.submit(gpu=2, run_s=40, name="extra"))
        before = len(calls), len(seen)
        other = simulation.fork()
        assert (len(calls), len(seen)) == before and other.events() == simulation.events() != []
        assert (
            other.cluster.node("n1")["state"] == "draining"
            and "more" in other.cluster
            and other.find("extra") == 30
        )
        assert other.now_s == 150 and other.cluster is not simulation.cluster
        third = other.fork()
        simulation.cluster.resume("n1")
        assert other.cluster.node("n1")["state"] == "draining"
        other.cluster.resume("n1")
        third.cluster.resume("n1")
        finished = done(simulation)
        here = simulation.result()
    seen_before = len(seen)
    # the original is closed already
    assert done(other) == finished and len(seen) == 2 * seen_before - before[1]
    there = other.result()
    assert here.jobs.equals(there.jobs) and here.allocations.equals(there.allocations)
    assert here.timeline.equals(there.timeline)
    other.cluster.check()
    other.close()
    assert done(third) == finished
    third.close()


def test_a_fork_with_changes_begins_at_the_beginning(cluster):
    with gs.Simulation(cluster, jobs(20)) as simulation:
        simulation.run(until_s=100)
        simulation.cluster.set_state("n0", "draining")
        with simulation.fork() as copied, simulation.fork(seed=7) as again:
            assert (
                copied.cluster.node("n0")["state"] == "draining"
                and again.cluster.node("n0")["state"] == "up"
            )
            assert again.now_s == copied.now_s == 100


def test_changes_and_reservations_are_in_the_fork(cluster):
    tree = {"a": {"guaranteed": {"gpu": 8}}, "b": {"limit": {"gpu": 4}}}
    trace = gs.Trace(
        [
            {"submit_s": 5 * i, "run_s": 60, "gpu": 4, "queue": "ab"[i % 2], "time_limit_s": 60}
            for i in range(30)
        ]
    )
    with gs.Simulation(cluster, trace, tree) as simulation:
        simulation.run(until_s=50)
        simulation.reserve(name="demo", start_s=100, duration_s=50, nodes=["n1"])
        simulation.change_queue("b", limit={"gpu": 12})
        with simulation.fork() as other:
            other.change_reservation("demo", duration_s=70)
            simulation.change_reservation("demo", duration_s=70)
            assert other.queues["b"]["kinds"]["gpu"]["limit"] == 12 and list(other.tree) == list(
                simulation.tree
            )
            assert done(other) == done(simulation) and other.result().jobs.equals(
                simulation.result().jobs
            )


def test_a_fork_of_a_fork_can_be_explained_and_run_again(cluster):
    with gs.Simulation(cluster, jobs(12)) as simulation:
        simulation.run(until_s=45)
        with simulation.fork() as other:
            other.cancel(1)
            other.run(until_s=60)
            with other.fork() as third:
                third.run()
                result = third.result()
                assert result.explain(4, 45)["reasons"][0]["reason"] == "capacity"
                with third.fork(policy="srtf") as again:
                    assert again.job(1)["end"] == "cancelled" and again.info.ended == 12
        assert simulation.job(1)["state"] == "running"


def test_a_fork_keeps_what_it_reads(cluster):
    trace = jobs(10)
    simulation = gs.Simulation(cluster, trace)
    simulation.run(until_s=20)
    other = simulation.fork()
    del simulation
    trace.close()
    gc.collect()
    assert done(other)["jobs"] == 10 and other.names()[-1] == "9"
    other.cluster.close()
    with pytest.raises(gs.Closed):
        other.cluster.check()
    other.fork().close()
    other.close()
    with pytest.raises(gs.Closed):
        other.fork()


def test_a_fork_from_a_callback_is_refused(cluster):
    failures = []

    def look(event):
        with pytest.raises(gs.Busy):
            simulation.fork()
        failures.append(event)

    with gs.Simulation(cluster, jobs(3), on_event=look) as simulation:
        assert done(simulation)["jobs"] == 3 and failures


def test_a_selecting_policy_continues_in_the_fork(cluster):
    def policy(view):
        return view.left_s

    with gs.Simulation(
        cluster,
        jobs(25, run_s=200),
        policy=gs.lowest_first(policy),
        score_mode="select",
        restart=lambda index, gpus: 3.0,
    ) as simulation:
        simulation.run(until_s=130)
        with simulation.fork() as other:
            assert done(other) == done(simulation) and other.result().jobs.equals(
                simulation.result().jobs
            )


def test_a_result_reads_the_simulation_while_it_is_open(cluster):
    calls = []

    def policy(view):
        calls.append(view.now_s)
        return view.submit_s

    simulation = gs.Simulation(cluster, jobs(20), policy=gs.lowest_first(policy))
    simulation.run()
    result, before = simulation.result(), len(calls)
    expected = result.summary(warm_up_s=50)
    with result.simulation() as end:
        assert end.info == simulation.info
    assert len(calls) == before
    simulation.submit(gpu=1, run_s=1000)
    simulation.run()
    before = len(calls)
    assert result.summary(warm_up_s=50) == expected and len(calls) > before
    simulation.close()
    with result.simulation() as end:
        assert end.info == result.info
    before = len(calls)
    result.explain(4, 45)
    assert max(calls[before:]) <= 45  # only as far as necessary


def test_a_simulation_has_its_own_cluster(cluster):
    held = cluster.allocate(count=2, gpu=8)
    with gs.Simulation(cluster, jobs(4)) as simulation:
        simulation.set_node("n0", "down")
        assert done(simulation)["jobs"] == 4 and cluster.node("n0")["state"] == "up"
    assert held.alive and cluster.totals()["gpu_free"] == 0


def test_queues_show_their_usage(cluster):
    tree = {
        "a": {"guaranteed": {"gpu": 8}, "queues": {"x": {}, "y": {}}},
        "b": {"limit": {"gpu": 4}},
    }
    trace = gs.Trace(
        [{"submit_s": i, "run_s": 100, "gpu": 4, "queue": q} for i, q in enumerate("xybxb")]
    )
    with gs.Simulation(cluster, trace, tree) as simulation:
        simulation.run(until_s=10)
        use = simulation.queues
        assert (
            list(use) == ["a", "b", "x", "y"]
            and use["b"]["kinds"]["gpu"]["used"] == 4
            and use["b"]["pending"] == 1
        )
        assert use["b"]["kinds"]["gpu"]["limit"] == 4 and use.table.loc["a", "gpu_used"] == 12
        assert (
            "gpu ██████████ 4/" in str(use)
            and "<svg" in use._repr_html_()
            and "<svg" in simulation._repr_html_()
        )
        assert simulation.explain(4)["reasons"][0]["reason"] == "limit"
    with pytest.raises(gs.NotFound):
        gs.Simulation(cluster, trace, {"only": {}, "two": {}})
    with gs.Simulation(cluster, trace, {"only": {}, "two": {}}, default_queue="two") as simulation:
        assert done(simulation)["jobs"] == 5


def test_an_explanation_says_why_no_job_is_preempted(cluster):
    trace = gs.Trace(
        [
            {"submit_s": 0, "run_s": 1000, "gpu": 8, "count": 2, "queue": "kept"},
            {"submit_s": 1, "run_s": 10, "gpu": 8, "queue": "open", "priority": 3},
        ]
    )
    tree = {"kept": {"no_preemption": True}, "open": {"guaranteed": {"gpu": 8}}}
    with gs.Simulation(cluster, trace, tree) as simulation:
        simulation.run(until_s=10)
        why = simulation.explain(1)["preemption"]
        assert why["outcome"] == "protected" and why["gangs"] == 1 and why["takeable"] == 0
        assert why["text"] == "a rule protects each gang that runs" and why["moves"] == "off"
        (rule,) = why["rules"]
        assert rule["rule"] == "queue" and rule["queue"] == "kept" and len(rule["jobs"]) == 1
        assert rule["tasks"] == 2 and "not preempted" in rule["text"]
        queues = {queue["queue"]: queue for queue in why["queues"]}
        assert queues["open"]["preemptor"] and not queues["kept"]["preemptor"]
        gpu = {amount["kind"]: amount for amount in queues["open"]["amounts"]}["gpu"]
        assert gpu["guarantee"] == 8000 == gpu["requested"] and gpu["used"] == 0
    with gs.Simulation(cluster, trace, tree, no_preemption=True) as simulation:
        simulation.run(until_s=10)
        assert simulation.explain(1)["preemption"]["outcome"] == "off"


@pytest.mark.parametrize(
    "options, path",
    [
        ({"colour": 1}, "colour"),
        ({"runtime_estimates": "all"}, "runtime_estimates"),
        ({"tick_s": "x"}, "tick_s"),
        ({"tick_s": -1}, "tick_s"),
        ({"tick_s": float("inf")}, "tick_s"),
        ({"max_restarts": 1.5}, "max_restarts"),
        ({"elastic": -1}, "elastic"),
        ({"policy": "best"}, "policy"),
        ({"score_mode": "both"}, "score_mode"),
        ({"record": "everything"}, "record"),
        ({"queues": {"a": {"limit": {"gpu": -5}}}}, "a.limit.gpu"),
        ({"queues": {"a": {}}, "default_queue": "b"}, "default_queue"),
        ({"loss": "hope"}, "loss"),
        ({"seed": "x"}, "seed"),
        ({"restart_s": -1}, "restart_s"),
        ({"tick_s": -0.5}, "tick_s"),
        ({"refused_s": -1}, "refused_s"),
        ({"preempt_cooldown_s": -1}, "preempt_cooldown_s"),
        ({"max_moves": -2}, "max_moves"),
        ({"max_preempted_tasks": -1}, "max_preempted_tasks"),
        ({"record": None}, "record"),
        ({"record": 3}, "record"),
        ({"mix": 3}, "shapes"),
    ],
)
def test_a_wrong_option_is_named(cluster, options, path):
    with pytest.raises(gs.GangError) as caught:
        gs.Simulation(cluster, **options)
    assert caught.value.path == path


def test_a_wrong_number_is_named(cluster):
    with gs.Simulation(cluster, jobs(4)) as simulation:
        simulation.run(until_s=5)
        for call, name in (
            (lambda: simulation.run(events=1.5), "events"),
            (lambda: simulation.run(events="x"), "events"),
            (lambda: simulation.set_target(0, 1.5), "tasks"),
            (lambda: simulation.set_target(0, 2**70), "tasks"),
            (lambda: simulation.result().cdf("queue"), "queue"),
            (lambda: simulation.result().gantt(begin_s=float("nan")), "begin_s"),
            (lambda: simulation.result().gantt(end_s="x"), "end_s"),
        ):
            with pytest.raises(gs.GangError) as caught:
                call()
            assert caught.value.path == name and name in str(caught.value)


def test_every_option_of_the_library_is_an_option_in_python(cluster):
    """A new member of the structs, or a new policy, needs a name here."""
    from gangsched import enums
    from gangsched.sim import options

    def members(struct):
        return {name for name, _ in gs.ffi.typeof("struct " + struct).fields} - {"size", "mem"}

    said = {
        "sched", "queues", "queue_count", "default_queue", "seed", "policy", "record",
        "elastic", "preemptible",
    }
    said |= {*options._TIMES.values(), *options._WORDS, *options._FLAGS, *options._NUMBERS}
    said |= {*options._MEMBERS.values(), "no_limits"}
    assert {
        name for name in members("gang_sim_opts") - said if not name.startswith("reserved")
    } == set()
    said = {
        "default_queue", "rules", "rule_count", "rule_size", "excluded_kinds",
        "excluded_kind_count", "half_life_ns",
    }
    said |= {"stop_again_ns", "kill_wait_ns", "fence_ns"}  # simulated tasks stop when they are asked to
    said |= {"refused_ns", "preempt_cooldown_ns", *options._SCHED_NUMBERS, *options._SCHED_FLAGS}
    said |= {*options._SCHED_RATIOS}
    assert {
        name for name in members("gang_sched_opts") - said if not name.startswith("reserved")
    } == set()
    for table, prefix in (
        (enums.PolicyName, "POLICY"),
        (enums.Know, "KNOW"),
        (enums.Place, "PLACE"),
        (enums.Record, "RECORD"),
    ):
        known = {
            getattr(gs.lib, name)
            for name in dir(gs.lib)
            if name.startswith("GANG_SIM_%s_" % prefix)
        }
        assert {member.number for member in table} == known
    for policy in enums.PolicyName.words():
        for place in enums.Place:
            assert (
                gs.simulate(cluster, jobs(12), policy=policy, place=place, record=()).info.ended
                == 12
            )


# ---- functions of Python -------------------------------------------------------------------------


def test_policies_in_python_decide_like_those_in_c(cluster):
    # All jobs come at once, and each takes the whole cluster: the policy orders them.
    lengths = [50, 20, 90, 10, 70]
    trace = gs.Trace([{"submit_s": 0, "run_s": run, "count": 2, "gpu": 8} for run in lengths])

    def order(**arguments):
        result = gs.simulate(cluster, trace, **arguments)
        return result.jobs.sort_values("start_s").run_s.tolist()

    for policy in ("sjf", gs.lowest_first(lambda view: view.run_s),
                   gs.lowest_first(gs.per_job(lambda job: job.run_s)), gs.per_job(gs.lowest_first(lambda job: job.run_s)),
                   gs.highest_first(lambda view: -view.run_s), gs.highest_first(gs.per_job(lambda job: -job.run_s))):
        assert order(policy=policy) == sorted(lengths)
    assert order(policy=gs.highest_first(lambda view: view.run_ns)) == sorted(lengths, reverse=True)
    assert order(policy="fifo") == lengths


def test_fifo_is_strict_and_first_fit_is_not(cluster):
    # The second gang does not fit beside the first; the third would.
    jobs = [{"submit_s": i, "run_s": 100, "count": tasks, "gpu": 8} for i, tasks in
            enumerate((1, 2, 1))]

    def starts(policy, **arguments):
        return gs.simulate(cluster, gs.Trace(jobs), policy=policy, **arguments).jobs.start_s.tolist()

    assert starts("fifo") == [0, 100, 200]
    assert starts("first-fit") == starts(None) == [0, 102, 2]
    assert starts("first-fit", queues={"q": {"block": "strict"}}) == [0, 100, 200]


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_no_preemption_changes_nothing_where_nothing_is_preempted(cluster, backfill):
    trace = gs.Trace(
        {"submit_s": 7 * i, "run_s": 30 + 37 * i % 90, "time_limit_s": 150, "count": 1 + i % 5 % 3,
         "gpu": 1 + 5 * i % 8}
        for i in range(300)
    )

    def run(**options):
        return gs.simulate(cluster, trace, {"q": {"backfill": backfill}}, **options)

    free, without = run(), run(no_preemption=True)
    assert free.summary()["preemptions"] == 0 and free == without
    srtf = gs.simulate(cluster, trace, policy="srtf", no_preemption=True)
    assert srtf.summary()["preemptions"] > 0 and srtf == gs.simulate(cluster, trace, policy="srtf")


def test_a_view_has_all_columns_and_is_over_afterwards(cluster):
    kept = []

    def policy(view):
        kept.append((view, view.run_s))
        assert set(
            "index submit_ns run_s left_s served_s gpus cpus tasks queue running".split()
        ) <= set(dir(view))
        for name in dir(view):
            if not name.startswith("_") and not name.startswith("now"):
                assert getattr(view, name).shape == (len(view),), name
        return view.submit_s

    gs.simulate(cluster, jobs(5), policy=gs.lowest_first(policy))
    view, lengths = kept[-1]
    assert lengths.tolist() == [60.0] * len(lengths)
    view.__dict__.pop("run_s")
    with pytest.raises(gs.Closed):
        view.run_s
    with pytest.raises(AttributeError):
        view.colour
    with pytest.raises(gs.Closed):
        gs.per_job(lambda job: 0)(view)


@pytest.mark.parametrize(
    "policy, error",
    [
        (lambda view: 1 / 0, ZeroDivisionError),
        (lambda view: view.run_s[:-1], gs.InvalidArgument),
        (lambda view: [1.0] * (len(view) + 1), gs.InvalidArgument),
        (lambda view: ["x"] * len(view), TypeError),
        (lambda view: None, gs.GangError),
        (lambda view: view.colour, AttributeError),
        (gs.per_job(lambda job: job.colour), AttributeError),
    ],
)
def test_an_exception_in_a_policy_leaves_a_consistent_simulation(cluster, policy, error):
    failing = {"on": True}

    def sometimes(view):
        return policy(view) if failing["on"] and view.now_s >= 20 else view.submit_s

    with gs.Simulation(cluster, jobs(10), policy=gs.lowest_first(sometimes)) as simulation:
        with pytest.raises(error) as caught:
            simulation.run()
        assert {"sometimes", "write_scores"} & {entry.name for entry in caught.traceback}
        assert simulation.now_s == 20.0
        with pytest.raises(error):
            simulation.run()
        failing["on"] = False
        assert done(simulation)["jobs"] == 10
        simulation.cluster.check()


def test_exceptions_in_callbacks_leave_the_call(cluster):
    def fail(*arguments):
        raise KeyError("mine")

    elastic = gs.Trace([{"submit_s": 0, "run_s": 60, "count": 4, "min": 1, "gpu": 8}])
    for arguments in ({"on_event": fail}, {"speed": fail}):
        with gs.Simulation(cluster, elastic, **arguments) as simulation:
            with pytest.raises(KeyError, match="mine"):
                simulation.run()
            simulation.cluster.check()


@pytest.mark.parametrize("checkpoint, end", [(0, 110.0), (20, 120.0), (float("inf"), 160.0)])
def test_work_is_lost_since_the_last_checkpoint(cluster, checkpoint, end):
    whole = gs.Trace([{"submit_s": 0, "run_s": 100, "count": 2, "gpu": 8}])
    with gs.Simulation(cluster, whole, checkpoint_s=checkpoint, loss="restart") as simulation:
        simulation.set_node("n1", "down", at_s=50)
        simulation.set_node("n1", "up", at_s=60)
        simulation.run()
        assert simulation.job(0)["end_s"] == end and simulation.job(0)["failures"] == 1


def test_speed_and_restart_functions_are_called(cluster):
    elastic = gs.Trace([{"submit_s": 0, "run_s": 60, "count": 4, "min": 1, "gpu": 8}])
    result = gs.simulate(cluster, elastic, speed=lambda index, tasks, count: 0.1)
    assert result.jobs.jct_s[0] == 600.0
    assert gs.simulate(cluster, elastic).jobs.jct_s[0] == 120.0
    calls = []

    def restart(index, gpus):
        calls.append((index, gpus))
        return 30

    with gs.Simulation(cluster, jobs(1, run_s=100), restart=restart) as simulation:
        simulation.run(until_s=50)
        simulation.requeue(0)
        simulation.run()
        assert calls == [(0, 4.0)] and simulation.job(0)["end_s"] == 130.0


def test_callbacks_may_read_but_not_change(cluster):
    errors = []

    def look(event):
        assert (
            simulation.info.jobs == 5
            and len(simulation.names()) == 5
            and simulation.cluster.totals()["gpus"] == 16
        )
        simulation.job(max(event.job, 0))
        for call in (
            simulation.run,
            lambda: simulation.submit(gpu=1, run_s=1),
            lambda: simulation.add(jobs(1)),
        ):
            try:
                call()
            except gs.Busy as error:
                errors.append(error)

    with gs.Simulation(cluster, jobs(5), on_event=look) as simulation:
        simulation.run()
        assert len(errors) == 3 * 15 and simulation.info.ended == 5


def test_closing_inside_a_callback_stops_the_run(cluster):
    seen = []

    def close(event):
        seen.append(event)
        simulation.close()

    simulation = gs.Simulation(cluster, jobs(5), on_event=close)
    with pytest.raises(gs.Closed, match="a function that the run called"):
        simulation.run()
    assert simulation.closed and simulation.cluster.closed and {event.at_s for event in seen} == {0}
    with pytest.raises(gs.Closed):
        simulation.run()

    def score(group, candidates):
        other.close()
        return candidates["gpus_free"]

    other = gs.Cluster.uniform(1)
    other.allocate(gpu=1, score=score)
    assert other.closed


def test_what_a_queue_used_counts_in_the_queues_above_it(cluster):
    tree = {"top": {}, "mid": {"parent": "top"}, "a": {"parent": "mid"}, "b": {"parent": "top"},
            "c": {}}
    trace = [{"submit_s": 0, "run_s": 100, "gpu": 1, "cpu": 2, "queue": "a"},
             {"submit_s": 0, "run_s": 50, "gpu": 2, "queue": "b"},
             {"submit_s": 0, "run_s": 10, "gpu": 1, "queue": "c"}]
    used = gs.simulate(cluster, gs.Trace(trace), queues=tree).summary()["queues"]
    assert {name: row["gpu_s"] for name, row in used.items()} == {
        "top": 200, "mid": 100, "a": 100, "b": 100, "c": 10,
    }
    assert used["top"]["cpu_s"] == used["mid"]["cpu_s"] == 200


def test_there_is_nothing_to_judge_an_empty_trace_by(cluster, tmp_path):
    import math

    result = gs.simulate(cluster, gs.Trace([]))
    assert math.isnan(result.summary()["goodput"]) and math.isnan(result.summary()["jain"])
    result.report(tmp_path / "report.html")
    assert "nan" not in (tmp_path / "report.html").read_text().lower().split("<script")[0]


# ---- Ctrl-C, time, threads, forks ----------------------------------------------------------------


def long_trace():
    return gs.Trace([{"submit_s": i, "run_s": 50, "gpu": 1 + i % 8} for i in range(60000)])


def test_control_c_stops_a_run_that_can_continue(cluster):
    def press():
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    with gs.Simulation(cluster, long_trace()) as simulation:
        thread = threading.Thread(target=press)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            simulation.run()
            pytest.skip("it was over before")
        thread.join()
        stopped = simulation.info
        assert 0 < stopped.ended < 60000
        with simulation.fork() as other:  # in the same instant
            assert other.info[1:] == stopped[1:]
        assert 1000 <= simulation.run(events=1000).events - stopped.events < 1010
        simulation.cluster.check()


def test_control_c_gives_the_partial_result_of_simulate(cluster):
    def policy(view):
        if view.now_s >= 1000:
            _thread.interrupt_main()
        return view.submit_s

    with pytest.raises(KeyboardInterrupt) as stop:
        gs.simulate(cluster, jobs(1000), policy=gs.lowest_first(policy))
    result = stop.value.partial_result
    assert result.interrupted and 0 < result.info.ended < 1000 and "interrupted" in repr(result)


def interrupted_at(second):
    """A policy that presses Ctrl-C at a time of the simulation."""

    def policy(view):
        if view.now_s >= second:
            _thread.interrupt_main()
        return view.submit_s

    return gs.lowest_first(policy)


def test_control_c_ends_a_comparison_which_has_what_was_complete(cluster):
    policies = {"fifo": "fifo", "cut": interrupted_at(100), "sjf": "sjf"}
    with pytest.raises(KeyboardInterrupt) as stop:
        gs.compare(policies, cluster, jobs(1000))
    found = stop.value.partial_result
    assert list(found) == ["fifo"] and found["fifo"] == gs.simulate(cluster, jobs(1000), policy="fifo")


def test_control_c_ends_a_sweep_whose_table_has_no_partial_row(cluster):
    def run(second):
        return gs.simulate(cluster, jobs(1000), policy=interrupted_at(second))

    with pytest.raises(KeyboardInterrupt) as stop:
        gs.sweep(run, {"second": [1e9, 100, 1e9]})
    found = stop.value.partial_result
    assert found.params == [{"second": 1e9}] and len(found.table) == 1
    assert found.values[0].info.ended == 1000 and not found.values[0].interrupted


def test_control_c_ends_a_forecast_at_once(cluster):
    """By the number of samples that were begun, not by a clock."""
    drawn = set()

    def run_time(job, sample, draw):
        drawn.add(sample)
        if sample == 3:
            _thread.interrupt_main()
        return 100.0

    with gs.Simulation(cluster, jobs(40)) as simulation:
        simulation.run(until_s=5)
        with simulation.forecast(samples=10000, run_time=run_time) as ahead:
            with pytest.raises(KeyboardInterrupt):
                ahead.run()
            assert max(drawn) in (3, 4)
            with pytest.raises(gs.NotFound):
                ahead.start_of(39)
        with pytest.raises(KeyboardInterrupt):
            _thread.interrupt_main()
            simulation.what_if({"as it is": None})


def test_a_run_is_bounded_in_real_time(cluster, monkeypatch):
    """The clock of this test goes on by a second whenever the package reads it."""
    readings = itertools.count(1000)
    clock = types.SimpleNamespace(monotonic=lambda: float(next(readings)))
    monkeypatch.setattr(host, "time", clock)
    monkeypatch.setattr(running, "time", clock)
    with gs.Simulation(cluster, long_trace()) as simulation:
        info = simulation.run(seconds=5)
        assert info.stop_reason == "seconds" and next(readings) == 1006  # begun at 1000
        # The run stops at the end of the instant of the fifth check.
        assert 0 <= info.events - 5 * running.EVENTS_PER_CHECK < 10
        with pytest.raises(gs.InvalidArgument):
            simulation.run(events=0)


def test_a_bar_is_drawn(cluster, capsys):
    with gs.Simulation(cluster, jobs(20)) as simulation:
        simulation.run(progress=True)
    assert "20/20" in capsys.readouterr().err


def test_threads_take_turns_on_a_simulation_and_its_trace(cluster):
    trace, found = jobs(300), []

    def work():
        found.append(gs.simulate(cluster, trace).summary())
        trace.to_dataframe()

    with gs.Simulation(cluster, trace) as simulation:
        threads = [threading.Thread(target=work) for _ in range(4)]
        threads += [threading.Thread(target=lambda: simulation.run(events=100)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert simulation.info.events >= 400 and done(simulation) == found[0]
    assert all(summary == found[0] for summary in found) and len(found) == 4


def test_a_child_process_continues_the_simulation(cluster):
    with gs.Simulation(cluster, jobs(30)) as simulation:
        simulation.run(until_s=100)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, repr(done(simulation)).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 100000).decode() == repr(done(simulation))
        os.close(read)
        os.close(write)


def test_every_call_on_a_closed_simulation_raises(cluster):
    simulation = gs.Simulation(cluster, jobs(2))
    simulation.close()
    simulation.close()
    arguments = {
        "add": (jobs(1),),
        "set_node": ("n0", "up"),
        "set_priority": (0, 1),
        "set_target": (0, 1),
        "set_time_limit": (0, 1),
        **{
            name: (0,)
            for name in ("hold", "release", "cancel", "requeue", "job", "explain", "find")
        },
        **{
            name: ("x",)
            for name in ("cancel_reservation", "change_reservation", "occurrences", "change_queue")
        },
        "reserve": ({"name": "x"},),
        "set_queues": ({"x": {}},),
        "what_if": ({"x": None},),
    }
    names = {name for name in dir(gs.Simulation) if not name.startswith("_")} - {
        "close", "closed", "submit", "epoch", "dates",
    }
    for name in sorted(names):
        with pytest.raises(gs.Closed):
            value = getattr(simulation, name)
            value(*arguments.get(name, ()))
    with pytest.raises(gs.Closed):
        simulation.submit(run_s=1)
    assert repr(simulation) == "<Simulation, closed>" and len(names) > 15


# ---- groups that start after one another ----


def stages():
    return gs.Request(
        tasks=[
            {"name": "data", "count": 1, "gpu": 1},
            {
                "name": "train",
                "count": 4,
                "gpu": 2,
                "after": [{"group": "data", "when": "success"}],
            },
            {
                "name": "serve",
                "count": 2,
                "gpu": 1,
                "after": [{"group": "train", "when": "success"}],
            },
        ]
    )


@pytest.mark.parametrize("run_s", [[10, 100, 30], {"serve": 30, "data": 10, "train": 100.0}])
def test_groups_start_after_one_another(cluster, run_s):
    with gs.Simulation(cluster, events=True) as simulation:
        index = simulation.submit(stages(), run_s=run_s, name="pipeline")
        simulation.run()
        job = simulation.job(index)
        assert (job["start_s"], job["end_s"], job["run_s"], job["starts"]) == (0, 140, 140, 3)
        assert [(event.what, event.at_s, event.gang) for event in simulation.events()] == [
            ("submitted", 0, 0),
            ("started", 0, 0),
            ("gang-ended", 10, 0),
            ("started", 10, 1),
            ("gang-ended", 110, 1),
            ("started", 110, 2),
            ("gang-ended", 140, 2),
            ("ended", 140, 0),
        ]
        result = simulation.result()
        gpus = result.allocations.groupby("gang")["gpus"].sum()
        assert gpus.tolist() == [1, 8, 2]
        assert result.summary()["gpu_utilisation"] == pytest.approx((10 + 800 + 60) / (140 * 16))
        with simulation.fork() as other:
            assert other.job("pipeline")["end_s"] == 140
        assert result.simulation(at_s=50).job(index)["state"] == "running"


def test_one_run_time_is_that_of_each_gang(cluster):
    with gs.Simulation(cluster) as simulation:
        index = simulation.submit(stages(), run_s=20)
        simulation.run()
        assert simulation.job(index)["end_s"] == 60


@pytest.mark.parametrize(
    "run_s, error, path",
    [
        ([1, 2], gs.InvalidArgument, "run_s"),
        ([1, -2, 3], gs.OutOfRange, "run_s[1]"),
        ({"data": 1, "train": 2}, gs.InvalidArgument, "run_s"),
        ({"data": 1, "train": 2, "serve": 3, "cook": 4}, gs.InvalidArgument, "run_s"),
        ([1, "a", 3], gs.InvalidArgument, "run_s[1]"),
    ],
)
def test_a_wrong_run_time_of_a_group_is_named(cluster, run_s, error, path):
    with gs.Simulation(cluster) as simulation:
        with pytest.raises(error) as caught:
            simulation.submit(stages(), run_s=run_s)
        assert caught.value.path == path
        assert len(simulation) == 0


@pytest.mark.parametrize("how", [{}, {"events": True}, {"on_event": lambda event: None}])
def test_a_refused_job_has_an_explanation(cluster, how):
    wrong = [
        {"job": "wide", "gpu": 9},
        {"job": "ok", "gpu": 1},
        {"job": "above", "gpu": 4, "queue": "b"},
        {"job": "late", "gpu": 1, "queue": "c"},
    ]
    trace = gs.Trace(
        [{"submit_s": i, "run_s": 10, "count": 1, **job} for i, job in enumerate(wrong)]
    )
    tree = {"a": {}, "b": {"limit": {"gpu": 2}}, "c": {"state": "closed"}}
    with gs.Simulation(cluster, trace, tree, default_queue="a", **how) as simulation:
        simulation.run(until_s=2)
        # Without a listener, events cost no time.
        assert (simulation._host.ops(0).event == gs.ffi.NULL) == (not how)
        with simulation.fork() as other:
            other.run()
            assert sorted(other.result().refused) == [0, 2, 3]
        assert (
            sorted(simulation.result().refused) == [0, 2]
            and simulation.explain("wide")["state"] == "ended"
        )
        simulation.run()
        said = {job: str(simulation.explain(job)) for job in simulation.names()}
        result = simulation.result()
    assert (
        "gpu is short" in said["wide"]
        and "limit of queue" in said["above"]
        and "takes no new jobs" in said["late"]
    )
    assert all(
        said[job].startswith("it was refused: ") for job in ("wide", "above", "late")
    ) and said["ok"].startswith("it has ended")
    assert {result.names[i]: "it was refused: " + why for i, why in result.refused.items()} == {
        job: said[job] for job in ("wide", "above", "late")
    }
    assert (
        str(result.explain("above", 5)) == said["above"]
        and str(result.explain("above", 1)) == "it has not come"
    )


@pytest.mark.parametrize("how", [{}, {"events": True}])
def test_a_refused_job_has_an_explanation_after_streaming(cluster, tmp_path, monkeypatch, how):
    again = []
    play = Recipe.replay
    monkeypatch.setattr(
        Recipe,
        "replay",
        lambda self, changes, *at: again.append(changes) or play(self, changes, *at),
    )
    wrong = [{"gpu": 9}, {"gpu": 1}, {"gpu": 10}, {"gpu": 1, "run_s": 500}]
    trace = gs.Trace(
        [{"submit_s": 5 * i, "run_s": 2, "count": 1, **job} for i, job in enumerate(wrong)]
    )
    with gs.Simulation(cluster, trace, stream=tmp_path, **how) as simulation:
        simulation.run(until_s=1)
        said = simulation.explain(0)
        assert (
            said["state"] == "ended"
            and "gpu is short" in str(said)
            and str(said).startswith("it was refused: ")
        )
        assert str(simulation.explain(2)) == "it has not come"
        simulation.run(until_s=20)
        assert simulation.explain(0) == said and str(simulation.explain(2)).startswith(
            "it was refused: "
        )
        assert str(simulation.explain(3)) == "it is running"
        # nothing is known of other jobs that have ended
        for call in (simulation.explain, simulation.job):
            with pytest.raises(gs.StaleHandle):
                call(1)
        # Without kept events, one replay for each time of an explanation.
        assert len(again) == (0 if how else 2)
        result = simulation.result()
        assert sorted(result.refused) == [0, 2] and str(result.explain(0, 20)) == str(said)
    # Without refused jobs there is no replay.
    with gs.Simulation(
        cluster, gs.Trace([{"submit_s": 0, "run_s": 2, "gpu": 1}]), stream=tmp_path, **how
    ) as simulation:
        simulation.run()
        del again[:]
        with pytest.raises(gs.StaleHandle):
            simulation.explain(0)
        assert not again


def test_a_policy_knows_users_and_queues_by_name(cluster):
    def policy(view):
        assert set(view.queue_name) <= {"default"}
        return view.user_name != "eve"

    users = ["adam", "adam", "eve", None]
    trace = gs.Trace(
        [
            {"submit_s": i, "run_s": 10, "count": 2, "gpu": 8, "user": user}
            for i, user in enumerate(users)
        ]
    )
    kept = []

    @gs.per_job
    def one_by_one(job):
        kept.append(job)
        assert job.queue_name == "default"
        return job.user_name != "eve"

    for chosen in (gs.lowest_first(policy), gs.lowest_first(one_by_one),
                   gs.lowest_first(gs.per_job(lambda job: job.user != 1))):
        starts = gs.simulate(cluster, trace, policy=chosen).jobs.start_s
        assert starts.tolist() == [0, 20, 10, 30]
    assert kept[0].user == 0 and kept[0].submit_s == 0
    with pytest.raises(gs.Closed):
        kept[0].user_name
    for name in "user_name", "queue_name":
        assert name not in kept[0]._fields


def test_a_policy_knows_names_that_come_later(cluster):
    seen = []

    def policy(view):
        seen.append(
            (sorted(set(view.user_name)), sorted({job.user_name for job in gs.per_job.jobs(view)}))
        )
        return view.submit_s

    with gs.Simulation(cluster, policy=gs.lowest_first(policy)) as simulation:
        for user in ("adam", "eve", "adam"):
            simulation.submit(gpu=8, count=2, run_s=10, user=user)
            simulation.run(until_s=simulation.now_s + 1)
            with simulation.fork() as other:
                other.submit(gpu=8, run_s=10, user="other")
                other.run()
    assert all(one == each for one, each in seen)
    assert (["adam", "eve"], ["adam", "eve"]) in seen and any("other" in one for one, _ in seen)


# ---- queues in the midst of it -------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree, options, queue",
    [
        (None, {}, "default"),
        ({"only": {}}, {}, "only"),
        ({"a": {}, "b": {}}, {"default_queue": "b"}, "b"),
        (gs.Queues([{"name": "a"}, {"name": "b"}], default_queue="a"), {}, "a"),
    ],
)
def test_a_submitted_job_goes_to_the_default_queue_of_the_trace(cluster, tree, options, queue):
    with gs.Simulation(cluster, jobs(1), tree, **options) as simulation:
        assert simulation.submit(gpu=8, count=2, run_s=10) == 1
        with simulation.forecast() as ahead:
            ahead.submit(gpu=1)
            assert {row.queue for row in ahead.run()} <= {queue}
        simulation.run()
        assert {simulation.job(i)["queue"] for i in range(2)} == {queue}
        with simulation.fork(policy="sjf") as other:
            assert other.job(1)["queue"] == queue


def test_a_job_must_name_a_queue_where_there_are_several(cluster):
    with gs.Simulation(cluster, None, {"a": {}, "b": {}}) as simulation:
        with pytest.raises(gs.InvalidArgument) as caught:
            simulation.submit(gpu=1, run_s=1)
        assert caught.value.path == "queue"


def test_a_queue_is_changed_while_jobs_are_there(cluster):
    with gs.Simulation(
        cluster, jobs(4, queue="q"), {"q": {"limit": {"gpu": 4}}, "p": {"queues": {"r": {}}}}
    ) as simulation:
        simulation.run(until_s=35)
        assert simulation.queues["q"]["running"] == 1
        simulation.change_queue("q", limit={"gpu": 12}, weight=2)
        simulation.run(until_s=36)
        assert (
            simulation.queues["q"]["running"] == 3
            and simulation.queues["q"]["kinds"]["gpu"]["limit"] == 12
        )
        simulation.change_queue("q", limit=None, state="closed")
        simulation.run(until_s=37)
        assert simulation.queues["q"]["running"] == 3 and simulation.tree["q"]["state"] == "closed"
        with pytest.raises(gs.QueueClosed):
            simulation.submit(gpu=1, run_s=1, queue="q")
        simulation.change_queue("q", state="open", parent="p")
        with simulation.fork() as other:
            assert other.tree == simulation.tree and other.tree["q"]["parent"] == "p"
            assert done(other) == done(simulation)
        assert simulation.job(3)["end"] == "success"


def test_a_tree_is_replaced_as_a_whole(cluster):
    with gs.Simulation(
        cluster, jobs(4, queue="q", run_s=100), {"q": {}, "old": {}}, default_queue="q"
    ) as simulation:
        simulation.run(until_s=35)
        simulation.set_queues(simulation.tree.added("late", limit={"gpu": 4}))
        assert list(simulation.tree) == ["q", "old", "late"]
        simulation.add(jobs(2, queue="late"), shift_s=40)
        simulation.submit(gpu=4, run_s=5, queue="late", name="own")
        with pytest.raises(gs.Busy):
            simulation.set_queues({"old": {}})
        with pytest.raises(gs.GangError) as raised:
            simulation.set_queues(
                {"q": {}, "late": {"guaranteed": {"gpu": 8}, "limit": {"gpu": 4}}}
            )
        assert raised.value.path.startswith("late.") and list(simulation.tree) == [
            "q", "old", "late",
        ]
        simulation.set_queues({"q": {}, "late": {"queues": {}}})
        assert list(simulation.tree) == ["q", "late"]
        simulation.run()
        table = simulation.result().jobs
        assert table.queue.tolist() == ["q"] * 4 + ["late"] * 3 and (table.end == "success").all()
        assert simulation.summary(queue="late")["jobs"] == 3


@pytest.mark.parametrize(
    "change, error, path",
    [
        (lambda s: s.change_queue("x", weight=2), gs.NotFound, ""),
        (lambda s: s.change_queue("q", limit={"gpu": "x"}), gs.InvalidArgument, "limit.gpu"),
        (lambda s: s.change_queue("q", limit={"cup": 1}), gs.NotFound, "limit.cup"),
        (lambda s: s.change_queue("q", colour="red"), gs.InvalidArgument, "colour"),
        (lambda s: s.change_queue("q", parent="x"), gs.NotFound, "parent"),
        (
            lambda s: s.change_queue("q", guaranteed={"gpu": 5}, limit={"gpu": 4}),
            gs.InvalidArgument,
            "limit.gpu",
        ),
        (lambda s: s.set_queues({"q": {"limit": {"cup": 1}}}), gs.NotFound, "q.limit.cup"),
        (
            lambda s: s.set_queues(gs.Queues({"q": {}}, default_queue="q")),
            gs.InvalidArgument,
            "default_queue",
        ),
        (
            lambda s: s.set_queues(gs.Queues({"q": {}}, half_life_s=5)),
            gs.InvalidArgument,
            "half_life_s",
        ),
        (lambda s: s.set_queues(7), gs.InvalidArgument, ""),
    ],
)
def test_a_wrong_change_of_queues_is_refused(cluster, change, error, path):
    with gs.Simulation(cluster, jobs(2, queue="q"), {"q": {"weight": 3}}) as simulation:
        simulation.run(until_s=5)
        with pytest.raises(error) as raised:
            change(simulation)
        assert raised.value.path == path and simulation.tree == gs.Queues({"q": {"weight": 3}})
        assert done(simulation)["jobs"] == 2


def test_a_simulation_without_queues_gets_queues(cluster):
    with gs.Simulation(cluster) as simulation:
        simulation.change_queue("default", limit={"gpu": 4})
        first = simulation.submit(gpu=4, run_s=10)
        second = simulation.submit(gpu=4, run_s=10)
        simulation.run()
        assert simulation.job(first)["end_s"] == 10 and simulation.job(second)["start_s"] == 10
        simulation.set_queues({"default": {}, "more": {}})
        third = simulation.submit(gpu=4, run_s=10, queue="more")
        simulation.run()
        assert simulation.job(third)["queue"] == "more" and simulation.job(third)["start_s"] == 20


# ---- wrong input, and odd orders ---------------------------------------------------------------


def test_a_trace_may_be_given_by_its_path(cluster, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("job,submit_s,run_s,count,gpu\na,0,60,1,1\n", encoding="utf-8")
    with gs.Simulation(cluster, path) as simulation:
        simulation.add(str(path), shift_s=10)
        assert simulation.run().now_s == 70
        with simulation.fork() as fork:
            assert len(fork) == 2


@pytest.mark.parametrize("job", [1.5, None, True, b"a", ""])
def test_a_job_is_given_by_name_or_index(cluster, job):
    with gs.Simulation(cluster) as simulation:
        for _ in range(3):
            simulation.submit(count=1, gpu=1, run_s=60)
        with pytest.raises((gs.InvalidArgument, gs.NotFound)):
            simulation.hold(job)
        simulation.hold(numpy.int64(1))
        assert simulation.run().ended == 2


@pytest.mark.parametrize("name", ["on_event", "speed", "restart"])
def test_an_argument_that_is_no_function_is_named(cluster, name):
    with pytest.raises(gs.InvalidArgument) as wrong:
        gs.Simulation(cluster, **{name: 5})
    assert wrong.value.path == name


def test_wrong_times_are_named_as_they_were_given(cluster):
    with gs.Simulation(cluster) as simulation:
        with pytest.raises(gs.OutOfRange) as wrong:
            simulation.submit(count=1, gpu=1, run_s=-1)
        assert wrong.value.path == "run_s" and "run_s" in str(wrong.value)
        with pytest.raises(gs.InvalidArgument) as wrong:
            simulation.submit(tasks=[{"name": "a", "cpu": 1}, {"name": "b", "cpu": 1}], run_s=[1])
        assert wrong.value.path == "run_s"
        for seconds in (-1, "x"):
            with pytest.raises(gs.GangError) as wrong:
                simulation.run(seconds=seconds)
            assert wrong.value.path == "seconds"
        for option in ("warm_up_s", "cool_down_s", "tau_s"):
            with pytest.raises(gs.OutOfRange) as wrong:
                simulation.summary(**{option: -1})
            assert wrong.value.path == option
        with pytest.raises(gs.NotFound, match="^queue 'none'"):
            simulation.summary(queue="none")


def test_an_exception_of_on_event_leaves_submit(cluster):
    def on_event(event):
        if event.what == "submitted":
            with pytest.raises(gs.Busy):
                simulation.run()
            with pytest.raises(gs.Busy):
                simulation.fork()
            with pytest.raises(gs.Busy):
                simulation.submit(count=1, gpu=1, run_s=1)
            raise KeyError("mine")

    with gs.Simulation(cluster, on_event=on_event) as simulation:
        with pytest.raises(KeyError, match="mine"):
            simulation.submit(count=1, gpu=1, run_s=60)
        assert simulation.run().ended == 1 and simulation.now_s == 60


def test_a_policy_is_not_called_without_jobs(cluster):
    with gs.Simulation(cluster, policy=gs.lowest_first(lambda view: view.run_s / view.run_s.max())) as simulation:
        simulation.submit(count=1, gpu=1, run_s=60)
        assert simulation.run().ended == 1


def test_pickling_a_simulation_is_refused(cluster):
    with gs.Simulation(cluster) as simulation, simulation.forecast() as forecast:
        for one, name in ((simulation, "simulation"), (forecast, "forecast")):
            with pytest.raises(TypeError, match="a %s cannot be pickled" % name):
                pickle.dumps(one)


def test_the_clock_does_not_go_back(cluster):
    """Failures before the bound of a run, after the end of all jobs, once set the clock back."""
    with gs.Simulation(cluster, node_mtbf_s=1000, node_repair_s=100, seed=3) as simulation:
        simulation.submit(count=1, gpu=1, run_s=10)
        assert simulation.run(until_s=100000).now_s == 100000
        late = simulation.submit(count=1, gpu=1, run_s=50)
        assert simulation.run().now_s >= 100050
        assert simulation.job(late)["wait_s"] >= 0


def test_the_clock_starts_at_the_first_submission(cluster):
    """A job submitted before the first run once set the clock back, and had a negative wait."""
    trace = gs.Trace([{"submit_s": -500, "run_s": 60, "count": 1, "gpu": 4}])
    with gs.Simulation(cluster, trace) as simulation:
        assert simulation.now_s == -500
        early = simulation.submit(count=1, gpu=1, run_s=10)
        simulation.run()
        assert (simulation.job(early)["submit_s"], simulation.job(early)["wait_s"]) == (-500, 0)


@pytest.mark.parametrize("mix", ["gpu", {"gpu": 1}, [1]])
def test_a_mix_is_a_list_of_shapes(cluster, mix):
    with pytest.raises(gs.InvalidArgument) as wrong:
        gs.Simulation(cluster, mix=mix)
    assert wrong.value.path == "shapes"


def test_failures_never_use_more_than_there_is(cluster):
    """Two nodes of 8: one is down for 10 s. It was 24 of 16 GPUs, and the job ended in time."""
    trace = gs.Trace([
        {"job": "gang", "submit_s": 0, "run_s": 100, "count": 2, "gpu": 8},
        {"job": "next", "submit_s": 50, "run_s": 100, "count": 1, "gpu": 8},
    ])
    ends = {None: 110, "restart": 110, "count": 170, "fail": 30}
    for loss, end in ends.items():
        with gs.Simulation(cluster, trace, loss=loss) as simulation:
            simulation.set_node("n0", "down", at_s=30)
            simulation.set_node("n0", "up", at_s=40)
            simulation.run()
            assert simulation.job("gang")["end_s"] == end
            assert simulation.summary()["gpu_utilisation"] <= 1
