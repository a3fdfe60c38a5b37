"""Values of an edit as one line says them: limits, keys, money that nobody knows, and waits that change."""

from __future__ import annotations

import pytest

from infra.model.demand import Code, Start
from infra.model.schema import StackConfig
from infra.preview.explain import changed_waits
from infra.preview.meaning import Counts, KeyChange, LedgerLine, Words
from infra.preview.money import Bill, Priced
from tests.model.demanding import asking, demand, fleet, member
from tests.model.given import pool, stack_text
from tests.preview.two_versions import meaning

MORE = Counts(8, 12)


def line(before: int | None, after: int | None, chips: Counts = MORE) -> LedgerLine:
    return LedgerLine(
        zone="z",
        generation="v4",
        limit="spot quota",
        kind="spot quota",
        project="p",
        chips=chips,
        held_elsewhere=Counts(),
        size_before=before,
        size_after=after,
    )


def test_a_limit_is_told_with_its_size_and_whether_it_comes_goes_or_changes() -> None:
    told = [str(line(*sizes)) for sizes in ((None, None), (16, 16), (16, 32), (None, 16), (16, None))]
    assert [each.removeprefix("z v4 spot quota: 8 -> 12 ") for each in told] == [
        "chips",
        "of 16 chips",
        "of 16 -> 32 chips",
        "of 16 chips (newly declared)",
        "of 16 chips (no longer declared)",
    ]


def test_a_limit_that_stays_with_its_chips_is_unchanged() -> None:
    same = Counts(8, 8)
    assert [line(*sizes, same).changed for sizes in ((16, 16), (16, 32), (None, None))] == [False, True, False]
    assert line(16, 16).changed
    assert [line(*sizes).limited for sizes in ((None, 16), (16, None), (None, None))] == [True, True, False]
    assert (line(16, None).size, line(None, None).size) == ({"before": 16, "after": None}, None)


def test_words_that_stay_are_said_once_and_a_key_that_comes_or_goes_is_said_so() -> None:
    told = [str(Words(*each)) for each in (("a", "b"), ("a", "a"), (None, "b"), ("a", None), (None, None))]
    assert told == ["a -> b", "a", "b", "a", ""]
    keys = [str(KeyChange(key="k", value=Words(*each))) for each in (("a", "b"), (None, "b"), ("a", None))]
    assert keys == ["k = a -> b", "k = not declared -> b", "k = a -> not declared"]


def test_money_that_nobody_knows_has_its_keys() -> None:
    assert Bill(priced=Priced.UNPRICED, capacity="spot", amount=None).dollars == {
        "usdPerHour": None,
        "usdPerMonth": None,
    }


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (pool(labels="[a]"), pool(labels="[a, b]"), "pools[other].labels = a -> a, b"),
        (pool(labels="[a]"), pool(labels="[]"), "pools[other].labels = a -> none"),
    ],
)
def test_a_list_is_told_by_what_is_in_it(before: str, after: str, told: str) -> None:
    assert [str(each) for each in meaning(stack_text(pools=before), stack_text(pools=after)).keys] == [told]


def test_a_truth_is_told_as_a_file_has_it() -> None:
    cluster = "{name: train, region: us-central2, zones: [us-central2-b], deletion_protection: %s,\n"
    cluster += "maintenance: {days: [SA, SU], start: '09:00', hours: 8}, system: {machine_type: n2-standard-8}}\n"
    found = meaning(stack_text(cluster=cluster % "true"), stack_text(cluster=cluster % "false"))
    assert [str(each) for each in found.keys] == ["cluster.deletion_protection = true -> false"]


def test_jobs_whose_wait_changes_are_told_with_what_it_was() -> None:
    def busy(vms: int) -> tuple[StackConfig, ...]:
        return (fleet(member(name="busy", zones=f"{{us-west4-a: {vms}}}")),)

    legs = (Start(event="push", code=Code.MAIN, legs=4),)
    demands = asking(demand("busy", job="tests", starts=legs, timeout_minutes=30))
    (told,) = changed_waits(busy(4), busy(2), demands)
    assert "tests" in told
    assert "(before: " in told
    assert list(changed_waits(busy(4), busy(4), demands)) == []
    (new,) = changed_waits((), busy(4), demands)
    assert "before" not in new
    assert new == told.replace(told[told.index(";") :], new[new.index(";") :]).replace("busy (2 VMs)", "busy (4 VMs)")
