# SPDX-License-Identifier: Apache-2.0
"""capacity-scheduler.xml, fair-scheduler.xml and tony.xml: results and refusals."""
from __future__ import annotations

import json
from typing import Any

import pytest

from convert_support import DATA, capacities, check, data, nodes, outcome, queue, texts, with_nodes
from gangsched.convert import ConvertError, convert

GIB = 1 << 30
CAPACITY = "yarn.scheduler.capacity."


def conf(**values: str) -> str:
    """A configuration from keywords: __ stands for a dot; adds the prefix of the capacity
    scheduler.
    """
    return hadoop({CAPACITY + key.replace("__", "."): value for key, value in values.items()})


def hadoop(values: Any) -> str:
    return "<configuration>\n%s</configuration>" % "".join(
        "<property><name>%s</name><value>%s</value></property>\n" % one for one in values.items())


# ---- capacities -------------------------------------------------------------------------------


def test_percentages_are_of_the_parent() -> None:
    got = capacities(
        with_nodes("capacity-percent.xml", nodes(1, cpus=1000, mem_mib=1024 * 1000, gpus=64))
    )
    assert got["root.prod"]["guarantee"] == {"cpu": 500, "mem_bytes": 500 * GIB, "gpu": 32}
    assert got["root.research.vision"]["guarantee"] == {
        "cpu": 100,
        "mem_bytes": 100 * GIB,
        "gpu": 6.4,
    }
    assert got["root.research.language"]["guarantee"] == {
        "cpu": 300,
        "mem_bytes": 300 * GIB,
        "gpu": 19.2,
    }
    # 50 % of the parent's 80 %
    assert got["root.research.vision"]["limit"] == {"cpu": 400, "mem_bytes": 400 * GIB, "gpu": 25.6}
    assert got["root.research"]["limit"]["gpu"] == 51.2
    assert got["root.default"]["limit"] == {}


def test_amounts_scale_resource_by_resource_when_a_node_is_lost() -> None:
    """A has 100 GB/10 cores, B and C 50/10.

    On a node of 125 GB/20 cores A gets 64000 MB/6, B and C 32000 MB/6.
    """
    one = capacities(with_nodes("capacity-absolute.xml", nodes(1, cpus=20, mem_mib=128000)))
    assert one["root.a"]["guarantee"] == {"cpu": 6, "mem_bytes": 64000 << 20, "gpu": 0}
    assert (
        one["root.b"]["guarantee"]
        == one["root.c"]["guarantee"]
        == {"cpu": 6, "mem_bytes": 32000 << 20, "gpu": 0}
    )
    two = capacities(with_nodes("capacity-absolute.xml", nodes(2, cpus=20, mem_mib=128000)))
    assert two["root.a"]["guarantee"] == {"cpu": 10, "mem_bytes": 100 * GIB, "gpu": 0}
    # A configured amount does not grow with the cluster.
    ten = capacities(with_nodes("capacity-absolute.xml", nodes(10, cpus=20, mem_mib=128000)))
    assert ten["root.b"]["guarantee"] == {"cpu": 10, "mem_bytes": 50 * GIB, "gpu": 0}
    assert ten["root.a"]["limit"] == {"cpu": 40, "mem_bytes": 250 * GIB}


def test_scaling_is_a_warning() -> None:
    converted = convert(
        DATA / "capacity-absolute.xml", json.dumps(nodes(1, cpus=20, mem_mib=128000))
    )
    assert "root.a.capacity: mem_mib: scaled to 64000, since the nodes have 128000" in texts(
        converted
    )


@pytest.mark.parametrize("gpus, share", [(64, (16, 16, 32)), (48, (12, 12, 24))])
def test_weights_of_1_1_2_on_gpus(gpus: int, share: Any) -> None:
    got = capacities(
        with_nodes("capacity-weights.xml", nodes(gpus // 8, cpus=8, mem_mib=1024, gpus=8))
    )
    assert tuple(got["root." + q]["guarantee"]["gpu"] for q in "abc") == share


def test_weights_3_2_5_are_divided_again_when_10_is_added() -> None:
    text = conf(
        root__queues="a,b,c", root__a__capacity="3w", root__b__capacity="2w", root__c__capacity="5w"
    )
    world = json.dumps(nodes(1, cpus=100, mem_mib=1024))
    got = capacities(convert(text, world).scenario)
    assert [got["root." + q]["guarantee"]["cpu"] for q in "abc"] == [30, 20, 50]
    text = conf(
        root__queues="a,b,c,d",
        root__a__capacity="3w",
        root__b__capacity="2w",
        root__c__capacity="5w",
        root__d__capacity="10.0w",
    )
    got = capacities(convert(text, world).scenario)
    assert [got["root." + q]["guarantee"]["cpu"] for q in "abcd"] == [15, 10, 25, 50]


def test_labels_divide_each_partition_by_itself() -> None:
    """Five nodes of 24 GB, one labelled GPU: a third of 96 GB each; half of the label's 24, or
    none.
    """
    world = nodes(5, cpus=8, mem_mib=24 * 1024, gpus=0)
    world["nodes"][4]["partitions"] = ["GPU"]
    world["nodes"][4]["gpus"] = 4
    scenario = with_nodes("capacity-labels.xml", world)
    assert [node["partitions"] for node in scenario["nodes"]] == [["default"]] * 4 + [["GPU"]]
    assert scenario["partitions"] == [{"name": "GPU", "mode": "exclusive"}, {"name": "default"}]
    for each in scenario["queues"]:
        each.pop("user_limit_factor", None)
    # Each queue requests a whole partition in tasks of one GiB, and gets its guarantee.
    for partition, expected in (("default", [32, 32, 32]), ("GPU", [12, 12, 0])):
        scenario["jobs"] = [{"name": name, "queue": "root." + name, "min": 1, "user": "u",
                             "tasks": [{"count": 100, "mem_mib": 1024, "partition": partition}]}
                            for name in ("engineering", "marketing", "sales")]
        jobs = outcome(scenario)["jobs"]
        assert [jobs[job["name"]]["tasks_running"] for job in scenario["jobs"]] == expected


LABELS = "Node Labels: <GPU:exclusivity=%s>,<old:exclusivity=true>\n"


@pytest.mark.parametrize("listed", [
    LABELS,
    '{"nodeLabelInfo": [{"name": "GPU", "exclusivity": %s}]}',
    '{"nodeLabelsInfo": {"nodeLabelInfo": {"name": "GPU", "exclusivity": "%s"}}}',
    'yarn rmadmin -addToClusterNodeLabels "GPU(exclusive=%s), old"\n',
])
def test_nodes_of_a_label_that_is_not_exclusive_are_lent(listed: str) -> None:
    """On five nodes of 24 GB tasks without a label get the fifth one, too, if it is lent."""
    for exclusive, running in ((True, 96), (False, 120)):
        text = listed % str(exclusive).lower()
        world = nodes(5, cpus=200, mem_mib=24 * 1024)
        world["nodes"][4]["partitions"] = ["GPU"]
        converted = convert(DATA / "capacity-labels.xml", json.dumps(world), text)
        scenario = converted.scenario
        assert scenario["partitions"][0] == {
            "name": "GPU", "mode": "exclusive" if exclusive else "lending"}
        assert "taken for exclusive" not in texts(converted)
        for each in scenario["queues"]:
            each.pop("user_limit_factor", None), each.pop("limit", None)
        scenario["jobs"] = [{"name": "j", "queue": "root.engineering", "min": 1, "tasks": [
            {"count": 200, "mem_mib": 1024}]}]
        assert outcome(scenario)["jobs"]["j"]["tasks_running"] == running


@pytest.mark.parametrize("listed, place, reason", [
    ("Node Labels: <GPU:exclusivity=maybe>\n", "yarn cluster --list-node-labels (text):1",
     'neither true nor false: "maybe"'),
    ("a\nNode Labels: <GPU:exclusive>\n", "yarn cluster --list-node-labels (text):2",
     "not a node label"),
    ("Node Labels: <GPU>,<GPU>\n", "yarn cluster --list-node-labels (text):1", "there twice"),
    ("Node Labels: <old>\n", "accessible-node-labels", 'no node label "GPU" is listed'),
    ('{"nodeLabelInfo": [{"name": 5}]}',
     "yarn cluster --list-node-labels (text): nodeLabelInfo[0]", "not a node label"),
    ('{"nodeLabelInfo": 7}', "yarn cluster --list-node-labels (text): nodeLabelInfo", "not a list"),
])
def test_bad_node_labels(listed: str, place: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(DATA / "capacity-labels.xml", listed)
    assert caught.value.place.endswith(place) and reason in caught.value.reason


def test_node_labels_alone_are_no_configuration() -> None:
    with pytest.raises(ConvertError, match="give it, too"):
        convert(LABELS % "true")


def test_members_of_capacity_scheduler() -> None:
    scenario = data("capacity-percent.xml", "yarn-site.xml").scenario
    prod, vision = queue(scenario, "root.prod"), queue(scenario, "root.research.vision")
    assert prod["priority"] == 10 and queue(scenario, "root.research")["priority"] == 0
    assert (prod["user_limit_factor"], prod["user_limit"], prod["users"]) == (
        2,
        0.25,
        {"alice": 1.5},
    )
    assert (prod["max_time_limit_s"], prod["default_time_limit_s"]) == (86400, 3600)
    assert (prod["submit_acl"], queue(scenario, "root")["submit_acl"]) == ("alice,bob ops", " ")
    assert prod["no_preemption"] is True and "no_preemption" not in vision
    # 10000 applications times 40 % times 25 %
    assert (prod["max_pending"], vision["max_pending"]) == (5000, 1000)
    assert queue(scenario, "root.research")["max_running"] == 20
    assert (vision["order"], vision["within"], vision["reclaim"]) == ("fair", "lower", "any")
    assert queue(scenario, "root.research.language")["state"] == "draining"
    assert queue(scenario, "root")["child_order"] == "priority-utilization"
    assert queue(scenario, "root.research")["child_order"] == "utilization"
    assert queue(scenario, "root")["grace_s"] == 30
    assert scenario["default_queue"] == "root.default"
    assert scenario["rules"] == [
        {"match": "user", "pattern": "carol", "queue": "root.research.vision"},
        {"match": "group", "pattern": "ops", "queue": "root.prod"},
        {"queue": "root.research.%user"}]
    check(scenario)


def test_without_yarn_site_no_job_is_preempted() -> None:
    converted = data("capacity-percent.xml")
    assert queue(converted.scenario, "root.research.vision")["reclaim"] == "never"
    assert "no_preemption" not in queue(converted.scenario, "root.prod")
    assert "yarn.resourcemanager.scheduler.monitor.enable: not set" in texts(converted)


def test_preemption_inside_a_queue_needs_the_monitor() -> None:
    intra = {
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled": "true"
    }
    for enabled, within, reclaim in (("false", "never", "never"), ("true", "user-limit", "any")):
        site = hadoop({**intra, "yarn.resourcemanager.scheduler.monitor.enable": enabled})
        converted = convert(DATA / "capacity-weights.xml", site)
        a = queue(converted.scenario, "root.a")
        assert (a["within"], a["reclaim"]) == (within, reclaim)


def test_preemption_inside_a_queue_is_off_for_some() -> None:
    site = hadoop({
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled": "true",
    })
    text = conf(
        root__queues="a,b", root__a__queues="c,d", root__a__capacity="40", root__b__capacity="60",
        root__a__c__capacity="50", root__a__d__capacity="50",
        **{"root.a.intra-queue-preemption.disable_preemption": "true",
           "root.a.d.intra-queue-preemption.disable_preemption": "false"},
    )
    converted = convert(text, site)
    assert [queue(converted.scenario, "root." + name)["within"] for name in ("a.c", "a.d", "b")] == [
        "never", "user-limit", "user-limit"]
    check(converted.scenario)


def test_queues_on_demand() -> None:
    scenario = data("capacity-weights.xml").scenario
    parent = queue(scenario, "root.c")
    assert parent["max_children"] == 12
    # 1.5 beside 1, 1 and 2: all are doubled
    assert parent["child"]["guaranteed"]["gpu"] == {"weight": 3}
    assert queue(scenario, "root.a")["guaranteed"]["gpu"] == {"weight": 2}
    scenario["jobs"] = [{"name": "j", "queue": "root.c.bob", "tasks": [{}]}]
    check(scenario)


def test_queues_on_demand_of_the_older_kind() -> None:
    text = conf(
        root__queues="a,b",
        root__a__capacity="40",
        root__b__capacity="60",
        **{
            "root.a.auto-create-child-queue.enabled": "true",
            "root.a.leaf-queue-template.capacity": "25",
            "root.a.leaf-queue-template.maximum-capacity": "50",
            "root.a.auto-create-child-queue.max-queues": "7",
            "root.a.leaf-queue-template.ordering-policy": "fair",
            "queue-mappings": "u:%user:a.%user",
        },
    )
    scenario = convert(text).scenario
    a = queue(scenario, "root.a")
    assert (a["max_children"], a["child"]["order"]) == (7, "fair")
    assert a["child"]["guaranteed"]["gpu"] == {"fraction": 0.25} and a["child"]["limit"]["cpu"] == {
        "fraction": 0.5
    }
    assert scenario["rules"] == [{"queue": "root.a.%user"}]
    check(scenario)
    with pytest.raises(ConvertError, match="leaf-queue-template.capacity: not set"):
        convert(text.replace("leaf-queue-template.capacity", "leaf-queue-template.size"))


def test_json_rules() -> None:
    rules = {"rules": [
        {"type": "user", "matches": "*", "policy": "specified"},
        {"type": "group", "matches": "ops", "policy": "custom", "customPlacement": "root.a",
         "fallbackResult": "reject"},
        {"type": "user", "matches": "bob", "policy": "primaryGroup", "parentQueue": "root.c"},
        {"type": "application", "matches": "x*", "policy": "user", "parentQueue": "root.c"},
        {"type": "user", "matches": "*", "policy": "secondaryGroup"},
        {"type": "user", "matches": "*", "policy": "reject"}]}
    text = conf(
        root__queues="a,c",
        root__a__capacity="50",
        root__c__capacity="50",
        **{
            "mapping-rule-format": "json",
            "mapping-rule-json": json.dumps(rules).replace('"', "&quot;"),
        },
    )
    converted = convert(text)
    assert converted.scenario["rules"] == [
        {"match": "group", "pattern": "ops", "fallback": "reject", "queue": "root.a"},
        {"match": "user", "pattern": "bob", "queue": "root.c.%group"},
        {"match": "name", "pattern": "x*", "queue": "root.c.%user"},
        {"fallback": "reject", "queue": "-"}]
    assert "secondary groups" in texts(converted)
    check(converted.scenario)


def test_each_ignored_key_is_a_warning() -> None:
    text = conf(
        root__queues="a",
        root__a__capacity="100",
        root__a__surprise="1",
        root__b__capacity="5",
        **{"node-locality-delay": "40", "root.a.reservable": "true"},
    )
    found = texts(convert(text))
    assert "root.a.surprise: no counterpart" in found
    assert "root.b.capacity: no such queue" in found
    assert (
        "node-locality-delay: no counterpart" in found
        and "root.a.reservable: no counterpart" in found
    )
    assert "resource-calculator: YARN counts memory alone" in found


def test_variables_final_and_includes() -> None:
    text = (
        "<configuration xmlns:xi='http://www.w3.org/2001/XInclude'>"
        "<xi:include href='more.xml'/>"
        "<property><name>%sroot.queues</name><value>${names}</value><final>true</final></property>"
        "<property><name>%sroot.queues</name><value>z</value></property>"
        "<property><name>names</name><value>a</value></property>"
        "<property><name>%sroot.a.capacity</name><value>100</value></property></configuration>"
    ) % ((CAPACITY,) * 3)
    converted = convert(text)
    assert [q["name"] for q in converted.scenario["queues"]] == ["root", "root.a"]
    assert "ignored: final" in texts(converted) and '"more.xml" is not read' in texts(converted)


@pytest.mark.parametrize(
    "values, place, reason",
    [
        (dict(root__queues="a", root__a__capacity="x"), "root.a.capacity", 'not a number: "x"'),
        (
            dict(root__queues="a,b", root__a__capacity="50", root__b__capacity="40"),
            "root.queues",
            "add up to 90, not 100",
        ),
        (
            dict(root__queues="a,b", root__a__capacity="50", root__b__capacity="4w"),
            "root.queues",
            "some children have",
        ),
        (dict(root__queues="a", root__a__capacity="[memory=5"), "root.a.capacity", "in brackets"),
        (
            dict(root__queues="a", root__a__capacity="[memory=5,vcores]"),
            "root.a.capacity",
            "not resource=amount",
        ),
        (
            dict(root__queues="a", root__a__capacity="[memory=5,memory=6]"),
            "root.a.capacity",
            "there twice",
        ),
        (dict(root__queues="a,a", root__a__capacity="50"), "root.queues", '"a" is there twice'),
        (dict(root__queues="a"), "root.a.capacity", "not set"),
        (
            dict(root__queues="a", root__a__capacity="100", root__a__state="ASLEEP"),
            "root.a.state",
            "neither RUNNING",
        ),
        (
            dict(
                root__queues="a,b",
                root__a__capacity="60",
                root__b__capacity="40",
                **{"root.a.maximum-capacity": "50"},
            ),
            "root.a.maximum-capacity",
            "below the capacity",
        ),
        (
            dict(root__queues="a", root__a__capacity="100", root__a__acl_submit_applications="a,*"),
            "root.a.acl_submit_applications",
            "not users and groups",
        ),
        (
            dict(root__queues="a", root__a__capacity="100", **{"queue-mappings": "u:bob"}),
            "queue-mappings",
            "not a mapping",
        ),
        (
            dict(root__queues="a", root__a__capacity="100", **{"queue-mappings": "u:bob:z"}),
            "queue-mappings",
            "no queue",
        ),
        (
            dict(root__queues="a", root__a__capacity="${x}", x="${y}", y="1"),
            "root.a.capacity",
            "not a number",
        ),
        (
            dict(
                root__queues="a,b",
                root__a__queues="c",
                root__a__capacity="[memory=5]",
                root__b__capacity="[memory=5]",
                root__a__c__capacity="[memory=6]",
            ),
            "root.a.queues",
            "the children have 6 of mem_mib, the queue itself 5",
        ),
    ],
)
def test_bad_capacity_scheduler(values: Any, place: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(conf(**values))
    assert caught.value.place.endswith(CAPACITY + place), caught.value
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "text, expected",
    [
        ("*", "*"),
        (" ", " "),
        ("", " "),
        ("alice,bob", "alice,bob"),
        ("alice ops, dev", "alice ops,dev"),
        (" ops", " ops"),
        ("alice,,bob ", "alice,bob"),
    ],
)
def test_acls(text: str, expected: str) -> None:
    scenario = convert(
        conf(root__queues="a", root__a__capacity="100", root__a__acl_submit_applications=text)
    ).scenario
    assert queue(scenario, "root.a")["submit_acl"] == expected
    check(scenario)


def test_a_file_has_its_name_in_errors(tmp_path: Any) -> None:
    path = tmp_path / "capacity-scheduler.xml"
    path.write_text(conf(root__queues="a", root__a__capacity="x"))
    with pytest.raises(ConvertError) as caught:
        convert(path)
    assert (
        str(caught.value)
        == 'capacity-scheduler.xml: yarn.scheduler.capacity.root.a.capacity: not a number: "x"'
    )


def test_entities_are_refused() -> None:
    bomb = ('<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
            "<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>&b;</value></property>"
            "</configuration>")
    with pytest.raises(ConvertError, match="a DOCTYPE, which is refused"):
        convert(bomb)


def test_a_variable_that_refers_to_itself() -> None:
    with pytest.raises(ConvertError, match="refers to itself"):
        convert(hadoop({CAPACITY + "root.queues": "${a}", "a": "${b}", "b": "${a}"}))


# ---- the fair scheduler -----------------------------------------------------------------------


@pytest.mark.parametrize("maxima, shares", [
    ((None, None, None, None), (20, 10, 10, 5)),       # weights 2, 1, 1, 0.5 of 45
    ((10, 11, 30, 20), (10, 11, 16, 8)),               # the same with maxima
])
def test_fair_shares(maxima: Any, shares: Any) -> None:
    scenario = with_nodes("fair-scheduler.xml", nodes(1, cpus=45, mem_mib=1024))
    for name, most in zip("abcd", maxima):
        if most is not None:
            queue(scenario, "root." + name)["limit"] = {"cpu": most}
    scenario["jobs"] = [
        {"name": name, "queue": "root." + name, "min": 1, "tasks": [{"count": 45, "cpu": 1}]}
        for name in "abcd"
    ]
    jobs = outcome(scenario)["jobs"]
    assert tuple(jobs[name]["tasks_running"] for name in "abcd") == shares


def test_members_of_fair_scheduler() -> None:
    converted = data("fair-scheduler-full.xml")
    scenario = converted.scenario
    prod = queue(scenario, "root.prod")
    assert prod["guaranteed"] == {"cpu": 10, "mem_mib": 10240, "gpu": 0}
    assert prod["limit"] == {"cpu": 40, "mem_mib": 92160, "gpu": 8}
    assert (prod["weight"], prod["max_running"], prod["submit_acl"], prod["no_preemption"]) == (
        3, 50, "alice ops", True,
    )
    assert queue(scenario, "root.prod.adhoc")["max_running_per_user"] == 5
    assert "order" not in queue(scenario, "root.prod.batch")
    assert queue(scenario, "root.people")["child"] == {"within": "never", "reclaim": "never"}
    assert scenario["rules"] == [{"queue": "root.%group"}, {"queue": "root.people.%user"}]
    assert scenario["default_queue"] == "root.prod.adhoc"
    assert 'user "bob": no bound' in texts(converted)
    assert "minSharePreemptionTimeout: no counterpart" in texts(converted)
    check(scenario)


def test_fair_percentages_are_of_the_cluster() -> None:
    got = capacities(
        with_nodes("fair-scheduler-full.xml", nodes(1, cpus=60, mem_mib=102400, gpus=8))
    )
    assert got["root.prod"]["limit"] == {"cpu": 40, "mem_bytes": 92160 << 20, "gpu": 8}
    assert got["root.prod.adhoc"]["limit"] == {"cpu": 30, "mem_bytes": 20480 << 20, "gpu": 8}


def test_fair_preemption_is_of_yarn_site() -> None:
    site = hadoop(
        {
            "yarn.scheduler.fair.preemption": "true",
            "yarn.scheduler.fair.allow-undeclared-pools": "false",
        }
    )
    converted = convert(DATA / "fair-scheduler.xml", site)
    assert {q.get("reclaim") for q in converted.scenario["queues"][1:]} == {"any"}
    assert "yarn.scheduler.fair.allow-undeclared-pools: no counterpart" in texts(converted)


@pytest.mark.parametrize(
    "inside, reason",
    [
        ("<queue/>", "not the name of a queue"),
        ("<queue name='a.b'/>", "not the name of a queue"),
        ("<queue name='a'/><queue name='a'/>", "is there twice"),
        ("<queue name='a'><weight>heavy</weight></queue>", "root.a: weight: not a number"),
        (
            "<queue name='a'><maxResources>5 apples</maxResources></queue>",
            "not an amount of a resource",
        ),
        (
            "<queue name='a'><schedulingPolicy>best</schedulingPolicy></queue>",
            "not a scheduling policy",
        ),
        ("<queue name='a'><weight>1</weight><weight>2</weight></queue>", "<weight> is there twice"),
        ("<queuePlacementPolicy><rule name='magic'/></queuePlacementPolicy>", "not a rule"),
    ],
)
def test_bad_fair_scheduler(inside: str, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert("<allocations>\n%s</allocations>" % inside)
    assert caught.value.place.startswith("fair-scheduler.xml (text):2") and reason in str(
        caught.value
    )


# ---- TonY -------------------------------------------------------------------------------------


def tony(**values: str) -> str:
    return hadoop({"tony." + key.replace("__", "."): value for key, value in values.items()})


def test_tony_job() -> None:
    converted = data("tony.xml")
    (job,) = converted.scenario["jobs"]
    tasks = {task["name"]: task for task in job["tasks"]}
    assert job["name"] == "mnist" and job["queue"] == "vision" and "min" not in job
    assert (job["time_limit_s"], job["start_within_s"], job["heartbeat_s"]) == (3600, 600, 25)
    assert (job["loss"], job["max_restarts"]) == ("restart", 2)
    assert tasks["worker"] == {
        "name": "worker",
        "count": 2,
        "cpu": 4,
        "mem_mib": 8192,
        "gpu": 2,
        "partition": "GPU",
        "role": "critical",
        "after": [{"group": "db", "when": "end"}, {"group": "dbwriter", "when": "end"}],
    }
    assert (tasks["ps"]["role"], tasks["tensorboard"]["role"]) == ("untracked", "sidecar")
    # TonY's defaults
    assert (tasks["db"]["mem_mib"], tasks["db"]["cpu"]) == (2048, 1)
    found = texts(converted)
    assert "tony.application.dependency.evaluator.timeout.after.chief: no counterpart" in found
    assert "tony.am.memory: no counterpart" in found and "tony.application.framework" in found
    check(converted.scenario)


def test_tony_runs_beside_queues_of_yarn() -> None:
    world = json.dumps(nodes(1, cpus=64, mem_mib=65536, gpus=8))
    text = tony(yarn__queue="vision", worker__instances="2", worker__gpus="1")
    scenario = convert(DATA / "capacity-percent.xml", text, world).scenario
    assert scenario["jobs"][0]["queue"] == "root.research.vision"
    text = tony(
        yarn__queue="prod", application__name="mnist", worker__instances="2", worker__gpus="1"
    )
    scenario = convert(DATA / "capacity-percent.xml", text, world).scenario
    scenario["jobs"][0]["user"] = "alice"  # the ACL admits her, and only from here
    assert outcome(scenario)["jobs"]["mnist"]["state"] == "running"
    with pytest.raises(ConvertError, match="tony.yarn.queue: no queue"):
        convert(DATA / "capacity-percent.xml", tony(yarn__queue="nowhere", worker__instances="1"))


def test_tony_gang_and_first_come() -> None:
    """With capacity for 3 of 4 a gang waits; mode FCFS takes what is free."""
    world = json.dumps(nodes(1, cpus=64, mem_mib=65536, gpus=3))
    for mode, running in (("GANG", 0), ("FCFS", 3)):
        text = tony(
            worker__instances="4", worker__gpus="1", **{"application__distributed-mode": mode}
        )
        scenario = convert(text, world).scenario
        assert outcome(scenario)["jobs"][scenario["jobs"][0]["name"]]["tasks_running"] == running


@pytest.mark.parametrize("workers, evaluators, most, refused", [
    ("10", "0", "5", True), ("3", "3", "5", True), ("5", "0", "10", False)])
def test_tony_limits_of_totals(workers: str, evaluators: str, most: str, refused: bool) -> None:
    text = tony(
        worker__instances=workers,
        worker__gpus="1",
        evaluator__instances=evaluators,
        evaluator__gpus="1",
        **{"task__max-total-gpus": most},
    )
    if not refused:
        assert convert(text).scenario["jobs"]
        return
    with pytest.raises(ConvertError, match="tony.task.max-total-gpus: 5: the job requests"):
        convert(text)


@pytest.mark.parametrize(
    "values, reason",
    [
        (dict(worker__instances="0"), "there are no tasks"),
        (dict(worker__instances="many"), "tony.worker.instances: not a number"),
        (dict(worker__instances="1", worker__memory="2x"), "not an amount of memory"),
        (dict(worker__instances="1", worker__gpus="65"), "more than 64"),
        (dict(worker__instances="4", **{"worker__max-instances": "3"}), "3: the job has 4"),
        (
            dict(
                worker__instances="1",
                ps__instances="1",
                **{"worker__depends-on": "ps", "ps__depends-on": "worker"},
            ),
            "wait for each other",
        ),
        (
            dict(
                worker__instances="1",
                ps__instances="1",
                db__instances="1",
                **{"application__prepare-stage": "db", "application__training-stage": "worker"},
            ),
            'neither stage has "ps"',
        ),
        (
            dict(worker__instances="1", **{"application__distributed-mode": "SOLO"}),
            "neither GANG nor FCFS",
        ),
    ],
)
def test_bad_tony(values: Any, reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        convert(tony(**values))
    assert reason in str(caught.value)
