"""Thousands of random edits of stack files: what `explain` says of chips, dollars and limits is what a simple recount
says, and no edit, however broken, ends in anything but an answer or a refusal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import pytest

from infra.model.errors import ConfigError
from infra.model.schema import StackConfig
from infra.model.stack import Reading, read_sibling, read_stack
from infra.preview.explain import explain
from infra.preview.meaning import Facts, Meaning
from tests.edits import random_edits, recount
from tests.edits.random_edits import Data
from tests.preview.two_versions import marked, told

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
KIND = {"reservation": "reserved", "preemptible quota": "preemptible", "on-demand quota": "on-demand"}


@dataclass
class Life:
    """Stack files and the edits of one seed."""

    random: Random
    files: dict[str, Data] = field(default_factory=random_edits.first)
    stopped: int = 0

    def step(self) -> None:
        """One edit of one file, beside siblings of which one may be broken meanwhile."""
        name = self.random.choice(list(self.files))
        before, after = self.files[name], random_edits.edited(self.random, name, self.files[name])
        unsure = self.random.choice([each for each in self.files if each != name]) if self.chance(0.1) else None
        texts = {other: random_edits.text(data) for other, data in self.files.items() if other != name}
        if unsure is not None:
            if not self.files[unsure]["pools"]:
                return
            texts[unsure] = random_edits.broken(self.random, self.files[unsure])
        siblings = self.siblings(texts)
        if self.chance(0.15) and after["pools"]:
            assert self.refused(name, before, random_edits.broken(self.random, after), siblings)
            return
        meaning = self.meaning(name, before, random_edits.text(after), siblings)
        if unsure is not None:
            readable = next((each for each in siblings if each.stack == unsure), None)
            far = readable is not None and getattr(readable, "project", after["project"]) != after["project"]
            assert meaning.stops or far, "what a broken file draws is not known, and that is a stop"
            return
        self.agree(name, before, after, meaning)
        if not meaning.stops or self.chance(0.2):
            self.files[name] = after
        self.stopped += meaning.stops

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    @staticmethod
    def siblings(texts: dict[str, str]) -> tuple[StackConfig, ...]:
        read = (read_sibling(content.encode(), stack=name) for name, content in texts.items())
        return tuple(each for each in read if each is not None)

    @staticmethod
    def meaning(name: str, before: Data, after: str, siblings: tuple[StackConfig, ...]) -> Meaning:
        meaning = explain(
            _reading(name, random_edits.text(before), siblings), _reading(name, after, siblings), Facts(today=NOON)
        )
        assert told(meaning)
        assert marked(meaning)
        assert meaning.to_json()
        return meaning

    def refused(self, name: str, before: Data, after: str, siblings: tuple[StackConfig, ...]) -> bool:
        try:
            return self.meaning(name, before, after, siblings).stops
        except ConfigError:
            return True

    def agree(self, name: str, before: Data, after: Data, meaning: Meaning) -> None:
        """Everything that is said is what the recount says."""
        others = [data for other, data in self.files.items() if other != name]
        for side, stack in (("before", before), ("after", after)):
            said = {(pool.pool, pool.zone): getattr(pool.chips, side) for pool in meaning.pools}
            assert {key: count for key, count in said.items() if count} == dict(+recount.chips(stack))
            month, unpriced = recount.dollars(stack)
            assert getattr(meaning.money.total, side).month.known == month
            if side == "after":
                assert {each for each in meaning.money.unpriced if each in unpriced} == unpriced
        declared = recount.limits(after)
        for line in meaning.ledger:
            if not line.limited:
                continue
            limit = (line.project or "", line.zone, line.generation, KIND[line.kind])
            if limit in declared:
                size, held = declared[limit]
                drawn = [recount.drawn(each, limit) for each in (after, *others)]
                assert (line.size_after, line.chips.after) == (size, held + sum(drawn))
        assert declared.keys() <= {
            (line.project or "", line.zone, line.generation, KIND[line.kind]) for line in meaning.ledger if line.limited
        }
        stops = (
            any(recount.exceeded(after, others)),
            recount.over_budget(before, after),
            recount.frozen(before, after, NOON.date()),
            recount.grown(before, after),
        )
        assert meaning.stops == any(stops), (stops, [str(each) for each in meaning.findings])


def _reading(name: str, content: str, siblings: tuple[StackConfig, ...]) -> Reading:
    return read_stack(content.encode(), stack=name, source=f"stacks/Pulumi.{name}.yaml", siblings=siblings)


def lived(seed: int, steps: int) -> Life:
    life = Life(Random(seed))
    for _ in range(steps):
        life.step()
    return life


@pytest.mark.parametrize("seed", range(10))
def test_random_edits_are_counted_as_a_simple_recount_counts_them(seed: int) -> None:
    assert 0 < lived(seed, 40).stopped < 40, "some edits are stopped and some are not"


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100, 200))
def test_ten_thousand_random_edits_are_counted_so(seed: int) -> None:
    lived(seed, 100)
