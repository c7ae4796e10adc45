# SPDX-License-Identifier: Apache-2.0
"""Trees of queues."""

import json
import pickle

import pytest

import gangsched as gs

NESTED = {
    "research": {"weight": 2, "limit": {"gpu": 64}},
    "prod": {"guaranteed": {"gpu": 32}, "queues": {"web": None, "batch": {"order": "shortest"}}},
}
LIST = [
    {"name": "research", "parent": None, "weight": 2, "limit": {"gpu": 64}},
    {"name": "prod", "parent": None, "guaranteed": {"gpu": 32}},
    {"name": "web", "parent": "prod"},
    {"name": "batch", "parent": "prod", "order": "shortest"},
]


def test_nested_dicts_lists_cases_and_files_are_the_same(tmp_path):
    path = tmp_path / "queues.json"
    path.write_text(json.dumps({"queues": LIST}))
    trees = [
        gs.Queues(source) for source in (NESTED, LIST, {"queues": LIST}, path, path.read_text())
    ]
    trees.append(gs.Queues(trees[0]))
    trees.append(pickle.loads(pickle.dumps(trees[0])))
    assert all(tree == trees[0] and hash(tree) == hash(trees[0]) for tree in trees)


def test_the_tree_is_walked_parents_first():
    tree = gs.Queues(NESTED)
    assert [(depth, queue["name"]) for depth, queue in tree.walk()] == [
        (0, "research"), (0, "prod"), (1, "web"), (1, "batch"),
    ]
    assert tree.leaves == ["research", "web", "batch"] and tree.children("prod") == ["web", "batch"]
    assert (
        tree["batch"] == LIST[3]
        and list(tree) == ["research", "prod", "web", "batch"]
        and len(tree) == 4
    )
    with pytest.raises(KeyError):
        tree["nobody"]


def test_members_beside_the_queues_of_a_tree_are_kept():
    tree = gs.Queues(
        NESTED, default_queue="web", half_life_s=3600, rules=[{"match": "user", "queue": "batch"}]
    )
    assert (
        tree.default_queue == "web"
        and tree.changed("web", weight=3).to_dict()["half_life_s"] == 3600
    )
    assert gs.Queues(tree).to_dict() == tree.to_dict()


def test_changes_make_other_trees():
    tree = gs.Queues(NESTED)
    assert tree.changed("prod", guaranteed={"gpu": 16})["prod"]["guaranteed"] == {"gpu": 16}
    assert "limit" not in tree.changed("research", limit=None)["research"]
    assert tree.added("more", "prod").leaves == ["research", "web", "batch", "more"]
    assert {queue.get("order") for queue in tree.with_all(order="fifo").values()} == {
        "fifo",
        None,
    }
    assert tree == gs.Queues(NESTED)
    with pytest.raises(gs.NotFound):
        tree.changed("nobody")
    with pytest.raises(gs.AlreadyExists):
        tree.added("web")


@pytest.mark.parametrize(
    "source, error, path",
    [
        ({"a": {"limit": {"gpu": -3}}}, gs.OutOfRange, "a.limit.gpu"),
        (
            {"a": {"queues": {"b": {"limit": {"gpu": "x"}}}}},
            gs.InvalidArgument,
            "a.queues.b.limit.gpu",
        ),
        ({"a": {"queues": {"b": 3}}}, gs.InvalidArgument, "a.queues.b"),
        ({"a": {"queues": [1]}}, gs.InvalidArgument, "a.queues"),
        ({"a": {"order": "random"}}, gs.InvalidArgument, "a.order"),
        ({"a": {"colour": 1}}, gs.InvalidArgument, "a.colour"),
        ({"a": 3}, gs.InvalidArgument, "a"),
        ([{"name": "a", "parent": "b"}], gs.NotFound, "queues[0].parent"),
        ([{"name": "a", "parent": "a"}], gs.Cycle, "queues[0].parent"),
        ([{"name": "a"}, {"name": "a"}], gs.AlreadyExists, "queues[1].name"),
        ({"a": {"queues": {"a": {}}}}, gs.AlreadyExists, "a.queues.a.name"),
        ([3], gs.InvalidArgument, ""),
        (3, gs.InvalidArgument, ""),
    ],
)
def test_a_wrong_tree_is_refused_with_its_path(source, error, path):
    with pytest.raises(error) as caught:
        gs.Queues(source)
    assert caught.value.path == path and path in str(caught.value)


def test_a_tree_needs_the_levels_and_kinds_of_a_cluster():
    tree = gs.Queues(
        {"a": {"cells": [{"level": "rack", "count": 1}], "limit": {"licence": 3, "gpu@fast": 8}}}
    )
    with gs.Cluster.uniform(2) as without:
        with pytest.raises(gs.NotFound) as caught:
            tree.case(without._frame())
    assert caught.value.path == "a.limit.licence" or caught.value.path.startswith("a.cells")


def test_text_and_html_show_the_tree():
    tree = gs.Queues(NESTED)
    assert str(tree).splitlines()[:3] == [
        "research  gpu -/-/64  weight 2", "prod      gpu -/32/-", "  web",
    ]
    html = tree._repr_html_()
    assert html.count("<tr>") == 5 and html.count("<svg") == 4 and "http" not in html
    assert "&lt;b&gt;" in gs.Queues({"<b>": {}})._repr_html_()
    assert (
        str(gs.Queues()) == "no queues"
        and gs.Queues()._repr_html_()
        and repr(gs.Queues()) == "<Queues: >"
    )


def test_text_and_html_show_parts_of_the_parent():
    tree = gs.Queues({
        "a": {"guaranteed": {"gpu": {"fraction": 0.5}}, "limit": {"gpu": {"fraction": 0.725}}},
        "b": {"guaranteed": {"cpu": {"weight": 2}}, "limit": {"gpu": 8}},
    })
    assert str(tree).splitlines()[:2] == [
        "a  gpu -/50 %/72.5 %", "b  gpu -/-/8  cpu -/weight 2/-",
    ]
    html = tree._repr_html_()
    assert "guarantee 50 %, limit 72.5 %" in html and "guarantee weight 2" in html


def test_bars_show_usage():
    from gangsched.viz.show import queues_html, queues_text

    use = {"prod": {"gpu": {"used": 16.0, "guarantee": 32.0, "limit": None}}}
    assert "gpu █████░░░░░ 16/32/-" in queues_text(gs.Queues(NESTED), use)
    assert 'width="70.0"' in queues_html(gs.Queues(NESTED), use)
