# SPDX-License-Identifier: Apache-2.0
"""Names that a package loads at their first use, and the module paths of the version before."""

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple


def deprecated(old: str, new: str) -> None:
    """Warn that ``old`` is a name of the version before, and ``new`` is its name now."""
    warn_outside("%s is now %s; the old name goes in the next version" % (old, new))


def warn_outside(said: str) -> None:
    """A ``DeprecationWarning`` at the line outside of this package that led here.

    Python shows such warnings only for lines of the main program.
    """
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(said, DeprecationWarning, depth)


def _is_inside(module: str) -> bool:
    return module.split(".")[0] in ("gangsched", "importlib", "contextlib", "pandas")


def names(
    package: str, where: Mapping[str, str], renamed: Optional[Mapping[str, str]] = None
) -> Tuple[Callable[[str], Any], Callable[[], List[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package that loads its public names
    lazily.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    where : mapping
        Public name to the module that defines it, relative to the package.
    renamed : mapping, optional
        Old public name to the new one. An old name still works, with a ``DeprecationWarning``.
    """
    old_names = renamed or {}

    def get(name: str) -> Any:
        if name in old_names:
            deprecated("%s.%s" % (package, name), old_names[name])
            return get(old_names[name])
        if name not in where:
            from .closest import meant

            raise AttributeError(
                "module %r has no attribute %r%s" % (package, name, meant(name, where))
            )
        value = getattr(importlib.import_module("." + where[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> List[str]:
        return sorted({*vars(sys.modules[package]), *where})

    return get, listed


class OldModules:
    """Finds modules by the path that they had in the version before, with a ``DeprecationWarning``.

    Such a module is empty; its names are looked up in the new module.
    """

    def __init__(self, moved: Mapping[str, str]) -> None:
        self.moved = moved

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        # mypy: a finder is also a loader here, without the abstract class (slow to import)
        return ModuleSpec(name, self) if name in self.moved else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let the import system make the module."""

    def exec_module(self, module: ModuleType) -> None:
        new = self.moved[module.__name__]
        deprecated(module.__name__, new)
        module.__dict__["__getattr__"] = lambda name: getattr(importlib.import_module(new), name)
