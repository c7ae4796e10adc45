# SPDX-License-Identifier: Apache-2.0
"""Traces: reading, making, changing, tables, writing."""

import bz2
import gzip
import lzma
import math
import pickle
import warnings

import pytest

import gangsched as gs
from gangsched.trace import formats

JOBS = [
    {
        "job": "a", "submit_s": 0, "run_s": 60, "queue": "q", "user": "u", "time_limit_s": 100,
        "count": 2, "gpu": 1, "cpu": 4,
    },
    {
        "job": "b", "submit_s": 1.5, "run_s": 0.25, "priority": 7, "preemptible": False, "count": 1,
        "cpu": 0.5, "mem_mib": 100,
    },
    {
        "job": "c",
        "submit_s": 3,
        "run_s": 5,
        "tasks": [{"name": "ps", "count": 1, "cpu": 1}, {"name": "w", "count": 4, "gpu": 2}],
    },
]


@pytest.fixture
def trace():
    with gs.Trace(JOBS) as made:
        yield made


def test_jobs_survive_a_round_trip(trace):
    assert len(trace) == 3 and bool(trace) and trace.format == "jsonl" and trace.skipped == 0
    found = list(trace)
    assert [job["job"] for job in found] == ["a", "b", "c"]
    for given, got in zip(JOBS, found):
        assert {key: got[key] for key in given if key != "tasks"} == {
            k: v for k, v in given.items() if k != "tasks"
        }
    assert trace[1] == found[1] == trace["b"] == trace[-2] and trace.find("c") == 2
    with gs.Trace(found) as again:
        assert list(again) == found


def test_columns_are_numbers_of_all_tasks(trace):
    table = trace.to_dataframe()
    assert table.job.tolist() == ["a", "b", "c"] and table.queue.tolist() == ["q", "", ""]
    assert table.submit_s.tolist() == [0, 1.5, 3] and table.run_s.tolist() == [60, 0.25, 5]
    assert (
        table.gpus.tolist() == [2, 0, 8]
        and table.cpus.tolist() == [8, 0.5, 1]
        and table.tasks.tolist() == [2, 1, 5]
    )
    assert table.mem_mib.tolist() == [0, 100, 0] and table.priority.tolist() == [0, 7, 0]
    assert all(math.isnan(start) for start in trace.column("start_s"))
    with pytest.raises(gs.NotFound):
        trace.column("colour")


def test_a_table_makes_a_trace():
    import pandas as pd

    table = pd.DataFrame(
        {
            "submit_s": [0, 10.5],
            "run_s": [1, 2],
            "tasks": [1, 2],
            "gpu": [8, 1],
            "user": ["x", "y"],
        }
    )
    with gs.Trace.from_dataframe(table) as made:
        assert [job["job"] for job in made] == ["0", "1"] and made.column("gpus").tolist() == [8, 2]
        again = gs.Trace.from_dataframe(made.to_dataframe())
        assert list(again) == list(made)
    with pytest.raises(gs.GangError) as caught:
        gs.Trace.from_dataframe(pd.DataFrame({"submit_s": [0, "x"], "run_s": [1, 1]}))
    assert caught.value.line == 3


def test_a_share_of_a_device_stays_one():
    with gs.Trace([{"submit_s": 0, "run_s": 1, "count": 2, "gpu": 0.25}]) as made:
        again = gs.Trace.from_dataframe(made.to_dataframe())
        assert again[0]["gpu"] == 0.25 and again.column("gpus").tolist() == [0.5]


@pytest.mark.parametrize(
    "ending, pack",
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_files_are_read_and_written_compressed_or_not(trace, tmp_path, ending, pack):
    path = tmp_path / ("t.csv" + ending)
    path.write_bytes(pack(trace.to_text("csv").encode()))
    with gs.Trace.read(path) as made:
        assert made.format == "csv" and list(made) == list(trace)
        made.write(tmp_path / ("u.jsonl" + ending))
    with gs.Trace.read(str(tmp_path / ("u.jsonl" + ending)), format="jsonl") as again:
        assert list(again) == list(trace)


def test_a_failed_write_leaves_the_file(trace, tmp_path):
    path = tmp_path / "t.swf"
    path.write_text("before")
    with pytest.raises(gs.NotSupported):
        trace.write(path)
    assert path.read_text() == "before"


def test_parts_and_changes_make_other_traces(trace):
    assert [job["job"] for job in trace[1:]] == ["b", "c"] and [
        job["job"] for job in trace.select([2, 0])
    ] == ["c", "a"]
    later = trace.with_columns(submit_s=trace.column("submit_s") + 100, time_limit_s=50)
    assert (
        later.column("submit_s").tolist() == [100, 101.5, 103]
        and later.column("time_limit_s").tolist() == [50] * 3
    )
    assert later[2]["tasks"] == trace[2]["tasks"] and trace.column("submit_s")[0] == 0
    for wrong in (
        {"colour": 1},
        {"run_s": [1]},
        {"run_s": [1, 2, "x"]},
        {"run_s": [1, 2, math.nan]},
    ):
        with pytest.raises(gs.InvalidArgument):
            trace.with_columns(**wrong)
    with pytest.raises(gs.GangError):
        trace.with_columns(run_s=-1)
    with pytest.raises(IndexError):
        trace[3]
    with pytest.raises(IndexError):
        trace.select([-4])
    with pytest.raises(gs.NotFound):
        trace["nobody"]


def names(trace):
    return [job["job"] for job in trace]


def test_selections_follow_the_rules_of_pandas(trace):
    import numpy as np
    import pandas as pd

    table = trace.to_dataframe()
    mask = table.job != "b"
    for which in (mask, mask.to_numpy(), mask.tolist(), [True, False, True], [0, 2], [0, -1],
                  np.array([0, 2], dtype="u1"), table.index[mask], ["a", "c"],
                  pd.Series(["a", "c"]), slice(None, None, 2), (i for i in (0, 2))):
        assert names(trace.select(which)) == ["a", "c"]
    assert names(trace.select(["c", "a"])) == ["c", "a"]
    assert names(trace.select([])) == [] and names(trace.select([False] * 3)) == []
    for wrong in (1, "a", None, [0.0], [1.5], np.array([0.0, 1.0]), [True, 1, 0], ["a", 1], [None],
                  np.array([[0], [1]]), {"a", "c"}, {"a": 1}):
        with pytest.raises(TypeError):
            trace.select(wrong)
    with pytest.raises(gs.InvalidArgument, match="2 values for 3 jobs"):
        trace.select([True, False])
    with pytest.raises(gs.NotFound, match="nobody"):
        trace.select(["a", "nobody"])
    for wrong in (True, 1.0, None):
        with pytest.raises(TypeError):
            trace[wrong]


def test_a_trace_is_filtered_by_an_expression_and_by_a_function(trace):
    assert names(trace.query("job != 'b' and submit_s > 0")) == ["c"]
    assert names(trace.filter(lambda job: job["job"] in ("a", "b"))) == ["a", "b"]
    with pytest.raises(KeyError, match="mine"):
        trace.filter(lambda job: {}["mine"])


def test_traces_are_concatenated(trace):
    first, rest = trace[:1], trace[1:]
    assert list(first + rest) == list(trace) == list(gs.Trace.concat([first, rest]))
    assert names(gs.Trace.concat([])) == []
    twice = gs.Trace.concat([trace, first], keys=["x", "y"])
    assert names(twice) == ["x/a", "x/b", "x/c", "y/a"]
    assert twice["y/a"]["submit_s"] == trace["a"]["submit_s"]
    with pytest.raises(gs.AlreadyExists):
        trace + first
    with pytest.raises(gs.InvalidArgument, match="1 keys for 2 traces"):
        gs.Trace.concat([first, rest], keys=["x"])
    for wrong in ([first, 1], [[]]):
        with pytest.raises(TypeError):
            gs.Trace.concat(wrong)
    with pytest.raises(TypeError):
        trace + 1


def test_a_name_is_in_a_trace(trace):
    assert "a" in trace and "nobody" not in trace and 0 not in trace and None not in trace


@pytest.mark.parametrize(
    "jobs, error, line",
    [
        ([{"submit_s": 0, "run_s": 1}, {"submit_s": "x", "run_s": 1}], gs.InvalidArgument, 2),
        ([{"submit_s": 0, "run_s": -1}], gs.OutOfRange, 1),
        ([{"submit_s": 0, "run_s": 1, "colour": 1}], gs.InvalidArgument, 1),
        ([{"job": "a", "submit_s": 0, "run_s": 1}] * 2, gs.AlreadyExists, 2),
    ],
)
def test_a_wrong_job_is_named_by_its_line(jobs, error, line):
    with pytest.raises(error) as caught:
        gs.Trace(jobs)
    assert caught.value.line == line


def test_a_wrong_type_of_job_is_refused_with_a_hint(trace):
    for wrong, line, said in (
        (trace.to_dataframe(), 1, "not str: Trace.from_dataframe"),
        ("jobs.csv", 1, "not str: Trace.read"),
        ([JOBS[0], 7], 2, "job 2: expected a dict, not int$"),
    ):
        with pytest.raises(gs.InvalidArgument, match=said) as caught:
            gs.Trace(wrong)
        assert caught.value.line == line


def test_a_message_names_the_line_and_the_member():
    for make, said in (
        (
            lambda: gs.Trace.from_text("job,submit_s,run_s\na,0,1\nb,x,1\n"),
            "line 3: submit_s: not a number",
        ),
        (
            lambda: gs.Trace([{"submit_s": 0, "run_s": 1}, {"submit_s": 0, "run_s": -1}]),
            "job 2: run_s: must be at least 0",
        ),
        (
            lambda: gs.Trace([{"submit_s": 0, "run_s": 1}, {"submit_s": math.nan, "run_s": 1}]),
            "job 2: submit_s: nan is not finite",
        ),
        (
            lambda: gs.Trace(
                [{"submit_s": 0, "run_s": 1, "tasks": [{"x": [1, {"y": -math.inf}]}]}]
            ),
            "job 1: tasks[0].x[1].y: -inf",
        ),
        (lambda: gs.Cluster.uniform(2, cpus=math.nan), "nodes[0].cpus: nan is not finite"),
        (lambda: gs.Cluster.uniform(2).allocate(count=1, cpu=math.inf), "cpu: inf is not finite"),
    ):
        with pytest.raises(gs.GangError) as caught:
            make()
        assert (
            str(caught.value).startswith(said) and caught.value.path in said and caught.value.path
        )


@pytest.mark.parametrize(
    "name, value, error",
    [
        ("max_jobs", "x", gs.InvalidArgument),
        ("max_jobs", 1.5, gs.InvalidArgument),
        ("gpus_per_task", 2**70, gs.OutOfRange),
        ("batsim_flops", None, gs.InvalidArgument),
        ("max_jobs", -1, gs.OutOfRange),
    ],
)
def test_a_wrong_option_of_reading_is_named(name, value, error):
    with pytest.raises(error) as caught:
        gs.Trace.from_text("job,submit_s,run_s\na,0,1\n", **{name: value})
    assert caught.value.path == name


def test_numbers_of_numpy_change_a_trace_and_wrong_ones_are_named(trace):
    import numpy

    assert trace.with_columns(run_s=numpy.int64(7)).column("run_s").tolist() == [7, 7, 7]
    assert (
        trace.with_columns(run_s=numpy.float32(2.5), priority=numpy.arange(3)).column("run_s").tolist()
        == [2.5] * 3
    )
    for columns, error, path in (
        ({"submit_s": 1e12}, gs.OutOfRange, "submit_s[0]"),
        ({"submit_s": [0, 1, 10**40]}, gs.OutOfRange, "submit_s[2]"),
        ({"run_s": [1, 2, -1]}, gs.OutOfRange, "run_s[2]"),
        ({"run_s": None}, gs.InvalidArgument, "run_s"),
        ({"run_s": "123"}, gs.InvalidArgument, "run_s"),
    ):
        with pytest.raises(error) as caught:
            trace.with_columns(**columns)
        assert caught.value.path == path and path in str(caught.value)


def test_tables_of_all_kinds_are_traces_or_say_what_is_wrong():
    import pandas

    def table(**more):
        return pandas.DataFrame({"submit_s": [0, 1], "run_s": [5, 6], **more})

    made = gs.Trace.from_dataframe(
        table(cpus=[4, 4], gpus=[2, None], mem_mib=[None, 512.0], tasks=[2, 1])
    )
    assert made.column("gpus").tolist() == [2, 0] and made.column("cpus").tolist() == [4, 4]
    assert made.column("mem_mib").tolist() == [0, 512]
    flags = gs.Trace.from_dataframe(table(preemptible=[True, False]))
    assert [job.get("preemptible", True) for job in flags] == [True, False]
    for more, error, said in (
        ({"cpus": [4, 4], "gpus": [1, math.inf]}, gs.GangError, "gpus"),
        ({"cpus": ["a", "b"]}, gs.GangError, "cpus"),
        ({"cpus": [4, 4], "tasks": [0, 1]}, gs.OutOfRange, "tasks"),
    ):
        with pytest.raises(error, match=said):
            gs.Trace.from_dataframe(table(**more))
    for wrong in ([1], None, {"submit_s": [0]}):
        with pytest.raises(gs.InvalidArgument, match="DataFrame"):
            gs.Trace.from_dataframe(wrong)


def test_a_wrong_type_of_trace_is_refused_with_a_hint(tmp_path):
    with gs.Cluster.uniform(1) as cluster, gs.Trace([{"submit_s": 0, "run_s": 1}]) as trace:
        for wrong, hint in (
            (trace.to_dataframe(), "Trace.from_dataframe"),
            ([{"submit_s": 0, "run_s": 1}], r"Trace\("),
            (3, "path"),
        ):
            for use in (
                lambda: gs.simulate(cluster, wrong),
                lambda: gs.compare("fifo", cluster, wrong),
                lambda: gs.Simulation(cluster, wrong),
            ):
                with pytest.raises(TypeError, match=hint):
                    use()


def test_texts_that_are_no_traces_are_refused():
    for content in ("", "nonsense\n1\n", "{", b"\xff\xfe"):
        with pytest.raises(gs.GangError):
            gs.Trace.from_text(content)
    with pytest.raises(gs.InvalidArgument):
        gs.Trace.from_text("", format="excel")
    with pytest.raises(gs.InvalidArgument):
        gs.Trace.from_text("", colour=1)
    with pytest.raises(FileNotFoundError):
        gs.Trace.read("/nonexistent.csv")
    assert {"csv", "swf", "philly", "batsim", "tiresias"} <= set(formats())


@pytest.mark.parametrize(
    "ending, pack", [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_damaged_files_are_malformed_input(tmp_path, ending, pack):
    path = tmp_path / ("t" + ending)
    whole = pack(b"job,submit_s,run_s\n" + b"".join(b"%d,%d,1\n" % (i, i) for i in range(2000)))
    for damaged in (whole[:-20], whole[: len(whole) // 2], whole[:40] + bytes(60) + whole[100:]):
        path.write_bytes(damaged)
        for read in (gs.Trace.read, gs.Cluster.from_csv, gs.Cluster.from_json, gs.Queues):
            with pytest.raises((gs.ParseError, OSError)):
                read(path)


def test_it_is_pickled_and_shown(trace):
    assert list(pickle.loads(pickle.dumps(trace))) == list(trace)
    assert repr(trace) == "<Trace: 3 jobs, jsonl>" and "<table" in trace._repr_html_()
    with gs.Trace() as empty:
        assert len(empty) == 0 and list(empty) == [] and len(pickle.loads(pickle.dumps(empty))) == 0
        assert empty._repr_html_() == "<p>&lt;Trace: 0 jobs&gt;</p>" and empty.to_dataframe().empty
    trace.close()
    assert repr(trace) == "<Trace, closed>"
    with pytest.raises(gs.Closed):
        len(trace)


@pytest.mark.parametrize(
    "path, format, jobs",
    [
        ("philly/jobs_all.csv.gz", "philly", 82247),
        ("swf_sc15/KTH-SP2.csv.gz", "procs", 28481),
        ("tiresias60/60_job.csv", "tiresias", 60),
        ("openb/openb_pod_list_default.csv.gz", "openb", 8152),
    ],
)
def test_published_traces_are_recognised(shared, path, format, jobs):
    with gs.Trace.read(shared / "data" / path) as made:
        assert (made.format, len(made)) == (format, jobs)


def test_a_trace_names_partitions_and_a_simulation_keeps_to_them():
    case = {
        "partitions": [{"name": "big"}],
        "nodes": [{"name": "n0", "gpus": 8}, {"name": "n1", "gpus": 8, "partitions": ["big"]}],
    }
    rows = [
        {"job": "a", "submit_s": 0, "run_s": 10, "count": 1, "gpu": 8, "partition": "big"},
        {"job": "b", "submit_s": 0, "run_s": 10, "count": 1, "gpu": 8, "partition": "big"},
        {"job": "c", "submit_s": 0, "run_s": 10, "count": 1, "gpu": 8},
        {"job": "d", "submit_s": 0, "run_s": 10, "count": 1, "gpu": 8, "partition": "none"},
    ]
    trace = gs.Trace(rows)
    table = trace.to_dataframe()
    assert list(table["partition"]) == ["big", "big", "", "none"]
    assert gs.Trace.from_dataframe(table).to_text() == trace.to_text()
    assert gs.Trace.from_text(trace.to_text("jsonl"), "jsonl").to_text() == trace.to_text()
    assert "partition" not in gs.Trace(rows[2:3]).to_dataframe()
    assert [job.get("partition") for job in trace][:3] == ["big", "big", None]
    with pytest.raises(gs.GangError, match="partition"):
        gs.Trace([{"submit_s": 0, "run_s": 1, "cpu": 1, "partition": "big"}]).to_text("swf")
    with gs.Cluster.from_json(case) as cluster, gs.Simulation(cluster, trace) as simulation:
        simulation.run()
        starts = {name: simulation.job(name)["start_s"] for name in "abcd"}
        assert starts == {"a": 0, "b": 10, "c": 0, "d": None}
        assert simulation.job("d")["end"] == "refused"


LOG = (
    "; Version: 2.2\n; Computer: a cluster\n;   Note: one\n; Note: two\n; MaxNodes: 8\n"
    "1 0 5 100 4 -1 -1 4 200 -1 1 1 1 -1 1 1 -1 -1\n"
    "2 5 -1 -1 4 -1 -1 4 200 -1 5 1 1 -1 1 1 -1 -1\n"
    "3 9 5 100 0 -1 -1 0 200 -1 1 1 1 -1 1 1 -1 -1\n; MaxNodes: 9\n"
)


def test_runs_of_no_length_are_told_with_their_line(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    with pytest.warns(UserWarning, match=r"log\.swf: 2 rows .* the first in line 7$"):
        trace = gs.Trace.read(path)
    assert (len(trace), trace.skipped, trace.skipped_line) == (1, 2, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gs.Trace.read(path, on_error="skip").skipped_line == 7
        assert gs.Trace.from_text(LOG.split("2 5")[0]).skipped_line == 0
    table = gs.Trace.from_text("job,submit_s,run_s\na,0,1\nb,0,x\n", "csv", on_error="skip")
    assert (table.skipped, table.skipped_line) == (1, 3)


def test_the_header_of_a_log():
    with pytest.warns(UserWarning, match="^text: 2 rows"):
        trace = gs.Trace.from_text(LOG)
    assert trace.header == {
        "Version": "2.2", "Computer": "a cluster", "Note": "one\ntwo", "MaxNodes": "8"}
    assert pickle.loads(pickle.dumps(trace)).header == trace.header
    assert gs.Trace([{"submit_s": 0, "run_s": 1}]).header == {}


def test_old_names_of_traces_and_options_work_with_a_warning():
    text = "job,submit_s,run_s\na,0,1\nb,0,x\n"
    with pytest.warns(DeprecationWarning, match='lenient is now on_error="skip"'):
        trace = gs.Trace.from_text(text, "csv", lenient=True)
    with pytest.warns(DeprecationWarning, match="Trace.changed is now with_columns"):
        longer = trace.changed(run_s=100, time_limit_s=10)
    with pytest.raises(gs.InvalidArgument, match="on_error: expected 'raise' or 'skip'"):
        gs.Trace.from_text(text, "csv", on_error="ignore")
    with pytest.warns(DeprecationWarning, match="Stale is now StaleHandle"):
        assert gs.Stale is gs.StaleHandle
    with gs.Cluster.uniform(1, gpus=1) as cluster:
        ends = {}
        for new, old in (
            ({"enforce_time_limits": False}, {"no_limits": True}),
            ({"teardown_s": 5}, {"linger_s": 5}),
            ({"runtime_estimates": "run"}, {"know": "run"}),
            ({"enforce_time_limits": True}, {}),
        ):
            with gs.Simulation(cluster, longer, **new) as simulation:
                simulation.run()
                ends[next(iter(new))] = simulation.job("a")["end_s"]
            if old:
                with pytest.warns(DeprecationWarning, match=next(iter(new))):
                    again = gs.Simulation(cluster, longer, **old)
                with again:
                    again.run()
                    assert again.job("a")["end_s"] == ends[next(iter(new))]
        assert ends["enforce_time_limits"] == 10
    with gs.Cluster.uniform(1, gpus=1) as cluster, gs.Simulation(
        cluster, longer, enforce_time_limits=False
    ) as simulation:
        simulation.run()
        assert simulation.job("a")["end_s"] == 100
