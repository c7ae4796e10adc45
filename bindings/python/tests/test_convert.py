# SPDX-License-Identifier: Apache-2.0
"""Inputs, formats, merging, command line of gangsched.convert; it raises only ConvertError."""
from __future__ import annotations

import copy
import importlib
import io
import json
import pathlib
import subprocess
import sys
from typing import Any, List, Sequence

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from convert_support import DATA, ROOT, check, cli, data, nodes, run, texts
from gangsched import convert as package
from gangsched.convert import FORMATS, Converted, ConvertError, convert, detect, main

FORMAT_OF = {
    "capacity-percent.xml": "capacity-scheduler", "capacity-absolute.xml": "capacity-scheduler",
    "capacity-weights.xml": "capacity-scheduler", "capacity-labels.xml": "capacity-scheduler",
    "yarn-site.xml": "yarn-site", "fair-scheduler.xml": "fair-scheduler",
    "fair-scheduler-full.xml": "fair-scheduler", "tony.xml": "tony", "slurm.conf": "slurm",
    "gres.conf": "gres", "topology.conf": "topology", "topology-block.conf": "topology",
    "nvidia-topo.txt": "nvidia-topo", "kubernetes-nodes.json": "kubernetes",
    "kueue.yaml": "kubernetes", "volcano.yaml": "kubernetes",
    "training-operator.yaml": "kubernetes", "podgroup.yaml": "kubernetes",
    "sacctmgr-assoc.txt": "assoc", "sacctmgr-dump.cfg": "assoc", "train.sbatch": "sbatch",
    "node-labels.txt": "node-labels",
}

#: Files that belong together. They are converted, and mutated below.
SETS = [
    ("capacity-labels.xml", "node-labels.txt"),
    ("slurm.conf", "gres.conf", "topology.conf", "sacctmgr-assoc.txt", "train.sbatch"),
    ("slurm.conf", "sacctmgr-dump.cfg"),
    ("capacity-percent.xml", "yarn-site.xml"),
    ("capacity-absolute.xml",),
    ("capacity-weights.xml",),
    ("capacity-labels.xml",),
    ("fair-scheduler.xml",),
    ("fair-scheduler-full.xml", "yarn-site.xml"),
    ("tony.xml",),
    ("slurm.conf", "gres.conf", "topology.conf"),
    ("topology-block.conf",),
    ("nvidia-topo.txt",),
    ("kubernetes-nodes.json", "kueue.yaml"),
    ("kubernetes-nodes.json", "volcano.yaml"),
    ("training-operator.yaml",),
    ("podgroup.yaml",),
]


def test_every_input_file_is_in_the_lists() -> None:
    assert sorted(path.name for path in DATA.iterdir()) == sorted(FORMAT_OF)
    assert {name for some in SETS for name in some} == set(FORMAT_OF)


@pytest.mark.parametrize("name", sorted(FORMAT_OF))
def test_formats_are_detected(name: str) -> None:
    assert detect((DATA / name).read_text()) == FORMAT_OF[name]


@pytest.mark.parametrize(
    "text", ["", "   ", "hello", "a: b\n", "<html/>", "{}", "[1, 2]", "\x7fELF", "x = y z\n1"]
)
def test_unknown_formats_are_refused(text: str) -> None:
    with pytest.raises(ConvertError):
        convert(text.encode())


@pytest.mark.parametrize("names", SETS)
def test_the_library_reads_converted_scenarios(names: Sequence[str]) -> None:
    check(data(*names).scenario)


def test_inputs_are_paths_text_bytes_and_files() -> None:
    path = DATA / "fair-scheduler.xml"
    expected = convert(path).scenario
    assert convert(str(path)).scenario == expected
    assert convert(path.read_text()).scenario == expected
    assert convert(path.read_bytes()).scenario == expected
    assert convert(b"\xef\xbb\xbf" + path.read_bytes()).scenario == expected
    assert convert(path.read_text().encode("utf-16")).scenario == expected
    assert convert(path.read_text().replace("\n", "\r\n")).scenario == expected
    with open(path, encoding="utf-8") as file:
        assert convert(file).scenario == expected
    assert convert(io.BytesIO(path.read_bytes())).scenario == expected
    latin = path.read_text().replace('version="1.0"', 'version="1.0" encoding="iso-8859-1"')
    latin = latin.replace("weights", "w\xe4ights")
    assert convert(latin.encode("latin1")).scenario == expected
    with pytest.raises(TypeError):
        convert(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        convert()
    with pytest.raises(ValueError, match="format: one of"):
        convert(path, format="yaml")


def test_a_missing_file() -> None:
    with pytest.raises(ConvertError, match="^/no/such/file.xml: No such file"):
        convert("/no/such/file.xml")


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(ConvertError, match="not text in utf-8"):
        convert(b"<configuration>\xff</configuration>")
    with pytest.raises(ConvertError, match="an unsupported encoding"):
        convert(b"<?xml version='1.0' encoding='ebcdic-cp-us'?><configuration/>")


def test_format_can_be_given() -> None:
    text = "NodeName=n1 Type=a100 Name=gpu Count=2\n"
    for form in (None, "slurm", "gres"):
        assert convert(text, format=form).scenario["nodes"][0]["gpus"] == 2
    with pytest.raises(
        ConvertError, match="not a property|not an element|syntax error|not well-formed"
    ):
        convert(text, format="tony")


def test_queues_nodes_and_jobs_of_three_systems() -> None:
    converted = data(
        "capacity-percent.xml", "nvidia-topo.txt", "kubernetes-nodes.json", "training-operator.yaml"
    )
    scenario = converted.scenario
    assert list(scenario) == [
        "levels", "kinds", "nodes", "queues", "default_queue", "rules", "jobs",
    ]
    assert converted.formats["nvidia-topo.txt"] == "nvidia-topo"
    assert "no node has 4 GPUs" in texts(converted)
    for each in scenario["queues"]:
        each.pop("submit_acl", None)
    check(scenario)


def test_scenarios_are_completed() -> None:
    world = nodes(2, cpus=8, mem_mib=1024)
    again = json.dumps(
        {
            "nodes": [{"name": "n0", "labels": {"a": "b"}, "topology": {"rack": "r"}}],
            "levels": ["rack"],
        }
    )
    scenario = convert(json.dumps(world), again).scenario
    assert scenario["nodes"][0] == {"name": "n0", "cpus": 8, "mem_mib": 1024, "labels": {"a": "b"},
                                    "topology": {"rack": "r"}}
    assert "labels" not in scenario["nodes"][1]
    with pytest.raises(ConvertError, match='node "n0": mem_bytes here, mem_mib elsewhere'):
        convert(json.dumps(world), json.dumps({"nodes": [{"name": "n0", "mem_bytes": 4096}]}))
    with pytest.raises(ConvertError, match='node "n0": cpus: "9" here, "8" elsewhere'):
        convert(json.dumps(world), json.dumps({"nodes": [{"name": "n0", "cpus": 9}]}))
    with pytest.raises(ConvertError, match="queue \"a\" is there twice, and differs"):
        convert('{"queues": [{"name": "a"}]}', '{"queues": [{"name": "a", "weight": 2}]}')
    with pytest.raises(ConvertError, match="another order"):
        convert('{"levels": ["a", "b"]}', '{"levels": ["b", "a"]}')


def test_devices_of_one_file_and_their_number_in_another() -> None:
    number = '{"nodes": [{"name": "n", "gpus": 2, "gpu_model": "A100", "gpu_mem_mib": 40960}]}'
    listed = '{"nodes": [{"name": "n", "devices": [{"pci": "0"}, {"model": "V100"}]}]}'
    expected = [
        {"pci": "0", "model": "A100", "mem_mib": 40960},
        {"model": "V100", "mem_mib": 40960},
    ]
    for inputs in ((number, listed), (listed, number)):
        scenario = convert(*inputs).scenario
        assert scenario["nodes"] == [{"name": "n", "devices": expected}]
        check(scenario)
    with pytest.raises(ConvertError, match="another number of GPUs"):
        convert(listed, '{"nodes": [{"name": "n", "gpus": 3}]}')


def test_jobs_without_a_queue() -> None:
    converted = data("podgroup.yaml", "tony.xml")
    assert [job["queue"] for job in converted.scenario["jobs"]] == ["default"] * 3 + ["vision"]
    assert "names no queue, nor do 2 others: they are in queue default" in texts(converted)
    check(converted.scenario)


def test_converted_is_the_same_each_time() -> None:
    for names in SETS:
        assert data(*names).json() == data(*names).json()


def test_errors_and_warnings_are_plain_objects() -> None:
    import pickle
    error = pickle.loads(pickle.dumps(ConvertError("a: b", "c")))
    assert (str(error), error.place, error.reason) == ("a: b: c", "a: b", "c") and isinstance(
        error, ValueError
    )
    warning = data("tony.xml").warnings[0]
    assert str(warning) == "%s: %s" % (warning.place, warning.text)
    assert set(package.__all__) == {
        "FORMATS", "ConvertError", "ConvertWarning", "Converted", "convert", "detect", "main"}
    assert len(FORMATS) == 14


# ---- the command line -------------------------------------------------------------------------


def test_command_line(tmp_path: pathlib.Path, capsys: Any) -> None:
    assert main([str(DATA / "slurm.conf"), str(DATA / "gres.conf")]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["nodes"][0]["name"] == "gpu01"
    assert "warning: slurm.conf:23: LLN: no counterpart" in err
    path = tmp_path / "out.json"
    assert main([str(DATA / "tony.xml"), "-q", "-o", str(path)]) == 0
    assert capsys.readouterr() == ("", "") and json.loads(path.read_text())["jobs"]
    assert main([str(DATA / "tony.xml"), "--format", "slurm"]) == 1
    assert capsys.readouterr()[1].startswith("error: tony.xml:1: not Key=Value")
    assert main(["<configuration/>"]) == 1
    assert main([str(DATA / "tony.xml"), "-o", str(tmp_path / "no" / "out.json")]) == 1
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2


def test_command_line_reads_standard_input() -> None:
    code = "import sys; from gangsched.convert import main; sys.exit(main(['-q', '-']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=(DATA / "tony.xml").read_bytes(),
        stdout=subprocess.PIPE,
        cwd=str(ROOT / "bindings" / "python"),
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["jobs"][0]["name"] == "mnist"


def test_importing_convert_imports_no_yaml() -> None:
    code = "import sys, gangsched.convert; sys.exit('yaml' in sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code], cwd=str(ROOT / "bindings" / "python"), timeout=60, check=True
    )


# ---- nothing but ConvertError -----------------------------------------------------------------

QUIET = settings(max_examples=200, deadline=None, database=None, print_blob=True,
                 suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def attempt(texts_: Sequence[Any], **more: Any) -> Any:
    """Convert, or return None for a refusal; any other exception fails the test."""
    try:
        converted = convert(*texts_, **more)
    except ConvertError as error:
        assert error.place and error.reason
        return None
    json.loads(converted.json())
    return converted


@QUIET
@given(st.text() | st.binary(), st.sampled_from(FORMATS + (None,)))
def test_garbage(text: Any, form: Any) -> None:
    if isinstance(text, str):
        text += "\n"  # text, not a path
    attempt([text], format=form)


TEXTS = {name: (DATA / name).read_text() for name in FORMAT_OF}
#: Words that mean something in some format.
WORDS = [
    "0", "-1", "1e9", "99999999999999999999", "NaN", "w", "%", "[", "]", "[memory=1,vcores=2]",
    "0w", "3.33w", "100", "root", "root.a", "a,b", ",", "=", ":", "*", " ", "\n", "\t", "\\", '"',
    "'", "${x}", "${yarn.acl.enable}", "null", "true", "{", "}", "{}", "[]", "- ", "&a ", "*a", "<",
    ">", "</", "<!DOCTYPE x>", "&#0;", "\u2028", "\ud800", "NV9", "SYS", "GPU0", "n[1-3]", "n[1-",
    "gpu:8", "gpu:0", "1-0", "UNLIMITED", "DEFAULT", "ALL", "Ki", "500m", "1Ei", "capacity",
    "queues", "default", "gpu", "node", "name",
]


@st.composite
def mutated(draw: Any, text: str) -> str:
    """A good file with parts left out, doubled, exchanged, or replaced."""
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.integers(0, 5))
        if kind == 0:  # drop, double or move a line
            lines = text.split("\n")
            at = draw(st.integers(0, len(lines) - 1))
            to = draw(st.integers(0, len(lines) - 1))
            less = draw(st.booleans())
            text = "\n".join(
                lines[:at] + lines[at + 1 :] if less else lines[:to] + [lines[at]] + lines[to:]
            )
            continue
        low = draw(st.integers(0, len(text)))
        high = min(len(text), low + draw(st.integers(0, 12)))
        if kind in (1, 2):  # replace a number or a value
            places = [i for i, letter in enumerate(text) if letter.isdigit() or letter in ">=:"]
            if places:
                low = draw(st.sampled_from(places)) + (0 if kind == 1 else 1)
                high = low + (1 if kind == 1 else draw(st.integers(0, 6)))
        piece = draw(st.sampled_from(WORDS) | st.text(max_size=4)) if kind != 3 else ""
        text = text[:low] + piece + text[high:]
    return text


@st.composite
def mutated_sets(draw: Any) -> List[str]:
    names = draw(st.sampled_from(SETS))
    victim = draw(st.integers(0, len(names) - 1))
    return [
        draw(mutated(TEXTS[name])) if i == victim else TEXTS[name] for i, name in enumerate(names)
    ]


@settings(parent=QUIET, max_examples=600)
@given(mutated_sets(), st.sampled_from([None, None, None, *FORMATS]))
def test_mutations_of_good_files(given_: List[str], form: Any) -> None:
    attempt([text + "\n" for text in given_], format=form)


yaml: Any = importlib.import_module("yaml")
DOCUMENTS = {
    name: [json.loads(TEXTS[name])]
    if name.endswith(".json")
    else list(yaml.safe_load_all(TEXTS[name]))
    for name in FORMAT_OF
    if FORMAT_OF[name] == "kubernetes"
}
VALUES: List[Any] = [
    None,
    True,
    0,
    1,
    -1,
    2.5,
    10**20,
    1e308,
    "",
    "x",
    "5",
    "-5",
    "1Gi",
    "a" * 300,
    "\x01",
    "node",
    [],
    {},
    [1],
    ["a"],
    [None],
    {"a": 1},
    {"name": "x"},
    [[]],
]


def places(value: Any) -> List[Any]:
    """Every (container, key) of a document."""
    out: List[Any] = []
    todo = [value]
    while todo:
        at = todo.pop()
        keys = (
            list(at)
            if isinstance(at, dict)
            else list(range(len(at)))
            if isinstance(at, list)
            else []
        )
        out += [(at, key) for key in keys]
        todo += [at[key] for key in keys]
    return out


@st.composite
def mutated_documents(draw: Any) -> List[Any]:
    """Manifests with changed values, changed types, missing and repeated parts."""
    documents = copy.deepcopy(DOCUMENTS[draw(st.sampled_from(sorted(DOCUMENTS)))])
    for _ in range(draw(st.integers(1, 3))):
        found = places(documents)
        if not found:
            break
        at, key = draw(st.sampled_from(found))
        if draw(st.booleans()):
            at[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif draw(st.booleans()):
            del at[key]
        elif isinstance(at, list):
            at.append(copy.deepcopy(at[key]))
        else:
            at[draw(st.sampled_from(["name", "spec", "kind", "gpu", "x"]))] = at.pop(key)
    return documents


@settings(parent=QUIET, max_examples=400)
@given(mutated_documents())
def test_values_of_other_types_in_manifests(documents: List[Any]) -> None:
    inputs = [json.dumps(document) + "\n" for document in documents]
    note("\n".join(inputs))
    if inputs:
        attempt(inputs, format="kubernetes")


@settings(parent=QUIET, max_examples=25)
@given(st.lists(mutated_sets(), min_size=12, max_size=12))
def test_the_library_reads_converted_mutations(several: List[List[str]]) -> None:
    """The strict reader and the checks of the scheduler accept all results of the converters."""
    cli()
    found = [(some, attempt([text + "\n" for text in some])) for some in several]
    cases: List[Converted] = []
    for some, converted in found:
        if converted is not None:
            note("\n=====\n".join(some))
            cases.append(converted)
    if cases:
        assert len(run("validate", *(one.scenario for one in cases), options=["--json"])) == len(
            cases
        )


def test_deep_nesting() -> None:
    for text in (
        "[" * 100000,
        '{"kind": "Pod", "spec": ' + "[" * 100000,
        "kind: Pod\nspec: " + "[" * 20000,
        "<configuration>" + "<a>" * 100000,
        "kind: Pod\nspec: " + "{a: " * 20000,
    ):
        with pytest.raises(ConvertError):
            convert(text.encode())


def test_long_numbers() -> None:
    for number in ("9" * 5000, "1e999999999", "1" * 31, "0x" + "f" * 5000):
        for text in (
            "kind: Node\nmetadata: {name: a}\nstatus: {capacity: {cpu: %s}}\n" % number,
            '{"kind": "Node", "metadata": {"name": "a"}, "status": {"capacity": {"cpu": "%s"}}}'
            % number,
            '{"kind": "PodGroup", "metadata": {"name": "a"}, "spec": {"minMember": %s}}' % number,
            "NodeName=n CPUs=%s\nClusterName=c\n" % number,
        ):
            with pytest.raises(ConvertError):
                convert(text)


def test_messages_name_text_by_its_usual_file():
    made = convert(
        "ClusterName=x\nNodeName=n1 CPUs=4 RealMemory=100\n",
        b"Name=gpu File=/dev/nvidia0\n",
        '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}, "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}}',
        '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "b"}, "status": {"capacity": {"cpu": "4", "memory": "1Gi"}}}',
    )
    assert made.formats == {
        "slurm.conf (text)": "slurm", "gres.conf (text)": "gres", "manifest (text)": "kubernetes",
        "manifest (text 2)": "kubernetes",
    }
    with pytest.raises(ConvertError) as caught:
        convert("NodeName=n1 CPUs=4\nNodeName=n1 CPUs=4\n", format="slurm")
    assert str(caught.value).startswith("slurm.conf (text):2: ")
    with pytest.raises(ConvertError) as caught:
        convert("what\nis this")
    assert str(caught.value).startswith("<input 1>: unknown format")
