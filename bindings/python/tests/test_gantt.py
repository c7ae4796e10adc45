# SPDX-License-Identifier: Apache-2.0
"""Gantt charts of many jobs: one image, equal to the picture of single boxes."""

import numpy
import pytest
from matplotlib import pyplot

import gangsched as gs
from gangsched.viz import gantt as charts
from gangsched.viz import lanes, raster


def pixels_of(figure):
    figure.canvas.draw()
    return numpy.asarray(figure.canvas.buffer_rgba())[:, :, :3].astype(int)


def test_a_hundred_thousand_jobs_are_one_image():
    """What matplotlib draws does not grow with the number of jobs."""
    jobs = gs.Trace.from_text(
        "job,submit_s,run_s,count,cpu\n"
        + "".join("j%d,%d,900,%d,1\n" % (i, i, 1 + i % 4) for i in range(100000))
    )
    result = gs.simulate(gs.Cluster.uniform(60, gpus=0), jobs)
    axes = result.gantt(color="user", heat=False)
    axes.figure.canvas.draw()
    drawn = len(axes.images), len(axes.collections), len(axes.patches), len(axes.lines)
    rows, columns = axes.images[0].get_array().shape[:2]
    pyplot.close("all")
    assert len(result.allocations) >= 100000 and drawn == (1, 0, 0, 0), drawn
    assert (columns, rows) == charts.PIXELS


@pytest.mark.parametrize("most, drawn", [(300, (0, 1)), (299, (1, 0))])
def test_the_number_of_boxes_decides_between_boxes_and_an_image(monkeypatch, most, drawn):
    jobs = gs.Trace([{"submit_s": i, "run_s": 900, "gpu": 1} for i in range(300)])
    result = gs.simulate(gs.Cluster.uniform(50), jobs)
    monkeypatch.setattr(charts, "MOST_BOXES", most)
    axes = result.gantt(color="user", heat=False)
    found = len(axes.images), len(axes.collections)
    pyplot.close("all")
    assert found == drawn


def test_an_image_shows_the_same_as_boxes(monkeypatch):
    jobs = [
        {
            "submit_s": 40 * i,
            "run_s": 900 + 130 * (i % 7),
            "gpu": 1 + i % 8,
            "user": "u%d" % (i % 25),
        }
        for i in range(150)
    ]
    result = gs.simulate(gs.Cluster.uniform(4), gs.Trace(jobs))
    monkeypatch.setattr(charts, "MOST_BOXES", 0)
    one = pixels_of(result.gantt(color="user", heat=False).figure)
    monkeypatch.setattr(charts, "MOST_BOXES", 10**6)
    axes = result.gantt(color="user", heat=False)
    axes.collections[0].set(linewidths=0, antialiased=False)
    other = pixels_of(axes.figure)
    pyplot.close("all")
    same = (abs(one - other).sum(axis=2) < 30).mean()
    assert same > 0.98, same
    # Another picture would fail this.
    assert (abs(one - other[::-1]).sum(axis=2) < 30).mean() < 0.9


def test_a_pixel_has_the_code_at_its_centre():
    edge = numpy.array
    image = raster.paint(
        edge([0, 0.5, 0.34]),
        edge([0.5, 1, 0.36]),
        edge([0, 0.5, 0]),
        edge([0.5, 1, 1]),
        edge([1, 2, 9]),
        10,
        4,
    )
    assert (
        image.tolist()
        == [[1, 1, 1, 9, 1, 0, 0, 0, 0, 0]] * 2 + [[0, 0, 0, 9, 0, 2, 2, 2, 2, 2]] * 2
    )


@pytest.mark.parametrize("seed", range(4))
def test_cores_are_the_lowest_that_are_free(seed):
    """Compare with a search through all cores, for rows without duration and without an end as
    well.
    """
    chance = numpy.random.RandomState(seed)
    count = 400
    kind = numpy.dtype([("begin_ns", "i8"), ("end_ns", "i8"), ("cpu_milli", "i8")])
    rows = numpy.zeros(count, dtype=kind)
    rows["begin_ns"] = chance.randint(0, 300, count)
    rows["end_ns"] = rows["begin_ns"] + chance.randint(0, 20, count)
    rows["end_ns"][chance.rand(count) < 0.03] = -(2**63)
    rows["cpu_milli"] = chance.choice([500, 1000, 2500, 7000], count)
    at = chance.randint(0, 3, count)
    found = {}
    for which, low, high in zip(*(part.tolist() for part in lanes._of_cores(rows, at))):
        assert low < high
        found.setdefault(which, set()).update(range(low, high))
    busy = [[], [], []]  # for each node: end, cores
    for i in numpy.argsort(rows["begin_ns"], kind="stable").tolist():
        begin, end, wanted = (
            int(rows["begin_ns"][i]),
            int(rows["end_ns"][i]),
            -(-int(rows["cpu_milli"][i]) // 1000),
        )
        mine = busy[at[i]] = [held for held in busy[at[i]] if held[0] > begin]
        taken = set().union(*(cores for _, cores in mine))
        cores, core = set(), 0
        while len(cores) < wanted:
            if core not in taken:
                cores.add(core)
            core += 1
        assert found[i] == cores
        mine.append((2**63 if end == -(2**63) else end, cores))
