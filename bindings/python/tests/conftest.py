# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: the place of the source tree, and the length of random tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(os.environ.get("GANG_SOURCE_DIR", Path(__file__).resolve().parents[3]))
SHARED = Path(os.environ.get("GANG_SHARED", ROOT / ".." / "shared"))

# A failure prints its seed ("@reproduce_failure"). The profile "ci" repeats the same examples.
settings.register_profile("ci", max_examples=60, deadline=None, print_blob=True, derandomize=True,
                          suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("GANG_HYPOTHESIS", "ci"))


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def shared() -> Path:
    if not SHARED.exists():
        pytest.skip("no reference data at %s" % SHARED)
    return SHARED
