# SPDX-License-Identifier: Apache-2.0
"""Modules import each other in one direction, packages say what they are for, and old names still
work for one version.
"""

import ast
import pickle
import warnings

import pytest

import gangsched as gs


def sources(root):
    """The path and the syntax tree of every module of the package, by dotted name."""
    home = root / "bindings" / "python"
    found = {}
    for path in sorted((home / "gangsched").rglob("*.py")):
        parts = list(path.relative_to(home).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = (path, ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return found


def only_for_types(tree):
    """The nodes below ``if TYPE_CHECKING``: never executed."""
    guards = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {inner for guard in guards for statement in guard.body for inner in ast.walk(statement)}


def targets(node, name, is_package, modules):
    """The modules that one import statement loads."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name in modules]
    base = node.module or ""
    if node.level:
        parts = name.split(".")
        package = parts[: len(parts) - node.level + (1 if is_package else 0)]
        base = ".".join([*package, *([node.module] if node.module else [])])
    if base not in modules:
        return []
    below = [base + "." + alias.name for alias in node.names]
    return [one if one in modules else base for one in below]


def graph(root):
    """Which modules a module imports when it is executed, at its top or inside a function.

    Importing ``a.b.c`` also executes ``a`` and ``a.b``, unless the importer is inside of them.
    """
    modules = sources(root)
    edges = {}
    for name, (path, tree) in modules.items():
        skip = only_for_types(tree)
        loaded = set()
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in skip:
                loaded |= set(targets(node, name, path.name == "__init__.py", modules))
        for target in list(loaded):
            parts = target.split(".")
            loaded |= {
                ".".join(parts[:i])
                for i in range(1, len(parts))
                if not (name + ".").startswith(".".join(parts[:i]) + ".")
            }
        edges[name] = loaded - {name}
    return edges


def circle(edges):
    """One circle as a list of names, or []."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return []
        path.append(name)
        for target in sorted(edges[name]):
            found = visit(target)
            if found:
                return found
        path.pop()
        done.add(name)
        return []

    for name in sorted(edges):
        found = visit(name)
        if found:
            return found
    return []


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == ["a", "b", "c", "a"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_modules_import_each_other_in_a_circle(root):
    edges = graph(root)
    assert len(edges) > 50 and "gangsched.errors" in edges["gangsched.handle"]
    # Imports inside functions count.
    assert "gangsched.sim.forecast" in edges["gangsched.sim.simulation"]
    assert circle(edges) == []


def test_modules_import_names_from_where_they_are_defined(root):
    """A package loads its public names lazily, so that an import from it would hide an edge of the
    graph.
    """
    modules = sources(root)
    wrong = []
    for name, (path, tree) in modules.items():
        lazy = {one for one, (file, _) in modules.items() if file.name == "__init__.py"} - {
            "gangsched.convert"
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node not in only_for_types(tree):
                for target, alias in zip(
                    targets(node, name, path.name == "__init__.py", modules), node.names
                ):
                    if target in lazy and alias.name != "__version__":
                        wrong.append((name, target, alias.name))
    assert wrong == []


def test_each_package_says_what_it_is_for(root):
    packages = [(path, tree) for path, tree in sources(root).values() if path.name == "__init__.py"]
    assert {path.parent.name for path, _ in packages} == {
        "gangsched", "cli", "cluster", "convert", "report", "sim", "viz",
    }
    assert all(len((ast.get_docstring(tree) or "").split()) > 10 for _, tree in packages)


def test_the_map_names_every_module(root):
    text = (root / "bindings" / "python" / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    for name in sources(root):
        leaf = name.rsplit(".", 1)[-1]
        assert "`%s" % leaf in text or "/%s" % leaf in text or leaf == "gangsched", name


# ---- names of the version before -----------------------------------------------------------------


def test_the_old_class_is_an_alias():
    with pytest.warns(DeprecationWarning, match="Session is now Simulation"):
        assert gs.Session is gs.Simulation
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gs.Simulation.__name__ == "Simulation"


@pytest.mark.parametrize(
    "old, name",
    [
        ("allocation", "Allocation"),
        ("forecast", "Forecast"),
        ("plots", "gantt"),
        ("policy", "per_job"),
        ("request", "Request"),
        ("reservations", "Reservation"),
        ("result", "Result"),
        ("snapshot", "Snapshot"),
        ("streamed", "StreamedResult"),
    ],
)
def test_old_module_paths_work(old, name):
    import importlib
    import sys

    sys.modules.pop("gangsched." + old, None)
    with pytest.warns(DeprecationWarning, match="gangsched.%s is now" % old):
        module = importlib.import_module("gangsched." + old)
    assert getattr(module, name).__name__ == name
    if name in gs.__all__:
        assert getattr(module, name) is getattr(gs, name)


@pytest.mark.parametrize(
    "path, name",
    [("sim", "Simulation"), ("sim", "simulate"), ("cluster", "Cluster"), ("report", "html")],
)
def test_packages_have_their_public_names(path, name):
    import importlib

    assert getattr(importlib.import_module("gangsched." + path), name).__name__ == name
    with pytest.raises(AttributeError):
        importlib.import_module("gangsched." + path).nothing_of_this_name


def test_old_attributes_work_with_a_warning():
    cluster = gs.Cluster.uniform(2)
    trace = gs.Trace([{"submit_s": 0, "run_s": 5, "count": 1}])
    with gs.Simulation(cluster, trace, events=True) as simulation:
        info = simulation.run()
        with pytest.warns(DeprecationWarning, match="PlanItem.what"):
            assert gs.PlanItem("start", "a", 0, 1, 0, 0.0, None, (), "").kind == "start"
        with pytest.warns(DeprecationWarning, match="PlanItem.gang"):
            assert gs.PlanItem("start", "a", 0, 1, 0, 0.0, None, (), "").part == 1
        with pytest.warns(DeprecationWarning, match="maximum"):
            simulation.limit_reservations("ada", most={"gpu": 8})
        with pytest.warns(DeprecationWarning, match="Info.stop_reason"):
            assert info.why == "done"
        with pytest.warns(DeprecationWarning, match="Event.gang"):
            assert simulation.events()[0].part == 0
        result = simulation.result()
    with pytest.warns(DeprecationWarning, match="Result.simulation"):
        result.session(1).close()
    with pytest.warns(DeprecationWarning, match="max_jobs"):
        assert len(gs.Trace.from_text(trace.to_text(), "csv", **{"mo" "st": 1})) == 1
    with pytest.warns(DeprecationWarning, match="max_preempted_tasks"):
        gs.Simulation(cluster, **{"max_" "evictions": 3}).close()
    with pytest.warns(DeprecationWarning, match="saturation"):
        gs.Simulation(cluster, **{"saturation_" "milli": 1500}).close()
    with pytest.raises(gs.OutOfRange, match="usage_weight"):
        gs.Simulation(cluster, usage_weight=-0.5)


# ---- words ---------------------------------------------------------------------------------------


def test_members_of_enumerations_are_their_words():
    from gangsched import enums

    state = enums.NodeState.DRAINING
    assert (
        state == "draining"
        and {"draining": 1}[state] == 1
        and "%s %r" % (state, state) == "draining 'draining'"
    )
    assert "{:>10}".format(state) == "  draining" and pickle.loads(pickle.dumps(state)) is state
    assert (
        enums.NodeState.of(gs.lib.GANG_NODE_DOWN) is enums.NodeState.DOWN
        and enums.NodeState.of(77) == "77"
    )
    assert (
        enums.NodeState.number_of("up", "state")
        == enums.NodeState.number_of(enums.NodeState.UP, "state")
        == gs.lib.GANG_NODE_UP
    )
    for wrong in ("gone", 1, None):
        with pytest.raises(
            gs.InvalidArgument, match="state: expected one of up, draining, down"
        ) as caught:
            enums.NodeState.number_of(wrong, "state")
        assert caught.value.path == "state"
    kinds = [
        one
        for one in vars(enums).values()
        if isinstance(one, type) and issubclass(one, enums.Word) and one is not enums.Word
    ]
    assert len(kinds) > 15
    for kind in kinds:
        assert len({member.number for member in kind}) == len(kind) == len(set(kind.words()))


def test_constants_of_the_library_all_have_words():
    from gangsched import enums

    for prefix, kind in (
        ("GANG_END_", enums.JobEnd),
        ("GANG_JOB_", enums.JobState),
        ("GANG_LOSS_", enums.LossPolicy),
    ):
        numbers = {getattr(gs.lib, name) for name in dir(gs.lib) if name.startswith(prefix)}
        assert numbers <= {member.number for member in kind}, prefix


def test_the_old_key_of_explanations_works_with_a_warning():
    waits = gs.cluster.Explanation({"category": "held"})
    with pytest.warns(DeprecationWarning, match="'category'"):
        assert waits["class"] == waits["category"] == "held" and list(waits) == ["category"]


def test_old_keys_work_with_a_warning():
    cluster = gs.Cluster.uniform(4, gpus=8)
    with pytest.warns(DeprecationWarning, match="^'mo" "st_per_node' is now 'max_per_node'$"):
        job = cluster.allocate(count=2, gpu=1, **{"mo" "st_per_node": 1})
    assert len(job.nodes) == 2
    with pytest.warns(DeprecationWarning, match="'turn' is now 'child_order'"):
        gs.Queues({"a": {"turn": "fair", "queues": {"b": {}}}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cluster.allocate(count=2, gpu=1, max_per_node=1)
