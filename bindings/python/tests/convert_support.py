# SPDX-License-Identifier: Apache-2.0
"""Inputs for the tests of gangsched.convert, and the command line that reads the results."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional

import pytest

from gangsched.convert import Converted, convert

DATA = pathlib.Path(__file__).resolve().parent / "data" / "convert"
ROOT = pathlib.Path(__file__).resolve().parents[3]
Json = Dict[str, Any]


def cli() -> str:
    """The command line; skips the test if it is not built."""
    given = os.environ.get("GANGSCHED_CLI")
    path = given or str(ROOT / "build" / "dev" / "examples" / "gangsched")
    if not (os.access(path, os.X_OK) or shutil.which(path)):
        if given:
            pytest.fail("GANGSCHED_CLI: no such program: %s" % given)
        pytest.skip(
            "no command line: build the preset dev, or set GANGSCHED_CLI to the program gangsched"
        )
    return path


def run(command: str, *cases: Any, options: Optional[List[str]] = None) -> List[Json]:
    """Pass scenarios to the command line, and return the lines that it prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(list(cases), file)
        file.flush()
        done = subprocess.run(
            [cli(), command, *(options or []), file.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(*cases: Json) -> None:
    """Check that the library accepts the scenarios."""
    assert len(run("validate", *cases, options=["--json"])) == len(cases)


def data(*names: str, **more: Any) -> Converted:
    """Convert files of the data directory."""
    return convert(*(DATA / name for name in names), **more)


def capacities(scenario: Json) -> Dict[str, Json]:
    """By queue: guarantee and limit as the library resolves them."""
    (out,) = run("validate", scenario, options=["--json"])
    return {
        queue["name"]: {"guarantee": queue["guarantee"], "limit": queue["limit"]}
        for queue in out["queues"]
    }


def outcome(scenario: Json) -> Json:
    """Jobs and queues in the final state."""
    (out,) = run("scenario", scenario)
    return out


def nodes(count: int, **members: Any) -> Json:
    """A scenario of equal nodes, for use beside other inputs."""
    return {"nodes": [{"name": "n%d" % i, **members} for i in range(count)]}


def with_nodes(name: str, scenario: Json) -> Json:
    """A file, converted together with nodes."""
    return convert(DATA / name, json.dumps(scenario)).scenario


def queue(scenario: Json, name: str) -> Json:
    """A queue by name."""
    found: List[Json] = [q for q in scenario["queues"] if q["name"] == name]
    assert len(found) == 1
    return found[0]


def texts(converted: Converted) -> str:
    """All warnings."""
    return "\n".join(map(str, converted.warnings))
