# SPDX-License-Identifier: Apache-2.0
"""Sets of numbers as intervals, against Python's own sets; and what jobs hold."""

import csv
import pickle
import random
import re

import numpy
import pytest

import gangsched as gs
from gangsched import IntervalSet

SEED = 20261127


def drawn(draw):
    return frozenset(draw.randrange(40) for _ in range(draw.randrange(25)))


def test_algebra_is_that_of_sets():
    draw = random.Random(SEED)
    for _ in range(500):
        a, b, c = (drawn(draw) for _ in range(3))
        x, y = IntervalSet(a), IntervalSet(sorted(b, reverse=True))
        for mine, theirs in ((x | y, a | b), (x & y, a & b), (x - y, a - b), (x ^ y, a ^ b),
                             (x.union(b, c), a | b | c), (x.intersection(b, c), a & b & c),
                             (x.difference(b, c), a - b - c)):
            assert list(mine) == sorted(theirs) and len(mine) == len(theirs), SEED
            assert mine == IntervalSet(theirs) and hash(mine) == hash(IntervalSet(theirs))
            assert bool(mine) == bool(theirs) and mine.to_numpy().tolist() == sorted(theirs)
        assert (x <= y, x < y, x >= y, x > y, x == y) == (a <= b, a < b, a >= b, a > b, a == b)
        assert x.isdisjoint(b) == a.isdisjoint(b)
        assert [n in x for n in range(-1, 42)] == [n in a for n in range(-1, 42)]


def test_intervals_are_as_few_as_possible():
    draw = random.Random(SEED)
    for _ in range(200):
        numbers = drawn(draw)
        pairs = IntervalSet(numbers).intervals
        assert all(low <= high for low, high in pairs)
        assert all(one[1] + 1 < two[0] for one, two in zip(pairs, pairs[1:]))
        assert IntervalSet(pairs) == IntervalSet(numbers)
    assert IntervalSet([(5, 9), (0, 20), (21, 22), (24, 24)]).intervals == [(0, 22), (24, 24)]


def test_positions_and_slices():
    one = IntervalSet("3-5,9,20-21")
    listed = list(one)
    assert [one[i] for i in range(-6, 6)] == [listed[i] for i in range(-6, 6)]
    for piece in (slice(1, 4), slice(None, -1), slice(4, 2), slice(None, None, 2), slice(-3, None)):
        assert list(one[piece]) == listed[piece]
    with pytest.raises(IndexError):
        one[6]


def test_text_there_and_back():
    one = IntervalSet("7 , 0-3 2-4")
    assert (str(one), one.to_text(" "), repr(one)) == ("0-4,7", "0-4 7", "IntervalSet('0-4,7')")
    assert IntervalSet(str(one)) == one == pickle.loads(pickle.dumps(one)) == IntervalSet(one)
    assert (str(IntervalSet()), repr(IntervalSet(""))) == ("", "IntervalSet()")
    assert len(IntervalSet("0-4611686018427387902")) == 2**62 - 1
    assert IntervalSet(range(3, 9)) == IntervalSet("3-8") and not IntervalSet(range(0))


@pytest.mark.parametrize(
    "given, kind, said",
    [
        ("0-3,x", gs.InvalidArgument, "'x' in '0-3,x'"),
        ("3-1", gs.InvalidArgument, "the last is below the first"),
        ("-1", gs.InvalidArgument, "'-1' in '-1'"),
        ("4611686018427387904", gs.OutOfRange, "below 2^62"),
        ([-1], gs.OutOfRange, "from 0"),
        ([0.5], gs.InvalidArgument, "whole numbers"),
        ([True, False], gs.InvalidArgument, "whole numbers"),
        ([(3, 1)], gs.InvalidArgument, "below its first"),
        ([(1, 2, 3)], gs.InvalidArgument, "pairs"),
        (numpy.array([2**63], dtype=numpy.uint64), gs.OutOfRange, "2^62"),
    ],
)
def test_what_is_no_set_is_refused(given, kind, said):
    with pytest.raises(kind, match=re.escape(said)):
        IntervalSet(given)


def test_an_interval_set_does_not_change():
    one = IntervalSet("0-3")
    with pytest.raises(AttributeError):
        one.colour = 1
    one.to_numpy()[:] = 9
    one.intervals.clear()
    assert str(one) == "0-3" and {one: 1}[IntervalSet(range(4))] == 1


# ---- what jobs hold ------------------------------------------------------------------------------


@pytest.fixture
def result():
    draw = random.Random(SEED)
    cluster = gs.Cluster([{"name": "n%d" % i, "gpus": gpus, "cpus": 16}
                          for i, gpus in enumerate((8, 2, 0, 4))])
    jobs = [
        {"submit_s": i, "run_s": draw.randrange(5, 60), "count": draw.randrange(1, 4),
         "gpu": draw.choice([0, 0.5, 1, 2]), "cpu": 1}
        for i in range(80)
    ]
    return gs.simulate(cluster, gs.Trace(jobs))


def test_sets_of_jobs_are_those_of_their_rows(result):
    gpus, nodes = result.interval_sets(), result.interval_sets("nodes")
    names = list(result.nodes)
    table = result.resources
    assert table.node.tolist() == ["n0"] * 8 + ["n1"] * 2 + ["n3"] * 4
    assert table.device.tolist() == [*range(8), 0, 1, *range(4)]
    assert set(table.node_number) == {0, 1, 3}
    rows = result.allocations
    for i in range(len(result)):
        mine = rows[rows["index"] == i]
        assert set(nodes[i]) == {names.index(name) for name in mine.node}
        held = {(row.node, bit) for row in mine.itertuples() for bit in range(8)
                if row.devices >> bit & 1}
        assert {(table.node[n], table.device[n]) for n in gpus[i]} == held
    assert (gpus.index == result.jobs.index).all()


def test_what_is_free_is_what_is_not_used(result):
    rows = result.allocations
    whole = gs.IntervalSet(range(14))
    for at in (0, 7, 20.5, 55, 1e6):
        there = rows[(rows.begin_s <= at) & (rows.end_s > at)]
        used = IntervalSet().union(*(result.interval_sets()[i] for i in there["index"]))
        assert result.used_at(at) == used  # no job of these moves
        assert result.free_at(at) == whole - used
        assert result.free_at(at, "nodes") == gs.IntervalSet(range(4)) - result.used_at(at, "nodes")
    assert len(result.used_at(20.5)) > 0 and result.free_at(1e6) == whole
    with pytest.raises(gs.InvalidArgument, match="of: .*kind 'gpu'.*gpus"):
        result.interval_sets("gpu")
    bare = gs.simulate(gs.Cluster.uniform(1), gs.Trace([{"submit_s": 0, "run_s": 1}]), record=())
    with pytest.raises(gs.InvalidArgument, match="no allocations"):
        bare.used_at(0)


def test_numbers_are_those_of_batsim(tmp_path):
    jobs = gs.Trace([{"submit_s": i, "run_s": 30, "gpu": gpu, "count": 2}
                     for i, gpu in enumerate((3, 1, 4, 2))])
    result = gs.simulate(gs.Cluster.uniform(3, gpus=6), jobs)
    result.to_batsim(tmp_path / "jobs.csv")
    with open(tmp_path / "jobs.csv", newline="", encoding="utf-8") as file:
        written = [row["allocated_resources"] for row in csv.DictReader(file)]
    assert [one.to_text(" ") for one in result.interval_sets()] == written and written[0]
    assert [IntervalSet(text) for text in written] == result.interval_sets().tolist()


def test_a_time_may_be_a_date():
    jobs = gs.Trace([{"submit_s": "2026-01-05 09:00", "run_s": 60, "gpu": 3}])
    result = gs.simulate(gs.Cluster.uniform(1), jobs)
    assert str(result.used_at("2026-01-05 09:00:30")) == "0-2"
    assert not result.used_at("2026-01-05 09:01")
