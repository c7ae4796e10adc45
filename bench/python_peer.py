#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer that research simulators have: dictionaries, first-fit, rollback.

Started by gangsched-bench as
    python_peer.py NODES FILL nodes|gpus packed|random SEED SECONDS LOOP...
where LOOP is newest:SHAPE:TASKS or refuse:SHAPE:TASKS and SHAPE is gpu or node. Prints a line of
JSON a loop: {"loop": ..., "ns": [[latencies of allocating], [of freeing]]}.
"""
import json
import sys
import time

NODE_GPUS, NODE_CORES, NODE_MEMORY = 8, 64, 512 << 30
NEEDS = {"gpu": (1, 4, 32 << 30), "node": (8, 64, 512 << 30)}
LEAST = 3


class Random:
    """splitmix64, as bench.h has it."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return (((z ^ z >> 31) >> 32) * n) >> 32

    def shuffle(self, items):
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]


def lowest(mask, count):
    taken = 0
    for _ in range(count):
        taken |= mask & -mask
        mask &= mask - 1
    return taken


class Cluster:
    def __init__(self, count):
        self.nodes = {
            "n%07d" % i: {
                "free_gpus": NODE_GPUS,
                "free_cores": NODE_CORES,
                "memory": NODE_MEMORY,
                "gpus": (1 << NODE_GPUS) - 1,
                "cores": (1 << NODE_CORES) - 1,
            }
            for i in range(count)
        }
        self.names = list(self.nodes)

    def take(self, name, node, need):
        gpus, cores, memory = need
        task = (name, lowest(node["gpus"], gpus), lowest(node["cores"], cores), need)
        node["gpus"] &= ~task[1]
        node["cores"] &= ~task[2]
        node["free_gpus"] -= gpus
        node["free_cores"] -= cores
        node["memory"] -= memory
        return task

    def free(self, tasks):
        for name, gpus, cores, need in tasks:
            node = self.nodes[name]
            node["gpus"] |= gpus
            node["cores"] |= cores
            node["free_gpus"] += need[0]
            node["free_cores"] += need[1]
            node["memory"] += need[2]

    def allocate(self, need, count):
        """The tasks, or None. A gang's search goes on where its last task was placed."""
        gpus, cores, memory = need
        tasks = []
        for name, node in self.nodes.items():
            while (
                node["free_gpus"] >= gpus
                and node["free_cores"] >= cores
                and node["memory"] >= memory
            ):
                tasks.append(self.take(name, node, need))
                if len(tasks) == count:
                    return tasks
        self.free(tasks)
        return None

    def fill(self, random, pattern, packed, percent):
        if pattern == "nodes":
            order = list(range(len(self.names)))
            need, count = NEEDS["node"], len(order) * percent // 100
        else:
            order = [i for i in range(len(self.names)) for _ in range(NODE_GPUS)]
            need, count = NEEDS["gpu"], len(order) * percent // 100
        if not packed:
            random.shuffle(order)
        for i in order[:count]:
            name = self.names[i]
            self.take(name, self.nodes[name], need)
        return need[0] * count

    def taken(self):
        return sum(NODE_GPUS - bin(node["gpus"]).count("1") for node in self.nodes.values())


def newest(cluster, need, count, seconds):
    now = time.perf_counter_ns
    allocating, freeing = [], []
    end = now() + int(seconds * 1e9)
    while len(allocating) < LEAST or now() < end:
        t0 = now()
        tasks = cluster.allocate(need, count)
        t1 = now()
        assert len(tasks) == count
        t2 = now()
        cluster.free(tasks)
        t3 = now()
        allocating.append(t1 - t0)
        freeing.append(t3 - t2)
    return [allocating, freeing]


def refuse(cluster, need, count, seconds):
    now = time.perf_counter_ns
    times = []
    end = now() + int(seconds * 1e9)
    while len(times) < LEAST or now() < end:
        t0 = now()
        tasks = cluster.allocate(need, count)
        t1 = now()
        assert tasks is None
        times.append(t1 - t0)
    return [times, []]


def main(arguments):
    count, percent, pattern, packed, seed, seconds = arguments[:6]
    cluster = Cluster(int(count))
    taken = cluster.fill(Random(int(seed)), pattern, packed == "packed", int(percent))
    for loop in arguments[6:]:
        kind, shape, tasks = loop.split(":")
        measure = newest if kind == "newest" else refuse
        ns = measure(cluster, NEEDS[shape], int(tasks), float(seconds))
        print(json.dumps({"loop": loop, "ns": ns}), flush=True)
    assert cluster.taken() == taken, "what is taken has changed"


if __name__ == "__main__":
    main(sys.argv[1:])
