"""Values of pools, slices and limits: accelerators, zones, counts, capacity, runner labels."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from cronsim import CronSim
from pydantic import AfterValidator, PlainValidator, StrictStr, ValidationInfo

from infra.model import names
from infra.model.calendar import MAX_LENGTH, length_of
from infra.model.capacity import Capacity, OnDemand, Preemptible, Reserved, Spot
from infra.model.catalogue import (
    AcceleratorType,
    Generation,
    UnknownNameError,
    accelerator_types,
    generations,
    zones,
)
from infra.model.errors import suggestion
from infra.model.fields.common import SCHEMA, Cron, Written, between, matching, passing
from infra.model.refusals import refuse

MAX_COUNT = 10_000
# GitHub gives the first to runners by itself; the others ask for a runner that GitHub hosts.
_GITHUB_OWN_LABEL = re.compile(r"self-hosted|linux|windows|macos|x64|arm64|arm|(ubuntu|windows|macos)-.*")


def _accelerator(value: object) -> AcceleratorType:
    if not isinstance(value, str):
        refuse("an accelerator type that is not text", "such as v5litepod-4")
    try:
        return AcceleratorType.parse(value)
    except UnknownNameError as error:
        refuse("not an accelerator type of the catalogue", suggestion(error.near, accelerator_types(), SCHEMA))


def _generation(value: object) -> Generation:
    try:
        return Generation.parse(str(value))
    except UnknownNameError:
        refuse("not a TPU generation of the catalogue", suggestion(str(value), map(str, generations()), SCHEMA))


def _zone(text: str, info: ValidationInfo) -> str:
    """A pool's accelerator, where it is right, says which zones are worth naming."""
    if text in zones():
        return text
    accelerator = (info.data or {}).get("accelerator")  # None where a value is validated by itself
    if isinstance(accelerator, AcceleratorType):
        generation = accelerator.generation
        fix = suggestion(text, generation.zones, f"a zone that has {generation}: {SCHEMA}")
        refuse(f"not a zone of the catalogue that has {generation}", fix)
    return refuse("not a zone of the catalogue", suggestion(text, zones(), SCHEMA))


def _opens_hourly_at_most(cron: str) -> bool:
    return len(CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC)).minutes) == 1


def _count(value: object) -> int:
    rule = f"not a count of slices, a whole number from 0 to {MAX_COUNT:,}"
    if isinstance(value, bool):
        refuse(rule, "a number such as 2, not true or false")
    if isinstance(value, str):
        refuse(rule, "the number without quotes or other characters")
    if not isinstance(value, int):
        refuse(rule, "a whole number such as 2")
    return value if 0 <= value <= MAX_COUNT else refuse(rule, f"0 to {MAX_COUNT}")


def _capacity(value: object) -> Capacity:
    fix = "on-demand, spot, preemptible, or {reserved: NAME}"
    plain = {"on-demand": OnDemand(), "spot": Spot(), "preemptible": Preemptible()}
    if isinstance(value, str):
        kinds = (*plain, "{reserved: NAME}")
        return plain[value] if value in plain else refuse("not a kind of capacity", suggestion(value, kinds, fix))
    if isinstance(value, dict | list) and "reserved" in value and len(value) > 1:
        refuse("two kinds of capacity in one pool", fix)
    if isinstance(value, dict) and list(value) == ["reserved"]:
        reservation = value["reserved"]
        if isinstance(reservation, str) and names.is_resource_name(reservation):
            return Reserved(reservation)
        refuse(f"not a reservation's name: {names.RESOURCE_NAME_RULE}", "{reserved: NAME}")
    return refuse("not one kind of capacity", fix)


def is_github_own_label(text: str) -> bool:
    """Whether a label is one that GitHub gives by itself, so that having it says nothing of a pool."""
    return _GITHUB_OWN_LABEL.fullmatch(text.lower()) is not None


def _routing_label(text: str) -> str:
    if is_github_own_label(text):
        refuse("GitHub gives this label to runners by itself, so it routes jobs to no pool", "another label")
    return text


def _count_written() -> dict[str, object]:
    return {"type": "integer", "minimum": 0, "maximum": MAX_COUNT, "description": "a count of slices"}


def capacities_written(*plain: str, **named: str) -> dict[str, object]:
    """How a kind of capacity is written: a word, or one key whose value matches its pattern."""
    forms = (
        {"type": "object", "properties": {key: {"type": "string", "pattern": f"^(?:{like})$"}}, "required": [key]}
        for key, like in named.items()
    )
    return {"anyOf": [{"enum": list(plain)}, *(form | {"additionalProperties": False} for form in forms)]}


Accelerator = Annotated[
    AcceleratorType,
    PlainValidator(_accelerator),
    Written(lambda: {"enum": list(accelerator_types()), "description": "what one slice is, as Google names it"}),
]
TpuGeneration = Annotated[
    Generation,
    PlainValidator(_generation),
    Written(lambda: {"enum": [each.name for each in generations()], "description": "a generation of TPUs"}),
]
Zone = Annotated[
    StrictStr, AfterValidator(_zone), Written(lambda: {"enum": list(zones()), "description": "a zone that has TPUs"})
]
Count = Annotated[int, PlainValidator(_count), Written(_count_written)]
Chips = Annotated[int, between(0, 1_000_000, "a count of chips", "a number such as 64")]
CapacityChoice = Annotated[
    Capacity,
    PlainValidator(_capacity),
    Written(lambda: capacities_written("on-demand", "spot", "preemptible", reserved=names.RESOURCE_NAME)),
]
WindowStart = Annotated[
    Cron,
    passing(
        _opens_hourly_at_most, "a start at one minute of the hour: no machine starts faster", 'such as "0 2 * * *"'
    ),
]
WindowLength = Annotated[
    StrictStr,
    matching(r"[1-9][0-9]{0,4}[mhd]", "a length of time in minutes, hours or days", "such as 90m, 2h or 1d"),
    passing(lambda text: length_of(text) <= MAX_LENGTH, "a window of at most 7 days", "a larger count in `zones`"),
]
RuntimeVersion = Annotated[StrictStr, matching(r"[a-z0-9][a-z0-9._-]*", "a runtime version", "such as v2-alpha-tpuv6e")]
DiskPath = Annotated[
    StrictStr,
    matching(
        r"projects/[a-z0-9-]+/zones/[a-z0-9-]+/disks/[a-z0-9-]+",
        "a disk's full path",
        "projects/PROJECT/zones/ZONE/disks/NAME",
    ),
]
RunnerLabel = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
        "one runner label: up to 63 letters, digits, dots, hyphens and underscores",
        "one label an item, never a whole runs-on",
    ),
]
RoutingLabel = Annotated[RunnerLabel, AfterValidator(_routing_label)]
GitHubRepository = Annotated[
    StrictStr, matching(r"[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}", "a GitHub repository", "owner/name")
]
