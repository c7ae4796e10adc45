#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The openb replays beside the published results of the FGD paper (USENIX ATC 2023).

  openb.py [--quick] [--program FILE] [DATA_FOLDER]

DATA_FOLDER is ../shared/data beside the repository by default; PROGRAM is the command line of
build/release, else of build/dev. Every workload with an order of arrival is replayed under every
policy; --quick: one workload and one seed. Published figures must be met exactly:
  - the curves of allocated and fragmented GPUs over the arrived load, each cell of two decimals;
  - of the default workload with seed 42: milli-GPUs allocated, pods rejected, each placement.
"default" must allocate at least as much as fgd, at a load of 100 % and at the end.
"Random" is not reproducible and left out. The last line is "N within tolerance, M outside"; the
exit status is 1 if M > 0, and 2 if something could not be run.
"""
import argparse
import concurrent.futures
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POLICIES = ["first", "best-fit", "dot-product", "gpu-packing", "gpu-clustering", "fgd", "default"]
PUBLISHED = {"best-fit": "BestFit", "dot-product": "DotProd", "gpu-packing": "GpuPacking",
             "gpu-clustering": "GpuClustering", "fgd": "FGD"}
# Totals of the default workload, seed 42, as the README of the data has them.
TOTALS = {"best-fit": (5785450, 2676, None), "dot-product": (5624470, 2874, None),
          "gpu-packing": (5688580, 2794, None), "gpu-clustering": (5686120, 2797, None),
          "fgd": (5919410, 2532, 291361.65)}


def read_curves(folder, name):
    """Published curves by (workload, policy, seed): 131 numbers, or None where there is none."""
    curves = {}
    with gzip.open(os.path.join(folder, f"expected_{name}_discrete.csv.gz"), "rt") as file:
        for row in csv.DictReader(file):
            workload = row["workload"].removeprefix("openb_pod_list_")
            policy = row["sc_policy"].split("-", 1)[1]
            curves[workload, policy, int(row["seed"])] = [
                float(row[str(i)]) if row[str(i)] else None for i in range(131)]
    return curves


def read_orders(folder):
    """(workload, seed) of all orders of arrival, the default workload first."""
    orders = []
    for name in sorted(os.listdir(folder)):
        if name.startswith("order_") and name.endswith(".json.gz"):
            with gzip.open(os.path.join(folder, name), "rt") as file:
                workload = name[len("order_"):-len(".json.gz")]
                orders += [(workload, entry["seed"]) for entry in json.load(file)]
    return sorted(orders, key=lambda o: (o[0] != "default", o))


def replay(program, folder, workload, seed, policy):
    """The JSON object of one replay, and its placements as text."""
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as placements:
        done = subprocess.run(
            [program, "replay", "--format", "openb", "--json", "--policy", policy,
             "--nodes", os.path.join(folder, "openb_node_list_gpu_node.csv"),
             "--tasks", os.path.join(folder, f"openb_pod_list_{workload}.csv.gz"),
             "--order", os.path.join(folder, f"order_{workload}.json.gz"),
             "--seed", str(seed), "--placements", placements.name],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
        return json.loads(done.stdout), placements.read()


class Judge:
    """Counts what agrees, and tells what does not."""

    def __init__(self):
        self.within = self.outside = 0

    def __call__(self, fine, text):
        self.within += bool(fine)
        self.outside += not fine
        if not fine:
            print(f"  OUTSIDE: {text}")

    def curve(self, ours, published, what):
        differ = [i for i, (a, b) in enumerate(zip(ours, published)) if a != b]
        self(not differ, f"{what}: {len(differ)} of {len(ours)} cells differ, the first at "
                         f"{differ[0] if differ else 0} %: "
                         f"{[(ours[i], published[i]) for i in differ[:1]]}")


def compare(judge, folder, key, result, placements, curves):
    workload, seed, policy = key
    published = (workload, PUBLISHED.get(policy), seed)
    what = f"{workload}, seed {seed}, {policy}"
    for name, ours in (("allo", "allocated"), ("frag", "fragmented")):
        if published in curves[name]:
            judge.curve(result[ours], curves[name][published], f"{what}, {ours}")
    if (workload, seed) != ("default", 42) or policy not in PUBLISHED:
        return
    milli, rejected, fragmented = TOTALS[policy]
    judge(result["allocated_gpu_milli"] == milli,
          f"{what}: {result['allocated_gpu_milli']} milli-GPUs instead of {milli}")
    judge(result["rejected"] == rejected,
          f"{what}: {result['rejected']} rejected instead of {rejected}")
    if fragmented is not None:
        judge(result["fragmented_gpu_milli"] == fragmented,
              f"{what}: {result['fragmented_gpu_milli']} fragmented instead of {fragmented}")
    path = os.path.join(folder, f"placement_default_seed42_{PUBLISHED[policy]}.csv.gz")
    if os.path.exists(path):
        with gzip.open(path, "rt") as file:
            theirs, ours = file.read().splitlines(), placements.splitlines()
        differ = sum(a != b for a, b in zip(ours, theirs)) + abs(len(ours) - len(theirs))
        judge(differ == 0, f"{what}: {differ} of {len(theirs) - 1} placements differ")


def compare_default(judge, results):
    for (workload, seed, policy), result in results.items():
        fgd = results.get((workload, seed, "fgd"))
        if policy != "default" or not fgd:
            continue
        what = f"{workload}, seed {seed}: default ({result['policy_used']}) allocates"
        ours, theirs = result["allocated"][100], fgd["allocated"][100]
        if ours is not None:
            judge(ours >= theirs, f"{what} {ours} % at a load of 100 %, fgd {theirs}")
        ours, theirs = result["allocated_gpu_milli"], fgd["allocated_gpu_milli"]
        judge(ours >= theirs, f"{what} {ours} milli-GPUs, fgd {theirs}")


def line(key, result, curves):
    workload, seed, policy = key
    published = curves["allo"].get((workload, PUBLISHED.get(policy), seed))
    at = result["allocated"][100]
    shown = f"{at:.2f}" if at is not None else "-"
    theirs = f"{published[100]:.2f}" if published and published[100] is not None else "-"
    fragmented = result["fragmented"][100]
    print(f"{workload:12} {seed:4} {policy:15} {shown:>10} {theirs:>10} "
          f"{f'{fragmented:.2f}' if fragmented is not None else '-':>10} "
          f"{result['allocated_gpu_milli']:>12,} {result['rejected']:>9,} "
          f"{result['seconds']:>8.2f}")


def find_program():
    for preset in ("release", "dev"):
        program = os.path.join(ROOT, "build", preset, "examples", "gangsched")
        if os.path.exists(program):
            return program
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--program", default=find_program())
    parser.add_argument("data", nargs="?", default=os.path.join(ROOT, "..", "shared", "data"))
    options = parser.parse_args()
    folder = os.path.join(options.data, "openb")
    if not os.path.isdir(folder):
        print(f"skip: no folder {folder}")
        return 0
    if not options.program:
        print("openb.py: the command line is not built", file=sys.stderr)
        return 2
    curves = {name: read_curves(folder, name) for name in ("allo", "frag")}
    orders = read_orders(folder)
    if options.quick:
        orders = orders[:1]
    keys = [(workload, seed, policy) for workload, seed in orders for policy in POLICIES]
    judge, results = Judge(), {}
    print("allocated and fragmented in % of all GPUs at an arrived load of 100 %")
    print(f"{'workload':12} {'seed':>4} {'policy':15} {'allocated':>10} {'published':>10} "
          f"{'fragmented':>10} {'milli-GPUs':>12} {'rejected':>9} {'seconds':>8}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(replay, options.program, folder, *key) for key in keys]
        for key, run in zip(keys, runs):
            try:
                results[key], placements = run.result()
            except RuntimeError as error:
                print(f"openb.py: {key}: {error}", file=sys.stderr)
                for left in runs:
                    left.cancel()
                return 2
            line(key, results[key], curves)
            compare(judge, folder, key, results[key], placements, curves)
    compare_default(judge, results)
    print(f"{judge.within} within tolerance, {judge.outside} outside")
    return 1 if judge.outside else 0


if __name__ == "__main__":
    sys.exit(main())
