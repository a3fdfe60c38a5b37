"""The memory is written over what the same sweep read or wrote, whatever becomes of the bucket's answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.memory import read as memory_of
from infra.fleet.controller.remembered import Remembered, SweepError
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.records import Records
from tests.fleet.controller.given_fleet import START

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

BUCKET = "a-lab-tidepool-ci"
ONE, TWO, THREE = (replace(EMPTY, sweeps=sweeps) for sweeps in (1, 2, 3))


@pytest.fixture
def google(cloud: TestCloud) -> Iterator[Clients]:
    with clients("a-lab", cloud.url) as made:
        body = {"name": BUCKET, "location": "us"}
        execute(made.api(Api.STORAGE).buckets().insert(project="a-lab", body=body), "making a bucket")
        yield made


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossy(Records):
    """Each write is done; of the first that is of `lost`, the answer is lost, or was so before it was sent again."""

    lost: list[Memory]
    again: bool = False

    def replace_content(self, name: str, content: bytes, content_type: str, *, generation: int) -> int | None:
        written = super(Lossy, self).replace_content(name, content, content_type, generation=generation)
        if memory_of(content) not in self.lost:
            return written
        self.lost.remove(memory_of(content))
        if self.again:
            return None
        raise GoogleError("writing", "no answer from the service")


def kept(google: Clients) -> Memory:
    return Remembered.read(Records(google=google, bucket=BUCKET), "ci", "c", START).memory


def test_each_write_goes_over_the_one_before(google: Clients) -> None:
    remembered = Remembered.read(Records(google=google, bucket=BUCKET), "ci", "a", START)
    for memory in (ONE, TWO, TWO, THREE):
        remembered.write(memory)
        assert kept(google) == memory


def test_a_write_whose_answer_was_lost_is_the_same_sweeps(google: Clients) -> None:
    remembered = Remembered.read(Lossy(google=google, bucket=BUCKET, lost=[ONE]), "ci", "a", START)
    with pytest.raises(GoogleError):
        remembered.write(ONE)
    remembered.write(TWO)
    assert kept(google) == TWO


def test_a_write_that_was_sent_twice_is_refused_and_done(google: Clients) -> None:
    remembered = Remembered.read(Lossy(google=google, bucket=BUCKET, lost=[ONE], again=True), "ci", "a", START)
    remembered.write(ONE)
    remembered.write(TWO)
    assert kept(google) == TWO


@pytest.mark.parametrize("mine", [ONE, TWO], ids=["as-it-was", "changed"])
def test_what_another_wrote_meanwhile_stands(google: Clients, mine: Memory) -> None:
    remembered = Remembered.read(Records(google=google, bucket=BUCKET), "ci", "a", START)
    remembered.write(ONE)
    Remembered.read(Records(google=google, bucket=BUCKET), "ci", "b", START).write(THREE)
    with pytest.raises(SweepError, match="another sweep wrote the memory"):
        remembered.write(mine)
    assert kept(google) == THREE


def test_what_another_wrote_in_the_same_words_is_its_own(google: Clients) -> None:
    first, second = (Remembered.read(Records(google=google, bucket=BUCKET), "ci", holder, START) for holder in "ab")
    second.write(ONE)
    with pytest.raises(SweepError, match="another sweep wrote the memory"):
        first.write(ONE)


def test_a_sweep_that_acts_by_what_stands_leaves_the_one_before_it_nothing_to_write(google: Clients) -> None:
    first = Remembered.read(Records(google=google, bucket=BUCKET), "ci", "a", START)
    first.write(ONE)
    Remembered.read(Records(google=google, bucket=BUCKET), "ci", "b", START).write(ONE, acts=True)
    with pytest.raises(SweepError, match="another sweep wrote the memory"):
        first.write(TWO)
    assert kept(google) == ONE
