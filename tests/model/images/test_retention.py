"""What Artifact Registry's clean-up takes from repositories, by a model of its rules: never what is in use.

The rules, as https://cloud.google.com/artifact-registry/docs/repositories/cleanup-policy has them (read 2026-11-21): a
version goes where a delete policy matches it and no keep policy does; `mostRecentVersions` keeps so many of a package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model import names
from infra.model.images.record import built, promoted, undone
from infra.model.images.record_documents import EMPTY, Build, Record
from infra.model.schema import Cleanup, MirrorCleanup, StackConfig
from infra.model.stack import load_stack
from tests.synthetic_lab import the_lab

ROOT = Path(__file__).resolve().parents[3]
IMAGE, POOLS = "tpu-ci", ("tpu-ci", "tpu-v4")
USES = dict.fromkeys(POOLS, frozenset({IMAGE}))
START = datetime(2026, 11, 21, tzinfo=UTC)
DAY = timedelta(days=1)

# Days between two moves, and the move: a build, or a promotion of the n-th newest known build or an undo in a pool.
moves = st.lists(
    st.tuples(
        st.integers(0, 45),
        st.one_of(
            st.just(("build", 0)),
            st.tuples(st.sampled_from(POOLS), st.integers(0, 20)),
            st.tuples(st.just("undo"), st.integers(0, len(POOLS) - 1)),
        ),
    ),
    max_size=40,
)


def ci() -> StackConfig:
    return load_stack(the_lab(), "ci")


def cleanup() -> Cleanup:
    registries = ci().registries
    assert registries is not None
    (found,) = [each.cleanup for each in registries.repositories if each.name == "marin-ci"]
    assert found is not None
    return found


def days(age: str) -> timedelta:
    assert age.endswith("d")
    return int(age[:-1]) * DAY


@dataclass
class Package:
    """One image in one repository: versions by digest with when they came, tags by name."""

    versions: dict[str, datetime] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def clean(self, policy: Cleanup | MirrorCleanup, now: datetime) -> None:
        old = {each for each, came in self.versions.items() if now - came > days(policy.delete_older_than)}
        for gone in old - self._kept(policy):
            del self.versions[gone]
        self.tags = {tag: each for tag, each in self.tags.items() if each in self.versions}

    def _kept(self, policy: Cleanup | MirrorCleanup) -> set[str]:
        if not isinstance(policy, Cleanup):
            return set()
        newest = sorted(self.versions, key=lambda each: self.versions[each], reverse=True)[: policy.keep_newest or 0]
        tagged = {each for tag, each in self.tags.items() if tag.startswith(policy.keep_tag_prefixes)}
        return {*newest, *tagged}


def play(steps: list[tuple[int, tuple[str, int]]]) -> Iterator[tuple[Record, Package]]:
    """Every day that something happens: the move as promotion makes it, then the nightly clean-up."""
    package, record, now, policy = Package(), EMPTY, START, cleanup()
    for number, (wait, (kind, choice)) in enumerate(steps):
        now += wait * DAY
        if kind == "build":
            digest = f"sha256:{hashlib.sha256(str(number).encode()).hexdigest()}"
            package.versions[digest] = now
            package.tags["latest"] = digest
            made = Build(digest=digest, revision={}, built=now, build=str(number), places=())
            record, _ = built(record, IMAGE, made)
        elif record.images:
            record = _moved(record, package, kind, choice, now)
        package.clean(policy, now)
        yield record, package


def _moved(record: Record, package: Package, kind: str, choice: int, now: datetime) -> Record:
    pool = POOLS[choice] if kind == "undo" else kind
    if kind == "undo":
        if pool in record.pools and record.pools[pool].previous:
            record = undone(record, pool, USES)
    else:
        known = [each.digest for each in record.images[IMAGE].builds() if each.digest in package.versions]
        if not known:
            return record
        record = promoted(record, pool, IMAGE, known[choice % len(known)], now, USES)
    held = (
        {names.in_use_tag(pool, each.digest): each.digest for each in record.pools[pool].chain()}
        if pool in record.pools
        else {}
    )
    others = {tag: each for tag, each in package.tags.items() if tag != names.in_use_tag(pool, each)}
    package.tags = others | held
    return record


@settings(max_examples=80)
@given(moves)
def test_clean_up_never_takes_what_a_pool_runs_or_can_go_back_to(steps: list[tuple[int, tuple[str, int]]]) -> None:
    for record, package in play(steps):
        assert record.held(IMAGE) <= package.versions.keys()


def test_every_repository_of_images_keeps_the_tags_of_promotion() -> None:
    registries = ci().registries
    assert registries is not None
    for repository in registries.repositories:
        assert repository.cleanup is not None
        assert names.IN_USE_PREFIX in repository.cleanup.keep_tag_prefixes, repository.name
        assert repository.cleanup.keep_newest == 16
