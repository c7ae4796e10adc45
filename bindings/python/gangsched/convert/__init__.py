# SPDX-License-Identifier: Apache-2.0
"""Converts configurations of other systems to scenarios.

>>> from gangsched.convert import convert
>>> converted = convert("slurm.conf", "gres.conf", "topology.conf")    # doctest: +SKIP
>>> converted.scenario["nodes"]                                        # doctest: +SKIP
>>> for warning in converted.warnings: print(warning)                  # doctest: +SKIP

Each format has a module, and its documentation says what becomes of each setting:

* :mod:`~gangsched.convert.capacity_scheduler`: ``capacity-scheduler.xml`` with ``yarn-site.xml``
* :mod:`~gangsched.convert.fair_scheduler`: ``fair-scheduler.xml`` with ``yarn-site.xml``
* :mod:`~gangsched.convert.tony`: ``tony.xml``
* :mod:`~gangsched.convert.slurm`: ``slurm.conf``, ``gres.conf``, ``topology.conf``,
  ``sacctmgr -P show qos``
* :mod:`~gangsched.convert.kubernetes`: nodes, queues and jobs as manifests
* :mod:`~gangsched.convert.nvidia_topo`: ``nvidia-smi topo -m``

Settings without a counterpart are listed in ``Converted.warnings``.
"""
from ._base import ConvertError, ConvertWarning
from ._engine import FORMATS, Converted, convert, detect, main

__all__ = ["FORMATS", "ConvertError", "ConvertWarning", "Converted", "convert", "detect", "main"]
