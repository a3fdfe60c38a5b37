"""After an apply, whole or partly failed: read which manifest stands, and how every pool stands.

Neither keeps the other from being done: what could not be done is a problem that the command tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.fleet.status.derive import coming
from infra.fleet.status.shape import RolloutStatus
from infra.model import bucket_names
from infra.model.cluster_state import ClusterNow
from infra.model.json_shape import JsonShape
from infra.model.plan import Op, Plan, Status, Step
from infra.model.planned_records import OBJECT_TYPE
from infra.model.schema import StackConfig
from infra.operations.fleet.nodes import nodes_now
from infra.operations.fleet.pools import PoolState, pools_now
from infra.operations.images.after_apply import after_apply

_MISSING: Final = 404
_WRITING: Final = frozenset((Op.CREATE, Op.UPDATE, Op.REPLACE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(JsonShape):
    """The manifest as it stands in the fleet bucket. changed: whether the run wrote it.

    bundle: None where the manifest names none.
    """

    bucket: str
    object: str
    generation: int
    bundle: str | None
    changed: bool

    def __str__(self) -> str:
        said = "published" if self.changed else "unchanged"
        return f"manifest {said}: gs://{self.bucket}/{self.object} (generation {self.generation})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath(JsonShape):
    """manifest: None where there is none, or where it could not be read. cluster: None where none is declared.

    rollouts: of pools that are about to try a version, or that leave one back. building: images whose builds were
    started, since their triggers have other steps now.
    """

    JSON = ("pools", "cluster", "registries", "manifest", "rollouts", "building", "problems")

    config: StackConfig
    pools: tuple[PoolState, ...]
    cluster: ClusterNow | None
    manifest: Published | None
    rollouts: tuple[RolloutStatus, ...]
    building: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def registries(self) -> Mapping[str, tuple[str, ...]]:
        """Repositories by region."""
        declared = self.config.registries
        if declared is None:
            return {}
        return dict.fromkeys(declared.regions, tuple(each.name for each in declared.repositories))


def look_after(config: StackConfig, run: Plan, endpoint: str | None, now: datetime) -> Aftermath:
    """Read it all. run: what was applied. endpoint: the local cloud's root URL, None on Google. now: its time."""
    problems: list[str] = []
    published: Published | None = None
    rollouts: tuple[RolloutStatus, ...] = ()
    try:
        published = _published(config, run, endpoint)
        rollouts = _coming(config, endpoint) if published else ()
    except GoogleError as error:
        problems.append(f"the fleet's records could not be read: {error}")
    except ValueError as error:
        problems.append(f"what pools try next is not known: {error}")
    images = after_apply(config, run, endpoint, now)
    problems += images.problems
    pools, silent = pools_now(config, endpoint)
    problems += [f"{zone} did not say how its VMs stand: {why}" for zone, why in silent.items()]
    return Aftermath(
        config=config,
        pools=pools,
        cluster=nodes_now(config, endpoint),
        manifest=published,
        rollouts=rollouts,
        building=images.started,
        problems=tuple(problems),
    )


def _published(config: StackConfig, run: Plan, endpoint: str | None) -> Published | None:
    """None where there is no manifest, as after an apply that failed before it: its own error says so."""
    name = bucket_names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        try:
            record = Records(google=google, bucket=config.bucket.name).read(name)
        except GoogleError as error:
            if error.status == _MISSING:
                return None
            raise
    if record is None:
        return None
    return Published(
        bucket=config.bucket.name,
        object=name,
        generation=record.generation,
        bundle=record.body.get("bundle"),
        changed=any(_wrote(step, name) for step in run.steps),
    )


def _coming(config: StackConfig, endpoint: str | None) -> tuple[RolloutStatus, ...]:
    with clients(config.project, endpoint) as google:
        return coming(Records(google=google, bucket=config.bucket.name), config.stack)


def _wrote(step: Step, name: str) -> bool:
    return (step.type, step.name, step.status) == (OBJECT_TYPE, name, Status.DONE) and step.op in _WRITING
