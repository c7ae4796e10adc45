# SPDX-License-Identifier: Apache-2.0
"""The reference pages: Sphinx builds them without a warning, they hold every public name, and the
gallery draws every picture that the package can draw.
"""

import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import gangsched as gs

pytest.importorskip("sphinx", reason="Debian's python3-sphinx is not installed")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The folder of the pages, built from the package under test."""
    from conftest import ROOT

    made = tmp_path_factory.mktemp("pages")
    package = Path(gs.__file__).resolve().parents[1]
    command = [
        sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
        "-d", made / "doctrees", ROOT / "bindings" / "python" / "docs", made / "html",
    ]
    environment = {**os.environ, "PYTHONPATH": str(package), "MPLBACKEND": "Agg",
                   "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, env=environment, cwd=made, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr[-4000:]
    return made / "html"


def names_of(pages):
    """The names that the pages define."""
    content = (pages / "objects.inv").read_bytes()
    body = content.split(b"\n", 4)[4]
    return {line.split(" ")[0] for line in zlib.decompress(body).decode().splitlines()}


def test_every_public_name_has_its_place(pages):
    there = names_of(pages)
    low_level = {"ffi", "lib", "__version__"}  # the C interface has its own manual
    assert [name for name in gs.__all__
            if name not in low_level and "gangsched." + name not in there] == []
    for name in ("Trace.to_dataframe", "Cluster.allocate", "Simulation.reserve", "Result.gantt",
                 "Queues.with_all", "Forecast.run", "Simulation.submit", "enums.WaitReason"):
        assert "gangsched." + name in there


def test_the_gallery_shows_every_picture_with_its_code(root, pages):
    source = (root / "bindings" / "python" / "docs" / "gallery.rst").read_text(encoding="utf-8")
    for call in ("result.plot()", 'result.plot(by="queue")', "result.gantt()", "result.cdf()",
                 "found.cdf(", "found.plot()", "tuned.plot()", "plan().plot()", "expected.plot()",
                 "cases.plot()", "larger.gantt()"):
        assert call in source
    page = (pages / "gallery.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<img alt="([^"]+)"[^>]*src="([^"]+)"', page)
    assert len(pictures) == source.count(":alt:") >= 14
    for alt, path in pictures:
        assert len(alt) > 20 and (pages / path).stat().st_size > 4000
        narrow = path.replace(".png", "-narrow.png")  # for phones
        assert 'srcset="%s"' % narrow in page and (pages / narrow).stat().st_size > 4000
    assert page.count("highlight-python") >= len(pictures)  # the code of each


def test_pictures_of_the_gallery_suit_light_and_dark_pages(pages):
    """Backgrounds are transparent, and texts have a contrast of 3 or more on white and on black."""
    from matplotlib.image import imread

    from gangsched.viz.colours import NEUTRAL

    for path in sorted((pages / "_images").glob("gallery-*.png")):
        picture = imread(path)
        assert picture.shape[2] == 4 and picture[:3, :3, 3].max() == 0, path
        if "narrow" in path.name:
            assert picture.shape[1] < 700, path  # texts stay readable at 390 pixels
    parts = [int(NEUTRAL[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert 1.05 / (light + 0.05) >= 3 and (light + 0.05) / 0.06 >= 3
    style = (pages / "_static" / "custom.css").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in style and "max-width: 100%" in style


def test_the_examples_of_the_pages_are_true(root):
    """Of the pages themselves; test_vocabulary.py runs those of docstrings."""
    import doctest

    ran = 0
    for path in (root / "bindings" / "python" / "docs").glob("*.rst"):
        failed, tried = doctest.testfile(str(path), module_relative=False)
        assert failed == 0, path
        ran += tried
    assert ran >= 8


def test_the_help_of_the_command_line_is_on_its_page(pages):
    from gangsched.cli.commands import parser

    page = (pages / "cli.html").read_text(encoding="utf-8")
    for line in ("usage: gangsched simulate", "--on-error", "--max-jobs"):
        assert line in page
    assert "usage: gangsched" in parser().format_help()
