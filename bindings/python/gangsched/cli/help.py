# SPDX-License-Identifier: Apache-2.0
"""What the command line teaches. The first paragraph of each text stands before the arguments, the rest after."""

#: Options of ``--set``: name and what it is. Times are seconds.
OPTIONS = {
    "know": "what is known of run times: limit (the job's time limit), run (all), predicted",
    "place": "cluster: as its policy says; consolidated: gangs of one group on the fullest node, the rest of others on the emptiest",
    "same_instant": "jobs of the same instant: together, one-by-one",
    "start_s": "time at which it begins",
    "tick_s": "submissions and ends wait for the next multiple of it; 0: they count when they happen",
    "pass_s": "the scheduler runs at multiples of it alone; 0: whenever something happened",
    "las_split_gpu_s": "las: GPU-seconds after which a job goes to the second queue",
    "restart_s": "added to what is left of a job that was displaced",
    "stop_s": "from being asked to stop to being gone, its work saved; if the grace is shorter it is killed, unsaved",
    "checkpoint_s": "work is saved each time so much of it is done; 0: all the time; inf: never",
    "elastic": "exponent of the speed with fewer tasks",
    "preemptible": "true, false: whatever the trace says",
    "node_mtbf_s": "mean time between failures of a node",
    "node_repair_s": "mean time until it is back",
    "task_mtbf_s": "mean running time of a task until it fails",
    "loss": "of a lost task: count, fail, restart, refill, shrink",
    "max_restarts": "so often a job restarts at most",
    "recorded_ends": "true: a job that failed in the trace fails at the end of its run time",
    "no_limits": "true: nobody is stopped at a time limit; plans still go by it",
    "linger_s": "a job holds what it has so much longer than it works",
    "sample_s": "least time between two rows of the timeline; 0: each change",
    "no_preemption": "true: nobody is displaced",
    "observe_only": "true: evictions are planned and told, but not carried out",
    "scale_guarantees": "true: guarantees of siblings above what there is are scaled down",
    "refused_s": "how long a job waits whose start the host refused",
    "max_evictions": "tasks evicted in one run, at most; 0: no bound",
    "max_moves": "gangs moved to make room for one; 0: 16; -1: none (unless told)",
    "saturation_milli": "reclaim: the taker's ratio is multiplied by so many thousandths first; 0: 1000",
    "usage_weight_milli": "how much decayed usage lowers weights, in thousandths; 0: 1000",
}

_SET = "options of --set (times in seconds; as gangsched/sim.h and gangsched/sched.h say):\n" + "\n".join(
    "  %-19s %s" % pair for pair in OPTIONS.items()
)

_STATUS = """exit status:
  0 done; 1 wrong input, told in one line with its place; 2 wrong usage; 130 after Ctrl-C: what had
  happened until then is printed and written all the same."""

ABOUT = """What would a gang scheduler do? Simulations with the production scheduler on a virtual clock.

Begin with

  python -m gangsched simulate jobs.csv --nodes 64 --gpus 8

where jobs.csv has a row a job:

  job,submit_s,run_s,tasks,gpus,user,queue
  train-1,0,3600,4,8,ada,research
  train-2,60,600,1,2,grace,web

(4 tasks of 8 GPUs each start together or not at all). "COMMAND --help" has examples of each.

""" + _STATUS

SIMULATE = """Play a trace on a cluster, and tell what came of it: waits, completion times, utilisation.

examples:
  python -m gangsched simulate jobs.csv.gz --nodes 64 --gpus 8
  python -m gangsched simulate philly.csv --nodes 300 --policy srtf --json
  python -m gangsched simulate jobs.csv --cluster site.json --queues queues.json --out run1
  python -m gangsched simulate jobs.csv --nodes 64 --set node_mtbf_s=1e6 --set checkpoint_s=600 --seed 4
  python -m gangsched convert slurm.conf gres.conf | python -m gangsched simulate jobs.swf --cluster -

site.json is {"nodes": [{"name": "n0", "cpus": 64, "mem_mib": 524288, "gpus": 8}, ...]};
queues.json is {"research": {"weight": 2}, "prod": {"guaranteed": {"gpu": 64}, "queues": {"web": {}}}}.

numbers:
  wait                from submission to the first start
  completion time     from submission to the end
  bounded slowdown    max(1, completion time over max(run time, 10 s))
  utilisation         used over what was up, from the first submission to the last end

""" + _SET + "\n\n" + _STATUS

COMPARE = """The same jobs on the same cluster under several policies, beside each other.

examples:
  python -m gangsched compare jobs.csv --nodes 64
  python -m gangsched compare jobs.csv --nodes 64 --policy fifo,srtf --report policies.html
  python -m gangsched compare jobs.csv --nodes 64 --jobs 4
  python -m gangsched compare jobs.csv --cluster site.json --queues queues.json --policy queues,fifo --out runs

policies:
  fifo         in the order of submission
  sjf          shortest first
  srtf         shortest remaining time first, with preemption
  las          least attained service, two queues, with preemption (Tiresias)
  las-started  the same, who runs before who waits
  queues       what the tree of queues says

With --out each policy has a folder of its own.

""" + _SET + "\n\n" + _STATUS

REPORT = """One HTML page of a run, or of several policies: it needs no network and no script.

examples:
  python -m gangsched report jobs.csv --nodes 64 -o run.html
  python -m gangsched report jobs.csv --nodes 64 --policy fifo,srtf,las -o policies.html
  python -m gangsched report run1 -o run.html       (what "simulate --out run1" wrote: it is run again)

On the page: numbers with what they are, utilisation and queue length over time, the distribution of
waits, who was where, tables by queue, user and GPU model, the longest waits with the reason, and what it
takes to do it again.

""" + _SET + "\n\n" + _STATUS

CONVERT = """Configuration of YARN, TonY, Slurm, Kubernetes, and nvidia-smi topo -m, to our JSON."""
