# SPDX-License-Identifier: Apache-2.0
"""Placement policies of users inside a simulation."""

import math
import os
import pickle
import re
import signal
import threading
import time
from dataclasses import astuple

import numpy
import pytest

import gangsched as gs



def trace_of(*gpus, **more):
    return gs.Trace(
        {"job": "j%d" % i, "submit_s": i, "run_s": 100, "gpu": gpu, "user": "u%d" % i, **more}
        for i, gpu in enumerate(gpus)
    )


@pytest.fixture
def cluster():
    return gs.Cluster.uniform(4)


def nodes_of(result):
    return [sorted(rows) for _, rows in result.allocations.groupby("index").node]


@gs.lowest_first
def packed(job, nodes):
    return nodes.gpus_free


def apart(job, nodes):
    return nodes.gpus_free


def by_job(job, nodes):
    """Jobs named j0 and j2 on n3 alone, others elsewhere."""
    there = nodes.node_name == "n3"
    return numpy.where(there == (job.name in ("j0", "j2")), 1.0, -math.inf)


class Rotating:
    """A class: the i-th job on the i-th node."""

    def __call__(self, job, nodes):
        return -numpy.abs(nodes.node.astype(float) - nodes.node.min() - job.index % 4)


def test_the_highest_or_the_lowest_goes_first(cluster):
    trace = trace_of(1, 1, 1)
    assert nodes_of(gs.simulate(cluster, trace, place=apart)) == [["n0"], ["n1"], ["n2"]]
    assert nodes_of(gs.simulate(cluster, trace, place=packed)) == [["n0"], ["n0"], ["n0"]]
    assert nodes_of(gs.simulate(cluster, trace, place=Rotating())) == [["n0"], ["n1"], ["n2"]]


def test_a_job_waits_rather_than_start_on_an_excluded_node(cluster):
    result = gs.simulate(cluster, trace_of(8, 8, 8), place=by_job)
    assert nodes_of(result)[0] == nodes_of(result)[2] == ["n3"] and nodes_of(result)[1] != ["n3"]
    assert result.jobs.start_s.tolist() == [0, 1, 100]


def test_the_function_gets_the_job():
    seen = []

    def place(job, nodes):
        seen.append(job)
        return numpy.zeros(len(nodes))

    trace = gs.Trace([{
        "job": "a", "submit_s": 0, "run_s": 60, "queue": "q", "user": "u", "priority": 3,
        "time_limit_s": 90,
        "tasks": [{"name": "x", "count": 2, "cpu": 1.5, "mem_mib": 10},
                  {"name": "y", "count": 1, "gpu": 0.5}],
    }])
    gs.simulate(gs.Cluster.uniform(1), trace, {"q": {}}, place=place)
    by_group = {job.group: job for job in seen}
    assert set(by_group) == {0, 1}
    assert astuple(by_group[0])[:12] == (0, "a", "q", "u", 3, 60, 90, 0, 2, 1.5, 10, 0)
    assert astuple(by_group[1])[7:] == (1, 1, 0, 0, 0.5, 1)


def test_submitted_jobs_are_placed_too(cluster):
    with gs.Simulation(cluster, place=by_job) as simulation:
        simulation.submit(name="j0", gpu=8, run_s=10)
        simulation.submit(name="other", gpu=8, run_s=10)
        simulation.run()
        found = nodes_of(simulation.result())
    assert found[0] == ["n3"] and found[1] != ["n3"]


def test_jobs_of_a_forecast_are_placed_too(cluster):
    """by_job wants n3 for j0, which the job in the trace holds until 100, and no other job."""
    seen = []

    def place(job, nodes):
        seen.append((job.index, job.name, job.run_s))
        return by_job(job, nodes)

    with gs.Simulation(cluster, trace_of(8), place=place) as simulation:
        simulation.run(until_s=50)
        with simulation.forecast(run_time="actual") as ahead:
            again = ahead.submit(name="j2", gpu=8, time_limit_s=300)
            other = ahead.submit(name="other", gpu=8, time_limit_s=300)
            ahead.run()
            assert [ahead.start_of(job) for job in (again, other)] == [100, 50]
        assert (1, "j2", 300.0) in seen and (2, "other", 300.0) in seen
        simulation.run()

    def fails(job, nodes):
        return by_job(job, nodes) if job.name == "j0" else 1 / 0

    with gs.Simulation(cluster, trace_of(8), place=fails) as simulation:
        simulation.run(until_s=50)
        with simulation.forecast() as ahead, pytest.raises(ZeroDivisionError):
            ahead.submit(name="other", gpu=8, time_limit_s=300)
            ahead.run()


def test_compare_and_sweep_take_placements(cluster):
    trace = trace_of(8, 8, 8)
    found = gs.compare(
        {"free": {}, "mine": {"place": by_job}}, cluster, trace, executor=2
    )
    assert found.table.wait_s_max.tolist() == [0, 98]

    def waits(place):
        return gs.simulate(cluster, trace, place=place).jobs.wait_s.max()

    assert gs.sweep(waits, {"place": ["cluster", by_job]}).values == [0, 98]


def test_it_runs_again_the_same_way(cluster):
    trace = trace_of(8, 8, 8)
    with gs.Simulation(cluster, trace, place=by_job) as simulation:
        simulation.run(until_s=50)
        fork, again = simulation.fork(), simulation.fork(policy="fifo")
        forecast = simulation.forecast(run_time="actual")
        what_if = simulation.what_if({"now": None}, run_time="actual")
        text = str(simulation.explain(2))
        simulation.run()
        whole = simulation.result()
    assert "accepted by score()" in text
    assert what_if["now"].tolist() == [100]
    with forecast, fork, again:  # the simulation is closed
        assert [row.start_s for row in forecast.run()] == [100]
        for other in (fork, again):
            other.run()
            assert other.result() == whole
    replayed = pickle.loads(pickle.dumps(whole))
    with replayed.simulation() as simulation:
        assert simulation.result() == whole
    nameless = gs.simulate(cluster, trace, place=lambda job, nodes: nodes.gpus_free)
    gone = pickle.loads(pickle.dumps(nameless))
    with pytest.raises(gs.NotSupported, match="place could not be pickled"):
        gone.simulation()


@pytest.mark.parametrize(
    "place, said",
    [
        (lambda job, nodes: [1.0],
         "place() for job 'j1' must give one number for each of 4 candidates"),
        (lambda job, nodes: numpy.where(nodes.node_name == "n2", numpy.nan, 0.0),
         "place() for job 'j1' gave NaN for candidate 2, node 'n2'"),
    ],
)
def test_wrong_scores_name_the_job_and_the_candidate(cluster, place, said):
    def second(job, nodes):
        return place(job, nodes) if job.name == "j1" else numpy.zeros(len(nodes))

    with gs.Simulation(cluster, trace_of(1, 1, 1), place=second) as simulation:
        with pytest.raises(gs.InvalidArgument, match=re.escape(said)):
            simulation.run()
        assert simulation.now_s == 1  # at once


def test_an_exception_passes_through_and_the_simulation_continues(cluster):
    fails = [True]

    def place(job, nodes):
        if fails[0] and job.index == 1:
            raise ZeroDivisionError(job.name)
        return numpy.zeros(len(nodes))

    with gs.Simulation(cluster, trace_of(1, 1, 1), place=place) as simulation:
        with pytest.raises(ZeroDivisionError, match="j1"):
            simulation.run()
        with pytest.raises(ZeroDivisionError, match="j1"):
            simulation.forecast().run()
        fails[0] = False
        simulation.run()
        assert simulation.summary()["jobs"] == 3


def scattered(job, nodes):
    """Scores without a pattern; some nodes are excluded."""
    scores = (nodes.node.astype(float) * 7919 + job.index * 104729 + nodes.tasks * 31) % 101
    return numpy.where(scores < 10, -math.inf, scores)


@pytest.mark.parametrize("policy", ["fifo", "srtf", "las", None])
@pytest.mark.parametrize("seed", range(3))
def test_forks_and_replays_of_random_workloads_agree(policy, seed):
    draw = numpy.random.default_rng([seed, 20261127])
    jobs = gs.Trace(
        {"submit_s": float(draw.integers(0, 3000)), "run_s": float(draw.integers(10, 900)),
         "count": int(draw.integers(1, 5)), "gpu": float(draw.choice([0.5, 1, 2, 4, 8])),
         "time_limit_s": 1000, "queue": "ab"[i % 2]}
        for i in range(60)
    )
    queues = {
        "a": {"guaranteed": {"gpu": 16}, "backfill": "easy"}, "b": {"backfill": "conservative"},
    }
    options = {
        "policy": policy, "place": scattered, "node_mtbf_s": 5000, "node_repair_s": 300,
        "seed": seed,
    }
    whole = gs.simulate(gs.Cluster.uniform(4), jobs, queues, until_s=6000, **options)
    with gs.Simulation(gs.Cluster.uniform(4), jobs, queues, **options) as simulation:
        simulation.run(until_s=1500)
        simulation.forecast(run_time="actual").run()
        with simulation.fork() as fork:
            for one in (simulation, fork):
                one.run(until_s=6000)
                assert one.result() == whole, (policy, seed)
    assert whole.info.ended > 20


@pytest.mark.parametrize("lowest", [False, True])
def test_a_task_goes_to_the_best_of_the_candidates(cluster, lowest):
    last = {}

    def place(job, nodes):
        scores = (nodes.node.astype(float) * 7919 + job.index * 104729) % 101
        assert (nodes.gpu_free >= job.gpu).all()
        last[job.index] = list(nodes.node_name), scores
        return scores

    draw = numpy.random.default_rng(20261127)
    jobs = gs.Trace(
        {"submit_s": i, "run_s": int(draw.integers(10, 90)), "gpu": int(draw.choice([1, 2, 4, 8]))}
        for i in range(100)
    )
    result = gs.simulate(cluster, jobs, place=gs.lowest_first(place) if lowest else place)
    choices = set()
    for row in result.allocations.itertuples():
        names, scores = last[row.index]
        best = names[int(scores.argmin() if lowest else scores.argmax())]
        assert row.node == best
        choices.add((len(names), best))
    assert len(last) == 100 and len(choices) > 8


def test_jobs_that_have_ended_take_no_memory(cluster):
    def place(job, nodes):
        return numpy.zeros(len(nodes))

    trace = trace_of(*[8] * 20, 9)  # the last one is refused
    with gs.Simulation(cluster, trace, place=place) as simulation:
        simulation.run(until_s=150)
        forecast, fork = simulation.forecast(run_time="actual"), simulation.fork()
        running = simulation.info.jobs - simulation.info.ended
        assert len(simulation._host.placed) == running > 0
        simulation.run()
        assert not simulation._host.placed
        assert simulation.result() == gs.simulate(cluster, trace, place=place)
    with forecast, fork:
        assert len(forecast.run()) == running - 4
        fork.run()
        assert fork.summary()["jobs"] == 20 and not fork._host.placed


def test_the_place_of_a_simulation_is_a_word_or_a_function(cluster):
    with pytest.raises(gs.GangError, match="place"):
        gs.simulate(cluster, trace_of(1), place="somewhere")
    with pytest.raises(gs.GangError, match="place"):
        gs.simulate(cluster, trace_of(1), place=7)


def test_ctrl_c_ends_it_within_a_second(cluster):
    def place(job, nodes):
        time.sleep(0.01)
        return numpy.zeros(len(nodes))

    trace = trace_of(*[8] * 500)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as stopped:
        gs.simulate(cluster, trace, place=place)
    timer.join()
    partial = stopped.value.partial_result
    assert partial.interrupted and 0 < partial.info.events < 1000


def test_forks_in_threads_keep_their_exceptions_apart(cluster):
    def place(job, nodes):
        if job.index == 3 and threading.current_thread().name == "fails":
            raise ZeroDivisionError
        return numpy.zeros(len(nodes))

    raised = {}

    def run(simulation):
        try:
            simulation.run()
        except ZeroDivisionError:
            raised[threading.current_thread().name] = True

    simulation = gs.Simulation(cluster, trace_of(1, 1, 1, 1, 1), place=place)
    with simulation, simulation.fork() as fork:
        threads = [
            threading.Thread(target=run, args=(one,), name=name)
            for one, name in ((simulation, "fails"), (fork, "works"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert raised == {"fails": True}
        assert fork.summary()["jobs"] == 5 and simulation.info.ended < 5
