# SPDX-License-Identifier: Apache-2.0
"""slurm.conf, gres.conf, topology.conf, and nvidia-smi topo -m."""
from __future__ import annotations

import json
from typing import Any, List

import pytest

import gangsched as gs

from convert_support import DATA, check, data, nodes, outcome, queue, texts
from gangsched.convert import ConvertError, convert

SMALL = "NodeName=n[1-2] CPUs=4\n"


def node(scenario: Any, name: str) -> Any:
    (found,) = [n for n in scenario["nodes"] if n["name"] == name]
    return found


def whole() -> Any:
    return data("slurm.conf", "gres.conf", "topology.conf")


# ---- nodes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, names", [
    ("n", ["n"]),
    ("n1,n2", ["n1", "n2"]),
    ("n[1-3,5]", ["n1", "n2", "n3", "n5"]),
    ("n[08-11]", ["n08", "n09", "n10", "n11"]),
    ("r[1-2]n[0-1],x", ["r1n0", "r1n1", "r2n0", "r2n1", "x"]),
    ("a[1]b", ["a1b"]),
])
def test_lists_of_hosts(text: str, names: List[str]) -> None:
    assert [n["name"] for n in convert("NodeName=%s CPUs=1\n" % text).scenario["nodes"]] == names


@pytest.mark.parametrize(
    "text",
    [
        "n[1-", "n]1[", "n[1-2", "n[[1]]", "n[]", "n[a-b]", "n[5-1]", "n[1-9999999]",
        "n[1-999]x[1-999]y[1-999]", "n[0-999999999]",
    ],
)
def test_bad_lists_of_hosts(text: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert("ClusterName=c\nNodeName=%s CPUs=1\n" % text)
    assert str(caught.value).startswith("slurm.conf (text):2: NodeName: ")


def test_nodes() -> None:
    scenario = whole().scenario
    names = [n["name"] for n in scenario["nodes"]]
    assert names == ["gpu%02d" % i for i in range(1, 9)] + ["cpu1", "cpu2", "cpu3", "cpu9", "cpu10"]
    gpu = node(scenario, "gpu05")
    # 2 sockets of 16 cores of 2 threads, less 2 cores; 257000 MB less 1000
    assert (gpu["cpus"], gpu["mem_mib"]) == (60, 256000)
    assert gpu["labels"] == {"a100": "", "nvlink": ""}
    assert gpu["amounts"] == {"fpga": 1}
    assert gpu["devices"] == [{"model": "a100", "numa": numa} for numa in (0, 0, 1, 1)]
    assert gpu["links"] == [{"a": 0, "b": 2, "type": "nvlink", "bandwidth_mbps": 4000},
                            {"a": 1, "b": 3, "type": "nvlink", "bandwidth_mbps": 4000}]
    assert node(scenario, "cpu2")["cpus"] == 32
    assert node(scenario, "cpu10")["state"] == "down" and node(scenario, "cpu10")["cpus"] == 8
    assert scenario["kinds"] == [
        {"name": "fpga"},
        {"name": "matlab", "scope": "cluster", "capacity": 10},
    ]
    check(scenario)


def test_gpus_are_chosen_by_links_as_in_slurm() -> None:
    """Pairs (0,2) and (1,3) with four links each: two GPUs are 0 and 2."""
    scenario = whole().scenario
    scenario["jobs"] = [{"name": "pair", "queue": "gpu", "user": "u", "user_groups": ["ml"],
                         "tasks": [{"gpu": 2, "partition": "gpu"}]}]
    placed = outcome(scenario)["jobs"]["pair"]["placement"]
    assert placed[0]["gpus"] in ([0, 2], [1, 3])


def test_links_given_by_one_device_hold_for_both() -> None:
    scenario = convert("NodeName=n Name=gpu File=/dev/nvidia0 Links=-1,2\n"
                       "NodeName=n Name=gpu File=/dev/nvidia1\n").scenario
    assert scenario["nodes"][0]["links"] == [
        {"a": 0, "b": 1, "type": "nvlink", "bandwidth_mbps": 2000}
    ]
    scenario = convert("NodeName=n Name=gpu File=/dev/nvidia0 Links=-1,0\n"
                       "NodeName=n Name=gpu File=/dev/nvidia1 Links=3,-1\n").scenario
    assert scenario["nodes"][0]["links"] == [
        {"a": 0, "b": 1, "type": "nvlink", "bandwidth_mbps": 3000}
    ]


def test_devices_come_from_slurm_conf_or_gres_conf_alone() -> None:
    scenario = convert(
        "NodeName=n1 CPUs=8 Gres=gpu:a100:2,gpu:v100:1(S:0),craynetwork:no_consume\n"
    ).scenario
    assert scenario["nodes"][0]["devices"] == [
        {"model": "a100"},
        {"model": "a100"},
        {"model": "v100"},
    ]
    scenario = data("gres.conf").scenario
    assert len(scenario["nodes"]) == 8 and scenario["nodes"][0]["gpu_model"] == "a100"
    check(scenario)


# ---- topology ---------------------------------------------------------------------------------


def test_switches() -> None:
    scenario = whole().scenario
    assert scenario["levels"] == ["switch2", "switch1"]
    assert node(scenario, "gpu05")["topology"] == {"switch1": "rack2", "switch2": "spine"}
    # A gang that wants one switch: each switch has four nodes.
    scenario["jobs"] = [
        {
            "name": str(count),
            "queue": "gpu",
            "user": "u",
            "user_groups": ["ml"],
            "same": "switch1",
            "tasks": [{"count": count, "gpu": 4, "partition": "gpu"}],
        }
        for count in (4, 5)
    ]
    jobs = outcome(scenario)["jobs"]
    assert (jobs["4"]["state"], jobs["5"]["state"]) == ("running", "pending")
    assert (
        len({p["node"] in ("gpu01", "gpu02", "gpu03", "gpu04") for p in jobs["4"]["placement"]})
        == 1
    )


def test_switches_of_unequal_height() -> None:
    text = ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=c Switches=b\n"
            "SwitchName=top Switches=a,c\n")
    scenario = convert(text).scenario
    assert scenario["levels"] == ["switch3", "switch2", "switch1"]
    assert node(scenario, "n1")["topology"] == {"switch1": "a", "switch3": "top"}
    assert node(scenario, "n2")["topology"] == {"switch1": "b", "switch2": "c", "switch3": "top"}
    check(scenario)


def test_blocks() -> None:
    scenario = data("topology-block.conf").scenario
    assert scenario["levels"] == ["block8", "block"]
    assert node(scenario, "n04")["topology"] == {"block8": "0", "block": "b1"}
    assert node(scenario, "n09")["topology"] == {"block8": "1", "block": "b3"}
    check(scenario)


# ---- partitions -------------------------------------------------------------------------------


def test_partitions() -> None:
    converted = whole()
    scenario = converted.scenario
    batch, gpu, free = (queue(scenario, name) for name in ("batch", "gpu", "free"))
    assert scenario["default_queue"] == "batch"
    assert [q["priority"] for q in (batch, gpu, free)] == [1, 5, 0]
    assert (batch["max_time_limit_s"], batch["default_time_limit_s"]) == (7 * 86400, 3600)
    assert gpu["max_time_limit_s"] == 2 * 86400 + 12 * 3600 + 30 * 60
    assert "max_time_limit_s" not in free and free["default_time_limit_s"] == 3600
    assert (
        gpu["no_preemption"] is True
        and gpu["submit_acl"] == " ml,vision"
        and "no_preemption" not in free
    )
    assert (free["preempt_mode"], free["grace_s"], free["min_runtime_s"]) == ("cancel", 120, 600)
    assert all(q["reclaim"] == "any" and q["backfill"] == "conservative" and q["plan_depth"] == 200
               for q in (batch, gpu, free))
    assert scenario["half_life_s"] == 14 * 86400
    assert node(scenario, "gpu04")["partitions"] == ["batch", "gpu", "free"]
    found = texts(converted)
    assert "slurm.conf:23: LLN: no counterpart" in found
    assert "slurm.conf:17: Weight: no counterpart" in found
    assert "max_switch_wait: bounds --switches of batch scripts" in found
    assert "ClusterName" in found and "topology.conf:3: LinkSpeed" in found
    check(scenario)


@pytest.mark.parametrize("qos", [False, True])
def test_partitions_confine_jobs(tmp_path, qos) -> None:
    # Jobs name only their queue, as those of traces do.
    lines = ["NodeName=n[1-4] CPUs=8", "PartitionName=left Nodes=n[1-2] Default=YES",
             "PartitionName=right Nodes=n[3-4]", "PartitionName=all Nodes=ALL PriorityTier=2"]
    if qos:
        lines += ["PreemptType=preempt/qos", "PreemptMode=REQUEUE"]
    (tmp_path / "slurm.conf").write_text("\n".join(lines))
    table = "Name|Priority|GraceTime|Preempt|PreemptMode\nnormal|0|00:00:00||cluster\n"
    (tmp_path / "qos.txt").write_text(table)
    files = [tmp_path / "slurm.conf"] + ([tmp_path / "qos.txt"] if qos else [])
    case = convert(*files).scenario
    leaf = "%s.normal" if qos else "%s"
    names = ("left", "right", "all")
    jobs = gs.Trace({"submit_s": i, "run_s": 100, "cpu": 4, "queue": leaf % names[i % 3]}
                    for i in range(60))
    result = gs.simulate(case, jobs, case)
    where = result.allocations.merge(result.jobs[["job", "queue"]], on="job")
    used = where.groupby("queue", observed=True).node.unique().map(lambda nodes: sorted(set(nodes)))
    assert used[leaf % "left"] == ["n1", "n2"] and used[leaf % "right"] == ["n3", "n4"]
    assert len(used[leaf % "all"]) > 2


def test_a_higher_tier_preempts_a_lower_one() -> None:
    scenario = whole().scenario
    held = ["gpu%02d" % i for i in range(1, 5)]
    scenario["jobs"] = [
        {"name": "low", "queue": "free", "state": "running", "running_on": held,
         "tasks": [{"count": 4, "gpu": 4, "partition": "free"}]},
        {"name": "high", "queue": "gpu", "user": "u", "user_groups": ["ml"],
         "tasks": [{"count": 8, "gpu": 4, "partition": "gpu"}]}]
    for each in scenario["queues"]:
        each.pop("grace_s", None), each.pop("min_runtime_s", None)
    jobs = outcome(scenario)["jobs"]
    assert jobs["high"]["state"] == "running" and jobs["low"]["tasks_running"] == 0
    # A queue without preemption has none.
    for each in scenario["queues"]:
        each["reclaim"] = "never"
    assert outcome(scenario)["jobs"]["high"]["state"] == "pending"


def test_slurm_preempts_only_if_configured() -> None:
    scenario = convert(
        SMALL + "PartitionName=a Nodes=ALL PriorityTier=2\nPartitionName=b Nodes=n1\n"
    ).scenario
    assert {q["reclaim"] for q in scenario["queues"]} == {"never"}


QOS_CONF = (
    "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n" + SMALL
    + "PartitionName=a Nodes=ALL Default=YES MaxTime=1:0:0\nPartitionName=b Nodes=n1 AllowQos=normal\n"
)
QOS = (
    "Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|MaxWall\n"
    "normal|10|00:00:00|scavenger||cluster|\n"
    "high|100|00:00:00|normal,scavenger||requeue,within|\n"
    "scavenger|0|00:01:30||00:05:00|cancel|1-00:00:00\n"
)


def test_qos_preempt_by_their_lists() -> None:
    converted = convert(QOS_CONF, QOS)
    scenario = converted.scenario
    assert [q["name"] for q in scenario["queues"]] == [
        "a", "a.normal", "a.high", "a.scavenger", "b", "b.normal"]
    high, normal = queue(scenario, "a.high"), queue(scenario, "b.normal")
    scavenger = queue(scenario, "a.scavenger")
    assert (high["preempt_class"], high["preempts"], high["priority"], high["within"]) == (
        "high", "normal,scavenger", 100, "lower")
    assert (normal["preempt_class"], normal["preempts"], normal["within"]) == (
        "normal", "scavenger", "never")
    assert (scavenger["preempt_mode"], scavenger["grace_s"], scavenger["min_runtime_s"]) == (
        "cancel", 90, 300)
    assert "preempts" not in scavenger and "preempt_mode" not in high
    assert queue(scenario, "a")["max_time_limit_s"] == 3600
    assert scenario["default_queue"] == "a.normal"
    assert "maxwall: no counterpart" in texts(converted)
    running = {"state": "running", "running_on": ["n1", "n2"]}
    two = [{"count": 2, "cpu": 4}]
    scenario["jobs"] = [
        {"name": "low", "queue": "a.normal", "priority": 9, "min": 2, "tasks": two, **running},
        {"name": "urgent", "queue": "a.high", "min": 2, "tasks": two},
    ]
    jobs = outcome(scenario)["jobs"]
    assert jobs["urgent"]["state"] == "running" and jobs["low"]["state"] == "preempted"
    scenario["jobs"][1]["queue"] = "b.normal"  # of the same class
    assert outcome(scenario)["jobs"]["low"]["state"] == "running"
    check(scenario)


def test_classes_without_a_partition_are_left_out() -> None:
    scenario = convert(QOS_CONF.replace("Nodes=ALL", "Nodes=ALL DenyQos=scavenger"), QOS).scenario
    assert queue(scenario, "a.high")["preempts"] == "normal"
    assert "preempts" not in queue(scenario, "a.normal")
    check(scenario)


def test_qos_count_only_with_preempt_qos() -> None:
    converted = convert(QOS_CONF.replace("preempt/qos", "preempt/partition_prio"), QOS)
    assert [q["name"] for q in converted.scenario["queues"]] == ["a", "b"]
    assert "not preempt/qos" in texts(converted)


@pytest.mark.parametrize("text, reason", [
    ("Name|Preempt\na|b\n", 'no QOS "b"'),
    ("Name|Preempt\na|b\nb|a\n", "would preempt itself"),
    ("Name|Preempt\na|\na|\n", "there twice"),
    ("Name|Preempt\na\n", "1 columns, not 2"),
    ("Name|Preempt|PreemptMode\na||stop\n", "not a PreemptMode"),
    ("Name|GraceTime|Preempt\na|soon|\n", "not a time"),
    ("Name|Priority|Preempt\na|-1|\n", "Priority"),
    ("Name|Preempt\n" + "".join("q%d|\n" % i for i in range(65)), "more than 64 QOS"),
    ("Preempt\na\n", "no column name"),
    ("Name|Preempt|Preempt\na||\n", "no column preempt"),
])
def test_bad_qos(text: str, reason: str) -> None:
    with pytest.raises(ConvertError, match=reason):
        convert(QOS_CONF, text)


def test_builtin_and_slices() -> None:
    scenario = convert(
        "SchedulerType=sched/builtin\nPriorityType=priority/basic\nPreemptMode=GANG\n"
        "SchedulerTimeSlice=60\n" + SMALL + "PartitionName=a Nodes=n[1-2] OverSubscribe=FORCE:3\n"
    ).scenario
    a = queue(scenario, "a")
    assert (a["block"], a["order"], a["quantum_s"], a["quantum_rows"]) == ("strict", "fifo", 60, 3)
    assert "backfill" not in a
    check(scenario)
    converted = convert("PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n" + SMALL
                        + "PartitionName=a Nodes=ALL OverSubscribe=FORCE:2\n")
    assert "no backfill where gangs take turns" in texts(converted)
    check(converted.scenario)


def test_node_sets() -> None:
    scenario = convert(
        "NodeName=n[1-4] CPUs=4\nNodeName=g[1-2] CPUs=4 Feature=gpu\nNodeSet=fast Feature=gpu\n"
        "NodeSet=two Nodes=n[1-2]\nPartitionName=a Nodes=fast,two\n"
    ).scenario
    assert [n["name"] for n in scenario["nodes"] if "partitions" in n] == ["n1", "n2", "g1", "g2"]


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("5", 300),
        ("5:30", 330),
        ("1:0:0", 3600),
        ("2-0", 172800),
        ("1-1:1", 90060),
        ("1-0:0:1", 86401),
    ],
)
def test_times(text: str, seconds: int) -> None:
    scenario = convert(SMALL + "PartitionName=a Nodes=ALL MaxTime=%s\n" % text).scenario
    assert queue(scenario, "a")["max_time_limit_s"] == seconds


@pytest.mark.parametrize("line, reason", [
    ("NodeName=n1", "NodeName: node \"n1\" is there twice"),
    ("NodeName=n3 CPUs=many", 'CPUs: not a number: "many"'),
    ("NodeName=n3 CPUs=4 CPUs=5", "CPUs: is there twice"),
    ("NodeName=n3 State=HAPPY", "State: not a state of a node"),
    ("NodeName=n3 Gres=gpu:a:b:c", "Gres: not name:type:count"),
    ("NodeName=n3 Gres=gpu:65", "Gres: a node has at most 64 GPUs"),
    ("NodeName=n3 RealMemory=1 MemSpecLimit=2", "MemSpecLimit: more than RealMemory"),
    ("PartitionName=a Nodes=n9", 'Nodes: no node "n9"'),
    ("PartitionName=a Nodes=n1 MaxTime=soon", "MaxTime: not a time"),
    ("PartitionName=a Nodes=n1 MaxTime=5 DefaultTime=6", "DefaultTime: above MaxTime"),
    ("PartitionName=a Nodes=n1 PreemptMode=KILL", "PreemptMode: not a PreemptMode"),
    ("PartitionName=a Default=MAYBE", "Default: neither true nor false"),
    ("what is this", "not Key=Value"),
])
def test_bad_slurm(line: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(SMALL + "# a comment\n" + line + "\n", format="slurm")
    assert str(caught.value).startswith("slurm.conf (text):3: ") and reason in str(caught.value)


@pytest.mark.parametrize("text, reason", [
    ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "is below itself"),
    ("SwitchName=a Switches=z\n", 'no switch "z"'),
    ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "is there twice"),
    ("SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n1\n", "is below"),
    ("BlockName=a Nodes=n1\nBlockName=b Nodes=n1\n", "is in two blocks"),
    ("BlockName=a Nodes=n1\nBlockSizes=4,6\n", "is no multiple"),
])
def test_bad_topology(text: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(text)
    assert reason in str(caught.value)


# ---- nvidia-smi topo -m -----------------------------------------------------------------------


def test_matrix_alone() -> None:
    scenario = data("nvidia-topo.txt").scenario
    (only,) = scenario["nodes"]
    assert only["gpu_locality"] == ["0400", "4000", "0004", "0040"]
    assert only["links"] == [{"a": 0, "b": 1, "type": "nvlink", "bandwidth_mbps": 4000},
                             {"a": 2, "b": 3, "type": "nvlink", "bandwidth_mbps": 4000}]
    # GPU0 and GPU1 share a switch with the first card.
    assert only["devices"] == [
        {"numa": 0, "pcie": 1},
        {"numa": 0, "pcie": 1},
        {"numa": 1},
        {"numa": 1},
    ]
    assert only["nics"] == [{"name": "mlx5_0", "numa": 0}, {"name": "mlx5_1", "numa": 1}]
    assert only["cpus"] == 64
    check(scenario)


def test_pairs_of_the_matrix_are_kept_together() -> None:
    """Pairs (0,1) and (2,3): with GPU 0 taken, two GPUs are 2 and 3."""
    scenario = data("nvidia-topo.txt").scenario
    scenario["jobs"] = [
        {
            "name": "one",
            "state": "running",
            "running_on": ["node0"],
            "running_gpu": [["0"]],
            "tasks": [{"gpu": 1}],
        },
        {"name": "two", "tasks": [{"gpu": 2}]},
    ]
    got = outcome(scenario)["jobs"]
    if got["one"]["placement"][0]["gpus"][0] in (0, 1):
        assert got["two"]["placement"][0]["gpus"] == [2, 3]
    else:
        assert got["two"]["placement"][0]["gpus"] == [0, 1]


def test_matrix_describes_nodes_of_other_files() -> None:
    world = nodes(2, cpus=64, mem_mib=1024, gpus=4, gpu_model="A100", gpu_mem_mib=40960)
    world["nodes"].append({"name": "other", "cpus": 8, "gpus": 2})
    scenario = convert(DATA / "nvidia-topo.txt", json.dumps(world)).scenario
    assert node(scenario, "n1")["devices"][2] == {"model": "A100", "mem_mib": 40960, "numa": 1}
    assert node(scenario, "n1")["cpus"] == 64 and "gpus" not in node(scenario, "n1")
    assert node(scenario, "other")["gpus"] == 2
    check(scenario)
    converted = convert(DATA / "nvidia-topo.txt", json.dumps(nodes(1, gpus=8)))
    assert "no node has 4 GPUs" in texts(converted)


def test_matrix_in_columns_of_blanks_and_colours() -> None:
    text = (
        "        \x1b[4mGPU0    GPU1    CPU Affinity    NUMA Affinity\x1b[0m\n"
        "GPU0     X      PHB     0-7             0\nGPU1    PHB      X      0-7             0\n"
    )
    (only,) = convert(text).scenario["nodes"]
    assert (
        only["gpu_locality"] == ["02", "20"]
        and only["devices"][1] == {"numa": 0}
        and only["cpus"] == 8
    )


@pytest.mark.parametrize(
    "text, reason",
    [
        (
            "\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tPHB\t X \n",
            "GPU0 and GPU1: NV1 here, PHB in the other line",
        ),
        ("\tGPU0\tGPU1\nGPU0\t X \tNV1\n", "no line for GPU1"),
        ("\tGPU0\tGPU1\nGPU0\t X \tFOO\nGPU1\tFOO\t X \n", 'not a connection: "FOO"'),
        ("\tGPU0\tGPU1\nGPU0\t X \n", "1 columns for 2"),
        ("\tGPU0\tGPU1\nGPU0\tSYS\tSYS\nGPU1\tSYS\t X \n", "GPU0 and GPU0: SYS"),
    ],
)
def test_bad_matrix(text: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(text)
    assert reason in str(caught.value)


FACTORS = (
    "PriorityWeightAge=1000\nPriorityWeightFairshare=100000\nPriorityWeightJobSize=500\n"
    "PriorityWeightPartition=2000\nPriorityWeightQOS=5\nPriorityMaxAge=1-0\nPriorityCalcPeriod=1\n"
    "PriorityFavorSmall=YES\n"
)


def test_multifactor_priority() -> None:
    converted = convert(
        FACTORS + SMALL + "PartitionName=a Nodes=ALL PriorityJobFactor=10\n"
        "PartitionName=b Nodes=ALL PriorityJobFactor=40 PriorityTier=1\n"
        "PartitionName=c Nodes=n1 PriorityTier=3\n"
    )
    scenario = converted.scenario
    a, b, c = (queue(scenario, name) for name in "abc")
    assert {key: value for key, value in a.items() if key.startswith("priority_")} == {
        "priority_weight_age": 1000, "priority_weight_fair_share": 100000,
        "priority_weight_size": 500, "priority_weight_queue": 2000, "priority_weight_job": 1,
        "priority_max_age_s": 86400, "priority_period_s": 60, "priority_factor": 0.25,
        "priority_favor_small": True,
    }
    assert b["priority_factor"] == 1 and "priority_factor" not in c
    assert {q["order"] for q in (a, b, c)} == {"multifactor"}
    # Jobs of partitions of one tier go in one order.
    top = queue(scenario, a["parent"])
    assert a["parent"] == b["parent"] and "parent" not in c
    assert (top["priority"], top["child_order"]) == (1, "multifactor")
    found = texts(converted)
    assert "PriorityWeightQOS: no counterpart" in found and "PriorityMaxAge" not in found
    check(scenario)


def test_without_weights_the_priority_of_jobs_decides() -> None:
    scenario = convert(SMALL + "PartitionName=a Nodes=ALL PriorityJobFactor=10\n").scenario
    assert not {"order", "priority_factor"} & set(queue(scenario, "a"))
    with pytest.raises(ConvertError) as caught:
        convert("PriorityWeightAge=much\n" + SMALL + "PartitionName=a Nodes=ALL\n")
    assert "PriorityWeightAge: not a number" in str(caught.value)
