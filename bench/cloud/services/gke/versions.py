"""Versions of Kubernetes that GKE offers here: release channels, short forms, and what may follow what.

The versions have the form of GKE's; which patches and builds they name is this cloud's own choice, since Google's list
changes weekly. Source of the rules: cloud.google.com/kubernetes-engine/versioning, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import JsonObject, invalid

# Newest first, as GKE lists them; of each minor version an older and a newer patch.
_MINORS = (36, 35, 34, 33, 32)
VERSIONS = tuple(f"1.{minor}.{patch}-gke.1{patch}00000" for minor in _MINORS for patch in (4, 2))
# Channel -> place of its default version in that list.
_DEFAULTS: Mapping[str, int] = MappingProxyType({"RAPID": 0, "REGULAR": 2, "STABLE": 4, "EXTENDED": 6})
DEFAULT_CHANNEL = "REGULAR"
_MOST_BEHIND = 3


@handles("container.projects.locations.getServerConfig")
def server_config(_: ApiCall) -> JsonObject:
    return {
        "defaultClusterVersion": default_of(DEFAULT_CHANNEL),
        "defaultImageType": "COS_CONTAINERD",
        "validImageTypes": ["COS_CONTAINERD", "UBUNTU_CONTAINERD"],
        "validMasterVersions": list(VERSIONS),
        "validNodeVersions": list(VERSIONS),
        "channels": [
            {"channel": name, "defaultVersion": VERSIONS[place], "validVersions": list(VERSIONS[place:])}
            for name, place in _DEFAULTS.items()
        ],
    }


def default_of(channel: str | None) -> str:
    """What a cluster begins with where nobody says a version."""
    return VERSIONS[_DEFAULTS.get(channel or DEFAULT_CHANNEL, _DEFAULTS[DEFAULT_CHANNEL])]


def resolved(asked: str, latest: str) -> str:
    """The version that `latest`, `-`, `1.35` or a whole one means. latest: what `-` means. Raises 400."""
    if asked in ("", "-"):
        return latest
    if asked == "latest":
        return VERSIONS[0]
    found = [version for version in VERSIONS if version == asked or version.startswith((f"{asked}.", f"{asked}-"))]
    if not found:
        raise invalid(f'No valid versions with the prefix "{asked}" found.')
    return found[0]


def check_node_version(node: str, master: str) -> None:
    """Raises 400: nodes are never newer than the control plane, and at most three minor versions older."""
    if _parts(node) > _parts(master):
        raise invalid(f'Node version "{node}" must not be greater than master version "{master}".')
    if _parts(master)[1] - _parts(node)[1] > _MOST_BEHIND:
        raise invalid(f'Node version "{node}" is more than {_MOST_BEHIND} minor versions behind "{master}".')


def check_upgrade(current: str, wanted: str) -> None:
    """Raises 400 for a control plane that would skip a minor version, or go back to an older one."""
    if _parts(wanted)[:2] < _parts(current)[:2]:
        raise invalid(f'Master cannot be downgraded from "{current}" to "{wanted}".')
    if _parts(wanted)[1] - _parts(current)[1] > 1:
        raise invalid(f'Master cannot be upgraded to "{wanted}": cannot upgrade the master more than a minor version.')


def _parts(version: str) -> tuple[int, ...]:
    number, _, build = version.partition("-gke.")
    return (*map(int, number.split(".")), int(build))
