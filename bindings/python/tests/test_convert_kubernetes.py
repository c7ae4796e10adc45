# SPDX-License-Identifier: Apache-2.0
"""Manifests of Kubernetes, Kueue, Volcano and the training operator."""
from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest

from convert_support import DATA, capacities, check, data, nodes, outcome, queue, texts
from gangsched.convert import Converted, ConvertError, convert

yaml = pytest.importorskip("yaml")


def job(scenario: Any, name: str) -> Any:
    (found,) = [j for j in scenario["jobs"] if j["name"] == name]
    return found


def manifest(kind: str, spec: Any, version: str = "v1", **meta: Any) -> str:
    return json.dumps(
        {"apiVersion": version, "kind": kind, "metadata": {"name": "x", **meta}, "spec": spec}
    )


def pod(**requests: str) -> Dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": requests}}]}


# ---- nodes ------------------------------------------------------------------------------------


def test_nodes() -> None:
    converted = data("kubernetes-nodes.json")
    one, _, three, four = converted.scenario["nodes"]
    assert (one["cpus"], one["mem_mib"], one["gpus"], one["max_tasks"]) == (
        95.5,
        1023 * 1024,
        8,
        110,
    )
    assert (one["gpu_model"], one["gpu_mem_mib"]) == ("NVIDIA-H100-80GB-HBM3", 81559)
    assert one["amounts"] == {"ephemeral-storage": 90 * 1024, "rdma/hca": 8}
    assert converted.scenario["levels"] == ["topology.kubernetes.io/zone"]
    assert one["topology"] == {"topology.kubernetes.io/zone": "a"}
    assert three["unschedulable"] is True and "gpus" not in three and four["state"] == "down"
    assert "items[2].spec.taints[0]: no counterpart: dedicated" in texts(converted)
    check(converted.scenario)


def test_yaml_and_json_convert_alike() -> None:
    text = yaml.safe_dump(json.loads((DATA / "kubernetes-nodes.json").read_text()))
    assert convert(text).scenario == data("kubernetes-nodes.json").scenario


def test_levels_of_a_topology() -> None:
    topology = manifest(
        "Topology",
        {
            "levels": [
                {"nodeLabel": "block"},
                {"nodeLabel": "rack"},
                {"nodeLabel": "kubernetes.io/hostname"},
            ]
        },
        "kueue.x-k8s.io/v1alpha1",
    )
    node = json.dumps({"kind": "Node", "apiVersion": "v1",
                       "metadata": {"name": "n", "labels": {"rack": "r", "block": "b"}},
                       "status": {"capacity": {"cpu": "4"}}})
    scenario = convert(topology, node).scenario
    assert scenario["levels"] == ["block", "rack"]
    assert scenario["nodes"][0]["topology"] == {"block": "b", "rack": "r"}
    check(scenario)


# ---- queues -----------------------------------------------------------------------------------


def test_kueue() -> None:
    converted = data("kueue.yaml", "kubernetes-nodes.json")
    scenario = converted.scenario
    cohort, a, b = (queue(scenario, name) for name in ("all", "team-a", "team-b"))
    assert (
        cohort["guaranteed"]
        == {"cpu@h100": 150, "mem_mib@h100": 1536 * 1024, "gpu@h100": 16}
        == cohort["limit"]
    )
    assert (a["guaranteed"]["gpu@h100"], a["limit"], a["lending_limit"]) == (
        10,
        {"gpu@h100": 14},
        {"gpu@h100": 6},
    )
    assert (a["block"], a["within"], a["reclaim"], a["weight"]) == ("strict", "lower", "any", 2)
    assert (b["within"], b["reclaim"], b.get("limit")) == ("never", "never", None)
    assert [n.get("partitions") for n in scenario["nodes"]] == [["h100"], ["h100"], None, ["h100"]]
    train = job(scenario, "train")
    assert (train["queue"], train["priority"], train["time_limit_s"]) == ("team-a", 1000, 3600)
    assert train["tasks"] == [
        {
            "count": 2, "cpu": 8, "mem_mib": 65536, "gpu": 4, "partition": "h100",
            "same": "topology.kubernetes.io/zone",
        }
    ]
    assert "flavorFungibility" not in texts(converted)
    assert outcome(scenario)["jobs"]["train"]["state"] == "running"


def test_cluster_queues_borrow_and_lend_within_limits() -> None:
    """10 and 6 GPUs of 16: a uses its 10 and borrows 4; b has its own and 6 that a lends."""
    scenario = data("kueue.yaml", "kubernetes-nodes.json").scenario
    for team, most in (("team-a", 14), ("team-b", 12)):
        scenario["jobs"] = [{"name": "j", "queue": team, "min": 1,
                             "tasks": [{"count": 16, "gpu": 1, "partition": "h100"}]}]
        assert outcome(scenario)["jobs"]["j"]["gpus"] == most


def borrowing(name: str, policy: Any, **more: Any) -> str:
    """A queue of cohort "all" with a nominal quota of one GPU."""
    flavor = {"name": "f", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 1}]}
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor]}]
    preemption = {"reclaimWithinCohort": "Any", "borrowWithinCohort": policy, **more}
    spec = {"cohortName": "all", "resourceGroups": groups, "preemption": preemption}
    return manifest("ClusterQueue", spec, "kueue.x-k8s.io/v1beta1", name=name)


def test_a_borrowing_queue_preempts_lower_priority_of_borrowing_queues() -> None:
    scenario = convert(
        borrowing("a", {"policy": "LowerPriority", "maxPriorityThreshold": 5}),
        borrowing("b", None),
        borrowing("c", {"policy": "LowerPriority"}),
        manifest("Cohort", {"parentName": "top"}, name="all"),
        manifest("Cohort", {}, name="top"),
    ).scenario
    across = {q["name"]: (q.get("across"), q.get("across_max_priority")) for q in scenario["queues"]}
    assert across == {"top": ("lower", None), "all": (None, None), "a": ("lower-capped", 5),
                      "b": ("never", None), "c": ("lower", None)}
    scenario["nodes"] = [{"name": "n", "gpus": 4, "cpus": 4}]
    scenario["queues"] = [{key: value for key, value in q.items() if key != "limit"}
                          for q in scenario["queues"]]

    def gpus(name: str, priority: int, count: int, **more: Any) -> Dict[str, Any]:
        return {"name": "%s%d" % (name, priority), "queue": name, "priority": priority, "min": count,
                "tasks": [{"count": count, "gpu": 1}], **more}

    running = {"state": "running", "running_on": ["n"]}
    scenario["jobs"] = [gpus("b", 6, 1, **running), gpus("b", 5, 1, **running),
                        gpus("a", 9, 1, **running), gpus("a", 8, 1, **running),
                        gpus("a", 7, 1), gpus("a", 6, 1)]
    states = {name: job["state"] for name, job in outcome(scenario)["jobs"].items()}
    assert states == {"b6": "running", "b5": "preempted", "a9": "running", "a8": "running",
                      "a7": "running", "a6": "pending"}  # b is within its nominal quota now
    check(scenario)


@pytest.mark.parametrize("policy, more", [
    ({"policy": "HigherPriority"}, {}),
    ({"policy": "LowerPriority", "maxPriorityThreshold": 0.5}, {}),
    ({"policy": "LowerPriority"}, {"reclaimWithinCohort": "Never"}),
])
def test_bad_policies_of_borrowing(policy: Any, more: Any) -> None:
    with pytest.raises(ConvertError, match="borrowWithinCohort"):
        convert(borrowing("a", policy, **more))


def flavors(order: List[str], **spec: Any) -> Converted:
    """Flavors "new" and "old" of 8 GPUs each, on a node each; a job of 8 GPUs in their queue."""
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [
        {"name": f, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]} for f in order]}]
    return convert(
        *(manifest("ResourceFlavor", {"nodeLabels": {"pool": f}}, name=f) for f in ("new", "old")),
        manifest("ResourceFlavor", {}, name="any"),
        *(json.dumps({"apiVersion": "v1", "kind": "Node",
                      "metadata": {"name": f, "labels": {"pool": f}},
                      "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "8"}}})
          for f in ("new", "old")),
        manifest("ClusterQueue", dict(spec, resourceGroups=groups), name="team"),
        json.dumps({"apiVersion": "v1", "kind": "LocalQueue",
                    "metadata": {"name": "team"}, "spec": {"clusterQueue": "team"}}),
        json.dumps({"apiVersion": "batch/v1", "kind": "Job",
                    "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
                    "spec": {"parallelism": 1, "template": {"spec": {"containers": [
                        {"name": "c", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}}),
    )


def test_jobs_try_the_flavors_of_their_queue_in_order() -> None:
    converted = flavors(["new", "old"])
    assert not converted.warnings
    scenario = converted.scenario
    train = job(scenario, "train")
    assert queue(scenario, "team")["partitions"] == ["new", "old"]
    scenario["jobs"] += [dict(train, name=name) for name in ("second", "third")]
    jobs = outcome(scenario)["jobs"]
    assert [jobs[name]["placement"][0]["node"] for name in ("train", "second")] == ["new", "old"]
    assert jobs["third"]["state"] == "pending"


def test_flavors_without_a_counterpart() -> None:
    assert "do not try flavors without labels" in texts(flavors(["new", "any"]))
    assert job(flavors(["new", "any"]).scenario, "train")["tasks"][0]["partition"] == "new"


def test_flavor_fungibility() -> None:
    def team(**rules: str) -> Any:
        return queue(flavors(["new", "old"], flavorFungibility=rules).scenario, "team")
    usual = team(whenCanBorrow="Borrow", whenCanPreempt="TryNextFlavor")
    assert usual == team() and "partition_borrow" not in usual
    other = team(whenCanBorrow="TryNextFlavor", whenCanPreempt="Preempt")
    assert (other["partition_borrow"], other["partition_preempt"]) == ("last", "in-order")
    newer = team(whenCanBorrow="MayStopSearch", whenCanPreempt="MayStopSearch")
    assert "partition_borrow" not in newer and newer["partition_preempt"] == "in-order"
    with pytest.raises(ConvertError, match="whenCanBorrow: not one of"):
        flavors(["new", "old"], flavorFungibility={"whenCanBorrow": "Never"})


def test_cohorts_in_cohorts() -> None:
    scenario = convert(
        manifest(
            "Cohort",
            {
                "parentName": "top",
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [
                            {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 5}]}
                        ],
                    }
                ],
            },
            name="mid",
        ),
        manifest(
            "ClusterQueue",
            {
                "cohortName": "mid",
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [
                            {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "2500m"}]}
                        ],
                    }
                ],
            },
            name="leaf",
        ),
        manifest("ResourceFlavor", {}, name="f"),
    ).scenario
    assert [(q["name"], q.get("parent")) for q in scenario["queues"]] == [
        ("top", None), ("mid", "top"), ("leaf", "mid")]
    assert queue(scenario, "top")["guaranteed"] == {"cpu": 7.5}
    assert queue(scenario, "leaf")["guaranteed"] == {"cpu": 2.5}
    assert queue(scenario, "top")["limit"] == {"cpu": 7.5} and "limit" not in queue(
        scenario, "leaf"
    )
    check(scenario)


def test_volcano() -> None:
    converted = data("volcano.yaml", "kubernetes-nodes.json")
    scenario = converted.scenario
    prod = queue(scenario, "prod")
    assert (prod["weight"], prod["no_preemption"], prod["guaranteed"]) == (
        3,
        True,
        {"cpu": 64, "gpu": 12},
    )
    assert (prod["lending_limit"], prod["limit"]) == ({"gpu": 8}, {"gpu": 16})
    assert prod["nonpreemptible"] == "limit"
    assert capacities(scenario)["prod"]["guarantee"] == {"cpu": 64, "gpu": 12}
    train = job(scenario, "tf-train")
    assert (train["queue"], train["priority"], train["max_restarts"]) == ("prod", 500, 2)
    assert train["tasks"] == [
        {"name": "ps", "cpu": 2, "mem_mib": 4096},
        {
            "name": "worker",
            "count": 4,
            "cpu": 4,
            "mem_mib": 16384,
            "gpu": 2,
            "selector": {"pool": "h100"},
            "min": 2,
            "after": [{"group": "ps", "when": "start"}],
        },
    ]
    assert "each has a minimum of its own" in texts(converted)


# ---- jobs -------------------------------------------------------------------------------------


def test_training_operator() -> None:
    converted = data("training-operator.yaml")
    scenario = converted.scenario
    mnist, elastic = job(scenario, "mnist"), job(scenario, "elastic")
    assert (mnist["min"], mnist["start_within_s"], mnist["time_limit_s"], mnist["user"]) == (
        4, 600, 7200, "alice",
    )
    assert [
        (t["name"], t.get("count", 1), t.get("role"), t.get("gpu", 0)) for t in mnist["tasks"]
    ] == [
        ("Chief", 1, "chief", 1),
        ("PS", 2, "untracked", 0),
        ("Worker", 3, None, 1),
        ("Evaluator", 1, "sidecar", 1),
    ]
    (worker,) = elastic["tasks"]
    assert (worker["count"], worker["min"], worker["gpu"], worker["cpu"]) == (6, 2, 2, 0.5)
    assert worker["where"] == (
        '("pool" in ("h100", "a100")) or ("gpu-memory" > 70000 and not exists "broken")'
    )
    assert "tolerations: no counterpart" in texts(converted)
    check(scenario)


def test_pod_groups() -> None:
    converted = data("podgroup.yaml")
    scenario = converted.scenario
    assert job(scenario, "pair")["tasks"] == [{"count": 2, "cpu": 1, "mem_mib": 1024, "gpu": 1}]
    assert (job(scenario, "pair")["min"], job(scenario, "pair")["start_within_s"]) == (2, 60)
    assert job(scenario, "unseen")["tasks"] == [{"count": 3, "cpu": 2, "gpu": 1}]
    assert job(scenario, "single")["tasks"] == [{"cpu": 1, "gpu": 0.5}]
    assert "kind: no counterpart: Service" in texts(converted)
    check(scenario)


def test_a_pod_group_is_a_gang_and_a_job_is_elastic() -> None:
    """With capacity for three of four: a Job runs three tasks, a PodGroup of four none."""
    world = json.dumps(nodes(1, cpus=3))
    template = {"spec": pod(cpu="1")}
    plain = manifest("Job", {"parallelism": 4, "template": template}, "batch/v1")
    assert outcome(convert(plain, world).scenario)["jobs"]["x"]["tasks_running"] == 3
    group = manifest("PodGroup", {"minMember": 4}, "scheduling.x-k8s.io/v1alpha1", name="g")
    template = {**template, "metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}
    gang = manifest("Job", {"parallelism": 4, "template": template}, "batch/v1")
    scenario = convert(gang, group, world).scenario
    assert [j["name"] for j in scenario["jobs"]] == ["x"]
    assert outcome(scenario)["jobs"]["x"]["tasks_running"] == 0


def group_of(pods: Any, **spec: Any) -> Any:
    """A PodGroup g with pods: (role, cores) of each."""
    manifests = [
        manifest("Pod", pod(cpu=cpu), name="p%d" % i,
                 labels={"volcano.sh/task-spec": role, "pod-group-name": "g"})
        for i, (role, cpu) in enumerate(pods)
    ]
    return convert(*manifests, manifest("PodGroup", spec, name="g"), json.dumps(nodes(4, cpus=8)))


def test_a_pod_group_waits_for_pods_that_are_not_there_yet() -> None:
    """Two of four pods: the group is announced, and fails when its timeout passes."""
    converted = group_of([("worker", "2")] * 2, minMember=4, scheduleTimeoutSeconds=60)
    made = job(converted.scenario, "g")
    assert made["tasks"] == [{"name": "worker", "count": 4, "cpu": 2}]
    assert (made["announced"], made["start_within_s"], made["min"]) == (True, 60, 4)
    assert made["arrivals"] == [{"at_s": 0, "group": 0, "count": 2}]
    assert '2 pods are to come, taken to be like those of group "worker" that' in texts(converted)
    assert outcome(converted.scenario)["jobs"]["g"]["state"] == "pending"
    made["arrivals"].append({"at_s": 1, "group": 0, "count": 2})
    assert outcome({**converted.scenario, "rounds": 3})["jobs"]["g"]["tasks_running"] == 4


def test_members_to_come_are_known_by_role_or_share_the_rest_of_the_minimum() -> None:
    converted = group_of(
        [("ps", "1"), ("worker", "2")], minMember=4, minTaskMember={"ps": 1, "worker": 3})
    made = job(converted.scenario, "g")
    assert [(t["name"], t.get("count", 1), t["min"]) for t in made["tasks"]] == [
        ("ps", 1, 1), ("worker", 3, 3)]
    assert made["arrivals"] == [
        {"at_s": 0, "group": 0, "count": 1}, {"at_s": 0, "group": 1, "count": 1}]
    assert "to come" not in texts(converted)
    check(converted.scenario)
    converted = group_of([("master", "1")], minMember=3, minResources={"cpu": 9})
    made = job(converted.scenario, "g")
    assert made["tasks"] == [{"name": "master", "cpu": 1}, {"count": 2, "cpu": 4}]
    assert "2 pods are to come, which share the rest of minResources" in texts(converted)
    check(converted.scenario)
    whole = job(group_of([("master", "1")] * 3, minMember=2).scenario, "g")
    assert "announced" not in whole and whole["tasks"][0]["count"] == 3


def test_bad_members_of_a_pod_group() -> None:
    with pytest.raises(ConvertError, match="spec.minTaskMember.ps: not a number"):
        group_of([("ps", "1")], minMember=2, minTaskMember={"ps": "x"})


def test_pods_of_one_role_with_different_requests() -> None:
    pods = [
        manifest(
            "Pod", pod(cpu=cpu), name="p%d" % i, labels={"role": "worker", "pod-group-name": "g"}
        )
        for i, cpu in enumerate(("1", "2", "1"))
    ]
    scenario = convert(*pods, manifest("PodGroup", {"minMember": 3}, name="g")).scenario
    assert job(scenario, "g")["tasks"] == [
        {"name": "worker-0", "count": 2, "cpu": 1},
        {"name": "worker-1", "cpu": 2},
    ]
    check(scenario)


def test_requests_of_a_pod() -> None:
    spec = {
        "containers": [
            {"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
            {"name": "b", "resources": {"limits": {"cpu": "500m", "example.com/dongle": "2"}}},
        ],
        "initContainers": [
            {"name": "i", "resources": {"requests": {"cpu": "4"}}},
            {"name": "j", "resources": {"requests": {"cpu": "3"}}},
            {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}},
        ],
        "overhead": {"cpu": "100m"},
    }
    scenario = convert(manifest("Pod", spec)).scenario
    # The largest init container needs more than the others together, 1 + 0.5 + 0.25; plus the
    # overhead.
    assert scenario["jobs"][0]["tasks"] == [
        {"cpu": 4.1, "mem_mib": 1024, "amounts": {"example.com/dongle": 2}}
    ]
    assert scenario["kinds"] == [{"name": "example.com/dongle"}]
    check(scenario)


def test_two_objects_of_one_name() -> None:
    scenario = convert(*(manifest("Pod", pod(cpu="1"), namespace=space) for space in "ab")).scenario
    assert [j["name"] for j in scenario["jobs"]] == ["x", "b/x"]


@pytest.mark.parametrize(
    "text, reason",
    [
        (
            manifest("Pod", {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}),
            'spec.containers[0].resources.requests.cpu: not a quantity: "lots"',
        ),
        (manifest("Pod", {"containers": 5}), 'spec.containers: not a list: "5"'),
        (manifest("Pod", pod(**{"nvidia.com/gpu": "1.5"})), "nvidia.com/gpu: not a number of GPUs"),
        (manifest("PodGroup", {"minMember": -1}), "spec.minMember: less than 0"),
        (manifest("Job", {"parallelism": "2"}), "spec.parallelism: not a number"),
        (manifest("TFJob", {}), "no ...ReplicaSpecs"),
        (
            manifest("ClusterQueue", {"preemption": {"withinClusterQueue": "Perhaps"}}),
            "withinClusterQueue: not one of",
        ),
        (
            json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {}}),
            "metadata.name: no name",
        ),
        ('{"apiVersion": "v1", "kind": "Pod"', "manifest (text):1: not JSON"),
        ('{"kind": "Pod", "x": NaN}', "NaN is not JSON"),
        ("kind: Pod\nmetadata: [", "manifest (text):2: not YAML"),
        ("kind: Pod\nmetadata: {name: a\n", "not YAML"),
        ("kind: Pod\n? [a, b]\n: c\n", "not"),
        ("kind: [Pod]\n", "kind: not text"),
    ],
)
def test_bad_manifests(text: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(text)
    assert reason in str(caught.value)


def test_times_in_yaml_stay_text() -> None:
    text = "kind: Pod\napiVersion: v1\nmetadata: {name: a, creationTimestamp: 2024-01-01T00:00:00Z}\nspec: {}\n"
    json.dumps(convert(text).scenario)


def test_aliases_do_not_blow_up() -> None:
    bomb = "kind: Pod\nmetadata: {name: a}\nx0: &a0 [b]\n"
    bomb += "".join(
        "x%d: &a%d [*a%d, *a%d, *a%d]\n" % (i, i, i - 1, i - 1, i - 1) for i in range(1, 40)
    )
    converted = convert(bomb)
    assert "x39: no counterpart" in texts(converted)


def test_yaml_without_pyyaml_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    real = importlib.import_module

    def without(name: str, package: Any = None) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return real(name, package)
    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ConvertError, match="reading YAML needs the package PyYAML"):
        convert("kind: Pod\n")
    assert data("kubernetes-nodes.json").scenario["nodes"]


_HELD = """apiVersion: batch/v1
kind: Job
metadata: {name: held, labels: {%s}}
spec:
  suspend: true
  parallelism: 2
  template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}}
"""


def test_a_suspended_job_is_held_but_one_of_kueue_waits() -> None:
    alone = convert(_HELD % "")
    (job,) = alone.scenario["jobs"]
    assert job["hold"] is True and "suspend" not in texts(alone)
    (job,) = convert(_HELD % "kueue.x-k8s.io/queue-name: team").scenario["jobs"]
    assert "hold" not in job and job["queue"] == "team"


def test_an_elastic_job_may_state_a_minimum_too_and_the_label_of_kueue_decides() -> None:
    converted = convert("""apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: e, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  elasticPolicy: {minReplicas: 2, maxReplicas: 8}
  runPolicy: {suspend: true, schedulingPolicy: {minAvailable: 3, queue: other}}
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: c}]}}}
    Worker: {replicas: 4, template: {spec: {containers: [{name: c}]}}}
""")
    (job,) = converted.scenario["jobs"]
    master, worker = job["tasks"]
    assert (worker["count"], worker["min"], job["min"]) == (8, 2, 3) and "hold" not in job
    assert job["queue"] == "team"
    assert "schedulingPolicy.queue: the label" in texts(converted)
