"""The commit point of a build, how images stand, and the search: each where a call fails, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infra.fleet.google import GoogleError
from infra.fleet.images.builds import record_build
from infra.fleet.images.where import ImageState, Search, image_state, in_record
from infra.fleet.records import Records, WriteResult
from infra.model import bucket_names, names
from infra.model.images.record import running
from infra.model.images.record_documents import Build
from infra.model.stack import load_stack
from tests.fleet.images.worlds import NOW, PLACES, POOL, Bucket, World, digest
from tests.synthetic_lab import the_lab

DOCUMENTS = {"sbom": b"{}", "provenance": b"{}"}


class Filing(Bucket):
    """A bucket that also keeps documents."""

    def put_once(self, name: str, content: bytes, content_type: str) -> WriteResult:
        def work() -> WriteResult:
            changed = name not in self.objects
            self.objects.setdefault(name, {"content": content, "type": content_type})
            return WriteResult(generation=1, changed=changed)

        return self.power.spend(f"writing {name}", work)


def start() -> tuple[World, Filing, Build]:
    """Build a is recorded; b is in every place and not recorded yet."""
    world = World()
    world.build("a")
    for place in PLACES:
        world.registries.versions[place].add(digest("b"))
    filing = Filing(world.power, world.bucket.objects)
    made = Build(digest=digest("b"), revision={}, built=NOW.replace(year=2027), build="b", places=PLACES)
    return world, filing, made


def commit(world: World, filing: Filing, made: Build) -> Any:
    records = cast("Records", filing)
    return record_build(records, world.registries, "tpu-ci", made, places=PLACES, documents=DOCUMENTS)


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_that_fails_at_any_call_leaves_the_old_record_or_the_new_and_may_be_run_again(*, after: bool) -> None:
    whole, kept, made = start()
    commit(whole, kept, made)
    for calls in count():
        world, filing, made = start()
        world.power.left, world.power.after = calls, after
        try:
            commit(world, filing, made)
        except GoogleError:
            world.power.left = None
            current = world.store.read().images["tpu-ci"].current
            assert current.digest in (digest("a"), digest("b"))
            assert {current.sbom, current.provenance} - {None} <= filing.objects.keys()
            commit(world, filing, made)
            assert filing.objects == kept.objects
            continue
        assert calls >= len(PLACES) + len(DOCUMENTS) + 1
        break


def state(world: World) -> ImageState:
    record = world.store.read()
    return image_state(world.registries, record, "tpu-ci", places=PLACES, tag="latest", pools=(POOL, "idle"))


def test_an_image_is_equal_where_every_place_has_the_current_digest() -> None:
    world = World()
    assert state(world).equal is None
    world.build("a")
    world.promote("a")
    found = state(world)
    assert found.equal is True
    assert {pool: target and target.digest for pool, target in found.pools.items()} == {POOL: digest("a"), "idle": None}
    world.registries.versions[PLACES[0]].clear()
    assert state(world).equal is False


def test_a_place_that_does_not_answer_is_neither_equal_nor_unequal() -> None:
    world = World()
    world.build("a")
    real = world.registries.has

    def has(place: str, digest: str) -> bool:
        if place == PLACES[1]:
            raise GoogleError(f"looking up {place}", "it is on fire")
        return real(place, digest)

    world.registries.has = has
    found = state(world)
    assert found.equal is None
    assert [bool(each.problem) for each in found.places] == [False, True, False]


class Listing:
    """The VMs of a stack as Google's client lists them, one a page, by zone."""

    def __init__(self, nodes: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._nodes, self.asked = nodes, []

    def _itself(self, *_: object) -> Any:
        return self

    api = projects = locations = nodes = _itself

    def list(self, *, parent: str, pageSize: int) -> Any:  # noqa: N803
        del pageSize
        self.asked.append(parent)
        return self._page(list(self._nodes.get(parent.rpartition("/")[2], ())))

    def list_next(self, request: Any, page: Any) -> Any:
        del page
        return self._page(request.left) if request.left else None

    def _page(self, left: Any) -> Any:
        return SimpleNamespace(left=left[1:], execute=lambda num_retries: {"nodes": left[:1]} if left else {})


def test_everything_that_names_a_digest_is_found_and_told_how() -> None:
    world, mine = World(), digest("a")
    config = load_stack(the_lab(), "nightly")
    world.build("a")
    world.promote("a")
    world.bucket.objects[bucket_names.manifest_object("ci")] = {
        "version": 1,
        "slots": [{"name": "told", "metadata": {"image": f"x@{mine}"}}, {"name": "other", "labels": {"v": mine[:12]}}],
    }
    other = "ghcr.io/lab/tpu-ci"
    world.registries.versions[other] = {mine}
    world.registries.named_by[other] = {"latest": mine, "old": digest("b"), "{date}": mine}
    label = mine.removeprefix("sha256:")[:12]
    standing = [
        {"name": "p/nodes/by-label", "labels": {"image": label}},
        {"name": "p/nodes/by-both", "labels": {"image": label}, "metadata": {"startup": f"pull x@{mine}"}},
        {"name": "p/nodes/part-of-a-value", "labels": {"image": f"{label}-2"}},
        {"name": "p/nodes/none"},
    ]
    zones = {zone for pool in config.pools for zone in pool.reach}
    clients: Any = Listing({"us-central1-b": standing})
    search = Search(
        store=world.store,
        registries=world.registries,
        google={"ci": clients},
        fleets={"ci": config},
        places={"tpu-ci": (PLACES[0], other, "ghcr.io/lab/without")},
        tags={"tpu-ci": ("latest", "old", "{date}")},
    )
    found = search.find(mine)
    said = [(each.kind, each.subject, each.detail) for each in found.uses]
    pointer, kept = bucket_names.pointer_object(), names.in_use_tag(POOL, mine)
    assert found.silent == ()
    assert [each for each in said if each[0] not in {"record", "pool"}] == [
        ("pointer", f"{pointer} of ci", "pool tpu-ci in europe-west4, us-central1, us-west4"),
        ("manifest", f"{bucket_names.manifest_object('ci')} of ci", "slot told"),
        ("registry", PLACES[0], "has it"),
        ("tag", PLACES[0], kept),
        ("registry", other, "has it"),
        ("tag", other, "latest"),
        ("vm", "by-label", "labels in us-central1-b"),
        ("vm", "by-both", "labels and metadata in us-central1-b"),
    ]
    assert clients.asked == [f"projects/{config.project}/locations/{zone}" for zone in sorted(zones)]


def test_the_record_tells_what_each_use_of_a_digest_is() -> None:
    world = World()
    world.build("a", "b")
    for letter in ("a", "b", "a"):
        world.promote(letter)
    for hours, letter in enumerate(("a", "b")):
        at = NOW + timedelta(hours=hours)
        world.store.update(lambda record, letter=letter, at=at: running(record, "ci/broker", "c", digest(letter), at))
    record = world.store.read()
    built_at = next(iter(in_record(record, digest("a")))).detail.partition(", built ")[2]
    assert [str(each.detail) for each in in_record(record, digest("a"))] == [
        f"1 build ago, built {built_at}",
        "its target, promoted 2026-11-21 03:00 UTC",
        "2 undos back, promoted 2026-11-21 03:00 UTC",
        "ran it 1 before, since 2026-11-21 03:00 UTC",
    ]
    assert [each.detail.partition(", built")[0] for each in in_record(record, digest("b"))] == [
        "current",
        "1 undo back, promoted 2026-11-21 03:00 UTC",
        "runs it, since 2026-11-21 04:00 UTC",
    ]
    assert built_at == f"{NOW + timedelta(hours=ord('a')):%Y-%m-%d %H:%M} UTC"
