# SPDX-License-Identifier: Apache-2.0
"""Slurm's ``slurm.conf``, ``gres.conf``, ``topology.conf``, and the output of
``sacctmgr -P show qos``, and ``sacctmgr -P show assoc`` or ``sacctmgr dump``. Batch scripts:
:mod:`gangsched.convert._sbatch`.

============================================  ======================================================
Slurm                                         scenario
============================================  ======================================================
``NodeName`` (ranges, DEFAULT)                ``nodes[].name``
``CPUs``, or ``Boards`` x ``Sockets`` x       ``cpus``: what Slurm counts as CPUs, less
``CoresPerSocket`` x ``ThreadsPerCore``       ``CoreSpecCount``
``RealMemory`` - ``MemSpecLimit``             ``mem_mib``
``Sockets``                                   ``numas``, where ``Cores`` of a device names some
``Gres`` = gpu:TYPE:N                         ``gpus``, ``gpu_model``; ``devices`` where they differ
``Gres`` = other:N                            ``kinds``, ``amounts``
``gres.conf`` ``Links``, ``Cores``            ``links`` (1000 MB/s for each), ``devices[].numa``
``Feature``                                   ``labels``, without a value
``State``                                     ``state``; nodes that are FUTURE are left out
``PartitionName``, ``Nodes``                  ``partitions``, of nodes, too; a queue of the same
                                              name, whose jobs run on these nodes only
``PriorityTier`` (1)                          ``priority``: fair shares by tier, as all is left over
``PreemptType`` = preempt/partition_prio      ``reclaim: any``; otherwise ``never``
``PreemptType`` = preempt/qos                 a queue PARTITION.QOS for each QOS that a partition
                                              allows (``AllowQos``, ``DenyQos``): jobs name it
``Name``, ``Preempt`` of a QOS                ``preempt_class``, ``preempts``
``Priority``, ``GraceTime``,                  ``priority``, ``grace_s``, ``min_runtime_s`` of these
``PreemptExemptTime`` of a QOS                queues
``PreemptMode``, also of a QOS                ``preempt_mode``; OFF: ``no_preemption``; WITHIN:
                                              ``within: lower``
``OverSubscribe`` = FORCE:n with GANG         ``quantum_s`` (``SchedulerTimeSlice``),
                                              ``quantum_rows``
``GraceTime``, ``PreemptExemptTime``          ``grace_s``, ``min_runtime_s``
``MaxTime``, ``DefaultTime``                  ``max_time_limit_s``, ``default_time_limit_s``
``NodeSet``                                   the nodes that it names, or that have its feature
``State`` of a partition                      ``state``
``AllowGroups``                               ``submit_acl``
``Default`` = YES                             ``default_queue``
``PriorityType``                              ``order: multifactor``, with ``PriorityWeight*``;
                                              otherwise ``priority``; ``fifo`` (basic)
``PriorityWeightAge``, ``Fairshare``,         ``priority_weight_age``, ``_fair_share``, ``_size``,
``JobSize``, ``Partition``                    ``_queue``; ``priority_weight_job`` is 1: a job states
                                              its nice value, negated, as ``priority``
``PriorityMaxAge``, ``PriorityCalcPeriod``    ``priority_max_age_s``, ``priority_period_s``
``PriorityFavorSmall``                        ``priority_favor_small``
``PriorityJobFactor``                         ``priority_factor``: over the highest one
Partitions of one ``PriorityTier``            with ``order: multifactor`` children of one queue, with
                                              ``child_order: multifactor``
``SchedulerType`` = sched/backfill (default)  ``backfill: conservative``, ``plan_depth`` =
                                              ``bf_max_job_test``
``SchedulerType`` = sched/builtin             ``block: strict``
``PriorityDecayHalfLife``                     ``half_life_s``, with ``PriorityWeightFairshare``
``GrpTRESMins`` of a QOS, an account, all     ``budgets`` of its queue; of the users of an account if
users of an account                           they are equal: ``per_user``. A QOS has a queue with
                                              preempt/qos, or as ``QOS`` of a partition
``AccountingStorageEnforce``                  safe: ``exhausted: safe``; limits: ``kill``; else there
                                              are no budgets
``PriorityUsageResetPeriod``                  ``period_s`` of budgets
Accounts, ``Share``, also of users            a queue PARTITION.ACCOUNT, below that of its parent, with
                                              ``weight`` and ``users``; not beside preempt/qos
``Licenses``                                  ``kinds`` of the cluster
``SwitchName``                                ``levels`` switchN ... switch1, ``topology`` of nodes
``BlockName``, ``BlockSizes``                 ``levels`` block, blocks of larger sizes before it
============================================  ======================================================

Other limits of accounts and QOS are not read. Everything else becomes a warning.
"""
from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._base import (
    MAX_AMOUNT, ConvertError, Json, Part, Report, Source, add_kind, integer, kind_name, seconds,
)
from ._sbatch import Scripts, looks_like as script_looks_like
from ._slurm_accounts import looks_like as accounts_look_like, read_accounts
from ._slurm_lines import Line, Settings, minutes, read_lines
from ._slurm_nodes import Nodes
from ._slurm_qos import read_qos
from ._slurm_queues import Partitions
from ._slurm_topology import Topology

#: The file of a line, by its first key.
_OF_FILE = {"switchname": "topology", "blockname": "topology", "blocksizes": "topology"}

_GLOBAL_ASIDE = re.compile(
    r"(auth|cred|crypto|slurm|job(?!requeue)|log|mail|mcs|mpi|plugin|proctrack|prolog|epilog|switch|task|state|"
    r"control|backup|cluster|accounting|acct|debug|disable|ext|first|get|group|health|hash|http|inactive|interactive|"
    r"keep|launch|message|min(?!jobage)|plug|private|propagate|reboot|return|route|srun|statesave|tcp|tmp|track|tree|"
    r"unkillable|use|vsize|wait|x11|core|comm|cli_|dependency|node(?!name)|power|resume|suspend|resv|requeue|"
    r"sched(?!uler)|lua|certmgr|namespace|data|nss|rebootprogram|topologyplugin|batch|killwait|max(?!job|array)|gpu)")


class _Converter:
    """Gives each line of the files to its reader, and puts the scenario together."""

    def __init__(self, sources: Sequence[Source], report: Report) -> None:
        self.report = report
        self.scenario: Json = {}
        self.settings = Settings(sources[0].name)
        self.nodes = Nodes(self.scenario, report)
        self.partitions = Partitions(self.settings, self.nodes.nodes, self.scenario, report)
        self.scripts = Scripts(self.settings, self.scenario, report)
        self.gres_lines: List[Line] = []
        self.switch_lines: List[Line] = []
        node_defaults: Dict[str, Tuple[str, Line]] = {}
        part_defaults: Dict[str, Tuple[str, Line]] = {}
        for source in sources:
            if source.form == "sbatch" or looks_like(source.text) == "sbatch":
                self.scripts.add(source)
                continue
            if source.form == "qos" or looks_like(source.text) == "qos":
                self.partitions.qos += read_qos(source, report)
                continue
            if source.form == "assoc" or looks_like(source.text) == "assoc":
                read_accounts(source, self.partitions.accounts, report)
                continue
            lines = read_lines(source, report)
            is_gres = source.form == "gres" or looks_like(source.text) == "gres"
            for line in lines:
                first = next(iter(line.keys))
                if is_gres:
                    self.gres_lines.append(line)
                elif first in _OF_FILE:
                    self.switch_lines.append(line)
                elif first == "nodename":
                    self._take(line, node_defaults, self.nodes.add)
                elif first == "partitionname":
                    self._take(line, part_defaults, self.partitions.add)
                elif first == "nodeset":
                    self.partitions.sets[line.keys[first]] = line
                elif first in ("downnodes", "frontendname"):
                    report.warn(line.place(first), "no counterpart")
                else:
                    for key in line.keys:
                        self.settings.lines[key] = line

    def _take(self, line: Line, defaults: Dict[str, Tuple[str, Line]], add: Any) -> None:
        """A line with names, completed by the defaults before it."""
        first = next(iter(line.keys))
        own = {key: (value, line) for key, value in line.keys.items()}
        if line.keys[first].upper() == "DEFAULT":
            defaults.update({key: value for key, value in own.items() if key != first})
            return
        add(line, {**defaults, **own})

    def _licences(self) -> None:
        settings = self.settings
        for word in settings.get("licenses").split(","):
            kind, _, count = word.strip().replace("*", ":").partition(":")
            if kind:
                place = settings.place("licenses")
                add_kind(place, self.scenario, kind_name(place, kind), None,
                         integer(place, count or "1", 0, MAX_AMOUNT))

    def _settings(self) -> None:
        settings = self.settings
        if settings.get("priorityweightfairshare", "0") not in ("", "0"):
            half = minutes(
                settings.place("prioritydecayhalflife"),
                settings.get("prioritydecayhalflife", "7-0"),
            )
            if half:
                self.scenario["half_life_s"] = seconds(
                    settings.place("prioritydecayhalflife"), half
                )
            self.report.warn(
                settings.place("priorityweightfairshare"),
                "usage counts by half-life, of users in their partition",
            )
        for word in settings.get("schedulerparameters").split(","):
            key = word.strip().partition("=")[0]
            if key and key != "bf_max_job_test":
                self.report.warn(
                    "%s: %s" % (settings.place("schedulerparameters"), key),
                    "not needed: starts are planned at exact times"
                    if key.startswith("bf_")
                    else "bounds --switches of batch scripts"
                    if key == "max_switch_wait"
                    else "no counterpart",
                )
        for key, line in settings.lines.items():
            if key in settings.used:
                continue
            if key == "priorityweightfairshare" or not _GLOBAL_ASIDE.match(key):
                self.report.warn(line.place(key), "no counterpart")
            else:
                self.report.aside(line.file, line.spelled[key])

    def convert(self) -> Part:
        nodes = self.nodes.nodes
        self.nodes.read_gres(self.gres_lines)
        self.partitions.accounts.check()
        Topology(
            self.switch_lines, nodes, self.nodes.declared, self.scenario, self.report
        ).convert()
        for node in nodes.values():
            self.nodes.put_gres(node)
        self._licences()
        self.partitions.convert()
        self.scripts.default = self.partitions.default
        self.scripts.convert()
        self._settings()
        if nodes:
            self.scenario["nodes"] = [node.json for node in nodes.values()]
        licences = {kind["name"] for kind in self.scenario.get("kinds", []) if "scope" in kind}
        for node in nodes.values():
            if licences & set(node.json.get("amounts", ())):
                raise ConvertError(
                    node.line.place("gres"), "a resource of nodes has the name of a licence"
                )
        if not self.scenario:
            raise ConvertError(self.settings.file, "no nodes, partitions or switches")
        return Part(self.scenario, [lambda merged, _report: self.scripts.place(merged)])


def looks_like(text: str) -> Optional[str]:
    """Which file the text is: slurm, gres, topology, qos, assoc or sbatch."""
    if script_looks_like(text):
        return "sbatch"
    if re.match(r"(?i)\s*([A-Z]+\|)*Preempt(\||[ \t\r]*\n|$)", text):
        return "qos"
    if accounts_look_like(text):
        return "assoc"
    plain = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
    if re.search(r"(?im)^\s*(SwitchName|BlockName)\s*=", plain):
        return "topology"
    if re.search(r"(?im)^\s*(PartitionName|ClusterName|SlurmctldHost|ControlMachine|SchedulerType|SelectType|"
                 r"NodeName\s*=\s*\S+(?!.*\bName\s*=))\s*=?", plain):
        return "slurm"
    if re.search(r"(?im)^\s*(NodeName\s*=\s*\S+.*\s)?(Name|AutoDetect)\s*=", plain):
        return "gres"
    if re.search(r"(?im)^\s*[A-Za-z][A-Za-z0-9_]*\s*=", plain) and not re.search(r"[{<]", plain):
        return "slurm"
    return None


def convert(sources: Sequence[Source], report: Report) -> Part:
    """Convert those of ``slurm.conf``, ``gres.conf``, ``topology.conf``, the QOS, the accounts
    and the batch scripts that are given."""
    return _Converter(sources, report).convert()
