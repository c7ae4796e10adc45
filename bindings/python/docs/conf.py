# SPDX-License-Identifier: Apache-2.0
"""The reference pages, built by Sphinx from the package that is in the path::

    PYTHONPATH=build/release/python/lib python3 -m sphinx -W -b html bindings/python/docs OUT

Debian: python3-sphinx, python3-matplotlib, python3-pandas.
"""

import os
import warnings
from html import escape
from typing import Any, Dict, List

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from matplotlib import pyplot

warnings.filterwarnings("ignore", category=DeprecationWarning)

import gangsched  # noqa: E402
from gangsched.cli.commands import parser  # noqa: E402

project = "gangsched"
copyright = "the authors of libgangsched, Apache-2.0"
version = release = gangsched.__version__
language = "en"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_static_path = ["_static"]
html_theme_options = {
    "description": "Gang scheduling: the production scheduler, also on a virtual clock",
    "page_width": "1240px",
    "sidebar_width": "250px",
    "fixed_sidebar": True,
}
html_show_sourcelink = False
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
#: Inherited members are those of the package, not those of Python.
autodoc_default_options = {
    "inherited-members": "Mapping,Sequence,Dict,dict,tuple,str,Exception,BaseException,NamedTuple",
}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = True

nitpicky = True
#: Words of types that are no classes.
nitpick_ignore_regex = [("py:class", r"optional|function|mapping|sequence|Optional.*|numpy\..*|pandas\..*|.*Mapping.*|.*Sequence.*")]

#: Text and axes of pictures, readable on light and on dark pages. Pictures are transparent.
_NEUTRAL = "#737d87"
_STYLE = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _NEUTRAL
    ),
}

#: Pictures of a page, and those that a phone shows instead: suffix, size in inches.
_SIZES = (("", (8.6, 3.4)), ("-narrow", (4.3, 3.2)))


class Picture(Directive):
    """``.. picture::`` shows code and what it draws, once wide and once for phones.

    The pieces of code of a page share their names. Without ``:alt:`` nothing is drawn.
    """

    has_content = True
    option_spec = {"alt": directives.unchanged}

    def run(self) -> List[nodes.Node]:
        code = "\n".join(self.content)
        block = nodes.literal_block(code, code)
        block["language"] = "python"
        alt, env = self.options.get("alt"), self.state.document.settings.env
        names = env.temp_data.setdefault("names of pictures", {})
        count = env.temp_data.setdefault("number of pictures", [0])
        if alt is None:
            exec(code, names)
            return [block]
        count[0] += 1
        name = "%s-%d" % (env.docname.replace("/", "-"), count[0])
        folder = os.path.join(env.app.outdir, "_images")
        os.makedirs(folder, exist_ok=True)
        for suffix, size in _SIZES:
            with pyplot.rc_context({**_STYLE, "figure.figsize": size}):
                exec(code, names)
                pyplot.gcf().savefig(os.path.join(folder, name + suffix + ".png"), dpi=144)
                pyplot.close("all")
        html = (
            '<picture><source media="(max-width: 600px)" srcset="_images/%s-narrow.png">'
            '<img alt="%s" class="drawn" src="_images/%s.png"></picture>'
        )
        return [block, nodes.raw("", html % (name, escape(alt), name), format="html")]


class Help(Directive):
    """``.. help:: COMMAND``: what ``gangsched COMMAND --help`` prints; without it, of the program."""

    optional_arguments = 1

    def run(self) -> List[nodes.Node]:
        found: Any = parser()
        for word in self.arguments:
            found = found._subparsers._group_actions[0].choices[word]
        text = found.format_help()
        block = nodes.literal_block(text, text)
        block["language"] = "none"
        return [block]


#: Docstrings of attributes, while napoleon has its turn: it takes what is before a colon for a type.
_SET_ASIDE: Dict[str, List[str]] = {}


def set_aside(app: Any, what: str, name: str, obj: Any, options: Any, lines: List[str]) -> None:
    if lines and lines[0].startswith("Alias for field number"):  # of a named tuple
        lines[:] = []
    if what in ("attribute", "property") and not any(line.startswith("---") for line in lines):
        _SET_ASIDE[name] = list(lines)
        lines[:] = []


def put_back(app: Any, what: str, name: str, obj: Any, options: Any, lines: List[str]) -> None:
    lines[:] = _SET_ASIDE.pop(name, lines)


#: Modules whose names docstrings use without the module.
_PLACES = (
    "gangsched", "gangsched.sweeps", "gangsched.tuning", "gangsched.goals", "gangsched.sim.events",
    "gangsched.rows", "gangsched.sim.outlook", "gangsched.convert", "gangsched.Forecast",
)


def of_the_package(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Resolve ``Result`` in the docstring of any module as ``gangsched.Result``."""
    if node.get("refdomain") != "py":
        return None
    domain, target = env.get_domain("py"), node["reftarget"]
    for place in _PLACES:
        whole = "%s.%s" % (place, target)
        found = domain.resolve_xref(
            env, node.get("refdoc", ""), app.builder, node["reftype"], whole, node, content
        )
        if found is not None:
            return found
    return None


def setup(app: Any) -> None:
    pyplot.switch_backend("Agg")
    app.add_directive("help", Help)
    app.add_directive("picture", Picture)
    app.connect("autodoc-process-docstring", set_aside, priority=400)
    app.connect("autodoc-process-docstring", put_back, priority=600)
    app.connect("missing-reference", of_the_package)
