# SPDX-License-Identifier: Apache-2.0
"""One set of names and units in traces, requests, simulations, tables, policies and files; the names
of version 0.1 are read with a warning; an unknown name is answered with the closest known one.
"""

import doctest
import importlib
import pickle
import pkgutil
import random
import warnings

import numpy as np
import pandas as pd
import pytest

import gangsched as gs
from gangsched import vocabulary

JOB = {
    "job": "a", "submit_s": 0, "run_s": 60, "queue": "q", "user": "u", "time_limit_s": 100,
    "priority": 3, "count": 4, "min": 2, "cpu": 2, "mem_mib": 512, "gpu": 2, "gpu_models": ["A", "B"],
}
OLD = {
    "job": "a", "submit_s": 0, "run_s": 60, "queue": "q", "user": "u", "limit_s": 100,
    "priority": 3, "tasks": 4, "min": 2, "cpu": 2, "mem_mib": 512, "gpus": 2, "gpu_models": ["A", "B"],
}


@pytest.fixture(autouse=True)
def no_old_names():
    """The names of now give no warnings."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*the old name goes", DeprecationWarning)
        warnings.filterwarnings("error", "policy:", FutureWarning)
        yield


@pytest.fixture
def cluster():
    with gs.Cluster.uniform(4, gpus=8, cpus=16, gpu_model="A") as made:
        yield made


# ---- one vocabulary ------------------------------------------------------------------------------


def test_a_job_has_the_same_names_everywhere(cluster):
    """In a trace, a request, a submission; its totals in tables, views, dicts."""
    one = {key: JOB[key] for key in ("count", "min", "cpu", "mem_mib", "gpu", "gpu_models")}
    totals = {"tasks": 4, "cpus": 8.0, "gpus": 8.0}
    trace, seen = gs.Trace([{**JOB, "queue": ""}]), []
    assert cluster.allocate(**one).info()["count"] == 4

    def policy(view):
        seen.append({name: getattr(view, name)[0] for name in (*totals, "time_limit_s")})
        return view.submit_s

    with gs.Simulation(cluster, trace, policy=gs.lowest_first(policy)) as simulation:
        simulation.submit(run_s=60, time_limit_s=100, **one)
        simulation.run()
        for name in totals:
            assert simulation.job(0)[name] == simulation.job(1)[name] == totals[name]
            assert simulation.result().jobs[name].tolist() == [totals[name]] * 2
        assert simulation.job(0)["time_limit_s"] == simulation.job(1)["time_limit_s"] == 100
        assert simulation.result().column("time_limit_s").tolist() == [100, 100]
    assert seen[0] == {**totals, "time_limit_s": 100}
    table = trace.to_dataframe()
    assert {name: table[name][0] for name in totals} == totals and table.mem_mib[0] == 2048
    assert trace.column("time_limit_s").tolist() == table.time_limit_s.tolist() == [100]


def test_files_have_the_names_of_dicts(tmp_path):
    trace = gs.Trace([JOB, {"job": "b", "submit_s": 1, "run_s": 2, "gpu": 0.5, "gpu_devices": 2}])
    for format in ("csv", "jsonl"):
        text = trace.to_text(format)
        assert all(name in text for name in ("time_limit_s", "count", "gpu", "gpu_devices"))
        assert not any(name in text for name in ('"limit_s', ",limit_s", "gpus", "gpu_milli", "tasks"))
        again = gs.Trace.from_text(text)
        assert list(again) == list(trace)
    assert trace["b"] == {"job": "b", "submit_s": 1, "run_s": 2, "count": 1, "gpu": 0.5,
                          "gpu_devices": 2}


def test_streamed_files_have_the_names_of_tables(cluster, tmp_path):
    """Also amounts that are no whole numbers, to the byte."""
    draw = random.Random(7)
    trace = gs.Trace([
        {"submit_s": i, "run_s": 5 + i, "count": 1 + i % 3, "cpu": draw.randrange(1, 4000) / 1000,
         "mem_mib": draw.randrange(1, 2**33) / 2**20, "gpu": draw.choice([0.123, 0.5, 2]),
         "time_limit_s": 90}
        for i in range(60)
    ])
    plain = gs.simulate(cluster, trace)
    streamed = gs.simulate(cluster, trace, stream=tmp_path)
    order = ["begin_s", "index", "node"]  # of one instant: by job, in the files
    for name in ("jobs", "allocations", "timeline"):
        mine, other = getattr(plain, name), getattr(streamed, name)
        if name == "allocations":
            mine, other = (
                one.sort_values(order).reset_index(drop=True) for one in (mine, other)
            )
        pd.testing.assert_frame_equal(mine, other)
    jobs, stays, times = (pd.read_csv(tmp_path / (name + ".csv")) for name in
                          ("jobs", "allocations", "timeline"))
    assert set(jobs.columns) - {"index"} == set(plain.jobs.columns) - {"wait_s", "jct_s"}
    jobs = jobs.sort_values("index").reset_index(drop=True)
    for name in ("cpus", "mem_mib", "gpus", "tasks", "time_limit_s"):
        assert np.allclose(jobs[name], plain.jobs[name], rtol=0, atol=1e-7)
    assert set(stays.columns) == set(plain.allocations.columns)
    assert set(times.columns) == set(plain.timeline.columns)
    assert np.allclose(times.mem_mib, plain.timeline.mem_mib, rtol=0, atol=1e-6)


def test_a_name_is_read_as_the_name_of_a_job():
    assert gs.Trace([{"name": "x", "submit_s": 0, "run_s": 1}])[0]["job"] == "x"
    assert gs.Trace.from_text("name,submit_s,run_s\nx,0,1\n")[0]["job"] == "x"
    table = pd.DataFrame({"name": ["x"], "submit_s": [0], "run_s": [1]})
    assert gs.Trace.from_dataframe(table)[0]["job"] == "x"


@pytest.mark.parametrize("seed", range(20))
def test_a_request_of_a_job_holds_what_the_job_holds(seed):
    draw = random.Random(seed)

    def group(**more):
        gpu = draw.choice([0, 1, 2, 0.25, 0.5])
        made = {"count": draw.randint(1, 3), "cpu": draw.choice([1, 1.5]), "mem_mib": 64, "gpu": gpu}
        return {**made, **({"gpu_devices": 2} if gpu == 0.5 else {}), **more}

    job = {"job": "a", "submit_s": 5, "run_s": 9, "time_limit_s": 20, "start_s": 6, "end": "success"}
    several = draw.random() < 0.5
    job.update({"tasks": [group(name="x"), group(name="y")]} if several else group())
    trace = gs.Trace([job])
    request = gs.Request.from_job(trace[0])
    with gs.Cluster.uniform(4) as cluster:
        info = cluster.allocate(request).info()
        table = trace.to_dataframe()
        assert {name: info[name] for name in ("tasks", "cpus", "mem_mib", "gpus")} == {
            name: table[name][0] for name in ("tasks", "cpus", "mem_mib", "gpus")
        }
        with gs.Simulation(cluster) as simulation:
            index = simulation.submit(request, run_s=job["run_s"])
            assert simulation.job(index)["time_limit_s"] == 20
    if not several and job["gpu"] != 0.5:  # a table does not say of how many devices a share is
        assert dict(gs.Request.from_job(table.iloc[0]))["tasks"] == [
            {key: value for key, value in dict(request)["tasks"][0].items() if value}]


def test_a_request_of_an_old_job_is_that_of_the_job():
    with pytest.warns(DeprecationWarning, match="the member gpus of a job is now gpu"):
        old = gs.Request.from_job(OLD)
    assert dict(old) == dict(gs.Request.from_job(JOB))
    groups = [{"group": "x", "tasks": 2, "gpus": 1, "gpu_milli": 500}]
    with pytest.warns(DeprecationWarning, match="groups of a job is now tasks"):
        old = gs.Request.from_job({"job": "a", "submit_s": 0, "run_s": 1, "groups": groups})
    assert old["tasks"] == [{"name": "x", "count": 2, "gpu": 0.5}]


def test_amounts_are_of_a_task_or_of_the_whole_job(cluster):
    trace = gs.Trace([{"job": "a", "submit_s": 0, "run_s": 5, "count": 4, "cpu": 3, "mem_mib": 10,
                       "gpu": 2}])
    result = gs.simulate(cluster, trace)
    for table in (trace.to_dataframe("task"), result.to_dataframe("task")):
        assert (table.tasks[0], table.cpu[0], table.mem_mib[0], table.gpu[0]) == (4, 3, 10, 2)
        assert not {"cpus", "gpus"} & set(table.columns)
    for table in (trace.to_dataframe(), trace.to_dataframe("job"), result.jobs):
        assert (table.cpus[0], table.mem_mib[0], table.gpus[0]) == (12, 40, 8)
        assert not {"cpu", "gpu"} & set(table.columns)
    for amounts in ("task", "job", None):
        table = trace.to_dataframe(amounts or "job")
        assert list(gs.Trace.from_dataframe(table, amounts=amounts)) == list(trace)
    assert list(gs.Trace.from_dataframe(trace.to_dataframe("task"))) == list(trace)
    for wrong in (trace.to_dataframe, result.to_dataframe):
        with pytest.raises(gs.InvalidArgument, match="expected 'task' or 'job', not 'node'"):
            wrong("node")
    with pytest.raises(gs.InvalidArgument, match="with amounts='job' the column is cpus"):
        gs.Trace.from_dataframe(trace.to_dataframe("task"), amounts="job")
    with pytest.raises(gs.InvalidArgument, match="with amounts='task' the column is cpu"):
        gs.Trace.from_dataframe(trace.to_dataframe("job"), amounts="task")


# ---- names of version 0.1 ------------------------------------------------------------------------


def told(call):
    """The value of a call, and the old names of which it warned."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        value = call()
    assert all(issubclass(one.category, DeprecationWarning) for one in said)
    assert all(one.filename == __file__ for one in said), [one.filename for one in said]
    return value, sorted(str(one.message).split(" is now ")[0] for one in said)


def test_old_members_are_read_with_a_warning(tmp_path):
    now = gs.Trace([JOB])
    members = ["the member %s of a job" % name for name in ("gpus", "limit_s", "tasks")]
    old, said = told(lambda: gs.Trace([OLD]))
    assert list(old) == list(now) and said == members
    for name, line in (
        ("t.csv", "job,submit_s,run_s,queue,user,limit_s,priority,tasks,min,cpu,mem_mib,gpus,gpu_models\n"
                  "a,0,60,q,u,100,3,4,2,2,512,2,A|B\n"),
        ("t.jsonl", '{"job":"a","submit_s":0,"run_s":60,"queue":"q","user":"u","limit_s":100,'
                    '"priority":3,"tasks":4,"min":2,"cpu":2,"mem_mib":512,"gpus":2,'
                    '"gpu_models":["A","B"]}\n'),
    ):
        (tmp_path / name).write_text(line)
        old, said = told(lambda: gs.Trace.read(tmp_path / name))
        assert list(old) == list(now) and said == members
        old, said = told(lambda: gs.Trace.from_text(line))
        assert list(old) == list(now) and said == members
    table = pd.DataFrame([{**OLD, "gpu_models": "A|B"}])
    old, said = told(lambda: gs.Trace.from_dataframe(table))
    assert list(old) == list(now)
    assert said == ["the column limit_s", "the member gpus of a job"]


def test_old_members_of_a_job_are_told_with_a_warning():
    job = gs.Trace([JOB])[0]
    for name, value in (("tasks", 4), ("gpus", 2), ("limit_s", 100)):
        assert told(lambda: job[name]) == (value, ["the member %s of a job" % name])
        assert told(lambda: job.get(name)) == (value, ["the member %s of a job" % name])
    assert "gpu_milli" not in job and job.get("gpu_milli", 1000) == 1000
    with pytest.raises(KeyError):
        job["colour"]
    share = gs.Trace([{"submit_s": 0, "run_s": 1, "gpu": 0.25, "gpu_devices": 2}])[0]
    assert told(lambda: (share["gpus"], share["gpu_milli"]))[0] == (2, 250)
    several = gs.Trace([{"submit_s": 0, "run_s": 1, "tasks": [{"name": "x", "count": 2}]}])[0]
    assert several["count"] == 2  # one group is flat
    several = gs.Trace([{"submit_s": 0, "run_s": 1, "tasks": [{"name": "x"}, {"name": "y"}]}])[0]
    assert told(lambda: several["groups"][0]["group"])[0] == "x"
    assert pickle.loads(pickle.dumps(job)) == job


def test_old_columns_are_told_with_a_warning(cluster):
    trace = gs.Trace([{**JOB, "queue": ""}])
    result = gs.simulate(cluster, trace)
    for table in (trace.to_dataframe(), result.jobs, result.jobs[result.jobs.tasks > 0]):
        for call in (lambda: table.limit_s, lambda: table["limit_s"]):
            column, said = told(call)
            assert column.tolist() == [100] and said == ["the column limit_s"]
        with pytest.raises(AttributeError):
            table.colour
        assert isinstance(pickle.loads(pickle.dumps(table)), pd.DataFrame)
    for call in (lambda: trace.column("limit_s"), lambda: result.column("limit_s"),
                 lambda: trace.with_columns(limit_s=100).column("time_limit_s"),
                 lambda: trace.query("limit_s > 1").column("time_limit_s")):
        column, said = told(call)
        assert column.tolist() == [100] and said == ["the column limit_s"]
    with gs.Simulation(cluster, trace) as simulation:
        simulation.run(until_s=1)
        assert told(lambda: simulation.job(0)["limit_s"]) == (100, ["limit_s"])
        told(lambda: simulation.set_time_limit(0, limit_s=30))
        simulation.run()
        assert simulation.job(0)["end_s"] == 30


def test_old_columns_of_views_are_told_with_a_warning(cluster):
    seen = []

    def policy(view):
        seen.append(told(lambda: (view.limit_s.tolist(), view.limit_ns.tolist())))
        seen.append(told(lambda: [(job.limit_s, job.limit_ns) for job in gs.per_job.jobs(view)]))
        return view.submit_s

    gs.simulate(cluster, gs.Trace([{**JOB, "queue": ""}]), policy=gs.lowest_first(policy))
    assert seen[0][0] == ([100], [100 * 10**9]) and len(seen[0][1]) == 2
    assert seen[1][0] == [(100, 100 * 10**9)] and len(seen[1][1]) == 2


def test_old_members_of_a_task_are_told_with_a_warning(cluster):
    with cluster.allocate(gpu=0.5, cpu=1.5, mem_mib=100) as made:
        task = made.tasks[0]
    assert (task["cpu"], task["mem_mib"], task["gpu"], task["devices"]) == (1.5, 100, 0.5, [0])
    for name, value in (("cpu_milli", 1500), ("memory_bytes", 100 * 2**20), ("gpus", [0])):
        assert told(lambda: task[name]) == (value, ["the member %s of a task" % name])
    with pytest.raises(KeyError):
        task["colour"]


def test_old_methods_work_with_a_warning():
    tree = gs.Queues({"a": {}, "b": {}})
    assert told(lambda: tree.everywhere(weight=2)) == (
        tree.with_all(weight=2), ["Queues.everywhere"])


# ---- scores --------------------------------------------------------------------------------------


def test_jobs_and_nodes_are_scored_in_the_same_direction(cluster):
    trace = gs.Trace([{"job": str(i), "submit_s": 0, "run_s": 10 + i, "count": 4, "gpu": 8}
                      for i in range(5)])

    def order(policy):
        starts = gs.simulate(cluster, trace, policy=policy).jobs.start_s
        return np.argsort(starts.to_numpy()).tolist()

    def node(score):
        with cluster.allocate(gpu=1, score=score) as made:
            return int(made.nodes[0][1:])

    def jobs(view):
        return view.run_s

    def nodes(group, candidates):
        return [int(name[1:]) for name in candidates.node_name]

    assert order(gs.highest_first(jobs)) == [4, 3, 2, 1, 0] and node(gs.highest_first(nodes)) == 3
    assert order(gs.lowest_first(jobs)) == [0, 1, 2, 3, 4] and node(gs.lowest_first(nodes)) == 0
    assert node(nodes) == 3
    with pytest.warns(FutureWarning, match="the lowest score of jobs goes first") as said:
        assert order(jobs) == [0, 1, 2, 3, 4]
    assert [one.filename for one in said] == [__file__]


def test_the_direction_survives_forks_replays_and_pickles(cluster):
    trace = gs.Trace([{"job": str(i), "submit_s": 0, "run_s": 10 + i, "count": 4, "gpu": 8}
                      for i in range(3)])
    with gs.Simulation(cluster, trace, policy=longest) as simulation:
        simulation.run(until_s=1)
        other, again = simulation.fork(), simulation.fork(seed=1)
        for one in (simulation, other, again):
            one.run()
            assert one.result().jobs.start_s.tolist() == [23, 12, 0]
    assert pickle.loads(pickle.dumps(longest)) is longest
    plain = gs.lowest_first(len)
    assert pickle.loads(pickle.dumps(plain)).lowest and "lowest_first(len)" == repr(plain)
    with pytest.raises(TypeError, match="expected a function that scores"):
        gs.lowest_first("srtf")


@gs.highest_first
def longest(view):
    return view.run_s


@pytest.mark.parametrize("values", [
    [3, 1, 2, 2**63 - 1], [3.0, 1.0, 2.0, float("inf")], [-(2**63), 5, 7, 2**63 - 1],
    [float("inf"), 0.1, 0.2, float("inf")],
])
def test_the_last_score_excludes_a_node_in_both_directions(cluster, values):
    table = np.array(values)
    last = float("inf") if table.dtype.kind == "f" else 2**63 - 1
    kept = [i for i in range(4) if values[i] != last]

    def score(group, candidates):
        return table[[int(name[1:]) for name in candidates.node_name]]

    found = [cluster.allocate(gpu=8, score=gs.lowest_first(score)).nodes[0] for _ in kept]
    assert found == ["n%d" % i for i in sorted(kept, key=lambda i: values[i])]
    with pytest.raises(gs.DoesNotFit):
        cluster.allocate(gpu=8, score=gs.lowest_first(score))


def test_candidates_have_the_names_and_units_of_nodes(cluster):
    cluster.allocate(gpu=0.5, cpu=1.5, mem_mib=100)
    table, seen = cluster.nodes, []

    def score(group, candidates):
        row = table.loc[list(candidates.node_name)]
        for name in ("cpus_free", "mem_mib_free", "gpus_free", "gpu_free"):
            assert getattr(candidates, name).tolist() == row[name].tolist()
            assert name == "gpu_free" or candidates[name].tolist() == row[name].tolist()
        seen.append(told(lambda: [candidates[name].tolist() for name in
                                  ("cpu_free", "memory_free", "gpu_free")]))
        assert [x / 1000 for x in seen[-1][0][2]] == candidates.gpu_free.tolist()
        assert len(candidates) == len(row) and candidates.tasks.tolist() == [0] * len(row)
        with pytest.raises(AttributeError, match="did you mean 'gpus_free'"):
            candidates.gpuss_free
        return candidates.gpu_free

    cluster.allocate(gpu=1, score=score)
    assert seen and len(seen[0][1]) == 3


# ---- unknown names -------------------------------------------------------------------------------


@pytest.mark.parametrize("call, meant", [
    (lambda c, t: c.allocate(gpus=1), "gpu"),
    (lambda c, t: c.allocate(gpu=1, limit_s=5), "time_limit_s"),
    (lambda c, t: gs.Trace([{"submit_s": 0, "run_s": 1, "cuont": 2}]), "count"),
    (lambda c, t: gs.Queues({"a": {"wieght": 2}}), "weight"),
    (lambda c, t: gs.Cluster([{"name": "a", "gpu": 2}]), "gpus"),
    (lambda c, t: gs.Simulation(c, polcy="fifo"), "policy"),
    (lambda c, t: gs.Simulation(c, policy="srft"), "srtf"),
    (lambda c, t: t.column("time_limits"), "time_limit_s"),
    (lambda c, t: t.with_columns(submit=1), "submit_s"),
    (lambda c, t: t["tran"], "train"),
    (lambda c, t: gs.simulate(c, t).column("waits_s"), "wait_s"),
    (lambda c, t: gs.simulate(c, t).explain("tran", 0), "train"),
    (lambda c, t: gs.simulate(c, t).timeline_by("queues"), "queue"),
    (lambda c, t: gs.Queues({"research": {}}).changed("reserch", weight=1), "research"),
    (lambda c, t: gs.Simulation(c).change_queue("defult", weight=1), "default"),
    (lambda c, t: gs.Simulation(c, queues={"research": {}, "x": {}}).submit(
        queue="reserch", run_s=1), "research"),
    (lambda c, t: gs.simulate(c, gs.Trace([{"submit_s": 0, "run_s": 1, "queue": "reserch"}]),
                              {"research": {}, "x": {}}), "research"),
    (lambda c, t: c.node("n11"), "n1"),
    (lambda c, t: c.set_state("n0", "drained"), "draining"),
    (lambda c, t: gs.presets["tiresas"], "tiresias"),
    (lambda c, t: gs.Trac, "Trace"),
    (lambda c, t: gs.Trace.from_text("", "cvs"), "csv"),
    (lambda c, t: gs.simulate(c, t, policy=gs.lowest_first(lambda view: view.gpu)), "gpus"),
])
def test_an_unknown_name_is_answered_with_the_closest_known_one(call, meant):
    trace = gs.Trace([{"job": "train", "submit_s": 0, "run_s": 1, "gpu": 1}])
    with gs.Cluster.uniform(2) as cluster:
        with pytest.raises((gs.GangError, AttributeError), match="did you mean '%s'" % meant):
            call(cluster, trace)


def test_a_message_says_what_was_expected(cluster):
    for call, said in (
        (lambda: gs.Queues({"a": 5}), "a: expected a dict, not int"),
        (lambda: gs.Queues([5]), "expected a dict of queues, a list of dicts, or a case, not list"),
        (lambda: gs.Cluster([5]), r"nodes\[0\]: expected a dict, not a number"),
        (lambda: gs.Request(5), "expected a dict of members, not int"),
        (lambda: gs.Request(tasks=4), "expected a list of groups; the number of tasks is 'count'"),
        (lambda: cluster.allocate(gpu="x"), "gpu: expected a number, not a string"),
        (lambda: gs.Simulation(cluster, speed=3), "speed: expected a function, not 3"),
        (lambda: cluster.allocate(gpu=1, score=lambda group, nodes: [-(2**63)] * len(nodes)),
         r"accepted by score\(\)"),
    ):
        with pytest.raises(gs.GangError, match=said):
            call()


# ---- documentation -------------------------------------------------------------------------------


def modules():
    import gangsched

    for found in pkgutil.walk_packages(gangsched.__path__, "gangsched."):
        if not found.name.endswith(("__main__", "_gangsched")):
            yield importlib.import_module(found.name)


OLD_JOB = {"job": "a", "submit_s": 0, "run_s": 60, "limit_s": 90}
OLD_CSV = "job,submit_s,run_s,limit_s\na,0,60,90\n"


@pytest.mark.parametrize(
    "use",
    [
        lambda: gs.Trace([OLD_JOB]),
        lambda: gs.Trace.from_text(OLD_CSV),
        lambda: gs.Trace.from_text(OLD_CSV.replace("limit_s", "time_limit_s"), most=1),
        lambda: gs.simulate(gs.Cluster.uniform(1), one(), linger_s=1),
        lambda: gs.Simulation(gs.Cluster.uniform(1), one(), linger_s=1),
        lambda: gs.compare({"a": {"linger_s": 1}}, gs.Cluster.uniform(1), one()),
        lambda: gs.Request.from_job(OLD_JOB),
        lambda: one().to_dataframe().limit_s,
        lambda: one().column("limit_s"),
        lambda: gs.simulate(gs.Cluster.uniform(1), one()).session(),
        lambda: gs.Session,
    ],
)
def test_the_warning_of_an_old_name_is_shown_at_the_line_that_has_it(use):
    """Python shows a DeprecationWarning only if it is at a line of the main program."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        use()
    assert {warning.filename for warning in found} == {__file__}


def one():
    return gs.Trace([{"job": "a", "submit_s": 0, "run_s": 60, "time_limit_s": 90}])


def test_the_examples_in_docstrings_are_true():
    ran = 0
    for module in modules():
        failed, tried = doctest.testmod(module)
        assert failed == 0, module.__name__
        ran += tried
    assert ran > 40


def test_docstrings_name_no_file_that_a_wheel_lacks():
    import inspect
    import re

    lacks = re.compile(r"\b\w+\.(h|c|sh|md)\b|\bbindings/|\bexamples/|\blib/")
    for module in modules():
        if module.__name__.startswith("gangsched.convert"):
            continue  # names of foreign files
        for name, one in [("", module), *inspect.getmembers(module)]:
            mine = inspect.isclass(one) or inspect.isfunction(one) or one is module
            if not mine or name.startswith("_") or getattr(one, "__module__", "") not in (
                module.__name__, ""
            ):
                continue
            texts = [(name, one.__doc__)]
            if inspect.isclass(one):
                texts += [(name + "." + key, getattr(value, "__doc__", None))
                          for key, value in vars(one).items() if not key.startswith("_")]
            for place, text in texts:
                assert not lacks.search(text or ""), (module.__name__, place, lacks.search(text))


def test_the_vocabulary_lists_what_is_said():
    assert {"count", "cpu", "gpu", "time_limit_s"} <= set(
        vocabulary.__doc__.replace("`", " ").split())
