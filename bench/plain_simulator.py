#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plain simulator, as many papers use one: a clock that ticks once a second, lists and
dictionaries, a sorted queue, and a loop over all running jobs in every tick. Gangs are placed
together: up to 8 GPUs on the one node with the fewest sufficient free GPUs; larger gangs on whole
free nodes, with the rest on the emptiest other node. A first job that does not fit blocks the
others.

    plain_simulator.py JOBS.csv VC NODES {fifo,sjf} [SECONDS]

JOBS.csv has the columns job_id, vc, gpu_num, submit_time, duration. Prints one JSON
object: jobs, average wait and completion time, and the seconds it took. With SECONDS it gives up
after so long, and says how many jobs had ended by then.
"""
import csv
import json
import sys
import time

GPUS = 8


class Cluster:
    def __init__(self, nodes):
        self.free = [GPUS] * nodes

    def place(self, gpus):
        """Nodes and GPUs of each; None: it does not fit."""
        if gpus <= GPUS:
            fit = [n for n in range(len(self.free)) if self.free[n] >= gpus]
            return [(min(fit, key=lambda n: self.free[n]), gpus)] if fit else None
        whole = [n for n in range(len(self.free)) if self.free[n] == GPUS][: gpus // GPUS]
        if len(whole) < gpus // GPUS:
            return None
        places = [(n, GPUS) for n in whole]
        if gpus % GPUS:
            others = [n for n in range(len(self.free)) if n not in whole]
            others.sort(key=lambda n: -self.free[n])
            if not others or self.free[others[0]] < gpus % GPUS:
                return None
            places.append((others[0], gpus % GPUS))
        return places

    def take(self, places):
        for node, gpus in places:
            self.free[node] -= gpus

    def give_back(self, places):
        for node, gpus in places:
            self.free[node] += gpus


ORDER = {"fifo": lambda job: job["submit"], "sjf": lambda job: job["duration"]}


def simulate(jobs, nodes, policy, give_up=None):
    cluster, now, begun = Cluster(nodes), 0, time.perf_counter()
    coming = sorted(jobs, key=lambda job: job["submit"])
    waiting, running, ended = [], [], []
    now = coming[0]["submit"]
    while coming or waiting or running:
        for job in list(running):
            job["left"] -= 1
            if job["left"] <= 0:
                cluster.give_back(job["places"])
                job["end"] = now
                running.remove(job)
                ended.append(job)
        while coming and coming[0]["submit"] <= now:
            waiting.append(coming.pop(0))
        waiting.sort(key=ORDER[policy])
        while waiting:
            places = cluster.place(waiting[0]["gpus"])
            if places is None:
                break
            job = waiting.pop(0)
            cluster.take(places)
            job["places"], job["start"], job["left"] = places, now, job["duration"]
            running.append(job)
        now += 1
        if give_up is not None and now % 1000 == 0 and time.perf_counter() - begun > give_up:
            break
    return ended, time.perf_counter() - begun


def main():
    path, vc, nodes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    policy, give_up = sys.argv[4], float(sys.argv[5]) if len(sys.argv) > 5 else None
    with open(path, newline="") as file:
        jobs = [
            {
                "gpus": int(row["gpu_num"]),
                "submit": int(row["submit_time"]),
                "duration": int(row["duration"]),
            }
            for row in csv.DictReader(file)
            if row["vc"] == vc and int(row["gpu_num"]) <= nodes * GPUS
        ]
    ended, seconds = simulate(jobs, nodes, policy, give_up)
    count = len(ended) or 1
    print(
        json.dumps(
            {
                "jobs": len(jobs),
                "ended": len(ended),
                "avg_queue": round(sum(job["start"] - job["submit"] for job in ended) / count, 3),
                "avg_jct": round(sum(job["end"] - job["submit"] for job in ended) / count, 3),
                "seconds": round(seconds, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
