# SPDX-License-Identifier: Apache-2.0
"""Batch scripts of Slurm: the options in their ``#SBATCH`` lines.

============================================  ======================================================
sbatch                                        scenario
============================================  ======================================================
``--job-name``                                ``name``; the file's name without it
``--nodes``, ``--ntasks-per-node``            a task for each node, with ``max_per_node: 1``
``--ntasks`` without ``--nodes``              ``count`` tasks
``--cpus-per-task``, ``--mem``,               ``cpu``, ``mem_mib``
``--mem-per-cpu``, ``--mem-per-gpu``
``--gpus``, ``--gpus-per-node``,              ``gpu``, ``gpu_models``, ``amounts``
``--gpus-per-task``, ``--gres``
``--array=0-99%n``                            a job for each index, with ``array``, and
                                              ``array_max_running`` = n
``--switches=1@TIME``                         ``prefer`` the lowest switch, ``prefer_wait_s``: at most
                                              ``max_switch_wait`` of ``SchedulerParameters`` (300)
``--partition``, ``--qos``, ``--account``     ``queue``: PARTITION, PARTITION.QOS, PARTITION.ACCOUNT
``--time``, ``--nice``, ``--hold``            ``time_limit_s``, ``priority``, ``hold``
``--exclusive``, ``--constraint``             ``exclusive``, ``where`` (of features)
============================================  ======================================================
"""
from __future__ import annotations

import os
import re
import shlex
from fractions import Fraction
from typing import Dict, List, Optional, Sequence, Tuple

from ._base import (
    MAX_GPUS, MAX_TASKS, MIB, ConvertError, Json, Report, Source, add_kind, integer, name,
    place_jobs, put_memory, quote, seconds,
)
from ._slurm_lines import Settings, gres, minutes

#: Options with a value, by their short form.
_SHORT = {
    "J": "job-name", "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus", "a": "array",
    "p": "partition", "q": "qos", "A": "account", "t": "time", "C": "constraint", "H": "hold",
    "o": "output", "e": "error", "D": "chdir", "i": "input", "d": "dependency", "w": "nodelist",
    "x": "exclude", "L": "licenses", "b": "begin", "s": "oversubscribe", "M": "clusters",
    "m": "distribution", "k": "no-kill", "v": "verbose", "Q": "quiet", "W": "wait",
}
_FLAGS = {"hold", "exclusive", "requeue", "no-requeue", "oversubscribe", "no-kill", "verbose",
          "quiet", "wait", "contiguous", "overcommit", "parsable"}
_ASIDE = {
    "output", "error", "chdir", "input", "mail-type", "mail-user", "comment", "export", "verbose",
    "quiet", "wait", "get-user-env", "open-mode", "signal", "parsable", "profile", "no-kill",
    "requeue", "no-requeue", "hint", "distribution", "cpu-bind", "gpu-bind", "mem-bind",
    "export-file", "propagate", "wckey", "time-min",
}
#: Jobs of one array; Slurm's own bound is MaxArraySize, 1001 if not set.
_MAX_ARRAY = 100000
#: Slurm's max_switch_wait
_SWITCH_WAIT = 300


def looks_like(text: str) -> bool:
    """Whether the text is a batch script."""
    return text.startswith("#!") and re.search(r"(?m)^#SBATCH\s", text) is not None


class _Script:
    """The options of a script: value and place of each."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.options: Dict[str, Tuple[str, str]] = {}
        self.used = {"job-name"}
        for at, line in enumerate(source.text.split("\n"), 1):
            if line.startswith("#SBATCH"):
                self._line("%s:%d" % (source.name, at), line[len("#SBATCH"):])
            elif line.strip() and not line.lstrip().startswith("#"):
                break  # sbatch reads none behind the first command

    def _line(self, place: str, text: str) -> None:
        try:
            words = shlex.split(text, comments=True)
        except ValueError as error:
            raise ConvertError(place, "not options of sbatch: %s" % error) from None
        while words:
            word = words.pop(0)
            match = re.fullmatch(r"--([A-Za-z][A-Za-z-]*)(?:=(.*))?|-([A-Za-z])=?(.*)", word)
            if match is None:
                raise ConvertError(place, "not an option of sbatch: %s" % quote(word))
            key, value = match.group(1), match.group(2)
            if key is None:
                key = _SHORT.get(match.group(3), match.group(3))
                value = match.group(4) or None
            if value is None and key not in _FLAGS:
                if not words:
                    raise ConvertError("%s: --%s" % (place, key), "no value")
                value = words.pop(0)
            self.options[key] = (value or "", "%s: --%s" % (place, key))

    def get(self, key: str) -> Optional[Tuple[str, str]]:
        """Value and place; None: not given."""
        self.used.add(key)
        return self.options.get(key)

    def number(self, key: str, least: int = 1, most: int = MAX_TASKS) -> Optional[int]:
        given = self.get(key)
        return integer(given[1], given[0], least, most) if given else None

    def mebibytes(self, key: str) -> Optional[Fraction]:
        given = self.get(key)
        if given is None:
            return None
        match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)B?", given[0], re.ASCII | re.IGNORECASE)
        if match is None:
            raise ConvertError(given[1], "not an amount of memory: %s" % quote(given[0]))
        unit = {"": MIB, "K": 1024, "M": MIB, "G": 1024 * MIB, "T": MIB * MIB}
        return Fraction(int(match.group(1)) * unit[match.group(2).upper()], MIB)

    def done(self) -> None:
        for key, (_, place) in self.options.items():
            if key in self.used:
                continue
            if key in _ASIDE:
                self.report.aside(self.source.name, "--" + key)
            else:
                self.report.warn(place, "no counterpart")


class Scripts:
    """Makes jobs of scripts."""

    def __init__(self, settings: Settings, scenario: Json, report: Report) -> None:
        self.settings = settings
        self.scenario = scenario
        self.report = report
        self.scripts: List[_Script] = []
        #: job, the queues that it may mean, and the place
        self.wanted: List[Tuple[Json, List[str], str]] = []

    def add(self, source: Source) -> None:
        self.scripts.append(_Script(source, self.report))

    def convert(self) -> None:
        """Add the jobs of all scripts."""
        taken: Dict[str, int] = {}
        for script in self.scripts:
            given = script.options.get("job-name")
            place = given[1] if given else script.source.name
            base = os.path.basename(script.source.name)
            word = name(place, given[0] if given else base, "name of the job")
            taken[word] = taken.get(word, 0) + 1
            if taken[word] > 1:
                word = "%s-%d" % (word, taken[word])
            job = self._job(script, word)
            queues, place = self._queues(script)
            for one in self._array(script, job):
                self.scenario.setdefault("jobs", []).append(one)
                self.wanted.append((one, queues, place))
            script.done()

    def _job(self, script: _Script, word: str) -> Json:
        job: Json = {"name": word}
        given = script.get("time")
        if given:
            limit = minutes(given[1], given[0])
            if limit:
                job["time_limit_s"] = seconds(given[1], limit)
        nice = script.get("nice")
        if nice:
            job["priority"] = -integer(nice[1], nice[0] or "100", -(2**31), 2**31 - 1)
        if script.get("hold"):
            job["hold"] = True
        if script.get("exclusive"):
            job["exclusive"] = True
        self._switches(script, job)
        job["tasks"] = [_task(script)]
        for kind in job["tasks"][0].get("amounts", ()):
            add_kind(script.options["gres"][1], self.scenario, kind)
        return job

    def _switches(self, script: _Script, job: Json) -> None:
        given = script.get("switches")
        if given is None:
            return
        text, place = given
        count, at, wait = text.partition("@")
        longest = integer(
            self.settings.place("schedulerparameters"),
            self.settings.parameter("max_switch_wait") or str(_SWITCH_WAIT), 0, 10**9,
        )
        time = minutes(place, wait) if at else Fraction(longest)
        number = integer(place, count, 1, MAX_TASKS)
        levels = [one for one in self.scenario.get("levels", []) if one in ("switch1", "block")]
        if number > 1:
            self.report.warn(place, "no counterpart: more than one switch")
        elif not levels:
            self.report.warn(place, "no switches are given: topology.conf is needed")
        else:
            job["prefer"] = levels[-1]
            job["prefer_wait_s"] = seconds(
                place, Fraction(longest) if time is None else min(time, Fraction(longest))
            )

    def _array(self, script: _Script, job: Json) -> List[Json]:
        """A job for each index of the array."""
        given = script.get("array")
        if given is None:
            return [job]
        indexes, limit = _indexes(given[1], given[0])
        out = []
        for index in indexes:
            one = {**job, "name": "%s_%d" % (job["name"], index), "array": job["name"]}
            if limit:
                one["array_max_running"] = limit
            one["tasks"] = [dict(task) for task in job["tasks"]]
            out.append(one)
        return out

    def _queues(self, script: _Script) -> Tuple[List[str], str]:
        """The queues that the options may mean, the most exact one first."""
        given = script.get("partition")
        qos, account = script.get("qos"), script.get("account")
        partition = given[0].split(",")[0] if given else self._default()
        if given and "," in given[0]:
            self.report.warn(given[1], "taken for the first partition")
        below = [one[0] for one in (qos, account) if one]
        names = ["%s.%s" % (partition, one) for one in below] if partition else []
        place = next((one[1] for one in (given, qos, account) if one), script.source.name)
        return names + ([partition] if partition else []), place

    def _default(self) -> str:
        """The default partition."""
        above = {queue["name"]: queue.get("parent") for queue in self.scenario.get("queues", [])}
        partitions = {one["name"] for one in self.scenario.get("partitions", [])}
        at: Optional[str] = self.default or self.scenario.get("default_queue")
        while at is not None and at not in partitions:
            at = above.get(at)
        return at or ""

    #: the partition that is the default, if its queue is no leaf
    default: Optional[str] = None

    def place(self, merged: Json) -> None:
        """Put the jobs into their queues, when all inputs are merged."""
        have = {queue["name"] for queue in merged.get("queues", [])}
        wanted = []
        for job, queues, place in self.wanted:
            queue = next((one for one in queues if one in have), queues[-1] if queues else "")
            if queue:
                wanted.append((job, queue, place))
        place_jobs(merged, wanted)


def _indexes(place: str, text: str) -> Tuple[List[int], int]:
    """``0-15:4,20%3``: the indexes, and how many run at once; 0: no bound."""
    match = re.fullmatch(r"([0-9][0-9,:-]*)(?:%([0-9]{1,9}))?", text, re.ASCII)
    words = match.group(1).split(",") if match else []
    out: List[int] = []
    for word in words:
        part = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?", word, re.ASCII)
        if part is None:
            words = []
            break
        first = int(part.group(1))
        last, step = int(part.group(2) or first), int(part.group(3) or 1)
        if last < first or step == 0 or (last - first) // step >= _MAX_ARRAY:
            raise ConvertError(place, "not a range of at most %d: %s" % (_MAX_ARRAY, quote(word)))
        out += range(first, last + 1, step)
    if match is None or not words:
        raise ConvertError(place, "not indexes of an array: %s" % quote(text))
    if len(out) > _MAX_ARRAY:
        raise ConvertError(place, "more than %d jobs" % _MAX_ARRAY)
    return sorted(set(out)), int(match.group(2) or 0)


# ---- tasks -----------------------------------------------------------------------------------


def _gpus(script: _Script, key: str) -> Tuple[int, str]:
    """``[TYPE:]NUMBER``: the number, and the type."""
    given = script.get(key)
    if given is None:
        return 0, ""
    words = given[0].split(":")
    if len(words) > 2 or "," in given[0]:
        raise ConvertError(given[1], "not TYPE:NUMBER: %s" % quote(given[0]))
    return integer(given[1], words[-1], 0, MAX_TASKS), words[0] if len(words) == 2 else ""


def _task(script: _Script) -> Json:
    """The task group: a task for each node if the script says something of nodes."""
    nodes, per_node = _nodes(script), script.number("ntasks-per-node")
    tasks = script.number("ntasks")
    amounts, listed, model = _gres(script)
    by_node = nodes is not None or per_node is not None or bool(amounts) or bool(listed)
    by_node = by_node or script.get("mem") is not None or script.get("gpus-per-node") is not None
    if not by_node:
        nodes, at_once = tasks or 1, 1
    else:
        if nodes is None:
            nodes = -(-tasks // per_node) if tasks and per_node else 1
        at_once = per_node or -(-(tasks or nodes) // nodes)
        if tasks and tasks < nodes:
            nodes = tasks
    task: Json = {"count": nodes}
    if by_node and nodes > 1:
        task["max_per_node"] = 1
    cpus = at_once * (script.number("cpus-per-task") or 1)
    task["cpu"] = cpus
    gpus, models = _gpus_of(script, nodes, at_once, listed, model)
    if gpus:
        task["gpu"] = gpus
        if models:
            task["gpu_models"] = [models]
    if amounts:
        task["amounts"] = amounts
    _memory(script, task, cpus, gpus)
    _where(script, task)
    return task


def _nodes(script: _Script) -> Optional[int]:
    given = script.get("nodes")
    if given is None:
        return None
    least, dash, _ = given[0].partition("-")
    if dash:
        script.report.warn(given[1], "taken for the least number of nodes")
    return integer(given[1], least, 1, MAX_TASKS)


def _gres(script: _Script) -> Tuple[Dict[str, int], int, str]:
    """Amounts of each node, GPUs of each node, and their type."""
    amounts: Dict[str, int] = {}
    gpus, model = 0, ""
    given = script.get("gres")
    for word, kind, count in gres(given[1], given[0]) if given else ():
        if word == "gpu":
            gpus, model = gpus + count, kind
        else:
            amounts[word] = amounts.get(word, 0) + count
    return amounts, gpus, model


def _gpus_of(script: _Script, nodes: int, at_once: int, listed: int, model: str) -> Tuple[int, str]:
    """GPUs of a task of the scenario, and their type."""
    gpus = listed
    for key, times in (("gpus-per-node", 1), ("gpus-per-task", at_once)):
        count, kind = _gpus(script, key)
        if count:
            gpus, model = count * times, kind
    total, kind = _gpus(script, "gpus")
    if total and not gpus:
        if total % nodes:
            raise ConvertError(
                script.options["gpus"][1], "%d are no multiple of %d" % (total, nodes)
            )
        gpus, model = total // nodes, kind
    if gpus > MAX_GPUS:
        raise ConvertError(script.source.name, "%d GPUs: no node has so many" % gpus)
    return gpus, model


def _memory(script: _Script, task: Json, cpus: int, gpus: int) -> None:
    for key, times in (("mem", 1), ("mem-per-cpu", cpus), ("mem-per-gpu", gpus)):
        value = script.mebibytes(key)
        if value is None:
            continue
        place = script.options[key][1]
        if value == 0:
            script.report.warn(place, "0: let the job say `exclusive`")
        elif times:
            put_memory(place, task, value * times * MIB)


def _where(script: _Script, task: Json) -> None:
    """Features, with & or | between them."""
    given = script.get("constraint")
    if given is None:
        return
    text, place = given
    signs = set(re.findall(r"[^A-Za-z0-9_.-]", text))
    if len(signs) > 1 or not signs <= {"&", "|"}:
        script.report.warn(place, "no counterpart: %s" % quote(text))
        return
    sign = signs.pop() if signs else "&"
    words = ['exists "%s"' % name(place, word, "feature") for word in text.split(sign)]
    task["where"] = (" and " if sign == "&" else " or ").join(words)


__all__: Sequence[str] = ["Scripts", "looks_like"]
