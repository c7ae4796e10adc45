# SPDX-License-Identifier: Apache-2.0
"""A result, or several beside each other, as one self-contained HTML page: no network, no script.

::

    gs.simulate(cluster, trace).report("run.html")
    gangsched.report.write(gs.compare(["fifo", "sjf"], cluster, trace), "policies.html")
"""

from typing import TYPE_CHECKING

from .._lazy import names

if TYPE_CHECKING:
    from .page import html as html
    from .page import write as write

_WHERE = {"html": "page", "write": "page"}

__all__ = [*_WHERE]

__getattr__, __dir__ = names(__name__, _WHERE)
