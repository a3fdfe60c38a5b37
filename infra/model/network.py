"""Addresses: which block of 10.0.0.0/9 a region's subnet has, the same in every stack.

Owns the arithmetic over the append-only list in `facts/regions.yaml`. Names of networks are in names.
"""

from __future__ import annotations

from infra.model.facts import facts


def subnet_cidr(region: str) -> str:
    """The region's /16 (65,532 hosts), fixed by its number in the list; ValueError for a region without one."""
    order = facts("regions")["subnet_order"]
    if region not in order:
        raise ValueError(f"region {region!r} has no subnet number; append it to subnet_order in facts/regions.yaml")
    return f"10.{order.index(region)}.0.0/16"


def repository_regions() -> tuple[str, ...]:
    """Where image repositories may be."""
    return tuple(facts("regions")["repository_regions"])


def service_regions() -> tuple[str, ...]:
    """Where the broker and the controller may be."""
    return tuple(facts("regions")["service_regions"])


def mirror_locations() -> tuple[str, ...]:
    """Multi-regions where pull-through mirrors may be."""
    return tuple(facts("regions")["mirror_locations"])


def continent(region: str) -> str:
    """The part of the world that a region is in, which is the name of its multi-region: `us`, `europe`, `asia`."""
    return region.partition("-")[0]
