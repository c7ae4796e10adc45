# SPDX-License-Identifier: Apache-2.0
"""Forecasts: expected starts, intervals, what if; and whether forecasts come true."""

import gc
import re

import pytest

import gangsched as gs


def trace(*rows):
    """Jobs of (submit, run, limit, tasks of 8 GPUs)."""
    return gs.Trace(
        [
            {
                "job": "j%d" % i,
                "submit_s": at,
                "run_s": run,
                "time_limit_s": limit,
                "count": tasks,
                "gpu": 8,
                "queue": "q",
            }
            for i, (at, run, limit, tasks) in enumerate(rows)
        ]
    )


@pytest.fixture
def cluster():
    with gs.Cluster.uniform(nodes=4, gpus=8) as made:
        yield made


@pytest.fixture
def simulation(cluster):
    """A simulation of four busy nodes, two until 100 s and two until 300 s; three jobs wait."""
    jobs = trace((0, 100, 100, 2), (0, 300, 300, 2), (5, 50, 60, 4), (6, 40, 50, 2), (7, 10, 20, 1))
    with gs.Simulation(
        cluster, jobs, {"q": {"order": "fifo", "block": "strict"}}, no_preemption=True
    ) as made:
        made.run(until_s=10)
        yield made


def starts(rows):
    return {row.name: row.start_s for row in rows}


def test_each_waiting_job_has_an_expected_start(simulation):
    with simulation.forecast() as ahead:
        rows = ahead.run()
        assert [row.job for row in rows] == [2, 3, 4] and starts(rows) == {
            "j2": 300,
            "j3": 360,
            "j4": 360,
        }
        first = rows[0]
        assert isinstance(first, gs.Expected)
        assert (
            first.what, first.low_s, first.high_s, first.wait_s, first.samples, first.queue,
        ) == ("start", 300, 300, 295, 1, "q")
        assert ahead.start_of("j3") == ahead.start_of(3) == 360 and "3 jobs wait" in repr(ahead)
        assert list(rows.table.columns) == list(
            gs.Expected._fields
        ) and rows.table.start_s.tolist() == [300, 360, 360]
        for unknown in ("j0", 0, "x"):
            with pytest.raises(gs.NotFound):
                ahead.start_of(unknown)
    with simulation.forecast() as ahead:
        assert "not run yet" in repr(ahead)
        with pytest.raises(gs.NotFound):
            ahead.start_of(2)


def test_forecast_starts_are_the_starts_of_the_simulation(simulation):
    with simulation.forecast(run_time="actual") as ahead:
        foretold = starts(ahead.run())
    simulation.run()
    table = simulation.result().jobs.set_index("job")
    assert foretold == {name: table.start_s[name] for name in foretold} and foretold["j3"] == 350


def test_the_simulation_and_the_forecast_are_independent(simulation):
    with simulation.forecast() as ahead:
        ahead.drain("n0")
        ahead.submit(count=1, gpu=8, time_limit_s=5, queue="q")
        assert simulation.cluster.node("n0")["state"] == "up" and len(simulation) == 5
        simulation.run(until_s=200)
        assert starts(ahead.run())["j2"] is None  # fewer than four nodes are up
        assert ahead.run()[0].what == "never" and ahead.run()[0].wait == "capacity"
    simulation.run()
    assert simulation.job("j2")["start_s"] == 300


def test_a_forecast_outlives_its_simulation(cluster):
    simulation = gs.Simulation(cluster, trace((0, 100, 100, 4), (1, 10, 10, 4)))
    simulation.run(until_s=2)
    ahead = simulation.forecast()
    inside = ahead.cluster
    simulation.close()
    assert starts(ahead.run()) == {"j1": 100}
    ahead.close()
    ahead.close()
    arguments = {
        **{
            name: ("x",)
            for name in (
                "cancel_reservation", "change_reservation", "occurrences", "change_queue",
                "start_of", "drain",
            )
        },
        **{name: (1,) for name in ("hold", "release", "cancel")},
        "set_priority": (1, 1),
        "set_time_limit": (1, 1),
        "reserve": ({"name": "x"},),
        "set_queues": ({"x": {}},),
        "add_nodes": ([{"name": "x"}],),
    }
    names = {name for name in dir(gs.Forecast) if not name.startswith("_")} - {
        "close", "closed", "epoch", "dates",
    }
    for name in sorted(names):
        with pytest.raises(gs.Closed):
            value = getattr(ahead, name)
            value(*arguments.get(name, ()))
    assert len(names) > 15
    with pytest.raises(gs.Closed):
        inside.nodes
    assert "closed" in repr(ahead)
    del ahead, inside
    gc.collect()


def test_what_if_there_were_more_machines_or_less(simulation):
    found = simulation.what_if(
        {
            "as it is": None,
            "two more": lambda ahead: ahead.add_nodes(
                [{"name": "x%d" % i, "gpus": 8, "cpus": 64, "mem_mib": 524288} for i in range(2)]
            ),
            "one drained": lambda ahead: ahead.drain("n3"),
            "j2 is gone": lambda ahead: ahead.cancel("j2"),
            "another": lambda ahead: ahead.submit(
                count=4, gpu=8, time_limit_s=10, queue="q", name="mine", priority=1
            ),
        }
    )
    assert list(found.columns) == [
        "name", "as it is", "two more", "one drained", "j2 is gone", "another",
    ]
    assert (
        found.loc[2, "as it is"] == 300
        and found.loc[2, "two more"] == 100
        and found["one drained"].isna().all()
    )
    assert found.loc[3, "j2 is gone"] == 100 and found.name.tolist() == ["j2", "j3", "j4", "mine"]
    assert found.loc[5, "another"] == 300 and found.loc[2, "another"] == 310


def test_what_if_gives_intervals(simulation):
    def run_time(job, sample, draw):
        return 50 + 100 * (sample % 5)

    found = simulation.what_if(
        {"as it is": None, "j2 is gone": lambda ahead: ahead.cancel("j2")},
        intervals=True, samples=50, run_time=run_time, low=0.2, high=0.8,
    )
    assert list(found.columns) == [
        "name", "as it is", "as it is low", "as it is high",
        "j2 is gone", "j2 is gone low", "j2 is gone high",
    ]
    with simulation.forecast(samples=50, run_time=run_time, low=0.2, high=0.8) as ahead:
        for row in ahead.run():
            assert row.low_s <= row.start_s <= row.high_s
            shown = [found.loc[row.job, "as it is" + end] for end in (" low", "", " high")]
            assert shown == [row.low_s, row.start_s, row.high_s]
    assert (found["as it is low"] < found["as it is high"]).any()


def test_what_if_a_limit_were_raised(cluster):
    jobs = trace((0, 100, 100, 1), (1, 100, 100, 1), (2, 100, 100, 1))
    tree = {"q": {"limit": {"gpu": 8}}}
    with gs.Simulation(cluster, jobs, tree) as simulation:
        simulation.run(until_s=3)
        with simulation.forecast() as ahead:
            assert starts(ahead.run()) == {"j1": 100, "j2": 200}
            ahead.change_queue("q", limit={"gpu": 16})
            assert (
                starts(ahead.run()) == {"j1": 3, "j2": 100}
                and ahead.queues["q"]["kinds"]["gpu"]["limit"] == 16
            )
            ahead.set_queues({"q": {}, "other": {}})
            assert starts(ahead.run()) == {"j1": 3, "j2": 3} and list(ahead.tree) == ["q", "other"]
            with pytest.raises(gs.Busy):
                ahead.set_queues({"other": {}})
        assert simulation.queues["q"]["kinds"]["gpu"]["limit"] == 8 and list(simulation.tree) == [
            "q"
        ]


def test_commands_and_reservations_in_a_copy(simulation):
    with simulation.forecast() as ahead:
        ahead.set_priority("j4", 5)  # the order of this queue ignores priorities
        ahead.hold("j2")
        assert starts(ahead.run()) == {"j2": None, "j3": 100, "j4": 150}
        assert ahead.run()[0].wait == "hold" and ahead.run()[0].what == "never"
        ahead.release("j2")
        ahead.set_time_limit(1, 150)
        assert starts(ahead.run())["j2"] == 150
    with simulation.forecast() as ahead:
        made = ahead.reserve(name="r", nodes=["n0", "n1", "n2", "n3"], start_s=300, duration_s=1000)
        assert made.start_s == 300 and starts(ahead.run())["j2"] == 1300
        assert len(simulation.reservations) == 0 and list(ahead.reservations) == ["r"]
        ahead.cancel_reservation("r")
        assert starts(ahead.run())["j2"] == 300
        assert [row.job for row in ahead.plan() if row.what == "running"] == [0, 1]
    simulation.reserve(name="s", nodes=["n0", "n1"], start_s=400, duration_s=100)
    with simulation.forecast() as ahead:
        assert (
            list(ahead.reservations) == ["s"]
            and ahead.change_reservation("s", duration_s=300).end_s == 700
        )
        assert simulation.reservations["s"].end_s == 500


def test_run_times_are_drawn_and_give_intervals(simulation):
    called_for = set()

    def run_time(job, sample, draw):
        assert 0 <= draw < 1 and 0 <= sample < 50
        called_for.add(job)
        return 100 + 200 * draw

    with simulation.forecast(samples=50, run_time=run_time, seed=3, low=0.25, high=0.75) as ahead:
        rows = ahead.run()
        again = ahead.run()
    assert rows == again and called_for == {0, 1, 2, 3, 4}
    row = rows[0]
    assert (
        row.samples == 50
        and 100 <= row.low_s <= row.start_s <= row.high_s <= 300
        and row.low_s < row.high_s
    )
    with simulation.forecast(samples=50, run_time=run_time, seed=4, low=0.25, high=0.75) as ahead:
        assert ahead.run() != rows
    with simulation.forecast(run_time=lambda job, sample, draw: None) as ahead:
        assert starts(ahead.run())["j2"] == 300


def test_the_horizon_bounds_a_forecast(simulation):
    with simulation.forecast(horizon_s=100) as ahead:
        assert ahead.run()[0].what == "later" and starts(ahead.run())["j2"] is None
        assert ahead.run().table.start_s.isna().all()


def test_ctrl_c_has_no_partial_result(simulation):
    def stops(job, sample, draw):
        raise KeyboardInterrupt

    with simulation.forecast(run_time=stops) as ahead:
        with pytest.raises(KeyboardInterrupt) as stop:
            ahead.run()
        assert stop.value.partial_result is None


def test_an_exception_of_run_time_leaves_the_forecast(simulation):
    def broken(job, sample, draw):
        raise RuntimeError("no idea of %d" % job)

    with simulation.forecast(run_time=broken) as ahead, pytest.raises(
        RuntimeError, match="no idea"
    ):
        ahead.run()
    for answer, error in (("soon", TypeError), (float("nan"), gs.OutOfRange)):
        with simulation.forecast(run_time=lambda job, sample, draw: answer) as ahead, pytest.raises(
            error
        ):
            ahead.run()

    def nested(job, sample, draw):
        ahead.run()

    with simulation.forecast(run_time=nested) as ahead, pytest.raises(gs.Busy):
        ahead.run()

    def closes(job, sample, draw):
        ahead.close()
        return 10

    with simulation.forecast(run_time=closes) as ahead:
        ahead.run()
    assert ahead.closed


@pytest.mark.parametrize("options, error, path", [
    (dict(samples=0), gs.OutOfRange, "samples"),
    (dict(samples=10001), gs.OutOfRange, "samples"),
    (dict(samples=1.5), gs.InvalidArgument, "samples"),
    (dict(low=0), gs.OutOfRange, "low"),
    (dict(high=1), gs.OutOfRange, "high"),
    (dict(high="much"), gs.InvalidArgument, "high"),
    (dict(horizon_s=float("inf")), gs.OutOfRange, "horizon_s"),
    (dict(max_events=-1), gs.OutOfRange, "max_events"),
    (dict(run_time="guess"), gs.InvalidArgument, "run_time"),
    (dict(seed=None), gs.InvalidArgument, "seed"),
])
def test_wrong_options_are_named(simulation, options, error, path):
    with pytest.raises(error) as raised:
        simulation.forecast(**options)
    assert raised.value.path == path


def test_a_forecast_checks_submitted_jobs(simulation):
    with simulation.forecast() as ahead:
        with pytest.raises(gs.NeverFits):
            ahead.submit(count=5, gpu=8, queue="q")
        with pytest.raises(gs.NotFound):
            ahead.submit(gpu=1, queue="nobody")
        with pytest.raises(gs.OutOfRange) as raised:
            ahead.submit(gpu=-1, queue="q")
        assert raised.value.path == "tasks[0].gpu"
        with pytest.raises(gs.NotFound):
            ahead.submit(gpu=1, queue="q", reservation="none")
        ahead.reserve(name="r", nodes=["n0", "n1", "n2", "n3"], start_s=500, duration_s=100)
        index = ahead.submit(count=4, gpu=8, time_limit_s=50, queue="q", reservation="r", name="in")
        assert index == 5 and ahead.submit(gpu=1, queue="q") == 6
        ahead.run()
        assert ahead.start_of("in") == ahead.start_of(5) == 500


def test_without_queues_and_without_names(cluster):
    with gs.Simulation(cluster) as simulation:
        first = simulation.submit(count=4, gpu=8, run_s=100, time_limit_s=100)
        simulation.run(until_s=1)
        with simulation.forecast() as ahead:
            mine = ahead.submit(count=1, gpu=8, time_limit_s=10)
            rows = ahead.run()
            assert (mine, rows[0].job, rows[0].name, rows[0].queue, rows[0].start_s) == (
                first + 1,
                1,
                "1",
                "default",
                100,
            )


def test_threads_and_garbage(simulation):
    forecasts = [simulation.forecast() for _ in range(20)]
    del forecasts
    gc.collect()
    with simulation.forecast() as ahead:
        assert len(ahead.run()) == 3


def test_the_readme_shows_what_its_example_prints(root, capsys):
    blocks = re.findall(
        r"^```(\w*)\n(.*?)^```$",
        (root / "bindings" / "python" / "README.md").read_text(encoding="utf-8"),
        re.S | re.M,
    )
    at = next(
        i for i, (kind, body) in enumerate(blocks) if kind == "python" and ".reserve(" in body
    )
    exec(
        compile(
            "import gangsched as gs\ncluster = gs.Cluster.uniform(nodes=4, gpus=8)\n"
            + blocks[at][1],
            "README.md",
            "exec",
        ),
        {},
    )
    shown = [line.rstrip() for line in blocks[at + 1][1].splitlines()]
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown
