# SPDX-License-Identifier: Apache-2.0
"""Machines: which there are, what is allocated, and whether a gang fits.

A :class:`Cluster` holds nodes. A :class:`Request` says what a gang needs. An :class:`Allocation` is
what a gang was given. A :class:`Snapshot` is a copy of one instant, for "what if".
"""

from typing import TYPE_CHECKING

from .._lazy import names

if TYPE_CHECKING:
    from .allocation import Allocation as Allocation
    from .allocation import Explanation as Explanation
    from .cluster import Cluster as Cluster
    from .request import Request as Request
    from .snapshot import Snapshot as Snapshot

_WHERE = {
    "Allocation": "allocation",
    "Cluster": "cluster",
    "Explanation": "allocation",
    "Request": "request",
    "Snapshot": "snapshot",
}

__all__ = [*_WHERE]

__getattr__, __dir__ = names(__name__, _WHERE)
