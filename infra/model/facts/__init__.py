"""Published facts as data (`*.yaml`, each with source and date), how they are read, and what they say of regions.

Owns the files and their loading, and which block of 10.0.0.0/9 a region's subnet has: by its number in an append-only
list, so the same in every stack. What the others mean is said by catalogue.
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
    return read_yaml(text)


def read_yaml(text: str | bytes) -> Any:
    """What a table of this project or an object of a program says; what people write is for `infra.model.yamlfile`."""
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 - both loaders are safe ones


def subnet_cidr(region: str) -> str:
    """The region's /16 (65,532 hosts), fixed by its number in the list; ValueError for a region without one."""
    order = facts("regions")["subnet_order"]
    if region not in order:
        raise ValueError(f"region {region!r} has no subnet number; append it to subnet_order in facts/regions.yaml")
    return f"10.{order.index(region)}.0.0/16"


def regions() -> tuple[str, ...]:
    """Every region of Google Cloud."""
    return tuple(facts("regions")["regions"])


def bucket_locations() -> tuple[str, ...]:
    """Where a bucket may be: multi-regions, dual-regions and regions."""
    return (*facts("regions")["bucket_areas"], *regions())


def repository_regions() -> tuple[str, ...]:
    """Where image repositories may be."""
    return tuple(facts("regions")["repository_regions"])


def service_regions() -> tuple[str, ...]:
    """Where the broker and the controller may be."""
    return tuple(facts("regions")["service_regions"])


def mirror_locations() -> tuple[str, ...]:
    """Multi-regions where pull-through mirrors may be."""
    return tuple(facts("regions")["mirror_locations"])


def firestore_locations() -> tuple[str, ...]:
    """Regions and multi-regions where a database of Firestore may be."""
    return tuple(facts("regions")["firestore_locations"])


def continent(region: str) -> str:
    """The part of the world that a region is in, which is the name of its multi-region: `us`, `europe`, `asia`."""
    return region.partition("-")[0]
