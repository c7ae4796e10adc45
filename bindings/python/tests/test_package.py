# SPDX-License-Identifier: Apache-2.0
"""The whole package: reachable names, import time, building and installing offline."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gangsched


def exported(root):
    lines = (root / "lib" / "exports.list").read_text().splitlines()
    return {line.strip() for line in lines if line.startswith("gang_")}


def in_a_process(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True
    )


def test_every_exported_function_is_reachable(root):
    assert len(exported(root)) > 100
    missing = {name for name in exported(root) if not callable(getattr(gangsched.lib, name, None))}
    assert missing == set()


def test_the_extension_declares_only_exported_functions(root):
    extra = {name for name in dir(gangsched.lib) if re.match("gang_(?!.*_init$)", name)} - exported(
        root
    )
    assert extra == set()


def test_every_struct_has_its_initialiser(root):
    wanted = set()
    for header in (root / "include" / "gangsched").glob("*.h"):
        wanted |= {
            name.lower() for name in re.findall(r"#define\s+(GANG_\w+_INIT)\b", header.read_text())
        }
    assert len(wanted) > 20
    assert {name for name in wanted if not hasattr(gangsched.lib, name)} == set()
    for name in wanted - {"gang_gpu_spec_init", "gang_sim_distribution_init"}:
        struct = getattr(gangsched.lib, name)
        assert struct.size == gangsched.ffi.sizeof(struct), name


def test_constants_are_those_of_the_headers():
    lib = gangsched.lib
    assert (lib.GANG_OK, lib.GANG_ENEVER, lib.GANG_ECLOSED) == (0, -9, -17)
    assert (lib.GANG_UNLIMITED, lib.GANG_TRACE_UNKNOWN, lib.GANG_MAX_AMOUNT) == (
        -1,
        -(2**63),
        2**40 - 1,
    )
    assert gangsched.ffi.string(lib.GANG_LEVEL_ISLAND) == b"island"


def test_each_constant_of_each_enum_is_reachable(root):
    names = set()
    for header in (root / "include" / "gangsched").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for body in re.findall(r"enum\s*{([^}]*)}", text):
            names |= set(re.findall(r"\b(GANG_[A-Z0-9_]+)\s*=", body))
    assert len(names) > 150
    assert {
        name for name in names if not isinstance(getattr(gangsched.lib, name, None), int)
    } == set()


def test_the_versions_agree():
    assert gangsched.__version__ == gangsched.ffi.string(gangsched.lib.gang_version()).decode()


def test_all_names_are_there_and_no_others_are():
    for name in gangsched.__all__:
        assert getattr(gangsched, name) is not None
    assert set(gangsched.__all__) <= set(dir(gangsched))
    with pytest.raises(AttributeError):
        gangsched.nothing_of_this_name


def test_the_import_loads_few_modules_and_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules); import gangsched; loaded = set(sys.modules) - before;"
        "print(sum(m.startswith('gangsched') for m in loaded), len(loaded));"
        "print([m for m in ('numpy', 'pandas', 'matplotlib', 'tqdm', '_cffi_backend') if m in loaded])"
    )
    counts, heavy = in_a_process(code).stdout.splitlines()
    own, loaded = map(int, counts.split())
    assert heavy == "[]"
    assert own <= 3 and loaded <= 30, counts  # the others are loaded by the first use of a name


def test_a_cluster_needs_neither_numpy_nor_pandas():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'pandas', 'matplotlib', 'tqdm']));"
        "import gangsched as gs; c = gs.Cluster.uniform(4); a = c.allocate(count=4, gpu=8);"
        "print(c.table()['gpus_free'], str(c)[:7], len(c._repr_html_()) > 0)"
    )
    ran = in_a_process(code)
    assert ran.stdout.strip() == "[0, 0, 0, 0] Cluster True", ran.stderr


def test_the_sources_are_those_of_python_3_9(root):
    sources = [*(root / "bindings" / "python").glob("**/*.py")]
    assert len(sources) > 20
    for source in sources:
        ast.parse(source.read_text(encoding="utf-8"), str(source), feature_version=(3, 9))


def test_it_is_one_extension_for_all_versions_of_python():
    folder = Path(gangsched.__file__).parent
    assert [path.name for path in folder.glob("_gangsched*.so")] == ["_gangsched.abi3.so"]
    assert (folder / "py.typed").exists()


def test_pip_installs_it_offline(root, tmp_path):
    """Only with Debian's packages: no index, no isolation."""
    build = Path(gangsched.__file__).resolve().parents[3]
    if not (build / "CMakeCache.txt").exists():
        pytest.skip("not run from a build tree")
    # pip builds in the folder that it gets.
    source = tmp_path / "source"
    shutil.copytree(
        root / "bindings" / "python", source, ignore=shutil.ignore_patterns("__pycache__", "tests")
    )
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    env = {
        **os.environ,
        "GANGSCHED_BUILD": str(build),
        "PIP_NO_INDEX": "1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [
        *pip,
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "-w",
        str(tmp_path / "wheel"),
        str(source),
    ]
    ran = subprocess.run(command, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    wheels = list((tmp_path / "wheel").glob("*.whl"))
    assert [re.sub(r"linux_\w+", "linux", wheel.name) for wheel in wheels] == [
        "gangsched-0.2.0-cp39-abi3-linux.whl"
    ]
    command = [*pip, "install", "--no-deps", "--target", str(tmp_path / "site"), str(wheels[0])]
    ran = subprocess.run(command, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    code = "import gangsched as gs; print(gs.__file__, gs.Cluster.uniform(2).allocate(gpu=8).nodes)"
    ran = in_a_process(code, PYTHONPATH=str(tmp_path / "site"))
    assert ran.stdout.split() == [
        str(tmp_path / "site" / "gangsched" / "__init__.py"),
        "['n0']",
    ], ran.stderr


def test_an_installation_as_the_readme_says_runs_its_example(root, tmp_path):
    # Its two lines of pip, and the program below, on a copy of the tree, with the build of the tests.
    pytest.importorskip("ensurepip", reason="python3-venv is not installed")
    readme = (root / "README.md").read_text(encoding="utf-8")
    shell = re.search(r"```sh\n.*\n(.*-m venv .*)\n(GANGSCHED_BUILD=.*)\n```", readme)
    code, shown = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", readme, re.S).groups()
    build = Path(gangsched.__file__).resolve().parents[3]
    if not (build / "CMakeCache.txt").exists():
        pytest.skip("not run from a build tree")
    source = tmp_path / "source"
    shutil.copytree(
        root / "bindings" / "python", source / "bindings" / "python",
        ignore=shutil.ignore_patterns("__pycache__", "tests", "notebooks"),
    )
    (source / "build").mkdir()
    (source / "build" / "release").symlink_to(build)
    before = {path for path in source.rglob("*") if build not in path.parents}
    commands = "\n".join(["set -e", shell.group(1).split("  ")[0], shell.group(2)])
    env = {
        **os.environ, "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PYTHONWARNINGS": "ignore",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    env.pop("PYTHONPATH", None)
    ran = subprocess.run(["sh", "-c", commands], cwd=source, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert {path for path in source.rglob("*") if build not in path.parents} == before  # no leftovers
    python = tmp_path / "gangsched" / "bin" / "python"
    ran = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env={**env, "MPLBACKEND": "Agg"}, capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout == shown and (tmp_path / "jobs.html").exists()
    # One program: the script and the module.
    script = subprocess.run(
        [python.parent / "gangsched", "--help"], env=env, capture_output=True, text=True
    )
    module = subprocess.run(
        [python, "-m", "gangsched", "--help"], env=env, capture_output=True, text=True
    )
    assert script.returncode == 0 and script.stdout == module.stdout
    assert script.stdout.startswith("usage: gangsched ")
    extension = next(tmp_path.glob("gangsched/lib/python*/site-packages/gangsched/*.so"))
    assert extension.stat().st_size < 3 << 20  # without debug information


def test_without_a_library_the_build_says_so(root, tmp_path):
    env = {**os.environ, "GANGSCHED_BUILD": str(tmp_path)}
    command = [
        sys.executable,
        "-W",
        "ignore",
        "setup.py",
        "-q",
        "build",
        "--build-base",
        str(tmp_path),
    ]
    ran = subprocess.run(
        command, cwd=root / "bindings" / "python", env=env, capture_output=True, text=True
    )
    assert ran.returncode != 0 and "there is no library built" in ran.stderr
