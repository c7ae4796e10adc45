# SPDX-License-Identifier: Apache-2.0
"""Gangs of Kubernetes: PodGroup, Volcano Job, TFJob, PyTorchJob and similar kinds, Job, Pod.

==============================================  ====================================================
Kubernetes                                      scenario
==============================================  ====================================================
``metadata.name``; with the namespace where     ``jobs[].name``
two are called the same
``metadata.namespace``                          ``user``
pods                                            ``tasks``: :mod:`gangsched.convert.kubernetes_pods`
``priorityClassName`` with a PriorityClass      ``priority``; also of Kueue's WorkloadPriorityClass
label kueue.x-k8s.io/queue-name; Volcano queue  ``queue``; without one a queue called default
**PodGroup** ``minMember``, ``minTaskMember``   ``min``, of groups, too; its pods are tasks; without
                                                any there are ``minMember`` that share
                                                ``minResources``; with some, those that miss are
                                                to come: ``announced``, ``arrivals``
``scheduleTimeoutSeconds``                      ``start_within_s``
**Volcano Job** ``tasks[].replicas``,           ``tasks``, ``min``, ``after``
``minAvailable``, ``dependsOn``
``maxRetry``                                    ``loss: restart``, ``max_restarts``
**TFJob**, **PyTorchJob**, MPIJob, XGBoostJob,  ``tasks``; Chief, Master, Launcher: ``role: chief``;
PaddleJob: ``...ReplicaSpecs``                  Worker member; PS untracked; Evaluator sidecar
``runPolicy.schedulingPolicy.minAvailable``,    ``min``
``elasticPolicy.minReplicas``
``elasticPolicy.maxReplicas``                   ``count`` of the workers
``suspend``                                     ``hold``, unless a queue of Kueue is named, which
                                                resumes the job when it admits it
``activeDeadlineSeconds``, ``backoffLimit``     ``time_limit_s``, ``max_restarts``
**Job** ``parallelism``                         ``count``; all are the gang in a queue of Kueue,
                                                else ``min`` 1
**Pod**                                         a job of one task, or one of its PodGroup
==============================================  ====================================================
"""
from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._base import MAX_TASKS, Json, Report, integer, name, place_jobs, plain, quote, seconds
from ._manifest import At
from .kubernetes_nodes import GPUS
from .kubernetes_pods import Pods

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
GROUP_KEYS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io",
              "pod-group.scheduling.sigs.k8s.io/name", "scheduling.k8s.io/group-name",
              "scheduling.volcano.sh/group-name", "pod-group-name")
_PRIORITIES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_ROLES = {
    "chief": "chief", "master": "chief", "launcher": "chief", "ps": "untracked",
    "evaluator": "sidecar", "eval": "sidecar",
}

_JOB_ASIDE = (
    "backoffLimitPerIndex", "completionMode", "completions", "manualSelector", "podFailurePolicy",
    "podReplacementPolicy", "selector", "successPolicy", "ttlSecondsAfterFinished",
    "managedBy", "maxFailedIndexes", "plugins", "policies", "volumes", "schedulerName",
    "runningEstimate", "nprocPerNode", "successPolicy", "enableDynamicWorker", "cleanPodPolicy",
    "slotsPerWorker", "sshAuthMountPath", "mpiImplementation", "launcherCreationPolicy",
    "runLauncherAsWorker", "activeDeadlineSeconds", "backoffLimit",
)


class _Jobs(Pods):
    """Converts objects to jobs, one method for each kind of object."""

    def __init__(self, objects: Dict[str, List[At]], scenario: Json, report: Report) -> None:
        super().__init__(scenario, report)
        self.objects = objects
        self.priorities = dict(_PRIORITIES)
        self.default_priority = 0
        self.wanted: List[Tuple[Json, str, str]] = []
        self.jobs: List[Json] = []
        self.names: Dict[str, int] = {}
        self.groups: Dict[Tuple[str, str], Json] = {}
        for kind in ("PriorityClass", "WorkloadPriorityClass"):
            for at in objects.get(kind, []):
                word = at.way("metadata.name").text()
                self.priorities[word] = at.get("value").number(0, -2 ** 31, 2 ** 31)
                if at.get("globalDefault").flag():
                    self.default_priority = self.priorities[word]

    # -- jobs --

    def add(self, at: At, tasks: List[Json], first: Optional[Json] = None) -> Json:
        """Add a job with the name of the object."""
        meta = at.get("metadata")
        place = "%s.name" % meta.place
        word = name(
            place,
            meta.get("name").value
            if meta.get("name")
            else meta.get("generateName").text("").rstrip("-"),
        )
        space = plain(place, meta.get("namespace").text(""), "namespace")
        if word in self.names and space:
            word = name(place, "%s/%s" % (space, word))
        while word in self.names:
            self.names[word] += 1
            word = name(place, "%s-%d" % (word, self.names[word]))
        self.names[word] = 0
        job: Json = {"name": word}
        if space:
            job["user"] = space
        job.update(first or {})
        labels: Dict[str, str] = {}
        for key, label in meta.get("labels").members().items():
            if len(labels) < 64:
                labels[name(label.place, key, "label")] = plain(
                    label.place, label.text(""), "label"
                )
        if labels:
            job["labels"] = labels
        if sum(task.get("count", 1) for task in tasks) > MAX_TASKS:
            raise at.fail("more than %d tasks" % MAX_TASKS)
        if not tasks:
            raise at.fail("no tasks")
        job["tasks"] = tasks
        self.jobs.append(job)
        return job

    def suspended(self, job: Json, at: At, suspend: At) -> None:
        """Hold a job that its user has suspended. Kueue keeps the jobs of its queues suspended
        until it admits them: these wait.
        """
        if suspend and suspend.flag() and self._kueue_label(at) is None:
            job["hold"] = True

    def priority(self, job: Json, at: At) -> None:
        if not at or not at.text():
            if self.default_priority:
                job.setdefault("priority", self.default_priority)
            return
        if at.text() in self.priorities:
            job["priority"] = self.priorities[at.text()]
        else:
            self.report.warn(
                at.place, "no PriorityClass %s is given; taken for 0" % quote(at.value)
            )

    def queue(self, job: Json, at: At) -> None:
        if at and at.text():
            self.wanted.append((job, name(at.place, at.text(), "queue"), at.place))

    def kueue_queue(self, job: Json, at: At) -> bool:
        labels = at.way("metadata.labels").members()
        label = self._kueue_label(at)
        if label is None:
            return False
        space = at.way("metadata.namespace").text("")
        queue = label.text()
        for local in self.objects.get("LocalQueue", []):
            if local.way("metadata.name").value == queue and (
                    local.way("metadata.namespace").text("default") == (space or "default")):
                queue = local.way("spec.clusterQueue").text()
                if local.way("spec.stopPolicy").text("None") != "None":
                    self.report.warn(local.place, "no counterpart: spec.stopPolicy")
        self.wanted.append((job, name(label.place, queue, "queue"), label.place))
        if "kueue.x-k8s.io/priority-class" in labels:
            self.priority(job, labels["kueue.x-k8s.io/priority-class"])
        return True

    @staticmethod
    def _kueue_label(at: At) -> Optional[At]:
        """The name of its queue of Kueue."""
        label = at.way("metadata.labels").members().get(KUEUE_QUEUE)
        label = label or at.way("metadata.annotations").members().get(KUEUE_QUEUE)
        return label if label is not None and label.text("") else None

    def members_done(self, at: At, *aside: str) -> None:
        """Warn of members of the object and its spec that the converter has not read."""
        at.get("apiVersion"), at.get("kind"), at.get("metadata"), at.get("status")
        at.get("spec").get("template")
        at.done(*aside)

    # -- kinds of objects --

    def volcano_job(self, at: At) -> None:
        spec = at.get("spec")
        tasks: List[Json] = []
        waits: List[Tuple[Json, At]] = []
        some = False
        for i, task in enumerate(spec.get("tasks").items()):
            count = task.get("replicas").number(1, 0, MAX_TASKS)
            word = task.get("name").text("") or "default%d" % i
            if count == 0:
                self.report.warn(task.place, "%s has no replicas" % quote(word))
                continue
            made = self.task(task.get("template"), count, word)
            least = task.get("minAvailable")
            if least:
                made["min"] = least.number(count, 0, count)
                some = True
            waits.append((made, task.get("dependsOn")))
            self._tiers(task.get("networkTopology"))
            tasks.append(made)
            task.done("policies", "maxRetry", "topologyPolicy", "partitionPolicy")
        job = self.add(at, tasks)
        total = sum(task.get("count", 1) for task in tasks)
        least = spec.get("minAvailable")
        if least and least.number(total, 0, MAX_TASKS) > 0:
            job["min"] = least.number(total, 1, total)
        elif not some:
            pass  # all of them
        elif all(task.get("min", task.get("count", 1)) == 0 for task in tasks):
            job["min"] = 1
        self._depends(waits, tasks)
        if "min" in job and any("after" in task for task in tasks):
            # Groups that do not start together have no common minimum.
            self.report.warn(
                least.place or spec.place,
                "tasks wait for each other, so each has a minimum of its own",
            )
            del job["min"]
            if all(task.get("min", 1) == 0 for task in tasks):
                tasks[0]["min"] = 1
        self.queue(job, spec.get("queue"))
        self.priority(job, spec.get("priorityClassName"))
        retries = spec.get("maxRetry").number(0, 0, 2 ** 31)
        if retries:
            job.update(loss="restart", max_restarts=retries)
        self._tiers(spec.get("networkTopology"))
        if spec.get("minSuccess"):
            self.report.warn(spec.get("minSuccess").place, "no counterpart")
        spec.done(*_JOB_ASIDE)
        self.members_done(at)

    def _tiers(self, at: At) -> None:
        """Tiers are numbers of HyperNodes, which this converter does not read."""
        if at:
            member = "same" if at.get("mode").text("hard") == "hard" else "prefer"
            self.report.warn(
                at.place, "no counterpart: tiers of HyperNodes; give a level in `%s`" % member
            )

    def _depends(self, waits: Sequence[Tuple[Json, At]], tasks: List[Json]) -> None:
        names = {task["name"] for task in tasks}
        edges: Dict[str, List[str]] = {}
        for made, at in waits:
            edges[made["name"]] = []
            for word in at.get("name").items():
                if word.text() not in names or word.text() in edges[made["name"]]:
                    raise word.fail("no other task %s" % quote(word.value))
                edges[made["name"]].append(word.text())
            if at and at.get("iteration").text("") == "any":
                self.report.warn(at.place, "any: waits for all of them")
            if edges[made["name"]]:
                made["after"] = [{"group": other, "when": "start"} for other in edges[made["name"]]]
        left = dict(edges)
        while left:
            ready = [task for task, others in left.items() if not set(others) & set(left)]
            if not ready:
                raise waits[0][1].fail(
                    "tasks wait for each other: %s" % ", ".join(sorted(left)[:5])
                )
            for task in ready:
                del left[task]
        if len(names) < len(tasks):
            raise waits[0][1].fail("two tasks have one name")

    def training_job(self, at: At) -> None:
        """TFJob and similar kinds: one list of replicas for each role."""
        spec = at.get("spec")
        key = next((k for k in sorted(spec.members()) if k.endswith("ReplicaSpecs")), None)
        if key is None:
            raise spec.fail("no ...ReplicaSpecs")
        tasks: List[Json] = []
        for word, replica in spec.get(key).members().items():
            count = replica.get("replicas").number(1, 0, MAX_TASKS)
            if count == 0:
                self.report.warn(replica.place, "no replicas")
                continue
            made = self.task(replica.get("template"), count, word)
            role = _ROLES.get(word.lower())
            if role:
                made["role"] = role
            tasks.append(made)
            replica.done("restartPolicy")
        job = self.add(at, tasks)
        policy = spec.get("runPolicy")
        self._run_policy(job, tasks, at, policy)
        self.kueue_queue(job, at)
        spec.done(*_JOB_ASIDE, "tfReplicaSpecs")
        self.members_done(at)

    def _run_policy(self, job: Json, tasks: List[Json], at: At, policy: At) -> None:
        spec = at.get("spec")
        total = sum(task.get("count", 1) for task in tasks)
        scheduling = policy.get("schedulingPolicy")
        least = scheduling.get("minAvailable")
        elastic = spec.get("elasticPolicy")
        if elastic:
            workers = next((t for t in tasks if t.get("name", "").lower() == "worker"), None)
            if workers is not None:
                count = workers.get("count", 1)
                workers["min"] = elastic.get("minReplicas").number(count, 0, count)
                if elastic.get("maxReplicas").number(count, 0, MAX_TASKS) > count:
                    workers["count"] = elastic.get("maxReplicas").number(count, 0, MAX_TASKS)
                if len(tasks) == 1 and workers["min"] == 0:
                    workers["min"] = 1
            elastic.done(
                "rdzvBackend",
                "rdzvPort",
                "rdzvHost",
                "rdzvId",
                "rdzvConf",
                "standalone",
                "nProcPerNode",
                "maxRestarts",
                "metrics",
            )
        if least:
            job["min"] = least.number(total, 1, total)
        queue = scheduling.get("queue")
        if queue and self._kueue_label(at) is not None:
            self.report.warn(queue.place, "the label %s names the queue" % KUEUE_QUEUE)
        else:
            self.queue(job, queue)
        self.priority(job, scheduling.get("priorityClass"))
        wait = scheduling.get("scheduleTimeoutSeconds")
        if wait and wait.number(0, 0, 10 ** 9):
            job["start_within_s"] = wait.number(0, 0, 10 ** 9)
        if scheduling.get("minResources"):
            self.report.aside(scheduling.file, "minResources", "follows from the tasks")
        scheduling.done()
        self._deadline(job, policy)
        self.suspended(job, at, policy.get("suspend"))
        policy.done("cleanPodPolicy", "ttlSecondsAfterFinished", "managedBy")

    def _deadline(self, job: Json, at: At) -> None:
        deadline = at.get("activeDeadlineSeconds")
        if deadline and deadline.number(0, 0, 10 ** 9):
            job["time_limit_s"] = deadline.number(0, 0, 10 ** 9)
        again = at.get("backoffLimit")
        if again and again.number(0, 0, 2 ** 31):
            job.update(loss="restart", max_restarts=again.number(0, 0, 2 ** 31))

    def batch_job(self, at: At) -> None:
        spec = at.get("spec")
        count = spec.get("parallelism").number(1, 0, MAX_TASKS)
        template = spec.get("template")
        if count == 0:
            self.report.warn(spec.get("parallelism").place, "nothing runs")
            return
        made = self.task(template, count)
        group = self._group_of(template)
        job = self.add(at, [made])
        gang = self.kueue_queue(job, at)
        least = at.way("metadata.annotations").members().get("kueue.x-k8s.io/job-min-parallelism")
        declared = (
            self.groups.get((at.way("metadata.namespace").text(""), group)) if group else None
        )
        if least is not None:
            job["min"] = integer(least.place, least.text(), 1, count)
        elif declared is not None:
            job["min"] = min(count, declared.get("min", count))
            declared["used"] = True
        elif not gang and count > 1:
            job["min"] = 1
        done = spec.get("completions")
        if done and done.number(1, 0, 2 ** 31) > count:
            self.report.warn(
                done.place, "more than run at a time: the job is over when those have ended"
            )
        self._deadline(job, spec)
        self.suspended(job, at, spec.get("suspend"))
        self.priority(job, template.way("spec.priorityClassName"))
        spec.done(*_JOB_ASIDE)
        self.members_done(at)

    def _group_of(self, at: At) -> str:
        for key in GROUP_KEYS:
            for notes in ("metadata.labels", "metadata.annotations"):
                word = at.way(notes).members().get(key)
                if word is not None and word.text(""):
                    return word.text()
        return ""

    # -- pod groups --

    def pod_groups(self) -> None:
        """PodGroups: `at` is the object, `pods` are its members."""
        for at in self.objects.get("PodGroup", []):
            spec = at.get("spec")
            key = (
                at.way("metadata.namespace").text(""),
                name(at.place, at.way("metadata.name").value),
            )
            if key in self.groups:
                raise at.fail("PodGroup %s is there twice" % quote(key[1]))
            self.groups[key] = {
                "at": at,
                "min": max(1, spec.get("minMember").number(1, 0, MAX_TASKS)),
                "pods": [],
            }

    def pods(self) -> None:
        for at in self.objects.get("Pod", []):
            group = self._group_of(at)
            declared = self.groups.get((at.way("metadata.namespace").text(""), group))
            if declared is not None:
                declared["pods"].append(at)
                continue
            if group:
                self.report.warn(at.place, "no PodGroup %s is given" % quote(group))
            job = self.add(at, [self.task(at, 1)])
            self.kueue_queue(job, at)
            self.priority(job, at.way("spec.priorityClassName"))
            self.members_done(at)
        for key, declared in sorted(self.groups.items()):
            if not declared.get("used"):
                self._pod_group(declared)

    def _pod_group(self, declared: Json) -> None:
        at: At = declared["at"]
        spec = at.get("spec")
        tasks = (
            self._members(declared["pods"])
            if declared["pods"]
            else self._imagined(spec, declared["min"])
        )
        least = {
            word: member.number(0, 0, MAX_TASKS)
            for word, member in spec.get("minTaskMember").members().items()
        }
        arrivals = self._announce(spec, declared, tasks, least) if declared["pods"] else []
        job = self.add(at, tasks, {"min": declared["min"]})
        if arrivals:
            job.update(announced=True, arrivals=arrivals)
        for word, member in spec.get("minTaskMember").members().items():
            task = next((t for t in tasks if t.get("name") == word), None)
            if task is None:
                self.report.warn(member.place, "no pods of this task are given")
            else:
                task["min"] = member.number(0, 0, task.get("count", 1))
        self.queue(job, spec.get("queue"))
        self.kueue_queue(job, at)
        self.priority(job, spec.get("priorityClassName"))
        if declared["pods"] and not spec.get("priorityClassName"):
            self.priority(job, declared["pods"][0].way("spec.priorityClassName"))
        wait = spec.get("scheduleTimeoutSeconds")
        if wait and wait.number(0, 0, 10 ** 9):
            job["start_within_s"] = seconds(wait.place, Fraction(wait.number(0, 0, 10 ** 9)))
        self._tiers(spec.get("networkTopology"))
        spec.get("minResources"), spec.get("minMember")
        spec.done()
        self.members_done(at)

    def _announce(
        self, spec: At, declared: Json, tasks: List[Json], least: Dict[str, int]
    ) -> List[Json]:
        """Add the tasks of members without pods; returns which are there, or nothing if all are."""
        here = [task.get("count", 1) for task in tasks]
        for task in tasks:
            task["count"] = max(task.get("count", 1), least.get(task.get("name", ""), 0))
        missing = declared["min"] - sum(task["count"] for task in tasks)
        member = spec.get("minMember")
        if missing > 0:
            rest = self._unnamed(spec, declared["pods"], missing)
            if rest is None:
                most = max(tasks, key=lambda task: int(task["count"]))
                most["count"] += missing
                of = " of group %s" % quote(most["name"]) if "name" in most else ""
                what = "taken to be like those%s that are there" % of
            else:
                tasks.append(rest)
                what = "which share the rest of minResources"
            self.report.warn(member.place, "%d pods are to come, %s" % (missing, what))
        came = [{"at_s": 0, "group": i, "count": count} for i, count in enumerate(here)]
        short = sum(task["count"] for task in tasks) > sum(here)
        for task in tasks:
            if task["count"] == 1:
                del task["count"]
        return came if short else []

    def _unnamed(self, spec: At, pods: Sequence[At], missing: int) -> Optional[Json]:
        """The tasks of `missing` pods, from what the pods leave of minResources."""
        shared = {
            key: self.quantity(at) for key, at in spec.get("minResources").members().items()
        }
        for pod in pods:
            for key, value in self.requests(pod.get("spec")).items():
                shared[key] = shared.get(key, Fraction(0)) - value
        rest = {key: value for key, value in shared.items() if value > 0}
        if not rest:
            return None
        return self._shared(spec, rest, missing)

    def _members(self, pods: Sequence[At]) -> List[Json]:
        """Pods with equal requests are one group."""
        out: Dict[str, Json] = {}
        for pod in pods:
            labels = pod.way("metadata.labels").members()
            role = next(
                (labels[key].text("") for key in ("volcano.sh/task-spec", "role") if key in labels),
                "",
            )
            task = self.task(pod, 1, role)
            key = json.dumps(task, sort_keys=True)
            if key in out:
                out[key]["count"] = out[key].get("count", 1) + 1
            else:
                out[key] = task
            self.members_done(pod)
        tasks = list(out.values())
        roles = [task.get("name") for task in tasks]
        for i, task in enumerate(tasks):
            if roles.count(task.get("name")) > 1 and "name" in task:
                task["name"] = name(pods[0].place, "%s-%d" % (task["name"], i))
        return tasks

    def _imagined(self, spec: At, count: int) -> List[Json]:
        """A PodGroup without pods: minMember tasks that share minResources."""
        shared = {
            key: self.quantity(at) for key, at in spec.get("minResources").members().items()
        }
        self.report.warn(spec.place, "its pods are not given; its tasks are alike")
        return [self._shared(spec, shared, count)]

    def _shared(self, spec: At, total: Dict[str, Fraction], count: int) -> Json:
        """A group of `count` equal tasks that together request `total`."""
        shared = {key: value / count for key, value in total.items()}
        for key, value in shared.items():
            if key in GPUS and value.denominator != 1:
                self.report.warn(
                    spec.get("minResources").place, "%s: rounded up for each task" % key
                )
                shared[key] = Fraction(-(-value // 1))
            elif key not in ("cpu", "memory"):
                shared[key] = Fraction(-(-value // 1))
            elif key == "cpu":
                shared[key] = Fraction(-(-value * 1000 // 1), 1000)
        task: Json = {"count": count}
        self.put(spec.place, task, shared)
        return task

    # -- the scenario --

    def convert(self) -> None:
        self.pod_groups()
        for at in self.objects.get("VolcanoJob", []):
            self.volcano_job(at)
        for at in self.objects.get("TrainingJob", []):
            self.training_job(at)
        for at in self.objects.get("Job", []):
            self.batch_job(at)
        self.pods()
        if self.jobs:
            self.scenario.setdefault("jobs", []).extend(self.jobs)
        if self.levels:
            self.scenario["levels"] = self.levels

    def flavors(self, only: Dict[str, str]) -> None:
        """Let tasks request the flavor of their queue, if only one has labels."""
        for job in self.jobs:
            flavor = only.get(job.get("queue", ""))
            for task in job["tasks"] if flavor else []:
                task.setdefault("partition", flavor)

    def place(self, scenario: Json) -> None:
        """Put the jobs into their queues."""
        place_jobs(scenario, self.wanted)


def convert(objects: Dict[str, List[At]], scenario: Json, report: Report) -> _Jobs:
    """Add the jobs of manifests to the scenario.

    They get their queues when all inputs are merged.
    """
    out = _Jobs(objects, scenario, report)
    out.convert()
    return out


__all__: List[Any] = ["convert"]
