"""Every place that names a digest: record, pools, pointers, manifests, registries and their tags, VMs.

Owns the search. Each source is searched by itself, so that one that does not answer hides nothing of the others. Owns
too how images stand: what the record says of each, beside what its places answer today.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from infra.fleet.google import Api, Clients, GoogleError, execute
from infra.fleet.images.oci import RegistryError
from infra.fleet.images.registries import Answers, ArtifactPlace, location
from infra.fleet.images.store import Store
from infra.fleet.records import UnreadableRecordError
from infra.model import bucket_names
from infra.model.images.record_documents import Build, PoolTarget, Record
from infra.model.manifest import possible_slots
from infra.model.schema import StackConfig

_NOT_FOUND: Final = 404


@dataclass(frozen=True, slots=True)
class Use:
    """One place that names the digest.

    kind: `record`, `child`, `pool`, `role`, `pointer`, `manifest`, `registry`, `tag` or `vm`. subject: what names it.
    detail: how.
    """

    kind: str
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class Found:
    """What names a digest. uses: in the order of the kinds above. silent: sources that did not answer, and why."""

    digest: str
    uses: tuple[Use, ...]
    silent: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """google: clients by stack. fleets: stacks by name, each with its own bucket. places: by image. tags: of images."""

    store: Store
    registries: Answers
    google: Mapping[str, Clients]
    fleets: Mapping[str, StackConfig]
    places: Mapping[str, Sequence[str]]
    tags: Mapping[str, Sequence[str]]
    _silent: list[str] = field(default_factory=list)

    def find(self, digest: str) -> Found:
        """Everything that names `digest`."""
        uses = [*self._asked(lambda: in_record(self.store.read(), digest))]
        for stack in self.fleets:
            uses += self._asked(lambda stack=stack: self._pointer(stack, digest), may_lack=True)
        for stack in self.fleets:
            uses += self._asked(lambda stack=stack: self._manifest(stack, digest), may_lack=True)
        for image, places in self.places.items():
            for place in places:
                uses += self._asked(lambda place=place, image=image: self._place(place, self.tags[image], digest))
        for stack, config in self.fleets.items():
            for zone in sorted({zone for pool in config.pools for zone in pool.reach}):
                uses += self._asked(
                    lambda stack=stack, config=config, zone=zone: self._vms(stack, config, zone, digest)
                )
        return Found(digest, tuple(uses), tuple(self._silent))

    def _asked(self, source: Callable[[], Iterator[Use]], *, may_lack: bool = False) -> list[Use]:
        """may_lack: whether the source may not be there, as the bucket of a stack that was never brought up."""
        try:
            return list(source())
        except (GoogleError, RegistryError) as error:
            lacks = isinstance(error, GoogleError) and error.status == _NOT_FOUND
            if not (may_lack and lacks):
                self._silent.append(str(error))
            return []

    def _pointer(self, stack: str, digest: str) -> Iterator[Use]:
        for pool, references in sorted(self.store.images(stack).items()):
            regions = sorted(region for region, each in references.items() if each.endswith(f"@{digest}"))
            if regions:
                yield Use(
                    "pointer", f"{bucket_names.pointer_object()} of {stack}", f"pool {pool} in {', '.join(regions)}"
                )

    def _manifest(self, stack: str, digest: str) -> Iterator[Use]:
        manifest = bucket_names.manifest_object(stack)
        found = self.store.pointers[stack].read(manifest)
        try:
            slots = possible_slots(found.body) if found else ()
        except ValueError as error:
            raise UnreadableRecordError(f"reading {manifest} of {stack}", str(error)) from None
        for slot in slots:
            if _names(slot, digest):
                yield Use("manifest", f"{manifest} of {stack}", f"slot {slot['name']}")

    def _place(self, place: str, tags: Sequence[str], digest: str) -> Iterator[Use]:
        if not self.registries.has(place, digest):
            return
        yield Use("registry", place, "has it")
        if ArtifactPlace.parse(place):
            named = [tag for tag, each in sorted(self.registries.tags(place).items()) if each == digest]
        else:
            named = [tag for tag in tags if "{" not in tag and self.registries.named(place, tag) == digest]
        if named:
            yield Use("tag", place, ", ".join(named))

    def _vms(self, stack: str, config: StackConfig, zone: str, digest: str) -> Iterator[Use]:
        api = self.google[stack].api(Api.TPU).projects().locations().nodes()
        request = api.list(parent=f"projects/{config.project}/locations/{zone}", pageSize=1000)
        while request is not None:
            page = execute(request, f"listing TPU VMs of {zone}")
            for node in page.get("nodes", ()):
                said = [part for part in ("labels", "metadata") if _names(node.get(part), digest)]
                if said:
                    yield Use("vm", node["name"].rpartition("/")[2], f"{' and '.join(said)} in {zone}")
            request = api.list_next(request, page)


def in_record(record: Record, digest: str) -> Iterator[Use]:
    """The builds that have the digest or are built from it, and the pools and roles that run or can go back to it."""
    for name, image in record.images.items():
        for age, build in enumerate(image.builds()):
            when = f"{build.built:%Y-%m-%d %H:%M} UTC"
            if build.digest == digest:
                said = "current" if age == 0 else "1 build ago" if age == 1 else f"{age} builds ago"
                yield Use("record", name, f"{said}, built {when}")
            for parent, each in build.parents.items():
                if each == digest:
                    yield Use("child", f"{name}@{build.digest}", f"is built from it as {parent}")
    for pool, target in record.pools.items():
        for back, each in enumerate(target.chain()):
            if each.digest == digest:
                said = "its target" if back == 0 else f"{back} undo back" if back == 1 else f"{back} undos back"
                yield Use("pool", pool, f"{said}, promoted {each.since:%Y-%m-%d %H:%M} UTC")
    for role, target in record.roles.items():
        for back, each in enumerate(target.chain()):
            if each.digest == digest:
                said = f"{'runs it' if back == 0 else f'ran it {back} before'}, since {each.since:%Y-%m-%d %H:%M} UTC"
                yield Use("role", role, said)


def _names(value: Any, digest: str) -> bool:
    """Whether plain data names the digest. A label has no room for all of it: 12 digits as a value of their own do."""
    if digest in json.dumps(value):
        return True
    return isinstance(value, Mapping) and digest.removeprefix("sha256:")[:12] in value.values()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceState:
    """One place of an image. tag: its moving tag, which names `named`, None where nothing is named.

    current: whether the place has the record's current digest, None where that is not known. problem: why it is not.
    """

    place: str
    tag: str | None
    named: str | None
    current: bool | None
    problem: str | None

    @property
    def location(self) -> str:
        return location(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageState:
    """One image. pools: the target of each pool that may run it, perhaps another image's; None where it has none."""

    image: str
    current: Build | None
    history: tuple[Build, ...]
    places: tuple[PlaceState, ...]
    pools: Mapping[str, PoolTarget | None]

    @property
    def equal(self) -> bool | None:
        """Whether every place has the current digest; None where there is none or a place did not answer."""
        answers = [each.current for each in self.places]
        if self.current is None or not answers:
            return None
        if False in answers:
            return False
        return None if None in answers else True


def image_state(
    registries: Answers, record: Record, image: str, *, places: Sequence[str], tag: str | None, pools: Sequence[str]
) -> ImageState:
    """What the record and the places say of one image. tag: the moving tag to ask for, None where it has none."""
    known = record.images.get(image)
    current = known.current if known else None
    return ImageState(
        image=image,
        current=current,
        history=known.history if known else (),
        places=tuple(_place_state(registries, place, current, tag) for place in places),
        pools={pool: record.pools.get(pool) for pool in sorted(pools)},
    )


def _place_state(registries: Answers, place: str, current: Build | None, tag: str | None) -> PlaceState:
    try:
        named = registries.named(place, tag) if tag else None
        has = registries.has(place, current.digest) if current else None
    except (GoogleError, RegistryError) as error:
        return PlaceState(place=place, tag=tag, named=None, current=None, problem=str(error))
    return PlaceState(place=place, tag=tag, named=named, current=has, problem=None)
