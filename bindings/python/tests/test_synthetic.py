# SPDX-License-Identifier: Apache-2.0
"""Resampled workloads: users' weeks stay whole, at their times of the week."""

import collections
import random

import pytest

import gangsched as gs

WEEK = 7 * 86400


def trace(seed=5, users=9, weeks=6, named=True):
    draw = random.Random(seed)
    rows = []
    for user in range(users):
        for week in range(weeks):
            for _ in range(draw.choice([0, 1, 5, 20])):
                row = {
                    "submit_s": 3 * WEEK + week * WEEK + draw.randrange(WEEK),
                    "run_s": draw.randrange(10, 9000),
                    "gpu": draw.choice([1, 2, 4]),
                    "count": draw.choice([1, 2]),
                    "start_s": 10 * WEEK,
                    "priority": week + 1,
                }
                rows.append({**row, "user": "u%d" % user} if named else row)
    return gs.Trace(sorted(rows, key=lambda row: row["submit_s"]))


def shape(job):
    """What stays of a job."""
    return (job["submit_s"] % WEEK, job["run_s"], job.get("gpu"), job.get("count"),
            job["priority"], job.get("user"))


@pytest.mark.parametrize("seed", range(5))
def test_users_weeks_stay_whole(seed):
    old = trace()
    streams = collections.defaultdict(collections.Counter)
    for job in old:
        streams[job["user"], job["priority"]][shape(job)] += 1  # the priority tells the week
    new = gs.resample(old, weeks=12, seed=seed)
    drawn = collections.defaultdict(collections.Counter)
    for job in new:
        week, number = job["job"].split("/")[0].split(".")
        assert int(week) == job["submit_s"] // WEEK and "start_s" not in job
        drawn[int(week), int(number)][shape(job)] += 1
    for jobs in drawn.values():
        users = {(one[5], one[4]) for one in jobs}
        assert len(users) == 1 and jobs == streams[users.pop()]
    times = new.column("submit_s")
    assert (times[1:] >= times[:-1]).all() and times.max() < 12 * WEEK


@pytest.mark.parametrize("load", [0.5, 1.0, 2.25])
def test_the_load_is_a_multiple_of_active_users(load):
    old = trace()
    active = len({(job["user"], job["priority"]) for job in old})
    new = gs.resample(old, weeks=40, load=load, seed=1)
    weeks = collections.Counter(
        week for week, _ in {tuple(job["job"].split("/")[0].split(".")) for job in new}
    )
    wanted = load * active / 6
    assert set(weeks.values()) <= {int(wanted), int(wanted) + 1}


def test_a_seed_repeats_a_trace_and_another_differs():
    old = trace()
    assert list(gs.resample(old, seed=3)) == list(gs.resample(old, seed=3))
    assert list(gs.resample(old, seed=3)) != list(gs.resample(old, seed=4))
    last = gs.resample(old).column("submit_s").max()
    assert 5 * WEEK <= last < 6 * WEEK  # as long as the trace


def test_jobs_without_users_keep_their_hour_of_the_week():
    old = trace(named=False)
    known = {shape(job) for job in old}
    new = list(gs.resample(old, weeks=3, seed=2))
    assert new and all(shape(job) in known for job in new)


def test_a_resampled_trace_can_be_simulated_and_wrong_input_is_named():
    old = trace()
    with gs.Cluster.uniform(nodes=2, gpus=8) as cluster:
        assert gs.simulate(cluster, gs.resample(old, weeks=2)).summary()["unfinished"] == 0
    for options in ({"weeks": 0}, {"load": 0}, {"load": float("nan")}, {"week_s": 1}):
        with pytest.raises(gs.InvalidArgument) as error:
            gs.resample(old, **options)
        assert error.value.path == next(iter(options))
    with pytest.raises(gs.InvalidArgument, match="no jobs"):
        gs.resample(gs.Trace())


def test_times_of_nanoseconds():
    jobs = gs.Trace([{"submit_s": 1e6 + 1e-9 * i, "run_s": 60, "user": "u"} for i in range(3)])
    assert "submit_ns" in jobs[1]
    assert len(gs.resample(jobs, seed=1)) == 3
