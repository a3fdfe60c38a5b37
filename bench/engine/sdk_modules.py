"""Loading of a provider's SDK by the modules that a program uses.

A package of such an SDK imports all its modules: `pulumi_gcp.compute` has 288, of which a stack uses four. Here each
module waits until the program names what is in it, which saves a fifth of the processor time of a first `up`.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def load_by_name(root: str) -> None:
    """Let the packages of an SDK that is not imported yet load their modules by name. root: such as pulumi_gcp."""
    spec = find_spec(root)
    if root in sys.modules or spec is None or spec.origin is None:
        return
    for each in Path(spec.origin).parent.glob("*/__init__.py"):
        if each.parent.name == "config":  # more than a list of its modules
            continue
        name = f"{root}.{each.parent.name}"
        package = ModuleType(name)
        package.__path__ = [str(each.parent)]
        package.__getattr__ = partial(_find, package)  # what Python asks for a name that is not there
        sys.modules[name] = package


def _find(package: ModuleType, name: str) -> Any:
    """What a package has under a name: looked for in the module that the SDK's generator puts it in. For any other name
    the package is loaded as it loads itself."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    for leaf in (_WORD_START.sub("_", name).lower(), "_inputs"):
        try:
            found = import_module(f"{package.__name__}.{leaf}")
        except ModuleNotFoundError:
            continue
        if leaf == name:  # as in `from . import outputs`
            return found
        if hasattr(found, name):
            return getattr(found, name)
    del package.__getattr__, sys.modules[package.__name__]
    package.__dict__.update(vars(import_module(package.__name__)))
    return getattr(package, name)
