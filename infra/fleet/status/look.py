"""Looking at a fleet without touching it: the records in its bucket, the zones, GitHub's runners and jobs.

Owns what is asked, and that one thing that does not answer hides nothing else. Does not own what follows (`derive`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from infra.fleet.controller import by_hour, manifests
from infra.fleet.controller import memory as memories
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.lease import engine_at_work, epoch, last_command
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.observed import Observed
from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Record, Records
from infra.fleet.status.queue import JobsSeen, waiting_jobs
from infra.model import bucket_names
from infra.model.offers import Offer

_MISSING: Final = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What was seen of one stack. desired, observed: None where nothing says what there shall be.

    manifest: as it is published, None where none is. labels: of each pool's runners. neighbours: pools of other stacks.
    sweep: the controller's record of its last sweep, None before the first. problems: what could not be read, in
    sentences.
    """

    stack: str
    at: datetime
    manifest: Mapping[str, Any] | None = field(default=None, hash=False, repr=False)
    desired: Desired | None = None
    observed: Observed | None = None
    memory: Memory = EMPTY
    sweep: Mapping[str, Any] | None = None
    jobs: JobsSeen = field(default_factory=JobsSeen)
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    neighbours: tuple[Offer, ...] = ()
    problems: tuple[str, ...] = ()


def look(
    stack: str,
    observer: Observer,
    at: datetime,
    *,
    with_jobs: bool = True,
    neighbours: tuple[Offer, ...] = (),
) -> Scene:
    """Look once. at: the cloud's time, by which all is judged. neighbours: pools of other stacks, which take jobs too.

    Raises GoogleError where the bucket does not say what there shall be.
    """
    problems: list[str] = []
    with clients(observer.project, observer.endpoint) as google:
        records = Records(google=google, bucket=observer.bucket)
        published = _manifest(records, stack)
        if published is None:
            return Scene(stack=stack, at=at, problems=(f"not deployed. Run `./tidepool up {stack}`",))
        manifest = published.body
        try:
            desired = manifests.read_for(stack, observer.project, manifest)
        except manifests.ManifestError as error:
            return Scene(stack=stack, at=at, manifest=manifest, problems=(str(error),))
        memory = _memory(records, stack, problems)
        desired = by_hour.at(desired, at, memory)
        sweep = _record(records, bucket_names.sweep_object(stack), problems)
        lease = _record(records, bucket_names.lease_object(stack), problems)
    seen = observer.observe(desired, memory)
    observed = replace(
        seen,
        engine=engine_at_work(lease, at),
        epoch=epoch(published.generation, last_command(lease)),
        requests=seen.requests.at(at),
    )
    repositories = {repository for slot in desired.possible for repository in slot.serves}
    return Scene(
        stack=stack,
        at=at,
        manifest=manifest,
        desired=desired,
        observed=observed,
        memory=memory,
        sweep=sweep,
        jobs=waiting_jobs(observer.github, repositories) if with_jobs else JobsSeen(),
        labels=_labels(manifest),
        neighbours=neighbours,
        problems=tuple(problems),
    )


def _manifest(records: Records, stack: str) -> Record | None:
    """None where there is no manifest, or no bucket yet."""
    try:
        return records.read(bucket_names.manifest_object(stack))
    except GoogleError as error:
        if error.status == _MISSING:
            return None
        raise


def _memory(records: Records, stack: str, problems: list[str]) -> Memory:
    """What the controller remembers; without it nothing is known of the past, and nothing else is lost."""
    try:
        return memories.read(records.content(bucket_names.memory_object(stack)))
    except (GoogleError, memories.UnreadableMemoryError) as error:
        problems.append(str(error))
        return EMPTY


def _record(records: Records, name: str, problems: list[str]) -> Mapping[str, Any] | None:
    try:
        record = records.read(name)
    except GoogleError as error:
        problems.append(str(error))
        return None
    return record.body if record else None


def _labels(manifest: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    labels: dict[str, frozenset[str]] = {}
    for slot in (*manifest.get("slots", ()), *manifest.get("window_slots", ())):
        labels[slot["pool"]] = frozenset(str(label) for label in slot.get("runner_labels", ()))
    return labels
