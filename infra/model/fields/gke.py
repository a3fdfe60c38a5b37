"""Values of a GKE cluster and its node pools: names, versions, machine types, ranges, windows, capacity of slices."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, PlainValidator, StrictStr

from infra.model import names
from infra.model.capacity import FlexStart, OnDemand, Reserved, SliceCapacity, Spot
from infra.model.facts import regions
from infra.model.fields.common import DAY, HOUR, Written, between, matching, one_of, passing
from infra.model.fields.fleet import capacities_written
from infra.model.plain_machines import sizes
from infra.model.refusals import refuse

RELEASE_CHANNELS = ("rapid", "regular", "stable", "extended")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
"""As RFC 5545 writes them, which is how GKE is told when it may maintain."""
EXCLUSION_SCOPES = ("no-upgrades", "no-minor-upgrades", "no-minor-or-node-upgrades")
_UNITS = {"m": 60, "h": 3600, "d": 86400}
_SHORTEST_RUN, _LONGEST_RUN = 10 * 60, 7 * 86400
_MAX_NODES = 5000
_PRIVATE = tuple(IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))


def run_seconds(text: str) -> int | None:
    """The seconds of a length such as 24h; None where it is none."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text)
    return int(match[1]) * _UNITS[match[2]] if match else None


def _slice_capacity(value: object) -> SliceCapacity:
    fix = "on-demand, spot, {reserved: NAME}, or {flex-start: 24h} with the longest time that a slice may run"
    plain: dict[str, SliceCapacity] = {"on-demand": OnDemand(), "spot": Spot()}
    if value == "preemptible":
        refuse("preemptible is the older kind of spot, which ends after a day", "spot")
    if isinstance(value, str) and value in plain:
        return plain[value]
    if isinstance(value, dict) and len(value) > 1:
        refuse("two kinds of capacity for the same slices", fix)
    if isinstance(value, dict) and list(value) == ["reserved"]:
        name = value["reserved"]
        if isinstance(name, str) and names.is_resource_name(name):
            return Reserved(name)
        refuse(f"not a reservation's name: {names.RESOURCE_NAME_RULE}", "{reserved: NAME}")
    if isinstance(value, dict) and list(value) == ["flex-start"]:
        seconds = run_seconds(str(value["flex-start"]))
        if seconds is not None and _SHORTEST_RUN <= seconds <= _LONGEST_RUN:
            return FlexStart(seconds)
        refuse("not a time from 10m to 7d for a flex-start slice", "{flex-start: 24h}")
    return refuse("not a kind of capacity for slices of a cluster", fix)


def _range(value: object) -> IPv4Network:
    fix = "such as 10.0.0.0/16"
    try:
        network = IPv4Network(str(value))
    except ValueError:
        refuse("not an IPv4 range: an address, a slash and a size, and nothing after the size", fix)
    if not any(network.subnet_of(block) for block in _PRIVATE):
        refuse("not a private range", fix)
    return network


def _machine(text: str) -> str:
    """A size that is not sold fails only when GKE makes the pool, minutes into an apply."""
    alike, _, cpus = text.rpartition("-")
    offered = sizes(text)
    if offered is None or int(cpus) in offered:
        return text
    if not offered:
        refuse(f"Compute Engine has no {alike} machines", "such as n2-standard-8")
    return refuse(f"Compute Engine has no {alike} with {cpus} CPUs", f"one with {', '.join(map(str, offered))}")


def _flag(value: object) -> bool:
    return value if isinstance(value, bool) else refuse("neither true nor false", "true or false")


ClusterName = Annotated[
    StrictStr,
    passing(
        lambda text: names.is_resource_name(text) and len(text) <= names.MAX_GKE_NAME,
        f"a cluster's or node pool's name: {names.GKE_NAME_RULE}",
        "such as train",
        names.RESOURCE_NAME,
    ),
]
Region = Annotated[StrictStr, one_of(regions, "a region of Google Cloud")]
NodeZone = Annotated[
    StrictStr,
    passing(
        lambda text: any(re.fullmatch(f"{each}-[a-z0-9]{{1,3}}", text) for each in regions()),
        "a zone of Google Cloud",
        "such as us-central2-b",
        r"[a-z]+(-[a-z]+)+[0-9]+-[a-z0-9]{1,3}",
    ),
]
ReleaseChannel = Annotated[StrictStr, one_of(lambda: RELEASE_CHANNELS, "a release channel of GKE")]
GkeVersion = Annotated[
    StrictStr,
    matching(r"1\.[0-9]{1,3}(\.[0-9]{1,3}(-gke\.[0-9]{1,10})?)?", "a version of GKE, as text", 'such as "1.35"'),
]
NodeMachine = Annotated[
    StrictStr,
    matching(r"[a-z][a-z0-9]*-[a-z]+-[0-9]+", "a machine type of Compute Engine", "such as n2-standard-8"),
    AfterValidator(_machine),
]
NodeCount = Annotated[int, between(0, _MAX_NODES, "a count of nodes", "a number such as 3")]
SystemNodes = Annotated[int, between(1, 100, "nodes of the system pool in a zone", "a number such as 1")]
Flag = Annotated[bool, PlainValidator(_flag), Written(lambda: {"type": "boolean"})]
Range = Annotated[
    IPv4Network,
    PlainValidator(_range),
    Written(
        lambda: {
            "type": "string",
            "pattern": r"^(\d{1,3}\.){3}\d{1,3}(/\d{1,2})?$",
            "description": "a private range, such as 10.0.0.0/16",
        }
    ),
]
Weekday = Annotated[StrictStr, one_of(lambda: WEEKDAYS, "a day of the week in two letters")]
WallClock = Annotated[
    StrictStr, matching(r"([01][0-9]|2[0-3]):[0-5][0-9]", "a time of day in UTC, as text", 'such as "09:00"')
]
WindowHours = Annotated[int, between(4, DAY // HOUR, "hours of a maintenance window", "a number such as 8")]
ExclusionScope = Annotated[StrictStr, one_of(lambda: EXCLUSION_SCOPES, "a scope of exclusions")]
SliceCapacityChoice = Annotated[
    SliceCapacity,
    PlainValidator(_slice_capacity),
    Written(
        lambda: capacities_written(
            "on-demand", "spot", **{"reserved": names.RESOURCE_NAME, "flex-start": r"[1-9][0-9]{0,5}[mhd]"}
        )
    ),
]
