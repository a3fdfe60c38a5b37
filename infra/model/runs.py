"""One run on a TPU VM of its own, as one document: what is made, what runs there, what comes back, how long each takes.

Owns the document (version 1), which the command makes of a stack file and generated workflows carry, and what of it the
VM is told. A VM's values are those of the pool as which it is made (`infra.model.node`). Does not own how a run goes
(`infra.fleet.runs`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.model.capacity import Capacity, OnDemand, Preemptible, Spot
from infra.model.catalogue import AcceleratorType, CapacityKind, region_of
from infra.model.errors import ConfigError, Problem
from infra.model.fleet import Slot, vm_labels
from infra.model.node import node_spec
from infra.model.run_capacity import run_kinds
from infra.model.schema import DiskMode, Pool, StackConfig, Trust

OF_THE_FLEET: Final = ("tidepool-managed", "tidepool-pool")
"""Labels by which the fleet would take a VM for one of its pool's."""
RUN: Final = "{run}"
"""Stands in a command and in an environment for the run's number and attempt."""
COMMIT: Final = "{commit}"
"""Stands there for the commit that is run."""
_KINDS: Final[Mapping[str, Capacity]] = {"on-demand": OnDemand(), "spot": Spot(), "preemptible": Preemptible()}
Seconds = Annotated[int, Field(ge=1, le=7 * 86_400)]
MOST_METADATA: Final = 256 * 1024
"""Bytes of one value (cloud.google.com/compute/docs/metadata/setting-custom-metadata#limitations, read 2026-11)."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunPlace(_Part):
    """One way to obtain the VM. node: the body of `nodes.create`, without what is the run's own."""

    zone: str
    capacity: CapacityKind
    node: Mapping[str, Any]


class RunTimes(_Part):
    """Seconds. create: for all attempts to obtain a VM. ready: from a VM that stands to a command that runs.

    limit: of the command, on the VM. delete: until no VM of the run is left. spare: everything else.
    """

    create: Seconds
    ready: Seconds
    limit: Seconds
    delete: Seconds = 600
    spare: Seconds = 300

    @property
    def lifetime(self) -> int:
        """From when the VM is asked for until anybody may delete it."""
        return self.create + self.ready + self.limit + self.delete + self.spare


class RunRequest(_Part):
    """Everything of one run but its number.

    places: in the order in which they are tried, each `rounds` times. zones: wherever runs may have a VM.
    contained: whether the command has no way to the VM's identity. source: the repository (owner/name) and commit that
        the VM fetches itself; else the tree that its client sends, if any. install: a line of shell before the command.
    carried: files of this project, by their paths, that the VM gets beside the tree. results: paths below the tree, or
        in `out` beside it, that come back.
    """

    version: Literal[1] = 1
    stack: str
    project: str
    bucket: str
    pool: str
    accelerator: str
    hosts: Annotated[int, Field(ge=1)] = 1
    places: Annotated[tuple[RunPlace, ...], Field(min_length=1)]
    zones: Annotated[tuple[str, ...], Field(min_length=1)]
    rounds: Annotated[int, Field(ge=1, le=100)] = 1
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    image: str = ""
    env: Mapping[str, str] = {}
    secrets: Mapping[str, str] = {}
    contained: bool
    repository: str = ""
    commit: str = ""
    install: str = ""
    carried: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    suite: str = ""
    times: RunTimes

    def _disks(self, zone: str) -> list[str]:
        """The names of the disks that the VM has in a zone: all of them to be read alone (`run_places`)."""
        node = next(place.node for place in self.places if place.zone == zone)
        return [each["sourceDisk"].rpartition("/")[2] for each in node.get("dataDisks", ())]

    def told(self, prefix: str, run: str, *, zone: str, tree: str, carried: Mapping[str, str]) -> dict[str, Any]:
        """What the VM in a zone is told. prefix: of its objects. run: number and attempt. tree: the object that its
        client sends, empty for none. carried: texts by name."""

        def meant(text: str) -> str:
            return text.replace(RUN, run).replace(COMMIT, self.commit)

        return {
            "version": self.version,
            "prefix": prefix,
            "bucket": self.bucket,
            "project": self.project,
            "hosts": self.hosts,
            "command": [meant(word) for word in self.command],
            "env": {name: meant(value) for name, value in sorted(self.env.items())},
            "secrets": dict(sorted(self.secrets.items())),
            "image": self.image,
            "contained": self.contained,
            "repository": self.repository,
            "commit": self.commit,
            "tree": tree,
            "carried": dict(carried),
            "install": self.install,
            "results": list(self.results),
            "disks": self._disks(zone),
            "limit": self.times.limit,
            "install_seconds": self.times.ready,
        }


def read_request(text: str) -> RunRequest:
    """The request of a document; ConfigError with every mistake in it."""
    try:
        return RunRequest.model_validate(json.loads(text))
    except ValidationError as error:
        problems = [
            Problem(
                f"run request {'.'.join(map(str, each['loc']))}",
                str(each["input"])[:80],
                each["msg"],
                "generate it anew",
            )
            for each in error.errors()
        ]
        raise ConfigError(problems) from None
    except ValueError as error:
        raise ConfigError([Problem("run request", text[:80], f"not JSON: {error}", "generate it anew")]) from None


def made_as(config: StackConfig) -> Pool:
    """The pool as which runs of a stack make VMs; ConfigError where the stack declares no runs."""
    if config.runs is None:
        where = f"stacks/Pulumi.{config.stack}.yaml"
        rule = "the stack declares no runs, so no VM may be made for one"
        raise ConfigError([Problem(f"{where} tidepool:runs", "", rule, "tidepool:runs, docs/runs.md says how")])
    return config.pool(config.runs.pool)


def run_places(
    config: StackConfig,
    accelerator: AcceleratorType,
    zones: Sequence[str] = (),
    kinds: Sequence[str] = (),
    *,
    made: Pool | None = None,
) -> tuple[RunPlace, ...]:
    """Every place in the order in which it is tried: a kind of capacity in all zones, then the next kind.

    zones: the stack's where none is given. kinds: the pool's own where none is given. made: one of the pools of
    `tidepool:runs`, the one for all but strangers' where none is given. ConfigError for what the stack does not let
    runs have.
    """
    pool, runs = made or made_as(config), config.runs
    if runs is None:
        raise ValueError("made_as says so")
    if problems := list(_not_allowed(config, accelerator, zones, kinds)):
        raise ConfigError(problems)
    capacities = [_KINDS[kind] for kind in kinds] or [pool.capacity]
    wanted = zones or [zone for zone in runs.zones if zone in accelerator.generation.zones]
    return tuple(
        RunPlace(zone=zone, capacity=capacity.kind, node=_node(config, pool, accelerator, zone, capacity))
        for capacity in capacities
        for zone in wanted
    )


def _not_allowed(
    config: StackConfig, accelerator: AcceleratorType, zones: Sequence[str], kinds: Sequence[str]
) -> Iterator[Problem]:
    runs, where = config.runs, f"stacks/Pulumi.{config.stack}.yaml tidepool:runs"
    if runs is None:
        return
    allowed = [each.name for each in runs.accelerators]
    if accelerator.name not in allowed:
        rule = f"runs of stack {config.stack} may not make this type"
        yield Problem(f"{where}.accelerators", accelerator.name, rule, f"one of {', '.join(allowed)}")
    for zone in zones:
        if zone not in runs.zones:
            rule = f"runs of stack {config.stack} may make no VM in this zone, and nothing would look for it there"
            yield Problem(f"{where}.zones", zone, rule, f"one of {', '.join(runs.zones)}")
        elif zone not in accelerator.generation.zones:
            rule = f"{zone} has no {accelerator.generation.name}"
            yield Problem("--zones", zone, rule, f"one of {', '.join(accelerator.generation.zones)}")
    pool = made_as(config)
    can = [kind for kind in _KINDS if kind in run_kinds(pool)]
    for kind in kinds:
        if kind not in _KINDS:
            yield Problem("--capacity", kind, "no kind of capacity of a run's VM", f"one of {', '.join(_KINDS)}")
        elif kind not in can:
            rule = f"neither pool {pool.name} nor a fallback of it has this capacity, so no limit or budget counts it"
            yield Problem("--capacity", kind, rule, f"one of {', '.join(can)}" if can else "no --capacity")
    if not zones and not any(zone in accelerator.generation.zones for zone in runs.zones):
        rule = f"none of them has {accelerator.generation.name}"
        yield Problem(
            f"{where}.zones", ", ".join(runs.zones), rule, f"one of {', '.join(accelerator.generation.zones)}"
        )


def _node(
    config: StackConfig, pool: Pool, accelerator: AcceleratorType, zone: str, capacity: Capacity
) -> dict[str, Any]:
    """Its network, account, runtime and trust are the pool's; the fleet must not take it for a VM of the pool."""
    disks = tuple(disk for disk in pool.data_disks if disk.zone == zone and disk.mode is DiskMode.READ_ONLY)
    update: dict[str, Any] = {"capacity": capacity, "data_disks": disks}
    if accelerator.name != pool.accelerator.name:
        same = accelerator.generation == pool.accelerator.generation
        update |= {"accelerator": accelerator, **({} if same else {"runtime_override": None})}
    labels = {key: value for key, value in vm_labels(config, pool).items() if key not in OF_THE_FLEET}
    slot = Slot(
        name="", pool=pool.model_copy(update=update), zone=zone, region=region_of(zone), index=0, labels=labels
    )  # fmt: skip
    body = node_spec(config, slot).to_api()
    return {key: value for key, value in body.items() if key not in ("metadata", "description")}


def is_contained(pool: Pool) -> bool:
    """Whether runs have no way to the VM's identity: all but those of the main branch and releases."""
    return pool.trust is not Trust.PROTECTED


def over_lifetime(config: StackConfig, times: RunTimes) -> str:
    """Why a run may not take so long, empty where it may."""
    runs = config.runs
    if runs is None or times.lifetime <= runs.time_to_live_minutes * 60:
        return ""
    return (
        f"the VM could stand for {times.lifetime // 60} minutes, and runs.time_to_live_minutes of stack {config.stack} "
        f"is {runs.time_to_live_minutes}; take a shorter limit, or raise it in stacks/Pulumi.{config.stack}.yaml"
    )
