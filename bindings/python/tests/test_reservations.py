# SPDX-License-Identifier: Apache-2.0
"""Reservations and the plan: made, refused, changed, cancelled; jobs inside and outside; tables."""

import copy
import pickle

import pytest

import gangsched as gs

HOUR = 3600


@pytest.fixture
def cluster():
    with gs.Cluster.uniform(nodes=4, gpus=8, racks=2) as made:
        yield made


@pytest.fixture
def simulation(cluster):
    """A job with a limit of 1000 s holds the nodes n0 and n1."""
    trace = gs.Trace(
        [
            {
                "job": "long", "submit_s": 0, "run_s": 900, "time_limit_s": 1000, "count": 2, "gpu": 8,
                "queue": "q",
            }
        ]
    )
    with gs.Simulation(cluster, trace, {"q": {"backfill": "conservative"}, "demo": {}}) as made:
        made.run(until_s=10)
        yield made


def test_jobs_run_around_a_reservation_of_nodes(simulation):
    made = simulation.reserve(
        name="demo",
        queue="demo",
        start_s=2000,
        duration_s=500,
        nodes=["n0", "n1"],
        flags=["magnetic"],
    )
    assert isinstance(made, gs.Reservation) and (
        made.start_s, made.end_s, made.state, made.nodes,
    ) == (2000, 2500, "planned", 2)
    assert (made.queue, made.flags, made.job, made.planned, made.owner) == (
        "demo",
        ("magnetic",),
        None,
        1,
        "",
    )
    inside = simulation.submit(
        name="in", count=2, gpu=8, run_s=100, time_limit_s=100, queue="demo", reservation="demo"
    )
    late = simulation.submit(count=4, gpu=8, run_s=800, time_limit_s=1200, queue="q")
    simulation.run(until_s=2050)
    assert (
        simulation.reservations["demo"].state == "active"
        and simulation.reservations["demo"].running == 1
    )
    rows = simulation.plan()
    held = next(row for row in rows if row.what == "running")
    assert (held.name, held.job, held.inside, sorted(held.nodes), held.end_s) == (
        "in",
        inside,
        "demo",
        ["n0", "n1"],
        2100,
    )
    simulation.run()
    assert simulation.job(inside)["start_s"] == 2000 and simulation.job(late)["start_s"] == 2500
    assert len(simulation.reservations) == 0


def test_a_refused_reservation_names_the_reason_and_the_next_start(simulation):
    with pytest.raises(gs.DoesNotFit) as refused:
        simulation.reserve(name="all", count=4, gpu=8, duration_s=100, deadline_s=900)
    assert (
        refused.value.next_start_s == 1000
        and refused.value.code == gs.lib.GANG_ENOFIT
        and refused.value.text
    )
    assert pickle.loads(pickle.dumps(refused.value)).next_start_s == 1000
    again = simulation.reserve(
        name="all", count=4, gpu=8, duration_s=100, arrival_s=refused.value.next_start_s
    )
    assert (again.start_s, again.nodes) == (1000, 4)
    with pytest.raises(gs.NeverFits) as never:
        simulation.reserve(name="more", count=5, gpu=8, duration_s=100)
    assert never.value.next_start_s is None
    assert list(simulation.reservations) == ["all"]


def test_the_objective_chooses_the_start_in_the_window(simulation):
    early = simulation.reserve(name="a", count=2, gpu=8, duration_s=100, deadline_s=5000)
    late = simulation.reserve(
        name="b", count=2, gpu=8, duration_s=100, deadline_s=5000, objective="latest"
    )
    cheap = simulation.reserve(
        name="c", count=2, gpu=8, duration_s=100, deadline_s=5000, objective="cheapest"
    )
    assert (early.start_s, late.end_s) == (10, 5000) and 1000 <= cheap.start_s < 4800
    assert simulation.reservations.table.start_s.tolist() == [10, 4900, cheap.start_s]


def test_now_is_the_clock_of_the_simulation_not_the_last_cycle(cluster):
    with gs.Simulation(cluster) as simulation:
        simulation.run(until_s=500)
        assert simulation.reserve(name="r", nodes=["n0"], duration_s=60).start_s == 500


def test_a_reservation_lists_its_stages_and_times(simulation):
    simulation.reserve(
        name="steps",
        combine="order-no-gap",
        start_s=1000,
        period_s=3600,
        repetitions=3,
        stages=[
            {"duration_s": 100, "tasks": [{"count": 1, "cpu": 8}]},
            {"duration_s": 200, "level": "rack", "domain": "r0"},
        ],
    )
    rows = simulation.occurrences("steps")
    assert [(row.instance, row.gang, row.start_s, row.end_s) for row in rows] == [
        (i, part, 1000 + 3600 * i + 100 * part, 1100 + 3600 * i + 200 * part)
        for i in range(3)
        for part in range(2)
    ]
    assert all(
        row.what == "reservation" and row.name == "steps" and row.job is None for row in rows
    )
    assert [len(row.nodes) for row in rows] == [1, 2] * 3
    table = rows.table
    assert table.start_s.dtype == float and table.nodes[1] == ("n0", "n1")
    assert (
        simulation.reservations["steps"].planned == 3
        and "steps" in repr(rows)
        and "<table" in rows._repr_html_()
    )
    assert (
        list(rows[:2]) == [rows[0], rows[1]]
        and rows[:2] == rows[0:2]
        and hash(rows[:2]) == hash(rows[0:2])
    )
    with pytest.raises(gs.NotFound):
        simulation.occurrences("step")


def test_gangs_of_a_stage_may_follow_each_other(simulation):
    made = simulation.reserve(
        name="waves", count=8, gpu=8, gang_size=2, duration_s=100, deadline_s=1000
    )
    rows = simulation.occurrences("waves")
    assert made.end_s - made.start_s == 400 and [row.start_s for row in rows] == [10, 110, 210, 310]


def test_a_refused_change_leaves_the_reservation(simulation):
    simulation.reserve(name="r", count=2, gpu=8, duration_s=100, start_s=100)
    assert simulation.change_reservation("r", start_s=300).start_s == 300
    with pytest.raises(gs.DoesNotFit) as refused:
        simulation.change_reservation("r", count=4)
    assert refused.value.next_start_s == 1000 and simulation.reservations["r"].start_s == 300
    simulation.change_reservation("r", start_s=None, name="other", count=4, purge_s=5)
    assert (
        list(simulation.reservations) == ["other"]
        and simulation.reservations["other"].start_s == 1000
    )
    simulation.change_reservation("other", count=None, gpu=None, nodes=["n1"], arrival_s=1500)
    assert (
        simulation.occurrences("other")[0].nodes == ("n1",)
        and simulation.reservations["other"].start_s == 1500
    )
    simulation.cancel_reservation("other")
    assert len(simulation.reservations) == 0
    for call in (
        lambda: simulation.cancel_reservation("other"),
        lambda: simulation.change_reservation("other", gpu=1),
    ):
        with pytest.raises(gs.NotFound):
            call()


def test_an_active_reservation_is_extended(simulation):
    simulation.reserve(name="r", nodes=["n3"], duration_s=100, start_s=20)
    simulation.run(until_s=50)
    assert simulation.change_reservation("r", duration_s=500).end_s == 520
    assert simulation.reservations["r"].state == "active"


def test_a_reservation_for_one_job(simulation):
    job = simulation.submit(name="mine", count=2, gpu=8, run_s=50, time_limit_s=60, queue="q")
    simulation.hold(job)
    simulation.run(until_s=20)
    made = simulation.reserve(name="seat", job="mine", count=2, gpu=8, start_s=400, duration_s=100)
    assert made.job == job
    simulation.release(job)
    simulation.run(until_s=2000)
    assert simulation.job(job)["end"] == "success"
    with pytest.raises(gs.NotFound):
        simulation.reserve(name="x", job="nobody", count=1, gpu=8, start_s=3000, duration_s=10)


def test_owners_have_limits(simulation):
    simulation.limit_reservations("ada", maximum={"gpu": 8})
    simulation.limit_reservations(average={"gpu": 4}, window_s=1000)
    simulation.reserve(name="a", owner="ada", count=1, gpu=8, start_s=100, duration_s=50)
    with pytest.raises(gs.LimitReached):
        simulation.reserve(name="b", owner="ada", count=2, gpu=8, start_s=1300, duration_s=50)
    with pytest.raises(gs.LimitReached):
        simulation.reserve(name="c", owner="bob", count=2, gpu=8, start_s=300, duration_s=251)
    simulation.reserve(name="c", owner="bob", count=2, gpu=8, start_s=300, duration_s=250)
    simulation.limit_reservations("ada")
    simulation.reserve(name="b", owner="ada", count=2, gpu=8, start_s=700, duration_s=50)
    for wrong, error, path in [
        (dict(maximum={"gpus": 1}), gs.NotFound, "maximum.gpus"),
        (dict(maximum={"gpu": -1}), gs.OutOfRange, "maximum.gpu"),
        (dict(maximum={"gpu": "8"}), gs.InvalidArgument, "maximum.gpu"),
        (dict(average={"cpu": float("nan")}), gs.OutOfRange, "average.cpu"),
        (dict(window_s=-1), gs.OutOfRange, "window_s"),
    ]:
        with pytest.raises(error) as raised:
            simulation.limit_reservations("eve", **wrong)
        assert raised.value.path == path


@pytest.mark.parametrize(
    "fields, error, path",
    [
        (dict(nodes=["n0", "n9"]), gs.NotFound, "nodes[1]"),
        (dict(nodes=["n0", 7]), gs.InvalidArgument, "nodes[1]"),
        (dict(nodes=["n0", ""]), gs.InvalidArgument, "nodes[1]"),
        (dict(count=1, gpu=-1), gs.OutOfRange, "gpu"),
        (dict(count=1, colour="red"), gs.InvalidArgument, "colour"),
        (dict(count=1, gpu=1, queue="nobody"), gs.NotFound, "queue"),
        (dict(count=1, gpu=1, flags=["magic"]), gs.InvalidArgument, "flags[0]"),
        (dict(count=1, gpu=1, duration_s=-1), gs.OutOfRange, "duration_s"),
        (dict(count=1, gpu=1, start_s="soon"), gs.InvalidArgument, "start_s"),
        (dict(count=1, gpu=1, start_s=5, arrival_s=7), gs.InvalidArgument, "start_s"),
        (dict(count=1, gpu=1, objective="best"), gs.InvalidArgument, "objective"),
        (dict(level="row", domain_count=1), gs.NotFound, "level"),
        (dict(level="rack", domain="r7"), gs.NotFound, "domain"),
        (
            dict(stages=[{"nodes": ["n0"]}, {"nodes": ["n0", "n1", "x"]}]),
            gs.NotFound,
            "stages[1].nodes[2]",
        ),
        (dict(count=1, gpu=1, spread="rack"), gs.NotSupported, "spread"),
        (dict(tasks=[{"gpu": 1, "spread": "rack"}]), gs.NotSupported, "tasks[0].spread"),
        (
            dict(stages=[{"tasks": [{"gpu": 1, "spread": "rack"}]}]),
            gs.NotSupported,
            "stages[0].tasks[0].spread",
        ),
        (dict(stages=[{"nodes": ["n0"]}], count=1), gs.NotFound, "count"),
        (dict(tasks=[{"gpu": 1}], gpu=1), gs.NotFound, "gpu"),
        (dict(stages=3), gs.InvalidArgument, "stages"),
        (dict(), gs.InvalidArgument, ""),
    ],
)
def test_a_wrong_reservation_is_refused_with_its_path(simulation, fields, error, path):
    with pytest.raises(error) as raised:
        simulation.reserve({"name": "r", "duration_s": 60, **fields})
    assert raised.value.path == path and len(simulation.reservations) == 0


def test_reservation_names_are_unique(simulation):
    simulation.reserve(name="r", nodes=["n3"], duration_s=10, start_s=100)
    with pytest.raises(gs.AlreadyExists):
        simulation.reserve(name="r", nodes=["n3"], duration_s=10, start_s=300)
    with pytest.raises(gs.NotFound) as raised:
        simulation.submit(gpu=1, run_s=1, queue="q", reservation="s")
    assert raised.value.path == "reservation"
    with pytest.raises(gs.GangError):
        simulation.reserve(nodes=["n3"], duration_s=10, start_s=500)


def test_a_reservation_for_users(simulation):
    simulation.reserve(name="r", users=["ada"], nodes=["n2", "n3"], start_s=100, duration_s=100)
    hers = simulation.submit(
        count=2, gpu=8, run_s=10, time_limit_s=20, queue="q", user="ada", reservation="r"
    )
    his = simulation.submit(count=2, gpu=8, run_s=10, time_limit_s=120, queue="q", user="bob")
    simulation.run()
    assert simulation.job(hers)["start_s"] == 100 and simulation.job(his)["start_s"] == 200
    with pytest.raises(gs.NotFound):
        simulation.reserve(name="s", nodes=["n2"], duration_s=1, job=17)


def test_an_unused_reservation_is_purged(simulation):
    simulation.reserve(name="r", nodes=["n2", "n3"], start_s=100, duration_s=500, purge_s=50)
    job = simulation.submit(count=2, gpu=8, run_s=10, time_limit_s=400, queue="q")
    simulation.run()
    assert simulation.job(job)["start_s"] == 150


def test_a_callback_may_read_reservations(cluster):
    seen = []

    def look(event):
        seen.append(
            (
                len(simulation.plan()),
                len(simulation.reservations),
                simulation.queues["default"]["running"],
            )
        )

    with gs.Simulation(cluster, on_event=look) as simulation:
        simulation.reserve(name="r", nodes=["n0"], start_s=100, duration_s=100)
        simulation.submit(gpu=1, run_s=5, time_limit_s=5)
        simulation.run()
    assert len(seen) >= 2 and seen[-1][1] == 1


def test_no_job_runs_during_maintenance(simulation):
    simulation.reserve(
        name="repair",
        start_s=1500,
        duration_s=500,
        nodes=["n0", "n1", "n2", "n3"],
        flags=["maintenance"],
    )
    job = simulation.submit(count=1, gpu=1, run_s=600, time_limit_s=1600, queue="q")
    simulation.run()
    assert simulation.job(job)["start_s"] == 2000


def test_the_plan_shows_which_job_starts_when(simulation):
    job = simulation.submit(name="whole", count=4, gpu=8, run_s=10, time_limit_s=60, queue="q")
    simulation.run(until_s=20)
    rows = {row.what: row for row in simulation.plan()}
    assert (
        rows["running"].name == "long"
        and rows["running"].end_s == 1000
        and rows["running"].job == 0
    )
    start = rows["start"]
    assert (start.job, start.start_s, start.end_s, len(start.nodes)) == (job, 1000, 1060, 4)
    table = simulation.plan().table
    assert list(table.what) == ["running", "start"] and list(table.columns) == list(
        gs.PlanItem._fields
    )
    with gs.Simulation(simulation.cluster) as other:
        assert len(other.plan()) == 0 and list(other.plan().table.columns) == list(
            gs.PlanItem._fields
        )
        endless = other.submit(gpu=1, run_s=5)
        other.run(until_s=1)
        assert [(row.job, row.end_s) for row in other.plan()] == [(endless, None)]
        assert other.plan().table.end_s.isna().all()


def test_reservations_are_in_forks_and_replays(simulation):
    simulation.reserve(name="r", nodes=["n3"], duration_s=100, start_s=100, flags=["magnetic"])
    simulation.change_reservation("r", start_s=200)
    simulation.limit_reservations("ada", maximum={"gpu": 8})
    simulation.reserve(name="gone", nodes=["n2"], duration_s=100, start_s=100)
    simulation.cancel_reservation("gone")
    simulation.submit(name="in", gpu=8, run_s=10, time_limit_s=10, queue="q", reservation="r")
    with simulation.fork() as other:
        assert list(other.reservations) == ["r"] and other.reservations["r"].start_s == 200
        assert other.occurrences("r") == simulation.occurrences("r")
        with pytest.raises(gs.LimitReached):
            other.reserve(name="b", owner="ada", count=2, gpu=8, start_s=3000, duration_s=50)
        assert (
            other.change_reservation("r", start_s=300).end_s == 400
            and simulation.reservations["r"].start_s == 200
        )
        other.change_queue("q", weight=3)
        other.submit(gpu=8, run_s=10, time_limit_s=10, queue="q", reservation="r")
        assert simulation.tree["q"].get("weight") is None
    simulation.run()
    result = simulation.result()
    assert simulation.job("in")["start_s"] == 200
    again = pickle.loads(pickle.dumps(result))
    assert (
        "r" in str(again.explain("in", at_s=100))
        or again.explain("in", at_s=100)["state"] == "pending"
    )


def test_reserving_in_a_callback_or_after_close_is_refused(cluster):
    raised = []

    def on_event(event):
        for call in (
            lambda: simulation.reserve(name="r", nodes=["n0"], duration_s=1, start_s=100),
            lambda: simulation.set_queues({"default": {}}),
            lambda: simulation.forecast(),
        ):
            try:
                call()
            except gs.Busy as error:
                raised.append(error)

    simulation = gs.Simulation(
        cluster, gs.Trace([{"submit_s": 0, "run_s": 1, "gpu": 1}]), on_event=on_event
    )
    simulation.run()
    assert len(raised) == 9
    simulation.close()
    for call in (
        lambda: simulation.reserve(name="r", nodes=["n0"], duration_s=1),
        lambda: simulation.change_reservation("r", duration_s=1),
        lambda: simulation.cancel_reservation("r"),
        lambda: simulation.limit_reservations("r"),
        lambda: simulation.reservations,
        lambda: simulation.occurrences("r"),
        lambda: simulation.plan(),
        lambda: simulation.set_queues({"q": {}}),
        lambda: simulation.change_queue("q", weight=2),
        lambda: simulation.forecast(),
        lambda: simulation.what_if({"": None}),
    ):
        with pytest.raises(gs.Closed):
            call()


def test_rows_are_plain_data(simulation):
    simulation.reserve(name="r", nodes=["n3"], duration_s=100, start_s=100)
    rows = simulation.occurrences("r")
    assert pickle.loads(pickle.dumps(rows)) == rows and copy.copy(rows) == rows and rows != 3
    assert pickle.loads(pickle.dumps(simulation.reservations["r"])) == simulation.reservations["r"]
    assert (
        "r" in repr(simulation.reservations) and "<table" in simulation.reservations._repr_html_()
    )


# ---- events ------------------------------------------------------------------------------------


def test_reservations_cause_events(cluster):
    heard = []
    with gs.Simulation(cluster, events=True, on_event=heard.append) as simulation:
        way = simulation.submit(name="long", count=1, gpu=8, run_s=400)
        simulation.run(until_s=10)
        (there,) = simulation.plan()[0].nodes
        made = simulation.reserve(
            name="weekly",
            nodes=[there],
            start_s=100,
            duration_s=50,
            period_s=100,
            repetitions=2,
            notice_s=20,
            flags=["ignore-jobs"],
        )
        simulation.run()
        kept = [event for event in simulation.events() if event.reservation is not None]
        assert kept == [event for event in heard if event.reservation is not None]
    assert [(event.what, event.at_s, event.reservation.instance) for event in kept] == [
        ("reservation-notice", 80, 0),
        ("reservation-begin", 100, 0),
        ("reservation-end", 150, 0),
        ("reservation-notice", 180, 1),
        ("reservation-begin", 200, 1),
        ("reservation-end", 250, 1),
    ]
    for event in kept:
        about = event.reservation
        assert (event.job, event.node, about.name, about.id, about.nodes, about.outcome) == (
            -1,
            "",
            "weekly",
            made.id,
            (there,),
            "",
        )
        assert about.end_s - about.start_s == 50 and event.text
        assert about.jobs == ((way,) if event.what == "reservation-begin" else ())
    assert {event.what for event in heard} >= {"submitted", "started", "ended"}
    assert pickle.loads(pickle.dumps(kept[0])) == kept[0]


def test_an_event_has_the_outcome_of_a_reservation_that_lost_a_node(cluster):
    with gs.Simulation(cluster, events=True) as simulation:
        simulation.reserve(name="a", count=1, gpu=8, start_s=100, duration_s=50)
        lost = simulation.plan()[0].nodes[0]
        simulation.set_node(lost, "down", at_s=50)
        simulation.run(until_s=60)
        kept = [event for event in simulation.events() if event.what == "reservation-lost"]
        assert [(event.at_s, event.reservation.outcome) for event in kept] == [(50, "kept")]
        assert (
            kept[0].reservation.nodes != (lost,) == (lost,) and len(kept[0].reservation.nodes) == 1
        )


def test_reservations_begin_and_end_without_any_job(cluster):
    with gs.Simulation(cluster) as simulation:
        simulation.reserve(name="a", count=1, gpu=8, start_s=100, duration_s=50)
        assert simulation.run().now_s == 0
        assert simulation.run(until_s=120).now_s == 120
        assert simulation.reservations["a"].state == "active"
        assert simulation.run(until_s=1000).stop_reason == "done" and not simulation.reservations
