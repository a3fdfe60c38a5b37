"""What registries answer, compared with the pin table and written into it."""

from __future__ import annotations

import json
from datetime import date

import pytest

from infra.model.images.answers import PinAnswer, PinOutcome, answers_json, compare, parse_answers, written
from infra.model.images.pins import parse_pins
from tests.model.images.declared import PINS, edited, refused

DAY = date(2026, 12, 1)
URL = "https://registry.example.org/v2/x"
COMMENTED = edited(
    PINS, ("bases:", "# The bases.\nbases:"), ("    digest: unresolved", "    digest: unresolved # not to be had")
)


def answer(name: str, value: str) -> PinAnswer:
    return PinAnswer(name, value, URL, DAY)


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [
        ("debian", f"sha256:{'a' * 64}", PinOutcome.SAME),
        ("debian", f"sha256:{'1' * 64}", PinOutcome.NEWER),
        ("python", f"sha256:{'1' * 64}", PinOutcome.RESOLVED),
        ("uv", "b" * 64, PinOutcome.SAME),
        ("uv", "1" * 64, PinOutcome.CHANGED),
    ],
)
def test_an_answer_is_compared_with_its_entry(name: str, value: str, outcome: PinOutcome) -> None:
    (finding,) = compare(parse_pins(PINS), [answer(name, value)])
    assert finding.outcome is outcome
    assert finding.differs is (outcome is not PinOutcome.SAME)


def test_an_answer_is_written_with_its_source_and_day_and_all_else_stays() -> None:
    pins = parse_pins(COMMENTED)
    after = written(COMMENTED, compare(pins, [answer("python", f"sha256:{'1' * 64}")]))
    changed = [line for line in after.splitlines() if line not in COMMENTED.splitlines()]
    assert changed == [f"    digest: sha256:{'1' * 64} # not to be had", f"    source: {URL}", "    read: 2026-12-01"]
    assert len(after.splitlines()) == len(COMMENTED.splitlines())
    python = parse_pins(after).base("python")
    assert (python.digest, python.source, python.read) == (f"sha256:{'1' * 64}", URL, DAY)
    assert parse_pins(after).base("debian") == pins.base("debian")


def test_a_file_of_answers_reads_back() -> None:
    answers = (answer("debian", f"sha256:{'1' * 64}"), answer("uv", "2" * 64))
    assert parse_answers(json.dumps(answers_json(answers)), parse_pins(PINS), "answers.json") == answers


@pytest.mark.parametrize(
    ("name", "entry", "said"),
    [
        ("debain", {"value": f"sha256:{'1' * 64}", "source": URL, "read": "2026-12-01"}, "ask again"),
        ("debian", {"value": "1" * 64, "source": URL, "read": "2026-12-01"}, "ask again"),
        ("uv", {"value": f"sha256:{'1' * 64}", "source": URL, "read": "2026-12-01"}, "ask again"),
        ("uv", {"value": "12", "source": URL, "read": "2026-12-01"}, "unresolved"),
        ("uv", {"value": "1" * 64, "source": "a colleague", "read": "2026-12-01"}, "read again"),
        ("uv", {"value": "1" * 64, "source": URL}, "read:"),
        ("uv", {"value": "unresolved", "source": URL, "read": "2026-12-01"}, "where there is internet"),
    ],
)
def test_a_bad_answer_is_refused(name: str, entry: dict[str, str], said: str) -> None:
    with refused() as problems:
        parse_answers(json.dumps({"version": 1, "answers": {name: entry}}), parse_pins(PINS), "answers.json")
    assert any(said in problem.fix for problem in problems), "\n".join(map(str, problems))
    assert all(problem.subject.startswith("answers.json:") for problem in problems)
