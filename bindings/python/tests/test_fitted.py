# SPDX-License-Identifier: Apache-2.0
"""Workloads of a fitted model have the statistics of the trace. All draws have fixed seeds."""

import pickle

import numpy
import pandas
import pytest

import gangsched as gs
from gangsched.fitted import size_of

HOUR = 3600.0


def seen(weeks=8, seed=20261127, burst=0.0):
    """Three jobs an hour by night, twelve by day; ann has small short jobs, bob wide long ones."""
    draw = numpy.random.default_rng(seed)
    jobs = []
    for hour in range(weeks * 168):
        rate = 12.0 if 8 <= hour % 24 < 20 and hour % 168 < 120 else 3.0
        if burst:
            rate *= draw.gamma(1 / burst, burst)
        for _ in range(draw.poisson(rate)):
            wide = draw.random() < 0.2
            run = draw.lognormal(8 if wide else 5, 0.7)
            jobs.append({
                "submit_s": (hour + draw.random()) * HOUR, "run_s": round(run, 3),
                "gpu": 8 if wide else 1, "count": 4 if wide else 1, "user": "bob" if wide else "ann",
                "queue": "q",
                "time_limit_s": 4 * round(run, 3),
            })
    return gs.Trace(jobs, epoch="2026-01-05")


@pytest.fixture(scope="module")
def trace():
    return seen()


@pytest.fixture(scope="module")
def model(trace):
    return gs.fit_workload(trace)


@pytest.fixture(scope="module")
def made(model):
    return model.generate(weeks=30, seed=5)


def hourly(trace):
    return numpy.bincount((trace.column("submit_s") // HOUR).astype(int))


def test_the_model_tells_what_was_fitted(trace, model):
    table = trace.to_dataframe()
    assert model.rates.shape == (168,)
    assert model.rates.sum() == pytest.approx(len(trace) / 8, rel=0.01)
    assert model.rates[12] == pytest.approx(hourly(trace)[12::168].mean())
    assert model.sizes.gpus.tolist() == [1, 32]
    wide = table.gpus == 32
    assert model.sizes.fraction.tolist() == pytest.approx([1 - wide.mean(), wide.mean()])
    assert model.sizes.run_s_p90[1] == pytest.approx(numpy.percentile(table.run_s[wide], 90))
    assert model.users.to_dict() == pytest.approx(table.user.value_counts(normalize=True).to_dict())
    assert "2 users, 2 sizes" in repr(model)
    model.rates[:] = 0
    assert model.rates.sum() > 0


def test_arrivals_follow_the_hours_of_the_week(trace, model, made):
    assert len(made) / 30 == pytest.approx(len(trace) / 8, rel=0.03)
    by_hour = hourly(made)[: 30 * 168].reshape(30, 168).mean(axis=0)
    assert numpy.corrcoef(by_hour, model.rates)[0, 1] > 0.97
    day = numpy.array([8 <= hour % 24 < 20 and hour < 120 for hour in range(168)])
    assert by_hour[day].mean() == pytest.approx(12, rel=0.05)
    assert by_hour[~day].mean() == pytest.approx(3, rel=0.05)


def test_the_mix_and_the_run_times_are_those_of_the_trace(trace, made):
    was, now = trace.to_dataframe(), made.to_dataframe()
    for size in (1, 32):
        assert (now.gpus == size).mean() == pytest.approx((was.gpus == size).mean(), abs=0.01)
        mine, theirs = (numpy.log(table.run_s[table.gpus == size]) for table in (now, was))
        # the largest difference between the two distributions (Kolmogorov and Smirnov)
        points = numpy.sort(theirs)
        apart = numpy.abs(
            numpy.searchsorted(numpy.sort(mine), points, side="right") / len(mine)
            - numpy.arange(1, len(points) + 1) / len(points)
        ).max()
        assert apart < 0.02
    assert set(now.user[now.gpus == 32]) == {"bob"} and set(now.queue) == {"q"}
    assert len(set(now.run_s) & set(was.run_s)) < 0.1 * len(now)  # no copies
    assert (now.time_limit_s >= now.run_s).all()
    assert (now.time_limit_s <= 4 * now.run_s + 1e-6).all()


@pytest.mark.parametrize("burst", [0.0, 0.5])
def test_bursts_are_as_heavy_as_in_the_trace(burst):
    model = gs.fit_workload(seen(weeks=20, burst=burst))
    assert model.dispersion == pytest.approx(burst, abs=0.06)
    counts = hourly(model.generate(weeks=60, seed=3))[: 60 * 168].reshape(60, 168)
    mean = counts.mean(axis=0)
    extra = (counts.var(axis=0, ddof=1) - mean).sum() / (mean ** 2).sum()
    assert extra == pytest.approx(burst, abs=0.08)


def test_seed_load_and_length(model):
    one = model.generate(weeks=2, seed=1)
    assert one.to_text("jsonl") == model.generate(weeks=2, seed=1).to_text("jsonl")
    assert one.to_text("jsonl") != model.generate(weeks=2, seed=2).to_text("jsonl")
    assert pickle.loads(pickle.dumps(model)).generate(weeks=2, seed=1).to_text() == one.to_text()
    twice = model.generate(weeks=2, load=2, seed=1)
    assert len(twice) / len(one) == pytest.approx(2, rel=0.1)
    submitted = model.generate(weeks=0.1, load=50, seed=1).column("submit_s")
    assert 0.99 < submitted.max() / (0.1 * 168 * HOUR) <= 1 and (numpy.diff(submitted) >= 0).all()
    assert one.epoch == pandas.Timestamp("2026-01-05")
    assert model.generate(epoch="2027-01-04").epoch == pandas.Timestamp("2027-01-04")


def test_a_generated_workload_runs(model):
    result = gs.simulate(gs.Cluster.uniform(16), model.generate(weeks=0.2, seed=1), {"q": {}})
    assert result.summary()["jobs"] == len(result) > 100


def test_members_stay_and_what_was_recorded_goes():
    jobs = gs.Trace([
        {"submit_s": 0, "run_s": 60, "gpu": 0.5, "gpu_devices": 2, "gpu_models": ["A", "B"],
         "priority": 3, "min": 1, "count": 2, "start_s": 5, "end": "failed"},
        {"submit_s": 7200, "run_s": 90, "time_limit_s": 90, "tasks": [
            {"name": "x", "count": 2, "cpu": 1.5}, {"name": "y", "count": 1, "cpu": 3}]},
    ])
    assert [size_of(job) for job in jobs] == [("gpus", 2.0), ("cpus", 6.0)]
    made = list(gs.fit_workload(jobs).generate(seed=1))
    shares = [job for job in made if "gpu" in job]
    others = [job for job in made if "gpu" not in job]
    assert shares and others
    for job in shares:
        assert (job["run_s"], job["priority"], job["gpu_devices"], job["min"]) == (60, 3, 2, 1)
        assert "start_s" not in job and "end" not in job and "time_limit_s" not in job
    for job in others:
        assert (job["run_s"], job["time_limit_s"], len(job["tasks"])) == (90, 90, 2)


def test_a_short_trace_fills_the_hours_that_it_lacks():
    jobs = gs.Trace([{"submit_s": 600 * i, "run_s": 60} for i in range(6 * 30 + 1)])  # thirty hours
    rates = gs.fit_workload(jobs).rates
    assert rates == pytest.approx(6, abs=1)
    single = gs.fit_workload(gs.Trace([{"submit_s": 5, "run_s": 60}]))
    assert numpy.isfinite(single.rates).all()


@pytest.mark.parametrize(
    "options", [{"weeks": 0}, {"load": 0}, {"load": float("inf")}, {"seed": -1}, {"seed": 0.5}]
)
def test_what_is_out_of_range_is_named(model, options):
    with pytest.raises(gs.InvalidArgument, match=next(iter(options))):
        model.generate(**options)


def test_no_jobs_no_model():
    with pytest.raises(gs.InvalidArgument, match="no jobs"):
        gs.fit_workload(gs.Trace())
