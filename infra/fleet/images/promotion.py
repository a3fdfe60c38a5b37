"""Promotion: a pool's target digest, kept in every region before any VM is told of it, and the way back.

Owns the order, which makes every interruption harmless:

1. every region is asked whether it has the digest;
2. the digest gets a tag that keeps it from clean-up, in every region;
3. the record names it as the pool's target;
4. before a pool's first image, VMs whose orders leave it to the pointer are told to run none;
5. the pointer, which VMs read, names it in every region;
6. tags of digests that the pool can no longer go back to are taken away.

Tags carry the digest in their name, so that keeping a new one takes no protection from an old one. A promotion that was
cut off is ended by running it again, an undo by the command that its error names. Which VM runs which image is the
controller's business.

Keeps from clean-up too what the broker and the controller of a stack run (`RoleImages`): the digest is tagged in the
place that Cloud Run pulls from, then the record names it, then tags of digests that no revert of the last few edits
brings back are taken away. Which image that is, the stack file says (`tidepool:controller.image`), and `up` hands it
over whenever it applied one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from infra.fleet.google import GoogleError
from infra.fleet.images.oci import RegistryError
from infra.fleet.images.registries import Answers, ArtifactPlace, in_use, location
from infra.fleet.images.store import Store
from infra.model import names
from infra.model.errors import ConfigError, Problem
from infra.model.images.record import Uses, promoted, running, undone
from infra.model.images.record_documents import PoolTarget, Record

ROUNDS: Final = 8
"""Times that a pool is brought in line before giving up; each more round means that another command changed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a promotion or undo came to for one pool.

    before: the digest that the pool had as its target, None where it had none. changed: whether the record was changed.
    finished: what an earlier command had left undone was brought in line, and nothing else was done.
    pointer: whether it names something new. kept, released: tags that were set and taken away, `place:tag`.
    problem: what kept spare tags from being taken away, once all else was done; None where nothing did.
    """

    pool: str
    image: str
    digest: str
    before: str | None
    changed: bool
    finished: bool
    pointer: bool
    kept: tuple[str, ...]
    released: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, slots=True)
class _Settled:
    target: PoolTarget
    pointer: bool
    kept: tuple[str, ...]
    released: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """places: those of Artifact Registry, by image. regions: where each pool has VMs. stacks: each pool's stack.

    Every method raises GoogleError or RegistryError where a call fails; running it again goes on from there.
    """

    store: Store
    registries: Answers
    uses: Uses
    places: Mapping[str, Sequence[str]]
    regions: Mapping[str, frozenset[str]]
    stacks: Mapping[str, str]

    def promote(self, pools: Sequence[str], image: str, digest: str, now: datetime) -> tuple[Moved, ...]:
        """Make `digest` the target of every one of `pools`; all of them or, where one is refused, none."""
        before = self.store.read()
        _promote_all(before, pools, image, digest, now, self.uses)
        for pool in pools:
            self._insist_on_regions(pool, image, digest)
        kept = {pool: self._keep(pool, image, digest) for pool in pools}
        self.store.update(lambda record: _promote_all(record, pools, image, digest, now, self.uses))
        return tuple(self._moved(pool, before, kept[pool]) for pool in pools)

    def undo(self, pool: str) -> Moved:
        """Go back to what the pool ran before. Where an earlier command was cut off, finish that one instead."""
        before = self.store.read()
        if pool in before.pools and not self._in_line(pool, before.pools[pool]):
            return self._moved(pool, before, (), finished=True)
        target = undone(before, pool, self.uses).pools[pool]
        self._insist_on_regions(pool, target.image, target.digest)
        # Whoever came first with another target meant that one: it is not taken back unseen.
        self.store.update(
            lambda record: undone(record, pool, self.uses) if record.pools.get(pool) == before.pools[pool] else record
        )
        try:
            return self._moved(pool, before, ())
        except (GoogleError, RegistryError) as error:
            # Where a pointer's write went through and its answer was lost, another undo would go back twice.
            finish = f"./tidepool images promote {target.image}@{target.digest} --pool {pool}"
            raise GoogleError(
                f"undoing in {pool}", f"{error}\nThe record names the earlier digest already; `{finish}` ends it"
            ) from None

    def _moved(self, pool: str, before: Record, kept: tuple[str, ...], *, finished: bool = False) -> Moved:
        settled = self._settle(pool)
        target = settled.target
        earlier = before.pools.get(pool)
        return Moved(
            pool=pool,
            image=target.image,
            digest=target.digest,
            before=earlier.digest if earlier else None,
            changed=earlier != target,
            finished=finished,
            pointer=settled.pointer,
            kept=(*kept, *settled.kept),
            released=settled.released,
            problem=settled.problem,
        )

    def _settle(self, pool: str) -> _Settled:
        """Bring tags and pointer in line with the record, which another command may change meanwhile."""
        pointer, kept, released = False, (), ()
        for _ in range(ROUNDS):
            target = self.store.read().pools[pool]
            self._insist_on_regions(pool, target.image, target.digest)
            for each in target.chain():
                kept += self._keep(pool, each.image, each.digest)
            self.store.hold(self.stacks[pool], pool)
            pointer |= self.store.point(self.stacks[pool], pool, self._references(target))
            try:
                released += self._release(pool, target)
                if self.store.read().pools[pool] == target:
                    return _Settled(target, pointer, kept, released, None)
            except (GoogleError, RegistryError) as error:
                # Nothing hangs on it any more, and an undo that failed here and was run again would go back twice.
                return _Settled(target, pointer, kept, released, str(error))
        raise GoogleError(f"promoting to {pool}", f"other commands changed its target {ROUNDS} times in a row")

    def _in_line(self, pool: str, target: PoolTarget) -> bool:
        """Whether pointer and tags say what the record says; of an image that is no longer declared nobody can say."""
        if target.image not in self.places:
            return True
        if self.store.images(self.stacks[pool]).get(pool) != self._references(target):
            return False
        tagged = set(self._tagged(pool, target))
        own = {(place, names.in_use_tag(pool, target.digest)) for place in self.places[target.image]}
        return own <= tagged and {tag for _, tag in tagged} <= _tags(pool, target)

    def _keep(self, pool: str, image: str, digest: str) -> tuple[str, ...]:
        """Tag a digest for the pool in every region that has it and lacks the tag; which tags were set."""
        tag, done = names.in_use_tag(pool, digest), []
        for place in self.places.get(image, ()):
            if self.registries.named(place, tag) != digest and self.registries.has(place, digest):
                self.registries.tag(place, tag, digest)
                done.append(f"{place}:{tag}")
        return tuple(done)

    def _release(self, pool: str, target: PoolTarget) -> tuple[str, ...]:
        """Take the pool's tags from digests that it can no longer go back to; which tags were taken."""
        wanted = _tags(pool, target)
        spare = [(place, tag) for place, tag in self._tagged(pool, target) if tag not in wanted]
        for place, tag in spare:
            self.registries.untag(place, tag)
        return tuple(f"{place}:{tag}" for place, tag in spare)

    def _tagged(self, pool: str, target: PoolTarget) -> list[tuple[str, str]]:
        """Every tag that was set for the pool, wherever one of its images is."""
        images = sorted({*self.uses[pool], *(each.image for each in target.chain())} & self.places.keys())
        return [
            (place, tag)
            for image in images
            for place in self.places[image]
            for tag, _ in in_use(self.registries.tags(place), pool)
        ]

    def _references(self, target: PoolTarget) -> Mapping[str, str]:
        """What VMs pull, by region: their own region's copy."""
        return {location(place): f"{place}@{target.digest}" for place in sorted(self.places[target.image])}

    def _insist_on_regions(self, pool: str, image: str, digest: str) -> None:
        """Every region of the image has the digest, and every region of the pool is one of them."""
        places = self.places.get(image, ())
        problems = [
            Problem(
                f"pool {pool}: region {region}",
                f"no repository has {image} there",
                "VMs of the pool could not pull from their own region",
                f"{region} below push.artifact_registry.regions of {image}",
            )
            for region in sorted(self.regions[pool] - {location(place) for place in places})
        ]
        problems += [
            Problem(
                place,
                f"does not have {digest}",
                "not every region has the digest",
                f"./tidepool images build {image} --trigger, which copies it to every region",
            )
            for place in places
            if not self.registries.has(place, digest)
        ]
        if problems:
            raise ConfigError(problems)


def artifact_places(places: Sequence[str]) -> tuple[str, ...]:
    """Those places that are in Artifact Registry, where VMs pull from and digests can be kept."""
    return tuple(place for place in places if ArtifactPlace.parse(place))


def _promote_all(record: Record, pools: Sequence[str], image: str, digest: str, now: datetime, uses: Uses) -> Record:
    for pool in pools:
        record = promoted(record, pool, image, digest, now, uses)
    return record


def _tags(pool: str, target: PoolTarget) -> set[str]:
    """The tags of what a pool runs and can go back to."""
    return {names.in_use_tag(pool, each.digest) for each in target.chain()}


ROLES = ("broker", "controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleImages:
    """stack: whose broker and controller."""

    store: Store
    registries: Answers
    stack: str

    def keep(self, reference: str, now: datetime) -> tuple[str, ...]:
        """Keep the image that both run; the tags that were set, `place:tag`. Nothing where the place does not have it:
        Cloud Run does not start what is not there. GoogleError and RegistryError where a call fails.
        """
        place, _, digest = reference.partition("@")
        found = ArtifactPlace.parse(place)
        if found is None or not self.registries.has(place, digest):
            return ()
        tags = {role: names.in_use_tag(names.role_user(self.stack, role), digest) for role in ROLES}
        missing = [tag for tag in tags.values() if self.registries.named(place, tag) != digest]
        for tag in missing:
            self.registries.tag(place, tag, digest)

        def run_by_both(record: Record) -> Record:
            for role in ROLES:
                record = running(record, f"{self.stack}/{role}", found.package, digest, now)
            return record

        before = self.store.read()
        if run_by_both(before) is not before:
            self.store.update(run_by_both)
        self._release(place, found.package)
        return tuple(f"{place}:{tag}" for tag in missing)

    def _release(self, place: str, image: str) -> None:
        """Take away the tags of digests that the record no longer holds for these roles."""
        record, tags = self.store.read(), self.registries.tags(place)
        for role in ROLES:
            target = record.roles[f"{self.stack}/{role}"]
            held = {each.digest for each in target.chain() if each.image == image}
            for tag, digest in in_use(tags, names.role_user(self.stack, role)):
                if digest not in held:
                    self.registries.untag(place, tag)
