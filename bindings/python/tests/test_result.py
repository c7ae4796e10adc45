# SPDX-License-Identifier: Apache-2.0
"""Results: summaries, tables, pictures, exports; comparisons and sweeps."""

import concurrent.futures
import csv
import gc
import gzip
import json
import os
import pickle
import re
import subprocess
import sys

import numpy
import pytest
from matplotlib import pyplot

import gangsched as gs


@pytest.fixture(scope="module")
def trace():
    rows = [
        {"submit_s": 5 * i, "run_s": 40 + 7 * (i % 9), "gpu": 1 + i % 8, "user": "u%d" % (i % 3)}
        for i in range(60)
    ]
    return gs.Trace([{"job": "j%d" % i, **row} for i, row in enumerate(rows)])


@pytest.fixture(scope="module")
def cluster():
    return gs.Cluster.uniform(nodes=2, gpus=8)


@pytest.fixture(scope="module")
def result(cluster, trace):
    return gs.simulate(cluster, trace)


def test_a_summary_agrees_with_the_tables(result):
    summary, table = result.summary(), result.jobs
    assert summary["jobs"] == 60 == len(result) == len(table) and set(table.end) == {"success"}
    assert summary["jct_s"]["mean"] == pytest.approx(table.jct_s.mean())
    assert summary["wait_s"]["max"] == pytest.approx((table.start_s - table.submit_s).max())
    slow = (table.jct_s / table.run_s.clip(lower=10)).clip(lower=1)
    assert summary["bounded_slowdown"]["mean"] == pytest.approx(slow.mean())
    assert summary["makespan_s"] == table.end_s.max()
    rows = result.allocations
    used = (rows.gpus * (rows.end_s - rows.begin_s)).sum()
    assert used == pytest.approx((table.gpus * table.run_s).sum())
    assert result.column("slowdown") == pytest.approx((table.jct_s / table.run_s).to_numpy())
    with pytest.raises(gs.NotFound):
        result.column("colour")


def test_changing_a_table_does_not_change_the_result(cluster, trace):
    result = gs.simulate(cluster, trace)
    before = result.jobs.copy(deep=True)
    table = result.jobs
    table.loc[0, "wait_s"] = 99.0
    table["run_s"] = 7.0
    table.iloc[1, table.columns.get_loc("tasks")] = 9
    table.loc[2, "user"] = "u0"
    for name in ("tasks", "preemptions", "jct_s", "user"):
        result.column(name)[:] = result.column(name)[::-1].copy()
    result.allocations.loc[:, "tasks"] = 77
    result.timeline.loc[:, "running"] = 77
    assert result.jobs.equals(before)
    assert result.allocations.tasks.max() < 77 and result.timeline.running.max() < 77


def test_a_summary_may_leave_jobs_out(result):
    assert result.summary(user="u1")["jobs"] == 20 and result.summary(warm_up_s=100)["jobs"] == 40
    assert result.summary(tau_s=1000)["bounded_slowdown"]["p50"] == 1.0
    with pytest.raises(gs.NotFound):
        result.summary(user="nobody")
    changed = result.summary()
    changed["jct_s"]["mean"] = 0
    assert result.summary()["jct_s"]["mean"] > 0


def test_no_two_jobs_share_a_device(result):
    rows = result.allocations
    for _, node in rows.groupby("node"):
        for device in range(8):
            mine = node[(node.devices.to_numpy() >> device & 1) == 1].sort_values("begin_s")
            assert (mine.begin_s.to_numpy()[1:] >= mine.end_s.to_numpy()[:-1]).all()
    assert set(rows.job) == set(result.names) and (rows.tasks == 1).all()


def test_the_timeline_is_the_sum_of_the_allocations(result):
    table, rows = result.timeline, result.allocations
    for at in table.at_s[::7]:
        there = rows[(rows.begin_s <= at) & (rows.end_s > at)]
        assert table[table.at_s == at].gpus.iloc[-1] == there.gpus.sum()


def test_recording_may_be_left_out(cluster, trace):
    result = gs.simulate(cluster, trace, record=())
    assert result.allocations.empty and result.timeline.empty and len(result.jobs) == 60
    for draw in (result.plot, result.gantt):
        with pytest.raises(gs.InvalidArgument):
            draw()


def test_the_same_input_gives_the_same_output(cluster, trace):
    options = {
        "node_mtbf_s": 500.0, "node_repair_s": 50.0, "task_mtbf_s": 300.0, "loss": "restart",
        "policy": "srtf",
    }
    first, second, other = (gs.simulate(cluster, trace, seed=seed, **options) for seed in (1, 1, 2))
    assert first.jobs.equals(second.jobs) and first.allocations.equals(second.allocations)
    assert not first.jobs.equals(other.jobs) and first.summary()["failures"] > 0


def test_results_are_equal_if_they_have_the_same_course(cluster, trace):
    first = gs.simulate(cluster, trace, policy="fifo")
    assert first == gs.simulate(cluster, trace, policy="fifo")
    assert first == pickle.loads(pickle.dumps(first))
    for other in (
        gs.simulate(cluster, trace, policy="srtf"),
        gs.simulate(cluster, trace[:-1], policy="fifo"),
        None,
        first.summary(),
    ):
        assert first != other


def test_a_result_explains_why_a_job_waited(result):
    waited = result.jobs[result.jobs.start_s > result.jobs.submit_s + 20].iloc[0]
    why = result.explain(waited.job, waited.submit_s + 10)
    assert why["state"] == "pending" and "gpu" in str(why)
    assert str(result.explain(waited.job, waited.start_s)) == "it is running"
    assert "not come" in str(result.explain(59, 0))
    with pytest.raises(gs.NotFound):
        result.explain("nobody", 0)
    with result.simulation(at_s=50) as simulation:
        assert simulation.now_s == 50.0
        simulation.run()
        assert simulation.result().jobs.equals(result.jobs)


@gs.lowest_first
def module_policy(view):
    return view.run_s


def test_a_pickled_result_can_still_explain(cluster, trace, result):
    again = pickle.loads(pickle.dumps(result))
    assert again.jobs.equals(result.jobs) and again.summary() == result.summary()
    assert str(again.explain("j20", 110)) == str(result.explain("j20", 110))
    with_function = pickle.loads(pickle.dumps(gs.simulate(cluster, trace, policy=module_policy)))
    assert with_function.explain(3, 20) is not None
    without = pickle.loads(
        pickle.dumps(gs.simulate(cluster, trace, policy=gs.lowest_first(lambda view: view.run_s)))
    )
    assert len(without.jobs) == 60
    with pytest.raises(gs.NotSupported, match="policy"):
        without.explain(3, 20)


def test_a_result_explains_a_simulation_with_changes(cluster, trace):
    with gs.Simulation(cluster, trace) as simulation:
        simulation.run(until_s=30)
        simulation.set_node("n0", "down")
        extra = simulation.submit(gpu=8, run_s=100, name="extra")
        simulation.run(events=10)
        simulation.run()
        result = simulation.result()
    assert result.jobs.job[extra] == "extra"
    assert result.explain("extra", 31)["state"] in ("pending", "running")


# ---- pictures and files ------------------------------------------------------------------------


def test_pictures_are_drawn(result, tmp_path):
    from matplotlib import pyplot

    for name, draw in {
        "plot": result.plot,
        "gantt": lambda: result.gantt(color="user"),
        "part": lambda: result.gantt(color="job", nodes=["n1"], begin_s=50, end_s=100),
        "cdf": lambda: result.cdf("jct_s", label="fifo"),
    }.items():
        draw()
        path = tmp_path / (name + ".png")
        pyplot.savefig(path)
        pyplot.close("all")
        assert path.stat().st_size > 5000
    with pytest.raises(gs.NotFound):
        result.gantt(nodes=["n9"])
    with pytest.raises(gs.InvalidArgument):
        result.gantt(color="taste")
    assert "<table" in result._repr_html_()


def test_cores_get_lanes_of_their_own():
    from gangsched.viz.lanes import lanes

    jobs = gs.Trace(
        [{"submit_s": i, "run_s": 5 + i % 3, "count": 1 + i % 4, "cpu": 1} for i in range(200)]
    )
    with gs.Cluster([{"name": "a", "cpus": 16}]) as made:
        result = gs.simulate(made, jobs)
    shown = lanes(result)
    assert shown.total <= 16
    taken = {}
    for begin, end, low, high in sorted(zip(shown.begin_s, shown.end_s, shown.low, shown.high)):
        for lane in range(low, high):
            assert taken.get(lane, -1) <= begin
            taken[lane] = end
    width = {}
    for job, low, high in zip(shown.job, shown.low, shown.high):
        width[job] = width.get(job, 0) + high - low
    assert width == {i: 1 + i % 4 for i in range(200)}


def test_devices_are_cut_into_runs():
    import numpy

    from gangsched.viz.lanes import _of_devices

    which, low, high = _of_devices(numpy.array([0b1011, 0, 2**64 - 1, 1 << 63], dtype="u8"))
    assert sorted(zip(which.tolist(), low.tolist(), high.tolist())) == [
        (0, 0, 2),
        (0, 3, 4),
        (2, 0, 64),
        (3, 63, 64),
    ]


def test_perfetto_gets_a_slice_a_device(result, tmp_path):
    path = tmp_path / "trace.json.gz"
    result.to_perfetto(path)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    devices = sum(bin(mask).count("1") for mask in result.allocations.devices)
    assert (
        len(slices) == devices >= sum(1 + i % 8 for i in range(60))
        and slices[0]["args"]["user"] == "u0"
    )
    assert {event["args"]["name"] for event in events if event["name"] == "process_name"} == {
        "n0",
        "n1",
    }


def test_batsim_gets_its_columns(cluster, trace, tmp_path):
    path = tmp_path / "jobs.csv"
    gs.simulate(cluster, trace, max_moves=-1).to_batsim(path)
    rows = list(csv.DictReader(path.open()))
    assert len(rows) == 60 and rows[0]["final_state"] == "COMPLETED_SUCCESSFULLY"
    for row in rows:
        count = 0
        for part in row["allocated_resources"].split():
            low, _, high = part.partition("-")
            count += int(high or low) - int(low) + 1
        assert count == int(row["requested_number_of_resources"])
        assert float(row["turnaround_time"]) == float(row["waiting_time"]) + float(
            row["execution_time"]
        )


# ---- many simulations --------------------------------------------------------------------------


def test_policies_are_compared(cluster, trace):
    from matplotlib import pyplot

    found = gs.compare(["fifo", "sjf", module_policy], cluster, trace)
    table = found.table
    assert list(found) == ["fifo", "sjf", "module_policy"] and table.loc["sjf"].equals(
        table.loc["module_policy"].rename("sjf")
    )
    assert table.wait_s_mean["sjf"] < table.wait_s_mean["fifo"]
    found.cdf("jct_s")
    axes = found.plot()
    waits = [bar.get_height() for bar in axes[0].patches]
    scale = {"hours": 3600, "minutes": 60, "seconds": 1}[axes[0].get_ylabel()]
    assert axes[0].get_title() == "mean waiting time" and waits == pytest.approx(
        (table.wait_s_mean / scale).tolist())
    assert [text.get_text() for text in axes[0].texts] == ["%.3g" % wait for wait in waits]
    pyplot.close("all")
    assert "sjf" in found._repr_html_() and repr(found) == "<Comparison: fifo, sjf, module_policy>"
    tree = gs.Queues({"q": {}})
    found = gs.compare(
        {"loose": {}, "strict": {"queues": tree.with_all(block="strict")}},
        cluster,
        trace,
        tree,
        executor=2,
    )
    assert found["strict"].summary()["wait_s"]["mean"] != found["loose"].summary()["wait_s"]["mean"]


def square(x, y=0):
    return {"square": x * x, "sum": x + y}


def fail_at(x):
    if x == 3:
        raise KeyError("three")
    return x


def die_once(x, folder):
    if x == 2:
        try:
            os.mkdir(os.path.join(folder, "died"))
        except FileExistsError:
            return x
        os._exit(1)
    return x


@pytest.mark.parametrize("executor", [None, 2, "threads", "processes"])
def test_a_sweep_is_the_same_everywhere(executor):
    pools = {
        "threads": concurrent.futures.ThreadPoolExecutor,
        "processes": concurrent.futures.ProcessPoolExecutor,
    }
    with (
        pools[executor](2) if executor in pools else concurrent.futures.ThreadPoolExecutor(1)
    ) as pool:
        where = pool if executor in pools else executor
        found = gs.sweep(square, {"x": [1, 2, 3], "y": (10, 20)}, executor=where)
        assert [(row.x, row.y, row.square) for row in found.table.itertuples()] == [
            (1, 10, 1), (1, 20, 1), (2, 10, 4), (2, 20, 4), (3, 10, 9), (3, 20, 9),
        ]
        assert len(found) == 6 and found.values[5]["sum"] == 23
        with pytest.raises(KeyError, match="three"):
            gs.sweep(fail_at, {"x": range(6)}, executor=where)


def test_a_pool_can_be_shut_down_after_its_last_call_was_cancelled():
    # cpython issue 94440: it would wait for ever.
    code = """
import concurrent.futures
from gangsched import sweeps
for _ in range(10):
    pool = concurrent.futures.ProcessPoolExecutor(1)
    pool.submit(int).result()
    sweeps._cancel(pool, [pool.submit(int)])
    pool.shutdown(wait=True)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_sweep_repeats_the_work_of_a_dead_process(tmp_path):
    found = gs.sweep(die_once, [{"x": x, "folder": str(tmp_path)} for x in range(6)], executor=2)
    assert found.values == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("executor", [None, 2])
def test_a_sweep_keeps_errors_or_names_the_parameters_that_failed(executor):
    kept = gs.sweep(fail_at, {"x": range(6)}, executor=executor, on_error="keep")
    assert [value for value in kept.values if not isinstance(value, tuple)] == [0, 1, 2, 4, 5]
    ((params, failed),) = kept.failed
    assert params == {"x": 3} and failed.kind == "KeyError" and failed.text == "'three'"
    assert "in fail_at" in failed.traceback and repr(kept) == "<Sweep: 6 calls, 1 failed>"
    table = kept.table
    assert table.error.tolist()[3] == "KeyError: 'three'" and table.error.notna().sum() == 1
    assert table.value.isna().tolist() == [False, False, False, True, False, False]
    with pytest.raises(KeyError) as error:
        gs.sweep(fail_at, {"x": range(6)}, executor=executor)
    assert error.value.params == {"x": 3}
    with pytest.raises(gs.InvalidArgument, match="'raise' or 'keep'"):
        gs.sweep(fail_at, {"x": [1]}, executor=executor, on_error="ignore")


def test_a_sweep_refuses_unknown_executors():
    for executor in ("cluster", 0, True):
        with pytest.raises(gs.InvalidArgument):
            gs.sweep(square, {"x": [1]}, executor=executor)
    assert gs.sweep(square, [], executor=None).values == []


# ---- names and titles ----------------------------------------------------------------------------


# ---- tables in files ----


def crowd():
    users = ["adam", "eve", "a,\"b\"", "NA", None]
    return gs.Trace(
        [
            {
                "submit_s": 3.5 * i,
                "run_s": 40 + 7.25 * (i % 13),
                "count": 1 + i % 3,
                "gpu": 1,
                "user": users[i % 5],
            }
            for i in range(300)
        ]
    )


OPTIONS = {
    "node_mtbf_s": 3000, "node_repair_s": 50, "loss": "restart", "checkpoint_s": 10,
    "restart_s": 1.5, "seed": 5,
}


def test_tables_in_files_are_the_same(tmp_path):
    import pandas

    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        kept = gs.simulate(cluster, crowd(), **OPTIONS)
        there = gs.simulate(cluster, crowd(), stream=tmp_path / "new" / "folder", **OPTIONS)
        assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
            "allocations.csv",
            "jobs.csv",
            "timeline.csv",
        ]
        assert not {"names", "_raw", "_allocations", "_samples"} & set(there.__dict__)
        assert there.summary() == kept.summary()
        assert len(there) == 300 and there.names == kept.names
        pandas.testing.assert_frame_equal(there.jobs, kept.jobs)
        pandas.testing.assert_frame_equal(there.timeline, kept.timeline)
        order = ["begin_s", "index", "node"]
        pandas.testing.assert_frame_equal(
            there.allocations.sort_values(order, ignore_index=True),
            kept.allocations.sort_values(order, ignore_index=True),
        )
        assert kept.summary()["failures"] > 0
        again = pickle.loads(pickle.dumps(there))
        assert "_raw" not in again.__dict__
        assert again.column("jct_s").tolist() == kept.column("jct_s").tolist()
        assert again.explain(250, kept.jobs.submit_s[250] + 1).text
        assert again.summary(user="NA") == kept.summary(user="NA")
        there.gantt()
        there.to_perfetto(tmp_path / "trace.json")


def test_a_streaming_simulation_forgets_ended_jobs(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster, gs.Simulation(
        cluster, crowd(), stream=tmp_path
    ) as simulation:
        simulation.run(until_s=500)
        ended = simulation.info.ended
        assert 0 < ended < 300
        assert len((tmp_path / "jobs.csv").read_text().splitlines()) <= 1 + ended
        with pytest.raises(gs.StaleHandle):
            simulation.job(0)
        assert simulation.job(299)["state"] == "pending"
        assert simulation.summary()["jobs"] == ended
        result = simulation.result()
        assert (result.jobs.state == "ended").sum() == ended
        assert result.jobs.submit_s.tolist() == [3.5 * i for i in range(300)]
        with simulation.fork() as other:  # the fork keeps all jobs
            other.run()
            assert other.result().info.ended == 300
        assert len((tmp_path / "jobs.csv").read_text().splitlines()) == 301


def test_two_simulations_cannot_stream_into_one_folder(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        with gs.Simulation(cluster, crowd(), stream=tmp_path) as first:
            first.run(until_s=500)
            written = (tmp_path / "jobs.csv").read_bytes()
            with pytest.raises(gs.Busy, match="another open simulation") as caught:
                gs.Simulation(cluster, crowd(), stream=tmp_path)
            assert caught.value.path == "stream" and str(tmp_path) in str(caught.value)
            code = "import sys, gangsched as gs; gs.Simulation(gs.Cluster.uniform(1), stream=sys.argv[1])"
            ran = subprocess.run(
                [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True
            )
            assert ran.returncode == 1 and "Busy" in ran.stderr
            assert (tmp_path / "jobs.csv").read_bytes() == written
            first.run()
            assert len(first.result().jobs) == 300
        for _ in range(2):  # the first simulations are closed or collected: the folder is free
            forgotten = gs.Simulation(cluster, crowd(), stream=tmp_path)
            forgotten.run()
            del forgotten
            assert len((tmp_path / "jobs.csv").read_text().splitlines()) > 200


def test_a_result_notices_that_its_files_were_replaced(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        early = gs.simulate(cluster, crowd(), stream=tmp_path)
        late = gs.simulate(cluster, crowd(), policy="sjf", stream=tmp_path)
        assert len(late.jobs) == 300 and len(late.allocations) and len(late.timeline)
        for table in ("jobs", "allocations", "timeline"):
            with pytest.raises(gs.StaleHandle, match="is not the file that this result wrote"):
                getattr(early, table)
        assert early.summary()["jobs"] == 300
        again = pickle.loads(pickle.dumps(late))
        again.directory = late.directory.rename(tmp_path.parent / "moved")
        assert again.jobs.equals(late.jobs)


def test_a_child_process_cannot_write_the_files_of_its_parent(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster, gs.Simulation(
        cluster, crowd(), stream=tmp_path
    ) as simulation:
        simulation.run(until_s=500)
        child = os.fork()
        if not child:
            status = 1
            try:
                simulation.run()
            except gs.Closed as error:
                status = 0 if "fork" in str(error) and simulation.closed else 2
            simulation.close()
            del simulation
            gc.collect()
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        simulation.run()
        result = simulation.result()
        assert (
            len(result.jobs) == 300 and len((tmp_path / "jobs.csv").read_text().splitlines()) == 301
        )


def test_a_full_disk_is_an_error(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        with gs.Simulation(cluster, crowd(), stream=tmp_path) as simulation:
            simulation._stream.sinks["jobs.csv"].file.close()
            simulation._stream.sinks["jobs.csv"].file = open("/dev/full", "wb", buffering=0)
            with pytest.raises(OSError):
                simulation.run()
            assert simulation.info.ended > 0
            simulation._stream.sinks["jobs.csv"].file = open(tmp_path / "jobs.csv", "wb")
            simulation.run()
            assert simulation.result().info.ended == 300
        with pytest.raises(OSError):
            gs.simulate(cluster, crowd(), stream="/dev/full/folder")


def test_a_wait_is_to_the_first_start_and_queueing_is_all_of_it():
    """Jobs and summary use the same names."""
    trace = gs.Trace([
        {"job": "low", "submit_s": 5, "run_s": 100, "gpu": 8, "priority": 0, "preemptible": True},
        {"job": "high", "submit_s": 20, "run_s": 50, "gpu": 8, "priority": 9},
        {"job": "behind", "submit_s": 21, "run_s": 10, "gpu": 8},
    ])
    with gs.Cluster.uniform(1) as cluster, gs.Simulation(cluster, trace) as simulation:
        simulation.run()
        table = simulation.result().jobs.set_index("job")
        assert (
            table.preemptions["low"] == 1
            and table.wait_s["low"] == 0
            and table.queue_s["low"] == 50
        )
        assert (table.wait_s == table.start_s - table.submit_s).all() and table.wait_s[
            "behind"
        ] == table.queue_s["behind"]
        summary = simulation.summary()
        assert summary["wait_s"]["mean"] == pytest.approx(table.wait_s.mean())
        assert summary["queue_s"]["mean"] == pytest.approx(table.queue_s.mean())
        for name in table.index:
            job = simulation.job(name)
            assert (job["wait_s"], job["queue_s"]) == (table.wait_s[name], table.queue_s[name])
    with gs.Cluster.uniform(1) as cluster, gs.Simulation(cluster, trace) as simulation:
        simulation.run(until_s=22)
        assert (
            simulation.job("behind")["wait_s"] is None and simulation.job("behind")["queue_s"] == 1
        )
        assert numpy.isnan(simulation.result().column("wait_s")[2])


def test_pictures_have_titles_or_those_that_are_given():
    with gs.Cluster.uniform(2) as cluster:
        result = gs.simulate(
            cluster,
            gs.Trace([{"submit_s": i, "run_s": 10, "gpu": 8, "queue": "q"} for i in range(4)]),
        )
    both = gs.compare(
        ["fifo"], gs.Cluster.uniform(2), gs.Trace([{"submit_s": 0, "run_s": 1, "gpu": 1}])
    )
    drawn = {
        "GPUs in use, of 16; waiting and running jobs": lambda **more: result.plot(**more)[0],
        "Gantt chart of 2 nodes, by queue": result.gantt,
        "CDF of waiting time": result.cdf,
        "CDF of tasks": lambda **more: result.cdf("tasks", **more),
        "CDF of job completion time": lambda **more: both.cdf("jct_s", **more),
    }
    for default, draw in drawn.items():
        assert (
            draw().get_title() == default
            and draw(title="mine").get_title() == "mine"
            and draw(title="").get_title() == ""
        )
    pyplot.close("all")


def test_a_streaming_simulation_finds_unfinished_jobs_by_name(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster, gs.Simulation(
        cluster, stream=tmp_path
    ) as simulation:
        simulation.submit(name="short", count=1, gpu=1, run_s=10)
        simulation.submit(name="long", count=1, gpu=1, run_s=100)
        simulation.run(until_s=50)
        assert simulation.names() == ["", "long"] and simulation.find("long") == 1
        for gone in ("short", ""):
            with pytest.raises(gs.NotFound):
                simulation.find(gone)
        simulation.cancel("long")
        simulation.run()
        assert simulation.result().jobs.end.tolist() == ["success", "cancelled"]


def test_a_streaming_simulation_gives_one_result(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster, gs.Simulation(
        cluster, stream=tmp_path
    ) as simulation:
        simulation.submit(count=1, gpu=1, run_s=10)
        simulation.run()
        assert len(simulation.result().jobs) == len(simulation.result().jobs) == 1
        simulation.submit(count=1, gpu=1, run_s=10)
        with pytest.raises(gs.InvalidArgument, match="continued since"):
            simulation.result()


def test_compared_policies_stream_into_folders_of_their_own(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        policies = {
            "fifo": "fifo",
            "../sjf": "sjf",
            "own": {"policy": "sjf", "stream": tmp_path / "else"},
        }
        plain = gs.compare(
            policies and {"fifo": "fifo", "../sjf": "sjf", "own": "sjf"}, cluster, crowd()
        )
        found = gs.compare(policies, cluster, crowd(), stream=tmp_path / "all")
        for label in policies:
            assert found[label].jobs.equals(plain[label].jobs)
    assert (
        sorted(path.name for path in (tmp_path / "all").iterdir()) == ["_sjf", "fifo"]
        and (tmp_path / "else").is_dir()
    )


def test_policies_of_one_name_get_different_labels(tmp_path):
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        least = gs.lowest_first(lambda view: view.gpus)
        most = gs.highest_first(lambda view: view.gpus)
        found = gs.compare(["fifo", least, most, "fifo", least], cluster, crowd())
        assert list(found) == ["fifo", "<lambda>", "<lambda>-2"]
        assert list(gs.compare("sjf", cluster, crowd())) == ["sjf"]
