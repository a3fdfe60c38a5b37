"""Published facts as data (`*.yaml`, each with source and date) and the one way to read them.

Owns the files and their loading. What they mean is said by the modules that read them: catalogue and network.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

# libyaml's loader is ten times faster; a PyYAML built without it reads the same.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def facts(name: str) -> Any:
    """The content of `facts/<name>.yaml`, read once per process. Callers must not change it."""
    text = (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 - both loaders are safe ones
