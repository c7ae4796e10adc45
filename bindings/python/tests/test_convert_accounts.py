# SPDX-License-Identifier: Apache-2.0
"""Budgets of Slurm's QOS and accounts, and batch scripts."""
from __future__ import annotations

import pathlib
from typing import Any

import pytest

from convert_support import check, outcome, queue, texts
from gangsched.convert import ConvertError, convert

CONF = (
    "ClusterName=c\nAccountingStorageEnforce=associations,limits,qos,safe\n"
    "PriorityUsageResetPeriod=WEEKLY\nPriorityDecayHalfLife=0\n"
    "NodeName=n[1-2] CPUs=8 Gres=gpu:a100:4\nPartitionName=a Nodes=ALL Default=YES MaxTime=60\n"
)
#: as ``sacctmgr -P show assoc format=Cluster,Account,User,Share,GrpTRESMins,MaxJobs,ParentName``
TABLE = (
    "Cluster|Account|User|Share|GrpTRESMins|MaxJobs|Par Name\n"
    "c|root||1|cpu=100000||\n"
    "c|root|root|1|||\n"
    "c|physics||10|cpu=1000,gres/gpu=600||root\n"
    "c|lhc||3|gres/gpu=60|5|physics\n"
    "c|lhc|ann|2|gres/gpu=20||\n"
    "c|lhc|bob|parent|gres/gpu=20||\n"
    "c|biology||5|||root\n"
)
DUMP = (
    "# To edit this file start with a cluster line for the new cluster\n"
    "Cluster - 'c':Fairshare=1:QOS='normal':GrpTRESMins=cpu=100000\n"
    "Parent - 'root'\n"
    "User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\n"
    "Account - 'physics':Description='Physics: all':Organization='x':Fairshare=10"
    ":GrpTRESMins=cpu=1000,gres/gpu=600\n"
    "Account - 'biology':Description='b':Organization='x':Fairshare=5\n"
    "Parent - 'physics'\n"
    "Account - 'lhc':Description='l':Organization='x':Fairshare=3:MaxJobs=5:GrpTRESMins=gres/gpu=60\n"
    "Parent - 'lhc'\n"
    "User - 'ann':DefaultAccount='lhc':Fairshare=2:GrpTRESMins=gres/gpu=20\n"
    "User - 'bob':DefaultAccount='lhc':Fairshare=1:GrpTRESMins=gres/gpu=20\n"
)


def budget(kind: str, hours: float, **more: Any) -> Any:
    return {"kind": kind, "amount": round(hours * 3600), "exhausted": "safe", "period_s": 604800, **more}


# ---- accounts --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [TABLE, DUMP])
def test_accounts_are_queues_with_their_budgets(text: str) -> None:
    converted = convert(CONF, text)
    scenario = converted.scenario
    assert sorted(q["name"] for q in scenario["queues"]) == [
        "a", "a.biology", "a.lhc", "a.physics"]
    lhc, physics = queue(scenario, "a.lhc"), queue(scenario, "a.physics")
    assert (lhc["parent"], physics["parent"], lhc["weight"]) == ("a.physics", "a", 3)
    assert physics["budgets"] == [budget("cpu", 1000 / 60), budget("gpu", 10)]
    assert lhc["budgets"] == [budget("gpu", 1), budget("gpu", 1 / 3, per_user=True)]
    assert lhc["users"] == {"ann": 2}
    assert queue(scenario, "a")["budgets"] == [budget("cpu", 100000 / 60)]
    assert "budgets" not in queue(scenario, "a.biology")
    assert "within" in lhc and "within" not in physics and "within" not in queue(scenario, "a")
    assert "maxjobs: no counterpart: this limit is not read" in texts(converted)
    check(scenario)


def test_a_job_that_its_budget_does_not_cover_waits() -> None:
    """An hour on one GPU is what the account has; each user has a third of it."""
    scenario = convert(CONF, TABLE).scenario
    job = {"queue": "a.lhc", "tasks": [{"gpu": 1}]}
    scenario["jobs"] = [
        {"name": "long", "user": "ann", "time_limit_s": 3600, **job},
        {"name": "short", "user": "ann", "time_limit_s": 1200, **job},
        {"name": "more", "user": "ann", "time_limit_s": 60, **job},
        {"name": "other", "user": "bob", "time_limit_s": 1200, **job},
    ]
    jobs = outcome(scenario)["jobs"]
    assert [jobs[name]["state"] for name in ("long", "short", "more", "other")] == [
        "pending", "running", "pending", "running"]


def test_budgets_that_the_scenario_says_otherwise_are_warnings() -> None:
    two = CONF + "PartitionName=b Nodes=n1\n"
    found = texts(convert(two, TABLE))
    assert "sacctmgr show assoc (text):4: GrpTRESMins: counts in each partition by itself" in found
    found = texts(convert(CONF.replace(",safe", "").replace("limits", "nojobs"), TABLE))
    assert ":4: GrpTRESMins: not enforced: AccountingStorageEnforce" in found
    kill = convert(CONF.replace(",safe", ""), TABLE).scenario
    assert queue(kill, "a.lhc")["budgets"][0]["exhausted"] == "kill"
    decay = convert(CONF.replace("HalfLife=0", "HalfLife=7-0"), TABLE)
    assert "PriorityDecayHalfLife: the use of budgets does not decay" in texts(decay)
    monthly = convert(CONF.replace("WEEKLY", "MONTHLY"), TABLE)
    assert queue(monthly.scenario, "a.lhc")["budgets"][0]["period_s"] == 30 * 86400
    assert "PriorityUsageResetPeriod: taken for 30 days" in texts(monthly)
    unlike = convert(CONF, TABLE.replace("parent|gres/gpu=20", "1|gres/gpu=30"))
    assert ":6: GrpTRESMins: no counterpart: users of account" in texts(unlike)
    assert len(queue(unlike.scenario, "a.lhc")["budgets"]) == 1
    inner = convert(CONF, TABLE + "c|physics|eve|1|||\n")
    assert "its own jobs have no queue" in texts(inner)
    flat = convert(CONF, "Account|User|GrpTRESMins\nx||node=5,cpu=60\n")
    assert "no column Par Name" in texts(flat) and 'no counterpart: "node"' in texts(flat)
    assert queue(flat.scenario, "a.x")["budgets"] == [budget("cpu", 1)]


@pytest.mark.parametrize("text, place, reason", [
    (TABLE.replace("cpu=1000,", "cpu=much,"), "sacctmgr show assoc (text):4: GrpTRESMins",
     'not RESOURCE=MINUTES: "cpu=much"'),
    (TABLE.replace("cpu=1000,", "gres/gpu=5,"), "sacctmgr show assoc (text):4: GrpTRESMins",
     "there twice"),
    (TABLE.replace("cpu=1000,", "license/x=5,"), "sacctmgr show assoc (text):4: GrpTRESMins",
     'no licence "x"'),
    (TABLE.replace("cpu=1000,", "cpu=99999999999999,"),
     "sacctmgr show assoc (text):4: GrpTRESMins", "too much"),
    (TABLE.replace("|3|", "|x|"), "sacctmgr show assoc (text):5: Share", "not a number"),
    (TABLE.replace("physics\n", "chemistry\n"), "sacctmgr show assoc (text):5: Account",
     'no account "chemistry" above it'),
    (TABLE.replace("5|physics\n", "5|lhc\n"), "sacctmgr show assoc (text):5: Account",
     "its own ancestor"),
    (TABLE + "c|lhc||1|||root\n", "sacctmgr show assoc (text):9: Account", "there twice"),
    (TABLE + "c|lhc\n", "sacctmgr show assoc (text):9", "2 columns, not 7"),
    (TABLE + "d|lhc|eve|1|||\n", "sacctmgr show assoc (text)", "several clusters: c, d"),
    (TABLE + "c|geo|eve|1|||\n", "sacctmgr show assoc (text):9: User", 'no account "geo"'),
    (DUMP.replace("Parent - 'root'\n", ""), "sacctmgr show assoc (text):3", "no Parent before it"),
    (DUMP + "Group - 'x'\n", "sacctmgr show assoc (text):12", "not a line of a dump"),
])
def test_bad_accounts(text: str, place: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(CONF, text)
    assert caught.value.place == place and reason in caught.value.reason


# ---- QOS -------------------------------------------------------------------------------------

QOS = "Name|Priority|Preempt|GrpTRESMins\nnormal|1||\nhigh|2|normal|gres/gpu=60\n"


def test_the_budget_of_a_qos_is_that_of_its_queues() -> None:
    by_qos = convert(CONF + "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n", QOS)
    assert queue(by_qos.scenario, "a.high")["budgets"] == [budget("gpu", 1)]
    assert "budgets" not in queue(by_qos.scenario, "a.normal")
    check(by_qos.scenario)
    both = convert(CONF + "PreemptType=preempt/qos\nPartitionName=b Nodes=n1 DenyQos=high\n", QOS)
    assert "by itself" not in texts(both)
    of_partition = convert(CONF.replace("MaxTime", "QOS=high MaxTime"), QOS)
    assert queue(of_partition.scenario, "a")["budgets"] == [budget("gpu", 1)]
    check(of_partition.scenario)
    beside = convert(CONF + "PreemptType=preempt/qos\n", QOS, TABLE)
    assert "accounts are not read beside QOS" in texts(beside)


@pytest.mark.parametrize("conf, qos, place", [
    (CONF.replace("MaxTime", "QOS=low MaxTime"), QOS, "slurm.conf (text):6: QOS"),
    (CONF + "PreemptType=preempt/qos\n", QOS.replace("=60", "=-60"),
     "sacctmgr show qos (text):3: GrpTRESMins"),
    (CONF.replace("WEEKLY", "OFTEN") + "PreemptType=preempt/qos\n", QOS,
     "slurm.conf (text):3: PriorityUsageResetPeriod"),
])
def test_bad_budgets(conf: str, qos: str, place: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(conf, qos)
    assert caught.value.place == place


# ---- batch scripts ---------------------------------------------------------------------------

SCRIPT = (
    "#!/bin/bash\n#SBATCH --job-name=train   # a comment\n#SBATCH --array=0-9%3\n"
    "#SBATCH -N 2 --ntasks-per-node=4 -c 2\n#SBATCH --gres=gpu:a100:4 --mem 10G\n"
    "#SBATCH --time=01:00:00 --switches=1@00:05:00\n#SBATCH -o out-%A_%a.txt\n\n"
    "srun ./train\n#SBATCH --hold\n"
)
SWITCHES = "SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2\nSwitchName=top Switches=s[1-2]\n"
PLAIN = (
    "ClusterName=c\nNodeName=n[1-2] CPUs=8 RealMemory=20000 Gres=gpu:a100:4 Feature=ib,new\n"
    "PartitionName=a Nodes=ALL Default=YES\nPartitionName=b Nodes=n1\n"
)


def test_a_script_is_an_array_of_jobs_with_a_bound() -> None:
    converted = convert(PLAIN, SWITCHES, SCRIPT)
    jobs = converted.scenario["jobs"]
    assert [job["name"] for job in jobs] == ["train_%d" % i for i in range(10)]
    assert jobs[7] == {
        "name": "train_7", "time_limit_s": 3600, "queue": "a", "array": "train",
        "array_max_running": 3, "prefer": "switch1", "prefer_wait_s": 300,
        "tasks": [{"count": 2, "max_per_node": 1, "cpu": 8, "gpu": 4, "gpu_models": ["a100"],
                   "mem_mib": 10240}]}
    assert "left out" in texts(converted) and "hold" not in texts(converted)
    check(converted.scenario)
    for job in jobs:
        job["tasks"] = [{"gpu": 1}]
        del job["prefer"], job["prefer_wait_s"]
    got = outcome(converted.scenario)["jobs"]
    assert sum(job["state"] == "running" for job in got.values()) == 3


@pytest.mark.parametrize("options, expected", [
    ("--ntasks=3 --mem-per-cpu=512 -c2", {"count": 3, "cpu": 2, "mem_mib": 1024}),
    ("-n 4 -G 8", {"count": 4, "cpu": 1, "gpu": 2}),
    ("-N1 -n4 --gpus-per-task=a100:1",
     {"count": 1, "cpu": 4, "gpu": 4, "gpu_models": ["a100"]}),
    ("--ntasks 4 --ntasks-per-node 2", {"count": 2, "max_per_node": 1, "cpu": 2}),
    ("-N2-4", {"count": 2, "max_per_node": 1, "cpu": 1}),
    ("--gres=fpga:2", {"count": 1, "cpu": 1, "amounts": {"fpga": 2}}),
    ("--constraint='ib&new'",
     {"count": 1, "cpu": 1, "where": 'exists "ib" and exists "new"'}),
    ("--mem-per-gpu=1G --gpus-per-node=2", {"count": 1, "cpu": 1, "gpu": 2, "mem_mib": 2048}),
])
def test_tasks_of_a_script(options: str, expected: Any) -> None:
    scenario = convert(PLAIN, "#!/bin/sh\n#SBATCH %s\n" % options).scenario
    assert scenario["jobs"][0]["tasks"] == [expected]
    check(scenario)


def test_options_of_scripts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "one.sh"
    path.write_text("#!/bin/sh\n#SBATCH -p b --nice=5 -H --exclusive --begin=now\n")
    (tmp_path / "two.sh").write_text("#!/bin/sh\n#SBATCH --array=1,3-9:3 --switches=2\n")
    converted = convert(PLAIN, path, tmp_path / "two.sh")
    one, *two = converted.scenario["jobs"]
    assert (one["name"], one["queue"], one["priority"], one["hold"], one["exclusive"]) == (
        "one.sh", "b", -5, True, True)
    assert [job["name"] for job in two] == ["two.sh_%d" % i for i in (1, 3, 6, 9)]
    assert "array_max_running" not in two[0] and "prefer" not in two[0]
    assert "one.sh:2: --begin: no counterpart" in texts(converted)
    assert "two.sh:2: --switches: no counterpart: more than one switch" in texts(converted)


def test_the_wait_for_a_switch_is_bounded_by_the_site() -> None:
    script = "#!/bin/sh\n#SBATCH --switches=1%s\n"
    for wait, site, expected in (("", "", 300), ("@10", "", 300), ("@10", "1000", 600)):
        conf = PLAIN + ("SchedulerParameters=max_switch_wait=%s\n" % site if site else "")
        job = convert(conf, SWITCHES, script % wait).scenario["jobs"][0]
        assert (job["prefer"], job["prefer_wait_s"]) == ("switch1", expected)
    assert "topology.conf is needed" in texts(convert(PLAIN, script % ""))


def test_the_account_of_a_script_is_its_queue() -> None:
    script = "#!/bin/sh\n#SBATCH --account=lhc\n"
    assert convert(CONF, TABLE, script).scenario["jobs"][0]["queue"] == "a.lhc"
    by_qos = CONF + "PreemptType=preempt/qos\n"
    script = "#!/bin/sh\n#SBATCH --account=lhc --qos=high\n"
    assert convert(by_qos, QOS, script).scenario["jobs"][0]["queue"] == "a.high"


@pytest.mark.parametrize("options, place, reason", [
    ("--array=5-1", ":2: --array", "not a range"),
    ("--array=1-5%x", ":2: --array", "not indexes of an array"),
    ("--array=0-9999999", ":2: --array", "not a range of at most"),
    ("--switches=one", ":2: --switches", "not a number"),
    ("--switches=1@soon", ":2: --switches", "not a time"),
    ("-N 3 -G 4", ":2: --gpus", "4 are no multiple of 3"),
    ("--mem=lots", ":2: --mem", "not an amount of memory"),
    ("--gres", ":2: --gres", "no value"),
    ("train.sh", ":2", "not an option"),
    ("--comment='x", ":2", "not options of sbatch"),
    ("--partition=z", ":2: --partition", 'no queue "z"'),
    ("--gpus-per-node=1000", "batch script (text)", "no node has so many"),
])
def test_bad_scripts(options: str, place: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(PLAIN, SWITCHES, "#!/bin/sh\n#SBATCH %s\n" % options)
    assert caught.value.place in (place, "batch script (text)" + place), caught.value
    assert reason in caught.value.reason
