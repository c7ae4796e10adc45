# SPDX-License-Identifier: Apache-2.0
"""Dates and time zones in, seconds inside, dates out."""

import datetime
import pickle
import re

import numpy
import pandas
import pytest

import gangsched as gs
from gangsched.dates import as_date, dates_of, time_s

UTC = datetime.timezone.utc
NINE = datetime.datetime(2026, 1, 5, 9)


def gpu_jobs(*submitted, **options):
    return gs.Trace([{"submit_s": at, "run_s": 600, "gpu": 8} for at in submitted], **options)


@pytest.fixture
def cluster():
    return gs.Cluster.uniform(2)


@pytest.mark.parametrize(
    "given",
    [
        NINE,
        pandas.Timestamp(NINE),
        numpy.datetime64(NINE),
        numpy.datetime64(NINE, "ns"),
        "2026-01-05 09:00",
        "2026-01-05T09:00:00",
        "Jan 5 2026 9:00",
    ],
)
def test_every_kind_of_date_is_the_same_second(given):
    epoch = pandas.Timestamp("2026-01-05")
    assert time_s(given, epoch, "x") == 9 * 3600
    trace = gpu_jobs(given, epoch=datetime.date(2026, 1, 5))
    assert trace.column("submit_s").tolist() == [9 * 3600] and trace.epoch == epoch


def test_dates_with_a_zone_are_instants():
    """On 2026-03-29 clocks in Berlin go from 2 to 3, on 2026-10-25 from 3 back to 2."""
    berlin = [
        pandas.Timestamp(at, tz="Europe/Berlin") for at in ("2026-03-29 01:30", "2026-03-29 03:30")
    ]
    assert gpu_jobs(*berlin).column("submit_s").tolist() == [0, 3600]
    both = [pandas.Timestamp("2026-10-25 00:30", tz="UTC"), "2026-10-25 02:30+01:00"]
    assert gpu_jobs(*both).column("submit_s").tolist() == [0, 3600]
    naive = [pandas.Timestamp("2026-03-29 01:30"), "2026-03-29 03:30"]
    assert gpu_jobs(*naive).column("submit_s").tolist() == [0, 7200]
    trace = gpu_jobs(*berlin)
    assert str(trace.dates(3600)) == "2026-03-29 03:30:00+02:00"


def test_the_epoch_is_the_earliest_date():
    trace = gpu_jobs("2026-01-05 10:00", "2026-01-05 09:00", "2026-01-06 09:00")
    assert trace.column("submit_s").tolist() == [3600, 0, 86400]
    assert trace.epoch == pandas.Timestamp(NINE)
    assert [str(date) for date in trace.dates(trace.column("submit_s"))] == [
        "2026-01-05 10:00:00", "2026-01-05 09:00:00", "2026-01-06 09:00:00"]
    mixed = gpu_jobs("2026-01-05 10:00", 60, epoch=NINE)
    assert mixed.column("submit_s").tolist() == [3600, 60]


def test_recorded_starts_and_durations():
    trace = gs.Trace([{
        "submit_s": NINE, "start_s": "2026-01-05 09:00:01.5", "run_s": datetime.timedelta(hours=2),
        "time_limit_s": numpy.timedelta64(3, "h"), "gpu": 1,
    }])
    names = ("submit_s", "start_s", "run_s", "time_limit_s")
    assert [float(trace.column(name)[0]) for name in names] == [0, 1.5, 7200, 10800]


@pytest.mark.parametrize(
    "jobs, said",
    [
        ([NINE, "2026-13-01"], "job 2: submit_s: '2026-13-01' is not a date"),
        ([NINE, "soon"], "job 2: submit_s: expected a date with its year, not 'soon'"),
        ([NINE, "9:00"], "job 2: submit_s: expected a date with its year"),
        ([NINE, pandas.NaT], "job 2: submit_s: expected a date"),
        ([NINE, 60], "job 2: submit_s: a number beside dates needs epoch="),
        ([NINE, NINE.replace(tzinfo=UTC)],
         "job 2: submit_s: 2026-01-05 09:00:00+00:00 has a time zone, but the epoch "
         "2026-01-05 09:00:00 has none"),
        ([NINE.replace(tzinfo=UTC), NINE],
         "job 2: submit_s: 2026-01-05 09:00:00 has no time zone, but the epoch"),
    ],
)
def test_a_wrong_date_names_its_job(jobs, said):
    with pytest.raises(gs.InvalidArgument, match=re.escape(said)) as wrong:
        gpu_jobs(*jobs)
    assert (wrong.value.line, wrong.value.path) == (2, "submit_s")


def test_a_table_may_have_columns_of_dates():
    at = pandas.date_range("2026-01-05 09:00", periods=3, freq="h", tz="Europe/Paris")
    table = pandas.DataFrame({
        "submit_s": at, "run_s": pandas.to_timedelta([1, 2, 3], unit="min"), "tasks": 1, "gpu": 8,
        "start_s": [at[1], pandas.NaT, at[2]],
    })
    trace = gs.Trace.from_dataframe(table, amounts="task")
    assert trace.epoch == at[0]
    assert trace.column("submit_s").tolist() == [0, 3600, 7200]
    assert trace.column("run_s").tolist() == [60, 120, 180]
    assert trace.column("start_s")[[0, 2]].tolist() == [3600, 7200]
    assert numpy.isnan(trace.column("start_s")[1])
    texts = table.assign(submit_s=[str(one) for one in at])
    again = gs.Trace.from_dataframe(texts, amounts="task")
    assert again.column("submit_s").tolist() == [0, 3600, 7200]
    numbers = pandas.DataFrame({"submit_s": ["0", "60"], "run_s": "9", "tasks": 1, "gpu": 8})
    assert gs.Trace.from_dataframe(numbers, amounts="task").column("submit_s").tolist() == [0, 60]
    said = "line 3: submit_s: 'x 2026' is not a date"
    with pytest.raises(gs.InvalidArgument, match=said) as wrong:
        gs.Trace.from_dataframe(texts.assign(submit_s=[at[0], "x 2026", at[1]]), amounts="task")
    assert wrong.value.line == 3
    recorded = pandas.DataFrame(
        {"submit_s": [0], "start_s": [NINE], "run_s": 9, "tasks": 1, "gpu": 8}
    )
    with pytest.raises(gs.InvalidArgument, match="line 2: submit_s: a number beside dates"):
        gs.Trace.from_dataframe(recorded, amounts="task")
    kept = gs.Trace.from_dataframe(recorded, amounts="task", epoch="2026-01-05 08:00")
    assert kept.column("start_s").tolist() == [3600]


CSV = "job,submit_s,run_s,gpu,start_s\n"


def test_dates_in_csv_are_read():
    rows = "a,2026-01-05 09:00,600,8,2026-01-05T09:00:01.5\nb,2026-01-05 10:00:00,600,8,\n"
    trace = gs.Trace.from_text(CSV + rows)
    assert trace.column("submit_s").tolist() == [0, 3600]
    assert trace.column("start_s")[0] == 1.5 and numpy.isnan(trace.column("start_s")[1])
    assert trace.epoch == pandas.Timestamp(NINE)
    given = gs.Trace.from_text(CSV + rows + "c,60,600,8,\n", epoch="2026-01-05 09:30")
    assert given.column("submit_s").tolist() == [-1800, 1800, 60]
    assert given.epoch == pandas.Timestamp("2026-01-05 09:30")


@pytest.mark.parametrize("is_csv", [True, False])
def test_dates_with_a_zone_in_a_file(is_csv, tmp_path):
    """On 2026-03-29 clocks in Berlin go from 2 to 3."""
    dates = "2026-03-29 01:30+01:00", "2026-03-29T01:30:00Z", "29 March 2026 03:30 +02:00"
    rows = [
        '"a, %d","%s",600,8,\n' % (i, date) if is_csv else
        '{"run_s": 600, "name": "\\"submit_s\\": %d", "submit_s" : "%s"}\n' % (i, date)
        for i, date in enumerate(dates)
    ]
    path = tmp_path / ("jobs.csv" if is_csv else "jobs.jsonl")
    path.write_text((CSV if is_csv else "") + "\n".join(rows))  # with blank lines
    trace = gs.Trace.read(path)
    assert trace.column("submit_s").tolist() == [0, 3600, 3600]
    assert str(trace.epoch) == "2026-03-29 01:30:00+01:00"
    table = pandas.DataFrame({"submit_s": dates, "run_s": 600, "job": ["x", "y", "z"]})
    same = gs.Trace.from_dataframe(table)
    assert same.column("submit_s").tolist() == [0, 3600, 3600] and same.epoch == trace.epoch


@pytest.mark.parametrize(
    "second, said, error",
    [
        ("2026-13-01", "submit_s: '2026-13-01' is not a date", gs.InvalidArgument),
        ("9:00", "submit_s: expected a date with its year, not '9:00'", gs.InvalidArgument),
        ("60", "submit_s: a number beside dates needs epoch=", gs.InvalidArgument),
        ("2026-01-05T09:00Z", "has a time zone, but the epoch 2026-01-05 09:00:00 has none",
         gs.InvalidArgument),
    ],
)
def test_a_wrong_date_in_a_file_names_line_and_column(second, said, error):
    csv = "%sa,2026-01-05 09:00,600,8,\n\nb\u00fc,%s,600,8,\n" % (CSV, second)
    with pytest.raises(error, match=r"^line 4: .*" + re.escape(said)) as wrong:
        gs.Trace.from_text(csv)
    assert (wrong.value.line, wrong.value.column, wrong.value.path) == (4, 4, "submit_s")
    value = second if second == "60" else '"%s"' % second
    lines = '{"submit_s": "2026-01-05 09:00", "run_s": 600}\n{"submit_s": %s, "run_s": 600}' % value
    with pytest.raises(error, match=r"^line 2: .*" + re.escape(said)) as wrong:
        gs.Trace.from_text(lines)
    assert (wrong.value.line, wrong.value.column, wrong.value.path) == (2, 14, "submit_s")


def test_columns_after_a_date_are_those_of_the_file():
    with pytest.raises(gs.ParseError, match="line 2: gpu: not a number") as wrong:
        gs.Trace.from_text(CSV + "a,2026-01-05 09:00,600,x,\n")
    assert (wrong.value.line, wrong.value.column) == (2, 24)
    with pytest.raises(gs.ParseError, match="line 2: submit_s: not a number"):  # no dates at all
        gs.Trace.from_text(CSV + "a,soon,600,8,\n")


def test_rows_with_wrong_dates_can_be_skipped():
    rows = "a,2026-01-05 09:00,600,8,\nb,2026-13-05,600,8,\nc,2026-01-05 10:00,600,8,\n"
    trace = gs.Trace.from_text(CSV + rows, on_error="skip")
    assert (len(trace), trace.skipped, trace.skipped_line) == (2, 1, 3)
    assert trace.column("submit_s").tolist() == [0, 3600]
    plain = gs.Trace.from_text(CSV + "a,0,600,8,\nb,soon,600,8,\n", on_error="skip")
    assert (len(plain), plain.skipped, plain.epoch) == (1, 1, None)


def test_a_trace_keeps_its_epoch():
    trace = gpu_jobs("2026-01-05 09:00", "2026-01-05 10:00")
    for kept in (
        trace[:1], trace.query("submit_s > 0"), trace.filter(lambda job: True), trace + trace[:0],
        trace.with_columns(priority=1), pickle.loads(pickle.dumps(trace)),
        gs.resample(trace, weeks=1),
    ):
        assert kept.epoch == trace.epoch
    assert trace.with_epoch("2027-01-01").epoch == pandas.Timestamp("2027-01-01")
    assert trace.with_epoch(None).epoch is None and trace.epoch is not None
    moved = trace.with_columns(submit_s=["2026-01-05 11:00", datetime.timedelta(minutes=1)])
    assert moved.column("submit_s").tolist() == [7200, 60]
    with pytest.raises(gs.InvalidArgument, match=r"submit_s\[1\]: .* no epoch"):
        trace.with_epoch(None).with_columns(submit_s=[0, NINE])


def test_jobs_of_several_traces_keep_their_dates():
    late = gs.Trace([{"job": "a", "submit_s": "2026-01-06", "start_s": "2026-01-07", "run_s": 9}])
    early = gs.Trace([{"job": "b", "submit_s": "2026-01-05", "run_s": 9}])
    without = gs.Trace([{"job": "c", "submit_s": 7, "run_s": 9}])
    both = late + early + without
    assert both.epoch == early.epoch
    assert both.column("submit_s").tolist() == [86400, 0, 7]
    assert both.column("start_s")[0] == 2 * 86400
    zoned = gs.Trace([{"job": "d", "submit_s": "2026-01-05 00:00Z", "run_s": 9}])
    with pytest.raises(gs.InvalidArgument, match="epoch: .* time zone"):
        gs.Trace.concat([late, zoned])


def test_a_log_tells_its_epoch(tmp_path):
    line = " ".join("1 5 0 60 8 -1 -1 8 60 -1 1 1 1 1 1 -1 -1 -1".split())
    head = "; UnixStartTime: 1767603600\n"
    path = tmp_path / "log.swf"
    for zone, said in (
        ("", "2026-01-05 09:00:00+00:00"),
        ("; TimeZoneString: Europe/Paris\n", "2026-01-05 10:00:00+01:00"),
        ("; TimeZoneString: Nowhere\n", "2026-01-05 09:00:00+00:00"),
    ):
        path.write_text(head + zone + line + "\n", encoding="utf-8")
        assert str(gs.Trace.read(path).epoch) == said
    path.write_text("; UnixStartTime: unknown\n" + line + "\n", encoding="utf-8")
    assert gs.Trace.read(path).epoch is None


def test_a_simulation_takes_dates(cluster):
    trace = gpu_jobs("2026-01-05 09:00", "2026-01-05 09:30")
    with gs.Simulation(cluster, trace) as simulation:
        assert simulation.epoch == trace.epoch
        found = simulation.reserve(
            name="talk", count=2, gpu=8, start_s="2026-01-05 12:00",
            duration_s=datetime.timedelta(hours=1),
        )
        assert (found.start_s, found.end_s) == (3 * 3600, 4 * 3600)
        found = simulation.change_reservation("talk", start_s=pandas.Timestamp("2026-01-05 13:00"))
        assert found.start_s == 4 * 3600
        window = simulation.reserve(
            name="w", count=1, gpu=8, duration_s=60, arrival_s="2026-01-05 10:00",
            deadline_s="2026-01-05 11:00",
        )
        assert window.start_s == 3600
        simulation.set_node("n1", "down", "2026-01-05 10:30")
        late = simulation.submit(gpu=1, run_s=pandas.Timedelta("1min"), begin_s="2026-01-05 09:45")
        assert simulation.run(until_s="2026-01-05 09:40").now_s == 2400
        assert simulation.job(late)["state"] == "pending"
        with simulation.forecast(horizon_s=datetime.timedelta(days=1)) as ahead:
            assert ahead.epoch == trace.epoch
            x = ahead.reserve(name="x", count=1, gpu=1, start_s="2026-01-05 20:00", duration_s=9)
            assert x.start_s == 39600
        fork = simulation.fork()
        assert fork.run(until_s="2026-01-05 10:31").now_s == 5460
        assert fork.dates(5460) == pandas.Timestamp("2026-01-05 10:31")
        table = fork.cluster.table()
        assert dict(zip(table["name"], table["state"]))["n1"] == "down"
        again = simulation.fork(policy="fifo")
        assert again.epoch == trace.epoch and again.run(until_s=NINE).now_s == 2400
        result = simulation.result()
    assert result.epoch == trace.epoch
    assert str(result.explain(1, "2026-01-05 09:30")) == str(result.explain(1, 1800))
    assert pickle.loads(pickle.dumps(result)).dates(0) == pandas.Timestamp(NINE)


def test_a_begin_and_an_end_may_be_dates(cluster):
    result = gs.simulate(cluster, gpu_jobs(0, 60), epoch=NINE, until_s="2026-01-05 09:05")
    assert result.info.now_s == 300
    with gs.Simulation(cluster, epoch=NINE, start_s="2026-01-05 10:00") as simulation:
        assert simulation.now_s == 3600
    with pytest.raises(gs.InvalidArgument, match="until_s: .* but there is no epoch") as wrong:
        gs.simulate(cluster, gpu_jobs(0), until_s=NINE)
    assert wrong.value.path == "until_s"
    with gs.Simulation(cluster, epoch=NINE) as simulation:
        said = "start_s: .* has a time zone, but the epoch .* has none"
        with pytest.raises(gs.InvalidArgument, match=said):
            simulation.reserve(name="x", count=1, gpu=1, start_s="2026-01-05 10:00Z", duration_s=9)
        with pytest.raises(gs.InvalidArgument, match="at_s: expected a date"):
            simulation.set_node("n0", "down", "Mon")


def test_jobs_of_a_later_trace_come_at_their_dates(cluster):
    with gs.Simulation(cluster, gpu_jobs("2026-01-05 09:00")) as simulation:
        simulation.add(gpu_jobs("2026-01-05 10:00"))
        simulation.add(gpu_jobs("2026-01-05 10:00"), shift_s=60)
        simulation.add(gpu_jobs(7200))
        simulation.run()
        assert simulation.result().column("submit_s").tolist() == [0, 3600, 3660, 7200]
        again = simulation.fork(policy="fifo")
        assert again.result().column("submit_s").tolist() == [0, 3600, 3660, 7200]
        with pytest.raises(gs.InvalidArgument, match="trace.epoch"):
            simulation.add(gpu_jobs("2026-01-05 10:00Z"))
    with gs.Simulation(cluster) as simulation:
        simulation.add(gpu_jobs("2026-01-05 09:00"))
        assert simulation.epoch == pandas.Timestamp(NINE)


def test_ranges_of_a_timeline(cluster):
    jobs = gs.Trace([{"submit_s": at, "run_s": 1800, "gpu": 8, "user": "u"}
                     for at in (NINE, "2026-01-05 09:20")])
    result = gs.simulate(cluster, jobs)
    whole = result.timeline_by("user")
    assert whole.at_s.tolist() == [0, 1200, 1800, 3000]
    part = result.timeline_by("user", begin_s="2026-01-05 09:25", end_s="2026-01-05 09:50")
    assert part.at_s.tolist() == [1500, 1800] and part.u.tolist() == [16, 8]
    assert result.timeline_by("user", end_s=1200).at_s.tolist() == [0]
    assert result.timeline_by("user", begin_s=9999).u.tolist() == [0]
    assert len(result.timeline_by("user", begin_s=100, end_s=0)) == 0
    assert result.dates(part.at_s)[0] == pandas.Timestamp("2026-01-05 09:25")
    pytest.importorskip("matplotlib")
    assert result.gantt(begin_s="2026-01-05 09:10", end_s="2026-01-05 09:40") is not None


def test_there_and_back():
    epoch = pandas.Timestamp("2026-01-05", tz="Asia/Tokyo")
    seconds = [0, 0.5, 1e9 + 0.25, float("nan"), -60]
    found = dates_of(seconds, epoch)
    assert found[3] is pandas.NaT
    for i in (0, 1, 2, 4):
        assert time_s(found[i], epoch, "x") == seconds[i]
    with pytest.raises(gs.InvalidArgument, match="no epoch"):
        gpu_jobs(0).dates(0)
    with pytest.raises(gs.InvalidArgument):
        as_date("now", "x")
