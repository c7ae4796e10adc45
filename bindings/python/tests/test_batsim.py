# SPDX-License-Identifier: Apache-2.0
"""GPU traces for Batsim: the workload, the platform, and the way back."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

import gangsched as gs

JOBS = [
    {"job": "wide", "submit_s": 0, "run_s": 3600.5, "count": 4, "gpu": 8, "cpu": 12,
     "mem_mib": 1024, "queue": "q", "user": "ann", "time_limit_s": 7200, "gpu_models": ["A", "B"],
     "priority": 3, "min": 2},
    {"job": "share", "submit_s": 1.25, "run_s": 60, "count": 3, "gpu": 0.5, "gpu_devices": 2,
     "start_s": 9, "end": "failed"},
    {"job": "mixed", "submit_s": 5, "run_s": 0, "tasks": [
        {"name": "ps", "count": 2, "cpu": 4}, {"name": "worker", "count": 2, "gpu": 2}]},
]


@pytest.fixture
def trace():
    return gs.Trace(JOBS)


@pytest.fixture
def cluster():
    return gs.Cluster([
        {"name": "a", "gpus": 2, "gpu_model": "V100"}, {"name": "cpu"},
        {"name": "b", "gpus": 11, "gpu_model": "<&>"},
    ])


def written(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("profile", ["delay", "parallel_homogeneous"])
def test_a_workload_has_a_profile_for_each_job(trace, tmp_path, profile):
    path = tmp_path / "w.json"
    trace.to_batsim(path, profile=profile, flops=10**9)
    made = written(path)
    assert made["nb_res"] == 32
    assert [(job["id"], job["subtime"], job["res"], job["profile"]) for job in made["jobs"]] == [
        ("wide", 0, 32, "wide"), ("share", 1.25, 6, "share"), ("mixed", 5, 4, "mixed")]
    assert [job.get("walltime") for job in made["jobs"]] == [7200, None, None]
    assert (made["jobs"][0]["queue"], made["jobs"][0]["user"]) == ("q", "ann")
    assert made["profiles"]["wide"] == {
        "delay": {"type": "delay", "delay": 3600.5},
        "parallel_homogeneous": {"type": "parallel_homogeneous", "cpu": 3600.5e9, "com": 0},
    }[profile]
    assert set(made["profiles"]) == {"wide", "share", "mixed"}


@pytest.mark.parametrize("profile, flops", [("delay", 10**9), ("parallel_homogeneous", 5 * 10**12)])
def test_there_and_back(trace, tmp_path, profile, flops):
    path = tmp_path / "w.json.gz"
    trace.to_batsim(path, profile=profile, flops=flops)
    back = gs.Trace.from_batsim(path, flops=flops)
    expected = [{key: job[key] for key in job if key not in ("start_s", "end")} for job in trace]
    expected[2]["run_s"] = 1e-9  # Batsim has no job without a length
    assert [dict(job) for job in back] == [dict(job) for job in gs.Trace(expected)]
    machines = gs.Cluster([
        {"name": "n%d" % i, "gpus": 8, "gpu_model": "AB"[i // 4], "cpus": 64, "mem_mib": 65536}
        for i in range(5)
    ])
    simulated = [
        gs.simulate(machines, one, {"q": {}}, default_queue="q").jobs.start_s.tolist()
        for one in (gs.Trace(expected), back)
    ]
    assert simulated[0][0] == 0
    assert simulated[0] == simulated[1]


def test_the_reader_of_the_library_takes_the_workload(trace, tmp_path):
    path = tmp_path / "w.json"
    trace.to_batsim(path)
    plain = gs.Trace.read(path)
    assert plain.format == "batsim"
    assert plain.column("run_s")[:2].tolist() == [3600.5, 60]
    assert plain.column("tasks").tolist() == [32, 6, 4]
    assert plain.column("time_limit_s").tolist() == [7200, 0, 0]


def test_a_platform_has_a_host_for_each_gpu(trace, cluster, tmp_path):
    trace.to_batsim(tmp_path / "w.json", cluster, tmp_path / "p.xml", flops=2 * 10**9)
    assert written(tmp_path / "w.json")["nb_res"] == 13
    root = ElementTree.parse(tmp_path / "p.xml").getroot()
    assert (root.tag, root.get("version")) == ("platform", "4.1")
    master, *hosts = root.findall("zone/host")
    assert master.get("id") == "master_host"
    assert [host.get("id") for host in hosts] == ["gpu%d" % i for i in range(13)]
    assert {host.get("speed") for host in hosts} == {"2000000000f"}
    found = [{prop.get("id"): prop.get("value") for prop in host} for host in hosts]
    result = gs.simulate(cluster, gs.Trace([{"submit_s": 0, "run_s": 1, "gpu": 1}]))
    numbered = result.resources  # hosts have the numbers of the results
    assert [one["node"] for one in found] == numbered.node.tolist()
    assert [int(one["device"]) for one in found] == numbered.device.tolist()
    assert found[0]["model"] == "V100" and found[12]["model"] == "<&>"


def test_workloads_of_others_are_read_as_cores_or_as_gpus(tmp_path):
    path = tmp_path / "w.json"
    content = {
        "nb_res": 4, "jobs": [{"id": "a", "subtime": 3, "res": 2, "profile": "p"}],
        "profiles": {"p": {"type": "delay", "delay": 5}},
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    one = gs.Trace.from_batsim(path)[0]
    assert (one["count"], one["cpu"], one.get("gpu", 0)) == (2, 1, 0)
    one = gs.Trace.from_batsim(path, resource="gpu")[0]
    assert (one["count"], one.get("cpu", 0), one["gpu"], one["run_s"]) == (2, 0, 1, 5)


def test_changes_of_the_workload_are_read(trace, tmp_path):
    path = tmp_path / "w.json"
    trace.to_batsim(path)
    made = written(path)
    made["profiles"]["wide"]["delay"] = 7
    made["jobs"][0].update(subtime=11, walltime=-1, user="bob")
    path.write_text(json.dumps(made), encoding="utf-8")
    one = gs.Trace.from_batsim(path)["wide"]
    assert (one["run_s"], one["submit_s"], one["user"], one["gpu"]) == (7, 11, "bob", 8)
    assert one.get("time_limit_s", 0) == 0


def test_what_cannot_be_written_is_named(trace, cluster, tmp_path):
    path = tmp_path / "w.json"
    cores = gs.Trace([JOBS[0], {"job": "c", "submit_s": 0, "run_s": 1, "cpu": 4}])
    with pytest.raises(gs.NotSupported, match=re.escape("jobs[1]: job 'c' has no GPUs")):
        cores.to_batsim(path)
    assert not path.exists()
    cores.to_batsim(path, on_error="skip")
    assert [job["id"] for job in written(path)["jobs"]] == ["wide"]
    early = gs.Trace([{"job": "e", "submit_s": -1, "run_s": 1, "gpu": 1}])
    said = "jobs[0].submit_s: Batsim begins at 0, job 'e'"
    with pytest.raises(gs.InvalidArgument, match=re.escape(said)):
        early.to_batsim(path)
    for options, said in (({"profile": "smpi"}, "profile"), ({"flops": 0}, "flops"),
                          ({"on_error": "keep"}, "on_error"), ({"platform": path}, "platform")):
        with pytest.raises(gs.GangError, match=said):
            trace.to_batsim(path, **options)
    with pytest.raises(gs.InvalidArgument, match="resource"):
        gs.Trace.from_batsim(path, resource="node")
    path.write_text('{"nb_res":1,"jobs":[{"id":1,"subtime":0,"res":1,"profile":"p","gangsched":3}],'
                    '"profiles":{"p":{"type":"delay","delay":5}}}', encoding="utf-8")
    with pytest.raises(gs.InvalidArgument, match=r"jobs\[0\].gangsched"):
        gs.Trace.from_batsim(path)
