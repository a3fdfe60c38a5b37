"""The site of the estate: what each section says, and that whatever does not answer is a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from infra.model.dollars import Dollars
from infra.model.errors import ConfigError, OutsideError, Problem
from infra.model.fleet import capacity
from infra.operations.errors import Failure, Refusal
from infra.operations.fleet.pools import PoolState
from infra.operations.report.estate import Estate, asked
from infra.operations.report.site import drawn, sections, write_site
from infra.pages import charts
from infra.pages.kit import Block, Cards, Drawing, Folded, Lack, Said, Section, Table, Words
from tests.model.clustered import CLUSTER, clustered
from tests.model.given import parse, pool, stack_text
from tests.operations.estates import NIGHT, estate, month, nothing
from tests.pages.html_seen import Seen, assert_sound

PARTS = (
    "overview", "risks", "capacity", "limits", "calendar", "status", "queues", "workflows", "images", "results",
    "money", "changes",
)  # fmt: skip


def section(found: Estate, name: str) -> Section:
    (one,) = [each for each in sections(found) if each.id == name]
    return one


def blocks(found: Section) -> Iterator[Block]:
    for each in found.blocks:
        yield each
        yield from each.blocks if isinstance(each, Folded) else ()


def rows(found: Section) -> list[tuple[str, ...]]:
    """Of every table of a section."""
    tables = (each for each in blocks(found) if isinstance(each, Table))
    return [tuple(map(text, row)) for each in tables for row in each.rows]


def text(words: Words) -> str:
    return words.text if isinstance(words, Said) else words


def drawing(found: Section) -> Drawing:
    (one,) = [each for each in found.blocks if isinstance(each, Drawing)]
    return one


@pytest.fixture(scope="module")
def shown() -> str:
    found = estate()
    return drawn(found, sections(found))


def test_the_page_is_sound_html_below_two_megabytes_with_every_section(shown: str) -> None:
    seen = Seen(shown)
    assert_sound(seen)
    assert [each["id"] for each in seen.of("section")] == list(PARTS)
    assert len(shown.encode()) < 2_000_000
    assert "Stacks ci, on the local cloud. Made 23 November 2026, 06:00 UTC." in seen.said


def test_equal_estates_make_equal_bytes(shown: str) -> None:
    again = estate()
    assert drawn(again, sections(again)) == shown


def test_capacity_tells_each_zone_with_what_stands_of_what_is_declared() -> None:
    found = section(estate(), "capacity")
    assert found.says == "4 of 8 chips stand, in 1 zone of 1 region."
    assert rows(found) == [("us-west4", "us-west4-a", "ci", "tpu-ci", "v5litepod-4", "2", "8", "1 READY, 1 MISSING")]
    assert drawing(found).told == "us-west4-a v5e: 4 of 8 chips stand."


@pytest.mark.parametrize(("windows", "told"), [("[]", "none declared"), (f"[{NIGHT}]", "none outside windows")])
def test_a_pool_that_has_no_vm_speaks_of_windows_only_where_it_has_one(windows: str, told: str) -> None:
    config = parse(stack_text(pools=pool(name="tpu-ci", zones="{us-west4-a: 0}", windows=windows)))
    (row,) = capacity(config)
    found = section(estate(stacks={"ci": config}, pools={"ci": (PoolState(row=row, states={}),)}), "capacity")
    assert rows(found)[0][-1] == told


def test_limits_tell_what_is_free_also_where_nobody_draws_and_count_windows() -> None:
    found = section(estate(), "limits")
    assert [row[:5] for row in rows(found)] == [
        ("us-west4-a", "v5e preemptible quota", "16", "64", "48"),
        ("us-east1-d", "v6e preemptible quota", "0", "16", "16"),
    ]
    assert found.says == "64 of 80 chips of all limits are free; no limit is passed."


def test_the_calendar_tells_windows_one_by_one() -> None:
    found = section(estate(), "calendar")
    assert len(rows(found)) == 8, "a night that began the day before, and seven"
    assert rows(found)[1][:4] == ("2026-11-23 22:00", "2026-11-24 02:00", "ci/tpu-ci", "night")


def test_queues_tell_who_waits_and_jobs_that_no_pool_takes() -> None:
    found = section(estate(), "queues")
    assert found.says == "3 jobs wait for a runner."
    assert rows(found) == [
        ("ci", "tpu-ci", "2", "12 min"),
        ("lab/monorepo", "later", "tpu-v9", "1", "no pool has tpu-v9"),
    ]


def test_workflows_tell_their_pools_and_their_longest_wait() -> None:
    ((repository, job, where, events, limit, wait),) = rows(section(estate(), "workflows"))
    assert (repository, job, where, events) == ("lab/monorepo", "tests.yaml tpu", "tpu-ci", "push, pull_request")
    assert (limit, wait) == ("15 min", "15 min")


def test_money_tells_months_with_their_budget() -> None:
    found = section(estate(), "money")
    assert rows(found)[:2] == [
        ("ci", "2026-10", "$12.50", "-", "-", "$30.00", "within budget"),
        ("ci", "2026-11", "$12.50", "$40.00", "-", "$30.00", "over budget"),
    ]
    assert drawing(found).told == "ci 2026-10: $12.50; ci 2026-11: $12.50 of $40.00."


def test_money_that_is_not_known_is_a_question_mark_without_a_verdict() -> None:
    known = month("2026-11", forecast=Decimal(20))
    gap = Dollars.missing("how long slices of cluster train existed")
    total = replace(known.total, usd=known.total.usd + gap)
    found = section(estate(money={"ci": (replace(known, total=total, forecast=known.expected + gap),)}), "money")
    assert rows(found)[0] == ("ci", "2026-11", "$12.50 + ?", "$20.00 + ?", "-", "$30.00", "unknown")
    assert found.says == "$12.50 + ? spent this month by list prices of 2026-08, without disks, traffic and discounts."


def test_risks_gather_what_others_find_and_tell_the_worst_first() -> None:
    found = rows(section(estate(), "risks"))
    assert found[0][:3] == (
        "does not serve",
        "ci",
        "tpu-ci-us-west4-a-1  not there: it is declared and does not exist (since 06:00, 0 s)",
    )
    assert found[0][3] == "`./tidepool why tpu-ci-us-west4-a-1`"
    assert {row[0] for row in found[1:]} == {"look at it"}
    assert any("tpu-v9" in row[2] for row in found)


def test_changes_tell_the_newest_first_with_its_edit() -> None:
    failed, first = rows(section(estate(), "changes"))
    assert failed[1:] == (
        "ci", "ada", "`0123456789`", "up failed: 1 created", "pools[tpu-ci].zones.us-west4-a = 1 -> 2",
    )  # fmt: skip
    assert first[-1] == "no earlier file"


def test_what_does_not_answer_is_a_sentence_with_a_command_and_never_an_empty_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "both", lambda draw, key: key)
    found = nothing()
    said = sections(found)
    assert_sound(Seen(drawn(found, said)))
    assert [each.id for each in said if not each.blocks] == ["risks"]
    assert text(section(found, "risks").says).endswith("Not every source answered: the sections below say which.")
    for each in (lack for one in said for lack in one.lacks):
        assert "`./tidepool " in each or "docs/" in each


def test_what_is_not_known_is_a_question_mark_at_a_glance_and_never_a_number() -> None:
    lack = Lack("The cloud is not known: `./tidepool doctor` says why.")
    found = estate(cloud=lack, pools={"ci": lack}, statuses=lack, money={"ci": lack})
    (cards,) = [each for each in section(found, "overview").blocks if isinstance(each, Cards)]
    assert [each.said for each in cards.cards] == [Said("?"), Said("?"), Said("?"), Said("1", "warning")]


def test_slices_of_which_nobody_answers_are_not_told_as_none_that_stand() -> None:
    declared = {"accelerator": "v4-32", "zone": "us-central2-b", "capacity": "spot", "buffer": 1, "maximum": 3}
    config = clustered(cluster=CLUSTER, slices=[declared])
    lack = Lack("The status is not known: `./tidepool status` says why.")
    silent = estate(stacks={"ci": config}, pools={"ci": ()}, statuses=lack)
    assert text(section(silent, "capacity").says).startswith("? of ")
    assert "? of " in drawing(section(silent, "capacity")).told
    (cards, *_) = (each for each in section(silent, "overview").blocks if isinstance(each, Cards))
    assert cards.cards[0].said.text.startswith("? of ")
    absent = estate(stacks={"ci": config}, pools={"ci": ()}, statuses=())
    assert text(section(absent, "capacity").says).startswith("0 of ")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Failure("it is gone"), "Images are not known: it is gone. `./tidepool images list` would make it so."),
        (Failure("gone; `./tidepool up ci` makes it"), "Images are not known: gone; `./tidepool up ci` makes it."),
        (OutsideError("404"), "Images are not known: 404. `./tidepool images list` would make it so."),
        (
            ConfigError([Problem("a.yaml:3", "x", "no such zone", "y")]),
            "Images are not known: a.yaml:3: no such zone. `./tidepool validate` says every mistake.",
        ),
    ],
)
def test_an_error_of_a_source_becomes_its_sentence(error: Exception, said: str) -> None:
    def ask() -> None:
        raise error

    assert asked("Images are", ask, "images list") == Lack(said)


def test_a_page_that_somebody_wrote_is_left_as_it_is(tmp_path: Path) -> None:
    theirs = tmp_path / "index.html"
    theirs.write_text("<!doctype html><title>ours</title>")
    with pytest.raises(Refusal, match="a page that Tidepool did not write; name another folder"):
        write_site(tmp_path)
    assert theirs.read_text() == "<!doctype html><title>ours</title>"
