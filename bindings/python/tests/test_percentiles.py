# SPDX-License-Identifier: Apache-2.0
"""Percentiles are those of numpy.percentile(), with its default method."""

import math
import random

import numpy
import pytest

import gangsched as gs
from gangsched.goals import quantile
from gangsched.report.tables import groups

PERCENTS = (50, 90, 95, 99)


def jobs_of(count, seed=20261127):
    draw = random.Random(seed)
    return gs.Trace(
        {"submit_s": i, "run_s": draw.randrange(1, 999), "gpu": 8, "queue": "q"}
        for i in range(count)
    )


@pytest.mark.parametrize("count", [1, 2, 3, 10, 101])
def test_a_summary_has_the_percentiles_of_numpy(count):
    result = gs.simulate(gs.Cluster.uniform(1), jobs_of(count), {"q": {}}, policy="sjf")
    summary = result.summary()
    for name in ("wait_s", "jct_s", "slowdown"):
        for percent in PERCENTS:
            expected = numpy.percentile(result.column(name), percent)
            assert summary[name]["p%d" % percent] == pytest.approx(expected, rel=1e-15), name


def test_the_page_shows_the_percentile_of_the_summary():
    result = gs.simulate(gs.Cluster.uniform(1), jobs_of(10), {"q": {}})
    waits = result.column("wait_s")
    assert numpy.percentile(waits, 99) < waits.max() - 1  # the nearest rank is the maximum
    from gangsched.report.words import span

    assert span(numpy.percentile(waits, 99)) in groups(result, "queue")


@pytest.mark.parametrize("samples", [1, 2, 4, 7])
def test_a_forecast_has_the_quantiles_of_numpy(samples):
    runs = [60.0 * 2**sample for sample in range(samples)]
    with gs.Simulation(gs.Cluster.uniform(1)) as simulation:
        simulation.submit(gpu=8, run_s=1)
        waits = simulation.submit(gpu=8, run_s=1)
        simulation.run(until_s=0)
        found = simulation.forecast(
            samples=samples, low=0.2, high=0.7, run_time=lambda job, sample, draw: runs[sample]
        ).run()
    (row,) = [row for row in found if row.job == waits]
    for got, fraction in ((row.low_s, 0.2), (row.start_s, 0.5), (row.high_s, 0.7)):
        assert got == pytest.approx(numpy.quantile(runs, fraction), abs=1e-6)


def test_a_quantile_next_to_a_sample_without_a_start_is_none():
    with gs.Simulation(gs.Cluster.uniform(1)) as simulation:
        simulation.submit(gpu=8, run_s=1)
        simulation.submit(gpu=8, run_s=1)
        simulation.run(until_s=0)
        found = simulation.forecast(
            samples=4, run_time=lambda job, sample, draw: None if sample == 3 else 10.0 * sample + 1
        ).run()
    assert found[0].samples == 3
    assert found[0].start_s == 16.0 and found[0].high_s is None


def test_quantiles_of_repeated_values_are_those_of_the_repeated_array():
    draw = numpy.random.default_rng(20261127)
    for _ in range(300):
        values = numpy.sort(draw.integers(0, 50, draw.integers(1, 12)).astype(float))
        counts = draw.integers(0, 4, len(values))
        if not counts.sum():
            continue
        fraction = draw.random()
        assert quantile(values, fraction) == pytest.approx(numpy.quantile(values, fraction))
        assert quantile(values, fraction, numpy.cumsum(counts)) == pytest.approx(
            numpy.quantile(numpy.repeat(values, counts), fraction)
        )


def test_quantiles_of_infinite_values_are_numbers():
    inf = math.inf
    assert quantile(numpy.array([1.0, 2.0, inf]), 0.5) == 2.0
    assert quantile(numpy.array([1.0, 2.0, inf]), 0.75) == inf
    assert quantile(numpy.array([-inf, 2.0]), 0.9) == -inf
    assert quantile(numpy.array([-inf, inf]), 0.25) == -inf
    assert quantile(numpy.array([-inf, inf]), 0.75) == inf
    assert quantile(numpy.array([inf, inf]), 0.75) == inf
