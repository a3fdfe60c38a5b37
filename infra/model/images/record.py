"""The record of images: what was built, and which digest every pool shall run, as one JSON document, version 1.

Owns its transitions (built, promoted, undone), each a pure function that returns another record or raises ConfigError;
its form is `record_documents`. Leaves where the record is kept, and what registries and VMs make of it, to
`infra.fleet.images`.

The record is written after every place has the digest that it names: who reads it sees all places of a build or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from infra.model.errors import ConfigError, Problem
from infra.model.images.record_documents import EARLIER_TARGETS, HISTORY, Build, ImageRecord, PoolTarget, Record

Uses = Mapping[str, frozenset[str]]
"""The images that each pool may run, by the pool's name; every pool of the stacks is in it."""


class RecordOutcome(StrEnum):
    """What `built` made of a build."""

    CURRENT = "current"
    """It is the image's current build now."""
    UNCHANGED = "unchanged"
    """The record has it already."""
    OLDER = "older"
    """A build of newer sources came first: this one is in the history, and tags stay where they are."""


def built(record: Record, name: str, build: Build) -> tuple[Record, RecordOutcome]:
    """The record once `build` of image `name` is in all its places.

    A build is older than the current one where any commit that it was built from was made before the current build's
    of the same repository; between equal commits the one that began first is older. An older build never becomes
    current: it is remembered as one that can be promoted.
    """
    known = record.images.get(name)
    if known is None:
        return _with_image(record, name, ImageRecord(current=build)), RecordOutcome.CURRENT
    same = known.build(build.digest)
    if same is not None and same.model_copy(update={"seconds": build.seconds}) == build:
        return record, RecordOutcome.UNCHANGED
    # A rebuild that came out equal takes the place of the entry that has its digest: a digest is listed once.
    others = tuple(each for each in known.builds() if each.digest != build.digest)
    if is_older(build, known.current):
        if build.digest == known.current.digest:
            return record, RecordOutcome.UNCHANGED
        newer = tuple(each for each in others[1:] if each.built >= build.built)
        rest = others[1 + len(newer) :]
        held = ImageRecord(current=known.current, history=_bounded((*newer, build, *rest), record.held(name)))
        return _with_image(record, name, held), RecordOutcome.OLDER
    fresh = ImageRecord(current=build, history=_bounded(others, record.held(name)))
    return _with_image(record, name, fresh), RecordOutcome.CURRENT


def is_older(build: Build, than: Build) -> bool:
    """Whether `build` is of older sources than the other one."""
    shared = [name for name in build.committed if name in than.committed]
    if any(_made(build, name) < _made(than, name) for name in shared):
        return True
    if any(_made(build, name) > _made(than, name) for name in shared):
        return False
    return build.built < than.built


def _made(build: Build, repository: str) -> datetime:
    """When a commit was made: by its author's clock, yet before the build of it began.

    A clock that is ahead would else keep every later build from becoming current.
    """
    return min(build.committed[repository], build.built)


def promoted(record: Record, pool: str, image: str, digest: str, now: datetime, uses: Uses) -> Record:
    """The record with `digest` of `image` as what `pool` shall run; the same record where it is so already.

    Raises ConfigError where the pool does not exist, does not use that image, or the digest was never built.
    """
    _insist_on_use(pool, image, uses)
    _insist_on_build(record, image, digest)
    target = _next_target(record.pools.get(pool), image, digest, now)
    return record if target is None else _with_pool(record, pool, target)


def running(record: Record, role: str, image: str, digest: str, now: datetime) -> Record:
    """The record with `digest` of `image` as what a role (`STACK/ROLE`) runs; the same record where it is so already.

    What a role runs is the stack file's to say, so that a digest which was never recorded here is taken too.
    """
    target = _next_target(record.roles.get(role), image, digest, now)
    return record if target is None else record.model_copy(update={"roles": {**record.roles, role: target}})


def undone(record: Record, pool: str, uses: Uses) -> Record:
    """The record with what `pool` ran before its last promotion, exactly as it was then.

    Raises ConfigError where the pool does not exist or has nothing to go back to.
    """
    _insist_on_pool(pool, uses)
    present = record.pools.get(pool)
    if present is None or present.previous is None:
        value = "no promotion" if present is None else f"{present.image}@{present.digest}, its first or oldest kept one"
        rule = f"nothing to undo; up to {EARLIER_TARGETS} earlier targets are kept"
        fix = f"./tidepool images promote IMAGE@DIGEST --pool {pool}"
        if present is not None:
            fix += f", or ./tidepool rollout undo {pool}, which leaves the record and brings VMs back"
        raise ConfigError([Problem(f"pool {pool}", value, rule, fix)])
    return _with_pool(record, pool, present.previous)


def _next_target(present: PoolTarget | None, image: str, digest: str, now: datetime) -> PoolTarget | None:
    """The target that follows `present`; None where it says so already."""
    if present is not None and (present.image, present.digest) == (image, digest):
        return None
    since = now.replace(microsecond=0)
    return PoolTarget(image=image, digest=digest, since=since, previous=_cut(present, EARLIER_TARGETS))


def _insist_on_pool(pool: str, uses: Uses) -> None:
    if pool not in uses:
        raise ConfigError([Problem("pool", pool, "the stack file has no such pool", f"one of {_listed(uses)}")])


def _insist_on_use(pool: str, image: str, uses: Uses) -> None:
    _insist_on_pool(pool, uses)
    if image not in uses[pool]:
        rule = "images/images.yaml does not name the pool in used_by.pools of the image"
        fix = f"one of {_listed(uses[pool])}" if uses[pool] else "name the pool below used_by of an image"
        raise ConfigError([Problem(f"pool {pool}: image", image, rule, fix)])


def _insist_on_build(record: Record, image: str, digest: str) -> None:
    known = record.images.get(image)
    if known is None:
        raise ConfigError(
            [Problem("image", image, "no build of the image is recorded", f"./tidepool images build {image} --trigger")]
        )
    if known.build(digest) is None:
        rule = f"not one of {image}'s {len(known.builds())} recorded builds"
        fix = f"{known.current.digest}, its current one, or another that ./tidepool images list {image} shows"
        raise ConfigError([Problem(f"digest of {image}", digest, rule, fix)])


def _bounded(history: tuple[Build, ...], held: frozenset[str]) -> tuple[Build, ...]:
    """At most HISTORY builds, the oldest going first; never one that a pool names."""
    spare = max(0, len(history) - HISTORY)
    gone = [each for each in reversed(history) if each.digest not in held][:spare]
    return tuple(each for each in history if each not in gone)


def _cut(target: PoolTarget | None, depth: int) -> PoolTarget | None:
    """A chain of at most `depth` targets."""
    if target is None or depth == 0:
        return None
    return target.model_copy(update={"previous": _cut(target.previous, depth - 1)})


def _with_image(record: Record, name: str, image: ImageRecord) -> Record:
    return record.model_copy(update={"images": dict(sorted({**record.images, name: image}.items()))})


def _with_pool(record: Record, pool: str, target: PoolTarget) -> Record:
    return record.model_copy(update={"pools": dict(sorted({**record.pools, pool: target}.items()))})


def _listed(names: Mapping[str, object] | frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
