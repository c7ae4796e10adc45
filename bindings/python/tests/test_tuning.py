# SPDX-License-Identifier: Apache-2.0
"""Tuning: goals are read, measured as numpy and pandas measure them, and the front is one."""

import itertools
import math
import random

import numpy
import pytest

import gangsched as gs
from gangsched.goals import Measured, goal_of
from gangsched.tuning import _rungs, pareto

LEAVES = ["research", "course", "dotted.name"]

QUEUES = {"research": {}, "course": {}}


def week(seed=1, days=14, jobs=900):
    """Jobs of two queues: the course has many, research some larger gangs."""
    draw = random.Random(seed)
    rows = []
    for _ in range(jobs):
        course = draw.random() < 0.8
        rows.append(
            {
                "submit_s": draw.randrange(days * 86400),
                "run_s": draw.randrange(1800, 28800 if course else 10800),
                "queue": "course" if course else "research",
                "count": draw.choice([1, 2, 4] if course else [4, 8]),
                "gpu": 1,
                "time_limit_s": 50000,
            }
        )
    return gs.Trace(sorted(rows, key=lambda row: row["submit_s"]))


@pytest.fixture(scope="module")
def cluster():
    return gs.Cluster.uniform(nodes=3, gpus=8)


@pytest.fixture(scope="module")
def found(cluster):
    vary = {"queues.research.guaranteed.gpu": [0, 8, 16], "queues.*.backfill": ["none", "easy"]}
    return gs.tune(week(), cluster, QUEUES, "p95 wait of research < 1 h", vary)


# ---- goals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, number, quantile, queues, bound",
    [
        ("wait", "wait", None, None, None),
        ("p95 wait of research < 1 h", "wait", 0.95, ("research",), 3600),
        ("P99.9 waiting time of research, course<90min", "wait", 0.999, ("research", "course"), 5400),
        ("median jct of dotted.name < 2e3 s", "jct", 0.5, ("dotted.name",), 2000),
        ("max bounded slowdown < 10", "bounded slowdown", 1.0, None, 10),
        ("gpu utilization > 80 %", "gpu utilisation", None, None, 0.8),
    ],
)
def test_a_goal_is_read(text, number, quantile, queues, bound):
    goal = goal_of(text, LEAVES)
    assert (goal.number, goal.queues) == (number, queues)
    assert goal.quantile == (None if quantile is None else pytest.approx(quantile))
    assert goal.bound == (None if bound is None else pytest.approx(bound))


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "expected e.g."),
        ("p95 weight of research", "expected e.g."),
        ("p95 wait of nobody < 1 h", "no leaf queue 'nobody' (there are research, course"),
        ("wait > 1 h", "less is better"),
        ("gpu utilisation < 80 %", "more is better"),
        ("wait < 3", "has a unit"),
        ("slowdown < 3 h", "has a unit"),
        ("p200 wait < 1 h", "at most 100"),
        ("p95 gpu utilisation", "without statistic"),
    ],
)
def test_a_wrong_goal_says_what_is_expected(text, said):
    with pytest.raises(gs.GangError) as error:
        goal_of(text, LEAVES)
    assert said in str(error.value)


# ---- numbers -------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_pandas_and_of_the_summary(cluster):
    trace = week()
    result = gs.simulate(cluster, trace, QUEUES)
    measured = Measured(result, 0.0, 86400.0, 14)
    jobs = result.jobs
    of = jobs[jobs.queue == "research"]
    assert measured.value(goal_of("p95 wait of research", LEAVES)) == pytest.approx(
        of.wait_s.quantile(0.95)
    )
    assert measured.value(goal_of("p95 wait of research", LEAVES), others=True) == pytest.approx(
        jobs[jobs.queue != "research"].wait_s.quantile(0.95)
    )
    summary = result.summary()
    for text, value in (
        ("mean jct", summary["jct_s"]["mean"]),
        ("mean wait", summary["wait_s"]["mean"]),
        ("mean bounded slowdown", summary["bounded_slowdown"]["mean"]),
    ):
        assert measured.value(goal_of(text, LEAVES)) == pytest.approx(value), text


def test_a_job_that_never_started_waits_for_ever_and_a_refused_one_does_not_count(cluster):
    trace = gs.Trace(
        [
            {"submit_s": 0, "run_s": 9, "gpu": 8, "count": 3},
            {"submit_s": 1, "run_s": 9, "gpu": 8, "count": 3},
            {"submit_s": 2, "run_s": 9, "gpu": 8, "count": 4},
        ]
    )
    simulation = gs.Simulation(cluster, trace)
    simulation.run(until_s=5)
    measured = Measured(simulation.result(), 0.0, 60.0, 1)
    assert measured.refused == 1
    assert list(measured.numbers["wait"]) == [0, math.inf]
    assert measured.value(goal_of("max wait", ())) == math.inf
    assert measured.value(goal_of("p10 wait", ())) == math.inf  # between 0 and infinite
    assert measured.resampled(goal_of("median wait", ()), numpy.array([[1]]))[0] == math.inf
    assert measured.resampled(goal_of("mean wait", ()), numpy.array([[1], [0]]))[0] == math.inf


def test_use_of_gpus_by_block_adds_up(cluster):
    result = gs.simulate(cluster, week(), QUEUES)
    table = result.timeline
    whole = float((table.gpus.to_numpy()[:-1] * numpy.diff(table.at_s)).sum())
    blocks = int(table.at_s.iloc[-1] // 86400) + 1
    used, most = Measured(result, 0.0, 86400.0, blocks).used
    assert used.sum() == pytest.approx(whole) and (used <= most * (1 + 1e-12)).all()


def test_resampling_with_each_block_once_gives_the_number_itself(cluster):
    measured = Measured(gs.simulate(cluster, week(), QUEUES), 0.0, 86400.0, 14)
    once = numpy.ones((1, 14), dtype=int)
    for text in ("mean wait", "mean jct of course", "gpu utilisation"):
        goal = goal_of(text, LEAVES)
        assert measured.resampled(goal, once)[0] == pytest.approx(measured.value(goal)), text
    goal = goal_of("p95 wait of research", LEAVES)
    values, _ = measured.values(goal)
    assert measured.resampled(goal, once)[0] == pytest.approx(numpy.quantile(values, 0.95))


# ---- the front -----------------------------------------------------------------------------------


def test_the_front_is_what_no_other_surpasses():
    draw = random.Random(20261127)
    for _ in range(200):
        signs = [("a", draw.random() < 0.5), ("b", draw.random() < 0.5)]
        rows = [
            [draw.choice([0, 1, 2, math.nan, math.inf]) for _ in signs]
            for _ in range(draw.randrange(1, 8))
        ]

        def better(one, two):
            pairs = [
                tuple(math.inf if math.isnan(v) else -v if largest else v for v in pair)
                for pair, (_, largest) in zip(zip(one, two), signs)
            ]
            return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

        kept = set(pareto(rows, signs))
        assert kept
        for i, row in enumerate(rows):
            assert (i in kept) == (not any(better(other, row) for other in rows)), (rows, signs)


# ---- tuning --------------------------------------------------------------------------------------


def test_a_tuning_tries_each_combination_and_the_set_up_as_it_is(cluster, found):
    table = found.table
    assert len(table) == 7 and found.settings[0] == {} and table.simulated.eq(1).all()
    goal, others = found.objectives
    assert goal == "p95 wait of research < 1 h" and others.endswith("of other queues")
    assert table.met.tolist() == [int(value < 3600) for value in table[goal]]
    for i in (0, 4):
        tree = gs.Queues(QUEUES)
        setting = found.settings[i]
        if setting:
            tree = tree.changed(
                "research", guaranteed={"gpu": setting["queues.research.guaranteed.gpu"]}
            ).with_all(backfill=setting["queues.*.backfill"])
        jobs = gs.simulate(cluster, week(), tree).jobs
        waits = jobs[jobs.queue == "research"].wait_s
        assert table[goal][i] == pytest.approx(waits.quantile(0.95))
    assert found.front.index.tolist() == pareto(
        table[[goal, others]].values.tolist(), [(goal, False), (others, False)]
    )
    assert found.best in [found.settings[i] for i in found.front.index]
    assert "p95 wait of research" in repr(found) and "best: " in repr(found)


def test_what_meets_the_goal_is_better_than_what_has_small_numbers_elsewhere(found):
    met = found.table.met
    assert 0 < met.sum() < len(met), "the workload no longer tells settings apart"
    assert found.table.met[found.settings.index(found.best)] == 1


def test_an_effect_is_paired(found):
    table = found.table
    goal = found.objectives[0]
    none = found.effect(0)
    assert none == (0, 0, 0, 0)
    best = found.settings.index(found.best)
    effect = found.effect(best)
    assert effect.difference == pytest.approx(table[goal][best] - table[goal][0])
    assert effect.low <= effect.high < 0 and effect.better > 0.95
    assert found.effect(best) is effect
    assert set(found.effects.setting) == set(found.front.index)
    with pytest.raises(gs.NotFound):
        found.effect(99)


def test_two_goals_are_traded_off_and_utilisation_is_to_be_large(cluster):
    goals = ["mean wait", "gpu utilisation > 50 %"]
    made = gs.tune(week(), cluster, None, goals, {"policy": ["fifo", "sjf", "srtf"]}, executor=2)
    assert made.objectives == goals and len(made) == 4
    assert made.table["policy"].tolist() == [None, "fifo", "sjf", "srtf"]
    assert made.table["mean wait"][3] < made.table["mean wait"][1]
    assert (made.table[goals[1]] <= 1).all()


def test_successive_halving_simulates_less_and_keeps_the_set_up_as_it_is(cluster):
    vary = {"policy": ["fifo", "first-fit", "sjf", "srtf", "las"]}
    made = gs.tune(week(), cluster, None, "mean jct", vary, method="halving", keep=0.5)
    table = made.table
    assert table.simulated[0] == 1 and 1 <= (table.simulated[1:] == 1).sum() < 5
    assert "fifo" not in [one.get("policy") for one in made.settings if table.simulated[
        made.settings.index(one)] == 1]
    left_out = int(table.index[table.simulated < 1][0])
    assert left_out not in made.front.index
    with pytest.raises(gs.InvalidArgument, match="whole trace"):
        made.effect(left_out)
    whole = gs.tune(week(), cluster, None, "mean jct", vary)
    assert made.best == whole.best


@pytest.mark.parametrize("settings, blocks", itertools.product([2, 3, 17], [1, 2, 14]))
def test_rounds_of_halving_grow_and_end_with_the_whole_trace(settings, blocks):
    rungs = _rungs("halving", 0.5, settings, blocks)
    assert rungs == sorted(set(rungs)) and rungs[-1] == blocks and rungs[0] >= 1


def test_wrong_input_is_named(cluster):
    trace = week(jobs=5)
    wait = "mean wait"
    for goal, vary, options, said in (
        ("mean fun", {"policy": ["fifo"]}, {}, "expected e.g."),
        ([], {"policy": ["fifo"]}, {}, "goal"),
        (wait, {}, {}, "no parameter"),
        (wait, {"policy": []}, {}, "'policy' has no values"),
        (wait, {"queues.nobody.weight": [1]}, {}, "names no queue"),
        (wait, {"queues.course.order.gpu": [1]}, {}, "'order' has no kinds"),
        (wait, {"queues.course.wait": [1]}, {}, "wait"),
        (wait, {"polici": ["fifo"]}, {}, "polici"),
        (wait, {"policy": ["fifo"]}, {"method": "random"}, "grid or halving"),
        (wait, {"policy": ["fifo"]}, {"keep": 1}, "keep"),
        (wait, {"policy": ["fifo"]}, {"block_s": 0}, "block_s"),
        (wait, {"policy": ["fifo"]}, {"resamples": 0}, "resamples"),
    ):
        with pytest.raises((gs.GangError, TypeError)) as error:
            gs.tune(trace, cluster, QUEUES, goal, vary, **options)
        assert said in str(error.value), (goal, vary, str(error.value))
    with pytest.raises(gs.InvalidArgument, match="no queues"):
        gs.tune(trace, cluster, None, wait, {"queues.course.weight": [1]})
    with pytest.raises(gs.InvalidArgument, match="no jobs"):
        gs.tune(gs.Trace(), cluster, None, wait, {"policy": ["fifo"]})


def test_ctrl_c_leaves_the_complete_settings(cluster, monkeypatch):
    from gangsched import tuning

    real, calls = tuning._measure, []

    def stops(**arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(**arguments)

    monkeypatch.setattr(tuning, "_measure", stops)
    with pytest.raises(KeyboardInterrupt) as stop:
        gs.tune(week(jobs=50), cluster, None, "mean wait", {"policy": ["fifo", "sjf", "srtf"]})
    partial = stop.value.partial_result
    assert partial.settings == [{}, {"policy": "fifo"}] and partial.table.simulated.eq(1).all()


def test_pictures_have_units_a_bound_and_no_more_bars_than_readable(cluster, found):
    from matplotlib import pyplot

    axes = found.plot()
    assert axes.get_xlabel() == "p95 wait of research (hours)" and axes.get_ylabel().endswith(")")
    assert [text.get_text() for text in axes.get_legend().get_texts()][-1] == "as it is"
    bars = gs.tune(
        week(jobs=60), cluster, None, "mean wait < 1 h", {"seed": range(30)}
    ).plot(title="")
    assert len(bars.patches) == 20 and bars.get_title() == ""
    pyplot.close("all")
