"""Registries and fleet buckets in memory, any call of which can be the last one that a command makes."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.fleet.google import GoogleError
from infra.fleet.images.promotion import Promotion
from infra.fleet.images.store import Store
from infra.fleet.records import Body, Record, UnreadableRecordError, WriteResult, encode
from infra.model import bucket_names, names
from infra.model.images.record import built
from infra.model.images.record_documents import Build, parse

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
REGIONS = ("europe-west4", "us-central1", "us-west4")
PLACES = tuple(f"{region}-docker.pkg.dev/hai-gcp-models/marin-ci/tpu-ci" for region in REGIONS)
POOL, OTHER_POOL = "tpu-ci", "tpu-v6e"


def digest(letter: str) -> str:
    return f"sha256:{hashlib.sha256(letter.encode()).hexdigest()}"


@dataclass
class Power:
    """Lets so many calls through, then fails: before or after the call has done its work, as a network does."""

    left: int | None = None
    after: bool = False

    def spend(self, doing: str, work: Callable[[], Any]) -> Any:
        if self.left is None:
            return work()
        self.left -= 1
        if self.left >= 0:
            return work()
        if self.left == -1 and self.after:
            work()
        raise GoogleError(doing, "the network is gone")


@dataclass
class Bucket:
    power: Power
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    generation: int = 1
    clock: datetime = NOW
    updated: dict[str, datetime] = field(default_factory=dict)

    def below(self, prefix: str) -> list[str]:
        return self.power.spend(f"listing {prefix}", lambda: [each for each in self.objects if each.startswith(prefix)])

    def read(self, name: str, *, most: int | None = None) -> Record | None:
        def work() -> Record | None:
            body = self.objects.get(name)
            if body is None:
                return None
            content, updated = encode(body), self.updated.get(name, NOW)
            if most is not None and len(content) > most:
                raise UnreadableRecordError(f"reading {name}", f"it has more than {most} bytes")
            return Record(body=copy.deepcopy(body), generation=self.generation, updated=updated, content=content)

        return self.power.spend(f"reading {name}", work)

    def put_once(self, name: str, content: bytes, content_type: str) -> WriteResult:
        def work() -> WriteResult:
            fresh = name not in self.objects
            self.objects.setdefault(name, json.loads(content))
            return WriteResult(generation=self.generation, changed=fresh)

        return self.power.spend(f"writing {name}", work)

    def update(self, name: str, decide: Callable[[Body | None], Body]) -> WriteResult:
        def work() -> WriteResult:
            wanted = dict(decide(copy.deepcopy(self.objects.get(name))))
            changed = wanted != self.objects.get(name)
            self.objects[name] = wanted
            if changed:
                self.updated[name] = self.clock
            self.generation += changed
            return WriteResult(generation=self.generation, changed=changed)

        return self.power.spend(f"writing {name}", work)


@dataclass
class Registries:
    power: Power
    versions: dict[str, set[str]] = field(default_factory=lambda: {place: set() for place in PLACES})
    named_by: dict[str, dict[str, str]] = field(default_factory=lambda: {place: {} for place in PLACES})

    def has(self, place: str, digest: str) -> bool:
        return self.power.spend(f"looking up {place}@{digest}", lambda: digest in self.versions.get(place, ()))

    def named(self, place: str, tag: str) -> str | None:
        return self.power.spend(f"looking up {place}:{tag}", lambda: self.named_by.get(place, {}).get(tag))

    def tags(self, place: str) -> Mapping[str, str]:
        return self.power.spend(f"listing tags of {place}", lambda: dict(self.named_by.get(place, {})))

    def tag(self, place: str, tag: str, digest: str) -> None:
        def work() -> None:
            assert digest in self.versions[place], "a registry refuses a tag of what it does not have"
            self.named_by[place][tag] = digest

        self.power.spend(f"tagging {place}", work)

    def untag(self, place: str, tag: str) -> None:
        self.power.spend(f"taking {tag} from {place}", lambda: self.named_by[place].pop(tag, None))


class World:
    """Three regions, two pools of one stack, and builds a, b, c ... of one image."""

    def __init__(self) -> None:
        self.power = Power()
        self.bucket = Bucket(self.power)
        self.registries = Registries(self.power)
        self.store = Store(record=self.bucket, pointers={"ci": self.bucket})
        self.promotion = Promotion(
            store=self.store,
            registries=self.registries,
            uses={POOL: frozenset({"tpu-ci"}), OTHER_POOL: frozenset({"tpu-ci"}), "idle": frozenset()},
            places={"tpu-ci": PLACES},
            regions={
                POOL: frozenset({"us-west4", "europe-west4"}),
                OTHER_POOL: frozenset({"us-west4"}),
                "idle": frozenset(),
            },
            stacks={POOL: "ci", OTHER_POOL: "ci", "idle": "ci"},
        )

    def build(self, *letters: str) -> None:
        """Builds that every region has and the record knows."""
        for letter in letters:
            for place in PLACES:
                self.registries.versions[place].add(digest(letter))
            when = NOW + timedelta(hours=ord(letter))
            made = Build(
                digest=digest(letter), revision={}, built=when, build=letter, places=PLACES, size_bytes=1_000_000_000
            )
            self.store.update(lambda record, made=made: built(record, "tpu-ci", made)[0])

    def promote(self, letter: str, *pools: str) -> None:
        self.promotion.promote(pools or (POOL,), "tpu-ci", digest(letter), NOW)

    def state(self) -> Any:
        """Everything that lasts."""
        return copy.deepcopy((self.bucket.objects, self.registries.versions, self.registries.named_by))

    def tagged(self, place: str) -> set[str]:
        """Digests of a place that a tag keeps."""
        return {each for tag, each in self.registries.named_by[place].items() if tag.startswith(names.IN_USE_PREFIX)}

    def pointed(self, pool: str = POOL) -> Mapping[str, str]:
        body = self.bucket.objects.get(bucket_names.pointer_object(), {})
        return body.get("images", {}).get(pool, {})

    def problems(self) -> list[str]:
        """What must never be, whenever a command was cut off."""
        found = []
        body = self.bucket.objects.get(bucket_names.images_record_object())
        record = parse(body)
        for place in PLACES:
            unkept = record.held("tpu-ci") - self.tagged(place)
            found += [f"the record's {each[:12]} is not kept in {place}" for each in sorted(unkept)]
        for pool in (POOL, OTHER_POOL):
            pointed = set(self.pointed(pool).values())
            digests = {reference.partition("@")[2] for reference in pointed}
            if len(digests) > 1:
                found.append(f"VMs of {pool} are told {len(digests)} digests")
            for each in digests:
                for place in PLACES:
                    if each not in self.registries.versions[place]:
                        found.append(f"VMs of {pool} are told {each[:12]}, which {place} lacks")
                    if each not in self.tagged(place):
                        found.append(f"VMs of {pool} are told {each[:12]}, which {place} does not keep")
        return found
