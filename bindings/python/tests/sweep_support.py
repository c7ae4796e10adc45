# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of sweeps run in other processes.

As a program it does so by MPI.

mpirun -n 3 python3 -m mpi4py.futures sweep_support.py LOG
"""

import json
import os
import sys
import time

import gangsched as gs

SEEDS = range(24)


def note(log, *words):
    """Append one line, also while other processes append."""
    with open(log, "ab", buffering=0) as file:
        file.write((" ".join(map(str, words)) + "\n").encode())


def play(seed, log, rest_s=0.0):
    """A simulation with failures. Its numbers depend on the seed."""
    note(log, "begin", seed, os.getpid())
    jobs = [{"submit_s": 9 * i, "run_s": 60 + 11 * (i % 7), "gpu": 1 + i % 8} for i in range(40)]
    options = {
        "node_mtbf_s": 900.0, "node_repair_s": 60.0, "loss": "restart", "checkpoint_s": 30.0,
        "seed": seed,
    }
    summary = gs.simulate(gs.Cluster.uniform(2), gs.Trace(jobs), **options).summary()
    time.sleep(rest_s)
    note(log, "end", seed, os.getpid())
    return {"seed": seed, "jct": summary["jct_s"]["mean"], "lost": summary["lost_gpu_s"]}


def line(executor, log, rest_s=0.0):
    """The sweep that all executors run."""
    return gs.sweep(play, {"seed": SEEDS, "log": [log], "rest_s": [rest_s]}, executor=executor)


def awkward(self, fn, key, workers, priority, pure, retries):
    """A function with parameters that executors use, too."""
    return [self, fn, key, workers, priority, pure, retries]


AWKWARD = [
    {"self": 1, "fn": 2, "key": i, "workers": "w", "priority": -1, "pure": 0, "retries": 9}
    for i in range(3)
]


def fail_at(x):
    if x == 3:
        raise KeyError("three")
    return x


def sleeps(log, seed):
    note(log, "begin", seed, os.getpid())
    time.sleep(600)
    note(log, "end", seed, os.getpid())


def main():
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        found = {
            "values": line(pool, sys.argv[1], 0.02).values,
            "awkward": gs.sweep(awkward, AWKWARD, executor=pool).values,
        }
        try:
            gs.sweep(fail_at, {"x": range(6)}, executor=pool)
        except KeyError as error:
            found["raised"] = error.args[0]
    found["main"] = os.getpid()
    print(json.dumps(found))


if __name__ == "__main__":
    # The other processes can import this name.
    from sweep_support import main as start

    start()
