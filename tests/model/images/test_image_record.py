"""The record of images: its transitions, what they refuse, and what holds for all of them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infra.model.errors import ConfigError
from infra.model.images.record import RecordOutcome, built, promoted, running, undone
from infra.model.images.record_documents import EARLIER_TARGETS, EMPTY, HISTORY, Build, Record, parse

GOLDEN = Path(__file__).parents[1] / "golden" / "record_refusals.txt"
NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
USES = {"tpu-ci": frozenset({"tpu-ci"}), "tpu-v4": frozenset({"tpu-ci", "cluster"}), "tpu-v5p": frozenset[str]()}
SOURCE = "marin-community/marin"
PLACE = "us-central1-docker.pkg.dev/hai-gcp-models/marin-ci/tpu-ci"


def digest(number: int) -> str:
    return f"sha256:{hashlib.sha256(str(number).encode()).hexdigest()}"


def build(number: int, *, committed: int | None = None, began: int | None = None) -> Build:
    """Build `number`, of a commit made on that day, begun an hour later."""
    day = NOW + timedelta(days=number if committed is None else committed)
    return Build(
        digest=digest(number),
        revision={SOURCE: hashlib.sha1(str(committed or number).encode(), usedforsecurity=False).hexdigest()},
        committed={SOURCE: day},
        built=NOW + timedelta(days=number if began is None else began, hours=1),
        build=f"build-{number}",
        places=(PLACE,),
    )


def after(*numbers: int) -> Record:
    record = EMPTY
    for number in numbers:
        record, _ = built(record, "tpu-ci", build(number))
    return record


def history(record: Record) -> list[str]:
    return [each.digest for each in record.images["tpu-ci"].history]


def refusal(call: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        call()
    (problem,) = caught.value.problems
    return str(problem)


def test_recording_a_build_again_changes_nothing() -> None:
    record = after(1, 2)
    for same in (build(2), build(2).model_copy(update={"seconds": 9})):
        again, outcome = built(record, "tpu-ci", same)
        assert (again, outcome) == (record, RecordOutcome.UNCHANGED)


def test_a_commit_whose_clock_was_ahead_does_not_keep_later_builds_behind() -> None:
    record, _ = built(after(1), "tpu-ci", build(2, committed=9_000))
    record, outcome = built(record, "tpu-ci", build(3))
    assert outcome is RecordOutcome.CURRENT
    assert record.images["tpu-ci"].current.digest == digest(3)


def test_of_two_builds_of_one_commit_the_one_that_began_later_is_current() -> None:
    record, outcome = built(after(3), "tpu-ci", build(4, committed=3, began=5))
    assert outcome is RecordOutcome.CURRENT
    for began, became in ((2, RecordOutcome.OLDER), (4, RecordOutcome.OLDER), (5, RecordOutcome.CURRENT)):
        _, outcome = built(record, "tpu-ci", build(5, committed=3, began=began))
        assert outcome is became, began


def test_an_older_build_stands_in_the_history_by_when_it_began() -> None:
    record, _ = built(after(1, 2, 4, 5), "tpu-ci", build(3))
    assert history(record) == [digest(4), digest(3), digest(2), digest(1)]
    record, _ = built(record, "tpu-ci", build(6, committed=3, began=4))
    assert history(record) == [digest(4), digest(6), digest(3), digest(2), digest(1)]


def test_a_rebuild_that_comes_out_equal_is_listed_once() -> None:
    equal = build(1).model_copy(update={"build": "again", "built": NOW + timedelta(days=9)})
    record, outcome = built(after(1, 2), "tpu-ci", equal.model_copy(update={"committed": {SOURCE: NOW + timedelta(9)}}))
    assert outcome is RecordOutcome.CURRENT
    assert record.images["tpu-ci"].current.build == "again"
    assert history(record) == [digest(2)]


def test_the_words_of_every_refusal_are_those_that_were_read_last(update_goldens: bool) -> None:
    once = promoted(after(1), "tpu-ci", "tpu-ci", digest(1), NOW, USES)
    large = build(1).model_dump(mode="json") | {"size_bytes": "large"}
    told = [
        *(
            refusal(lambda pool=pool, image=image, uses=uses: promoted(after(1, 2), pool, image, digest(7), NOW, uses))
            for pool, image, uses in (
                ("tpu-v6e", "tpu-ci", USES), ("tpu-ci", "tpu-ci", {}), ("tpu-v4", "levanter", USES),
                ("tpu-v5p", "tpu-ci", USES), ("tpu-v4", "cluster", USES), ("tpu-v4", "tpu-ci", USES),
            )
        ),
        *(
            refusal(lambda record=record, pool=pool: undone(record, pool, USES))
            for record, pool in ((after(1), "tpu-ci"), (once, "tpu-ci"), (after(1), "tpu-v6e"))
        ),
        *(
            refusal(lambda body=body: parse(body))
            for body in (
                {"version": 2}, {"images": {}}, {"version": 1, "images": {"tpu-ci": {"current": large}}},
                {"version": 1, "pools": {"tpu-ci": {"image": "a", "digest": digest(1)}}},
            )
        ),
    ]  # fmt: skip
    text = "\n".join(told)
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize("role", ["ci/controller", "ci/broker"])
def test_a_role_remembers_what_it_ran_and_running_it_again_changes_nothing(role: str) -> None:
    record = running(running(EMPTY, role, "controller", digest(1), NOW), role, "controller", digest(2), NOW)
    assert [each.digest for each in record.roles[role].chain()] == [digest(2), digest(1)]
    assert running(record, role, "controller", digest(2), NOW + timedelta(days=1)) is record


def test_each_undo_goes_one_promotion_back() -> None:
    record = after(*range(1, 9))
    for number in range(1, 9):
        record = promoted(record, "tpu-ci", "tpu-ci", digest(number), NOW + timedelta(hours=number), USES)
    for number in range(7, 7 - EARLIER_TARGETS, -1):
        record = undone(record, "tpu-ci", USES)
        assert record.pools["tpu-ci"].digest == digest(number)
    assert "oldest kept" in refusal(lambda: undone(record, "tpu-ci", USES))


def test_keys_of_a_later_program_survive_a_write() -> None:
    body = after(1).to_json()
    body["images"]["tpu-ci"]["current"]["signature"] = "images/signature"
    kept, _ = built(parse(body), "tpu-ci", build(2))
    assert kept.to_json()["images"]["tpu-ci"]["history"][0]["signature"] == "images/signature"


def test_a_history_keeps_so_many_builds_and_the_oldest_goes_first() -> None:
    assert history(after(*range(1, HISTORY + 2)))[-1] == digest(1)
    longer = after(*range(1, HISTORY + 3))
    assert len(history(longer)) == HISTORY
    assert history(longer)[-1] == digest(2)


@pytest.mark.parametrize("outcome", [RecordOutcome.CURRENT, RecordOutcome.OLDER])
def test_what_pools_and_roles_run_or_can_go_back_to_stays_in_a_full_history(outcome: RecordOutcome) -> None:
    record = after(1, 2, 3)
    record = promoted(record, "tpu-ci", "tpu-ci", digest(1), NOW, USES)
    record = promoted(record, "tpu-ci", "tpu-ci", digest(2), NOW, USES)
    record = running(record, "ci/controller", "tpu-ci", digest(3), NOW)
    for number in range(4, HISTORY + 2):
        record, _ = built(record, "tpu-ci", build(number))
    late = build(HISTORY + 2) if outcome is RecordOutcome.CURRENT else build(HISTORY + 2, committed=5)
    record, became = built(record, "tpu-ci", late)
    assert became is outcome
    assert history(record)[-3:] == [digest(3), digest(2), digest(1)]
    assert digest(4) not in history(record), "the oldest that nobody names has gone in their place"
    assert len(history(record)) == HISTORY
