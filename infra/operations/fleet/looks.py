"""Which stacks a fleet command is about, and how it comes to look at them.

Whose a name is, `subjects` finds. Looking itself is `infra.fleet.status.look`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from infra.engines.bench import bench
from infra.fleet.controller.desired import Desired
from infra.fleet.google import GoogleError, clients
from infra.fleet.place import FleetPlace, github_way, told_place
from infra.fleet.records import Record, Records
from infra.fleet.status.look import Scene, look
from infra.model import bucket_names
from infra.model.clock import Clock, machine_clock  # noqa: TID251 - a place without an endpoint is on Google
from infra.model.fleet import every_slot
from infra.model.offers import Offers
from infra.model.schema import StackConfig
from infra.model.stack import siblings
from infra.operations.declared.stack_file import stack_file
from infra.operations.errors import Failure
from infra.operations.fleet.subjects import readable_configs
from infra.operations.ports import SILENT, CloudName, Teller, Tone
from infra.operations.session import CloudSession, open_cloud
from infra.operations.workspace import workspace
from infra.tools import collector

if TYPE_CHECKING:
    from infra.engines.bench import Guests

__all__ = ("FleetPlace", "declared_place", "guests_at", "told_place")


def declared_place(config: StackConfig, endpoint: str | None) -> FleetPlace:
    """endpoint: root of the local cloud, whose GitHub then knows what the stack serves; None for Google."""
    if endpoint is None:
        project, bucket = config.project, config.bucket.name
        github = github_way(config.stack, project, bucket, os.environ)
        return FleetPlace(
            project=project,
            bucket=bucket,
            endpoint=None,
            github=github,
            clock=machine_clock,
            builds=config.builds is not None,
        )
    return bench().place(config, endpoint)


def guests_at(endpoint: str | None) -> Guests | None:
    """The guests of the local cloud at this root; None on Google Cloud, whose VMs live by themselves."""
    return None if endpoint is None else bench().guests(endpoint)


def settled_at(endpoint: str | None, clock: Clock) -> datetime:
    """The cloud's present, until which the guests of a local cloud have lived."""
    if guests := guests_at(endpoint):
        guests.settle()
    return clock()


def swept_place(
    stack: str, cloud: CloudName | None, teller: Teller, agree: Callable[[CloudName], None]
) -> tuple[FleetPlace, Guests | None]:
    """Where the fleet of a stack is that shall be swept, and its guests on the local cloud.

    The environment says it, as on Cloud Run, else the stack file; then `agree` is asked before its cloud is reached.
    """
    if cloud is not CloudName.LOCAL and (told := told_place(stack, os.environ)):
        return told, None
    config = stack_file(stack).config
    session = open_cloud(cloud, teller)
    agree(session.cloud)
    return declared_place(config, session.endpoint), guests_at(session.endpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """One stack's fleet, and the session of the command that is about it.

    trouble: what is wrong with its stack file, by which `config` may not be all that is meant; else empty.
    """

    config: StackConfig
    session: CloudSession
    place: FleetPlace
    trouble: str = ""

    @property
    def stack(self) -> str:
        return self.config.stack

    def look(self, *, with_jobs: bool = False, at: datetime | None = None) -> Scene:
        """Look once, on the local cloud with its guests alive until now.

        at: of `settled_at`, where several looks are to have one time.
        Raises GoogleError where the bucket does not say what there shall be.
        """
        moment = at or settled_at(self.place.endpoint, self.place.clock)
        neighbours = Offers.of(siblings(workspace().root, self.stack)).pools if with_jobs else ()
        return look(self.stack, self.place.observer, moment, with_jobs=with_jobs, neighbours=neighbours)

    def published(self) -> tuple[Scene, Desired]:
        """What is seen, and what is published. Failure where the manifest is not there or says something else."""
        scene = self.look()
        if scene.desired is None:
            raise Failure(f"{self.stack}: {'; '.join(scene.problems)}")
        return scene, scene.desired

    def pause(self, seconds: float) -> None:
        """Wait; on the local cloud its clock is moved in place of waiting."""
        collector.as_usual()
        if guests := guests_at(self.place.endpoint):
            guests.advance(seconds)
        else:
            time.sleep(seconds)


def open_fleet(
    stack: str, cloud: CloudName | None = None, teller: Teller = SILENT, *, tells_trouble: bool = True
) -> Fleet:
    """The fleet of a stack, whatever is wrong with its file; ConfigError where that does not even say where it is.

    tells_trouble: False for what tells of it in its own result.
    """
    file = stack_file(stack)
    session = open_cloud(cloud, teller)
    if file.trouble and tells_trouble:
        session.say(file.trouble, Tone.WARNING)
    place = declared_place(file.config, session.endpoint)
    return Fleet(config=file.config, session=session, place=place, trouble=file.trouble)


def published_manifest(config: StackConfig, endpoint: str | None) -> Record:
    """The desired fleet of a stack as it is in its bucket. Raises Failure where it is not there or cannot be read."""
    try:
        with clients(config.project, endpoint) as google:
            record = Records(google=google, bucket=config.bucket.name).read(bucket_names.manifest_object(config.stack))
    except GoogleError as error:
        raise Failure(f"the manifest cannot be read: {error}") from None
    if record is None:
        said = f"gs://{config.bucket.name} has no manifest of {config.stack}"
        raise Failure(f"{said}; `./tidepool up {config.stack}` publishes it")
    return record


def fleets_declared(stack: str | None) -> list[str]:
    """The stack that is named; else every stack that declares VMs, at hours that come round too."""
    if stack is not None:
        return [stack]
    return [config.stack for config in readable_configs(None) if every_slot(config)]
