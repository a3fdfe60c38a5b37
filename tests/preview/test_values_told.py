"""Values of an edit as one line says them: limits, keys, money that nobody knows, and waits that change."""

from __future__ import annotations

from decimal import Decimal

import pytest

from infra.model.cost import Amount
from infra.model.demand import Code, Start
from infra.model.dollars import Dollars
from infra.model.schema import StackConfig
from infra.preview.explain import changed_waits, explain
from infra.preview.meaning import Counts, Facts, KeyChange, LedgerLine, WindowWeek, Words
from infra.preview.money import Bill, Priced
from tests.model.demanding import asking, demand, fleet, member
from tests.model.given import pool, sibling, stack_text
from tests.preview.two_versions import TODAY, meaning, reading

MORE = Counts(8, 12)
START_OF_FOUR = (Start(event="push", code=Code.MAIN, legs=4),)
OVERRIDE = "{version: x1, reason: tried}"
LONG = f"{{version: x1, reason: {'x' * 102}}}"
AWAY = "[{zone: us-west1-c, capacity: spot}]"
NIGHT = "[{name: night, start: 0 2 * * *, duration: 2h, time_zone: UTC, adds: {us-west4-a: 1}}]"
SAID = "name night, start 0 2 * * *, duration 2h, time_zone UTC, adds declared"


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
    assert (line(16, 16).changed, line(16, 16).remaining, line(16, None).remaining) == (True, 4, None)
    assert [line(*sizes).limited for sizes in ((None, 16), (16, None), (None, None))] == [True, True, False]
    assert (line(16, None).size, line(None, None).size) == ({"before": 16, "after": None}, None)


def test_words_that_stay_are_said_once_and_a_key_that_comes_or_goes_is_said_so() -> None:
    told = [str(Words(*each)) for each in (("a", "b"), ("a", "a"), (None, "b"), ("a", None), (None, None))]
    assert told == ["a -> b", "a", "b", "a", ""]
    keys = [str(KeyChange(key="k", value=Words(*each))) for each in (("a", "b"), (None, "b"), ("a", None))]
    assert keys == ["k = a -> b", "k = not declared -> b", "k = a -> not declared"]


def test_money_that_nobody_knows_has_its_keys() -> None:
    unknown = Dollars.missing("v9 spot in mars-a has no list price")
    told = Bill(priced=Priced.UNPRICED, capacity="spot", amount=Amount(hour=unknown, month=unknown)).to_json()
    assert {key: told[key] for key in ("usdPerHour", "usdPerMonth")} == {"usdPerHour": None, "usdPerMonth": None}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (pool(labels="[a]"), pool(labels="[a, b]"), "pools[other].labels = a -> a, b"),
        (pool(labels="[a]"), pool(labels="[]"), "pools[other].labels = a -> none"),
        (
            pool(runtime_override=OVERRIDE),
            pool(),
            "pools[other].runtime_override = version x1, reason tried -> not declared",
        ),
        (
            pool(),
            pool(runtime_override=OVERRIDE),
            "pools[other].runtime_override = not declared -> version x1, reason tried",
        ),
        (pool(), pool(runtime_override=LONG), "pools[other].runtime_override = not declared -> declared"),
        (pool(), pool(fallback=AWAY), "pools[other].fallback[0] = not declared -> zone us-west1-c, capacity spot"),
        (
            pool(),
            pool(windows=NIGHT),
            f"pools[other].windows[night] = not declared -> {SAID}",
        ),
    ],
)
def test_a_value_is_told_by_what_is_in_it(before: str, after: str, told: str) -> None:
    assert [str(each) for each in meaning(stack_text(pools=before), stack_text(pools=after)).keys] == [told]


def test_a_pool_that_comes_or_goes_is_one_line() -> None:
    less, more = stack_text(pools=pool()), stack_text(pools=pool() + pool(name="more"))
    said = "name more, accelerator v5litepod-4, zones declared, capacity spot, trust member, label more"
    (comes,), (goes,) = (map(str, meaning(*each).keys) for each in ((less, more), (more, less)))
    assert comes == f"pools[more] = not declared -> {said}"
    assert goes == f"pools[more] = {said} -> not declared"


def test_who_leaves_room_for_whom_is_told_once() -> None:
    asked = asking(
        demand("busy", job="first", starts=START_OF_FOUR, timeout_minutes=30),
        demand("busy", job="second", starts=START_OF_FOUR, timeout_minutes=30, max_parallel=1),
    )
    stacks = (fleet(member(name="busy", zones="{us-west4-a: 4}")),)
    (share,) = (each for each in changed_waits((), stacks, asked) if "GitHub knows no priorities" in each)
    assert share.startswith("busy: ")
    assert list(changed_waits(stacks, stacks, asked)) == []


def test_settings_of_others_are_named_whether_they_come_go_or_change() -> None:
    both, one, other = (
        stack_text().replace("config:\n", f"config:\n{lines}", 1)
        for lines in ("  gcp:zone: a\n  gcp:region: b\n", "  gcp:zone: a\n", "  gcp:zone: c\n")
    )
    edits = ((both, one, ("gcp:region",)), (one, both, ("gcp:region",)), (one, other, ("gcp:zone",)), (one, one, ()))
    for before, after, told in edits:
        assert meaning(before, after).sections == told


def test_a_stack_that_neither_was_nor_will_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a stack that exists neither before nor after has no meaning$"):
        meaning(None, None)


def test_a_day_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Facts\.today needs a time zone: a freeze window is an instant, not a wall"):
        Facts(today=TODAY.replace(tzinfo=None))


def test_an_edit_that_changes_nothing_has_no_risks_even_in_a_freeze() -> None:
    frozen = "- {start: 2026-11-01, end: 2026-12-31, reason: the holidays}\n"
    text = stack_text(pools=pool(), freezes=frozen)
    assert meaning(text, text).risks == ()
    assert meaning(text, stack_text(pools=pool(zones="{us-west4-a: 2}"), freezes=frozen)).risks


def test_the_order_of_an_edit_keeps_to_what_siblings_leave_of_a_limit() -> None:
    quota = "- {project: my-lab, zone: us-west4-a, generation: v5e, kind: preemptible, chips: 16}\n"
    before, after = (
        stack_text(
            pools=pool(name="a", zones=f"{{us-west4-a: {one}}}") + pool(name="b", zones=f"{{us-west4-a: {2 - one}}}"),
            quotas=quota,
        )
        for one in (2, 0)
    )
    for beside, shrinks_first in (((), False), ((sibling(pools=pool(name="theirs")),), True)):
        edit = explain(reading(before, siblings=beside), reading(after, siblings=beside), Facts(today=TODAY))
        assert bool(edit.order.reasons) is shrinks_first


@pytest.mark.parametrize(
    ("hours", "starts", "count", "changed"),
    [((1, 1), ("Mon", "Mon"), 1, False), ((1, 2), ("Mon", "Mon"), 1, True), ((1, 1), ("Mon", "Tue"), 1, True),
     ((1, 1), ("Mon", "Mon"), 2, True)],
)  # fmt: skip
def test_a_week_of_a_window_changes_with_its_openings_its_hours_or_its_start(
    hours: tuple[int, int], starts: tuple[str, str], count: int, changed: bool
) -> None:
    one, other = map(Decimal, hours)
    week = WindowWeek(
        pool="p", zone="z", window="w", openings=Counts(1, count), hours=(one, other), chip_hours=(one, one),
        usd=(Dollars(one), Dollars(one)), starts=Words(*starts),
    )  # fmt: skip
    assert week.changed is changed


def test_jobs_whose_wait_changes_are_told_with_what_it_was() -> None:
    def busy(vms: int) -> tuple[StackConfig, ...]:
        return (fleet(member(name="busy", zones=f"{{us-west4-a: {vms}}}")),)

    demands = asking(demand("busy", job="tests", starts=START_OF_FOUR, timeout_minutes=30))
    (told,) = changed_waits(busy(4), busy(2), demands)
    assert "tests" in told
    assert "(before: " in told
    assert list(changed_waits(busy(4), busy(4), demands)) == []
    (new,) = changed_waits((), busy(4), demands)
    assert not new.endswith((")", "X"))
    assert "before" not in new
    text = stack_text(pools=pool(name="busy", zones="{us-west4-a: 4}", labels="[tpu]", serves="[lab/monorepo]"))
    assert meaning(None, text, demands=demands).waits == (new,)
    assert meaning(text, text, demands=demands).waits == ()
    assert meaning(text, text).waits is None
    nowhere = meaning(None, text, demands=asking(demand("nowhere"))).findings
    assert "job-finds-runner" in {each.rule for each in nowhere}
    assert new == told.replace(told[told.index(";") :], new[new.index(";") :]).replace("busy (2 VMs)", "busy (4 VMs)")
