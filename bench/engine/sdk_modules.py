"""Loading of a provider's SDK by the modules that a program uses.

A package of such an SDK imports all its modules: `pulumi_gcp.compute` has 288, of which a stack uses four. Here each
module waits until the program names what is in it, which saves a fifth of the processor time of a first `up`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Final

_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WHOLE: Final = frozenset({"config"})
"""Packages that are more than a list of their modules."""


class _ByName(SourceFileLoader):
    """Loads a package without its modules. A name is looked for in the module that the SDK's generator puts it in; for
    any other name the package is loaded as it loads itself."""

    def exec_module(self, module: ModuleType) -> None:
        def find(name: str) -> Any:
            if name.startswith("__") and name != "__all__":
                raise AttributeError(name)
            for leaf in (_WORD_START.sub("_", name).lower(), "_inputs"):
                try:
                    found = import_module(f"{module.__name__}.{leaf}")
                except ModuleNotFoundError:
                    continue
                if leaf == name:  # as in `from . import outputs`
                    return found
                if hasattr(found, name):
                    return getattr(found, name)
            del module.__getattr__
            super(_ByName, self).exec_module(module)
            return getattr(module, name)

        module.__getattr__ = find  # what Python asks for a name that is not there


class _Packages(PathFinder):
    """Finds the packages of the SDKs in `of`, one level below their roots."""

    of: frozenset[str] = frozenset()

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, name = fullname.partition(".")
        if root not in cls.of or not name or "." in name or name in _WHOLE:
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is None or spec.submodule_search_locations is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        spec.loader = _ByName(spec.loader.name, spec.loader.path)
        return spec


def load_by_name(root: str) -> None:
    """Let the packages of an SDK that are imported from now on load their modules by name. root: such as pulumi_gcp."""
    _Packages.of |= {root}
    if _Packages not in sys.meta_path:
        sys.meta_path.insert(0, _Packages)
