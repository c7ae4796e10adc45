# SPDX-License-Identifier: Apache-2.0
"""The help texts of the command line.

The first paragraph of each text stands before the arguments, the rest after them.
"""

#: Options of ``--set``: name and description. Times are seconds.
OPTIONS = {
    "runtime_estimates": "what the scheduler knows of run times: limit (the job's time limit), run (the truth), predicted",
    "place": "cluster: its policy; consolidated: gangs of one group on the fullest node, others on the emptiest",
    "same_instant": "jobs of the same instant: together, one-by-one",
    "start_s": "time at which the simulation begins",
    "tick_s": "submissions and ends wait for the next multiple of this; 0: no delay",
    "pass_s": "the scheduler runs at multiples of this only; 0: after every event",
    "las_split_gpu_s": "las: GPU-seconds after which a job goes to the second queue",
    "restart_s": "added to the remaining run time of a job that was preempted",
    "stop_s": "time a job needs to stop and save its work; with a shorter grace it is killed, unsaved",
    "checkpoint_s": "interval of saving work; 0: always; inf: never",
    "elastic": "exponent of the speed with fewer tasks",
    "preemptible": "true, false: overrides the trace",
    "node_mtbf_s": "mean time between failures of a node",
    "node_repair_s": "mean time to repair a node",
    "task_mtbf_s": "mean running time of a task until it fails",
    "loss": "effect of a lost task: restart (default), count, fail, refill, shrink",
    "max_restarts": "highest number of restarts of a job",
    "recorded_ends": "true: a job that failed in the trace fails at the end of its run time",
    "enforce_time_limits": "false: time limits stop no job; plans still use them",
    "teardown_s": "time a job holds its allocation after its work",
    "sample_s": "shortest time between two rows of the timeline; 0: each change",
    "no_preemption": "true: no job is preempted",
    "observe_only": "true: preemptions are planned and reported, but not done",
    "scale_guarantees": "true: guarantees of siblings above the capacity are scaled down",
    "refused_s": "wait of a job after the host refused its start",
    "preempt_cooldown_s": "time a preempted gang is spared by the same queue; default 600; 0: none",
    "max_preempted_tasks": "highest number of tasks preempted in one run; 0: no bound",
    "max_moves": "highest number of gangs moved for one gang; 0: 16; -1: none (default)",
    "saturation": "reclaim: factor of the preemptor's ratio; default 1",
    "usage_weight": "effect of decayed usage on weights; default 1",
}

_SET = (
    "options of --set (times in seconds):\n"
    + "\n".join("  %-19s %s" % pair for pair in OPTIONS.items())
)

_STATUS = """exit status:
  0 success; 1 wrong input, reported in one line with its place; 2 wrong usage; 130 after Ctrl-C: the
  results up to then are printed and written nevertheless."""

#: Commands of the C program of the same name, which go on to it.
OF_C = ("topo", "replay", "scenario", "explain", "forecast", "plan", "validate")

ABOUT = (
    """What would a gang scheduler do? Simulations with the production scheduler on a virtual clock.

Begin with

  gangsched simulate jobs.csv --nodes 64 --gpus 8

where jobs.csv has a row a job:

  job,submit_s,run_s,count,gpu,user,queue
  train-1,0,3600,4,8,ada,research
  train-2,60,600,1,2,grace,web

(4 tasks of 8 GPUs each start together or not at all). "COMMAND --help" has examples of each.
"python -m gangsched" is the same program.

commands of the C program, which go on to it:
  """
    + ", ".join(OF_C)
    + """

"""
    + _STATUS
)

SIMULATE = """Play a trace on a cluster, and report waiting times, completion times, utilisation.

examples:
  gangsched simulate jobs.csv.gz --nodes 64 --gpus 8
  gangsched simulate philly.csv --nodes 300 --policy srtf --json
  gangsched simulate jobs.csv --cluster site.json --queues queues.json --out run1
  gangsched simulate jobs.csv --nodes 64 --set node_mtbf_s=1e6 --set checkpoint_s=600 --seed 4
  gangsched convert slurm.conf gres.conf | gangsched simulate jobs.swf --cluster -

site.json is {"nodes": [{"name": "n0", "cpus": 64, "mem_mib": 524288, "gpus": 8}, ...]};
queues.json is {"research": {"weight": 2}, "prod": {"guaranteed": {"gpu": 64}, "queues": {"web": {}}}}.

numbers:
  waiting time        from submission to the first start
  completion time     from submission to the end
  bounded slowdown    max(1, completion time over max(run time, 10 s))
  utilisation         used over available, from the first submission to the last end

""" + _SET + "\n\n" + _STATUS

COMPARE = """The same jobs on the same cluster under several policies, beside each other.

examples:
  gangsched compare jobs.csv --nodes 64
  gangsched compare jobs.csv --nodes 64 --policy fifo,srtf --report policies.html
  gangsched compare jobs.csv --nodes 64 --jobs 4
  gangsched compare jobs.csv --cluster site.json --queues queues.json --policy queues,fifo --out runs

policies:
  fifo         in the order of submission; a job that does not fit holds back all later ones
  first-fit    the same order; none is held back
  sjf          shortest first
  srtf         shortest remaining time first, with preemption
  las          least attained service, two queues, with preemption (Tiresias)
  las-started  the same, running jobs before waiting jobs
  queues       the order of the tree of queues

With --out each policy gets its own folder.

""" + _SET + "\n\n" + _STATUS

REPORT = """One HTML page of a run, or of several policies, without network and script.

examples:
  gangsched report jobs.csv --nodes 64 -o run.html
  gangsched report jobs.csv --nodes 64 --policy fifo,srtf,las -o policies.html
  gangsched report run1 -o run.html       (repeats what "simulate --out run1" wrote)

The page has numbers with definitions, utilisation and queue length over time, the distribution
of waiting times, a Gantt chart, tables by queue, user and GPU model, the longest waiting times with reasons, and the input
that repeats the run.

""" + _SET + "\n\n" + _STATUS

CONVERT = """Configuration of YARN, TonY, Slurm, Kubernetes, and nvidia-smi topo -m, to the library's JSON."""
