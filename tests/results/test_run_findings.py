"""What is found of a run beside those before it."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from infra.results import cache, lines
from infra.results.flaky import Quarantined, flaky_tests
from infra.results.judge import judge
from infra.results.markdown import issue_title, markdown, status_text
from infra.results.suite_run import Outcome, ResultsError, SuiteRun
from tests.results.result_runs import FIRST, NOW, ended, hashed, made, nights
from tests.results.test_timing import noise, slowed

PASSED, FAILED, FLAKY = Outcome.PASSED, Outcome.FAILED, Outcome.FLAKY


def entry(**more: Any) -> Quarantined:
    body: dict[str, Any] = {
        "suite": "tpu",
        "test": "a",
        "owner": "ann",
        "reason": "a port",
        "expires": date(2026, 12, 1),
    }
    return Quarantined(**(body | more))


TREE = hashed("same")
COVERED = [made(at, coverage=80.0) for at in range(6)]
BROKEN, WELL = (ended("a", FAILED, "boom\nmore"), ended("b", PASSED)), (ended("a", PASSED), ended("b", PASSED))
SLOWED = nights(slowed(50, 40, 1.25))
OWN: dict[str, Any] = {"pull": 7, "branch": "edit"}
OTHERS: tuple[dict[str, Any], ...] = (
    {"hardware": "v5e-1"}, {"versions": {"jax": "0.7.2"}}, {"branch": "feature"}, {"pull": 7}, {"reused": "3"},
)  # fmt: skip
SCENARIOS: dict[str, tuple[list[SuiteRun], tuple[Quarantined, ...]]] = {
    "quiet": (nights(noise(40)), ()),
    "as fast as ever": (nights([100.0] * 20 + [99.9] * 3, link="https://github.example/runs/7"), ()),
    "slower, and by which test": (nights(slowed(35, 30, 1.25)), ()),
    "other runs are not compared": (
        [
            *nights(noise(20)), *(made(40 + at, 10.0, **more) for at, more in enumerate(OTHERS)),
            made(60, 1.0, tests=(ended("a", FAILED),)), made(70, 100.0),
        ],
        (),
    ),
    "broken": ([*nights(noise(5)), made(5, tests=BROKEN)], ()),
    "broken without a test": ([made(1, ended="failed", tests=())], ()),
    "missing": ([made(1, ended="incomplete", missing=("2: lost",))], ()),
    "reused": ([made(1), made(2, reused="1")], ()),
    "coverage fell": ([*COVERED, made(6, coverage=78.0)], ()),
    "coverage fell by half a point": ([*COVERED, made(6, coverage=79.5)], ()),
    "flaky": (
        [made(1, tree=TREE, tests=BROKEN), made(2, tree=TREE, tests=WELL), made(3, tests=(ended("a", FLAKY),))],
        (),
    ),
    "flaky by its second run": ([made(1, tree=TREE, tests=BROKEN), made(2, tree=TREE, tests=WELL)], ()),
    "and told once": ([made(1, tree=TREE, tests=BROKEN), *(made(at, tree=TREE, tests=WELL) for at in (2, 3))], ()),
    "no flaky test of other hardware": (
        [made(1, tree=TREE, tests=BROKEN), made(2, tree=TREE, tests=WELL, hardware="v5litepod-4")], (),
    ),
    "quarantined": ([made(1, tests=BROKEN)], (entry(),)),
    "of another suite": ([made(1, tests=BROKEN)], (entry(suite="cpu"),)),
    "quarantine over": ([made(1, tests=BROKEN)], (entry(expires=date(2026, 11, 22)),)),
    "quarantine over, and green": ([made(2)], (entry(expires=date(2026, 11, 22)),)),
    "one slow run of a pull request": ([*nights(noise(30)), made(40, 130.0, **OWN)], ()),
    "three of them": ([*nights(noise(30)), *(made(40 + at, 130.0, **OWN) for at in range(3))], ()),
    "two of other hardware": (
        [*nights(noise(30)), *(made(40 + at, 130.0, **OTHERS[0], **OWN) for at in (0, 1)), made(42, 130.0, **OWN)],
        (),
    ),
    "what main became slower by": ([*SLOWED[:43], made(43, 125.0, **OWN)], ()),
    "slower than what main became": ([*SLOWED, *(made(60 + at, 250.0, **OWN) for at in range(3))], ()),
    "no baseline of its own": (
        [*nights([100.0]), *(made(60 + at, **OWN) for at in range(9)), *(made(at, 150.0, **OWN) for at in (70, 71))],
        (),
    ),
    "coverage that main lost": ([*COVERED, made(9, coverage=76.0), made(10, coverage=76.0, **OWN)], ()),
    "coverage that it loses itself": ([*COVERED, made(9, coverage=76.0), made(10, coverage=74.5, **OWN)], ()),
    "less coverage of what ended early": ([*COVERED, made(6, coverage=20.0, tests=BROKEN)], ()),
    "strangers' tests": (
        [
            *(made(at, tree=TREE, pull=7, tests=(ended("evil", how),)) for at, how in ((1, FAILED), (2, PASSED))),
            made(3, tests=(ended("a", FAILED),)),
        ],
        (),
    ),
}  # fmt: skip
GOLDEN = Path(__file__).parent / "golden" / "reports.md"


def test_reports_of_runs_read_as_they_did(update_goldens: bool) -> None:
    """Each judges the last run beside those before it; then all of them as legs of one suite."""
    reports = {name: judge(runs[-1], runs, entries, NOW) for name, (runs, entries) in SCENARIOS.items()}
    parts = [
        "\n".join([f"# {name}", "", markdown([report]), *lines.lines(report), ""]) for name, report in reports.items()
    ]
    legs = list(reports.values())
    parts += [f"# all\n\n{markdown(legs)}\n{issue_title(legs)}\n{status_text(legs)}\n{status_text(legs[:1])}\n"]
    text = "\n".join(parts)
    if update_goldens:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


def test_a_report_knows_the_first_slow_commit_and_the_newer_run_of_its_place() -> None:
    report = judge(SLOWED[42], SLOWED[:43], (), NOW)
    assert (report.first_slow, report.last_usual) == (SLOWED[40].commit, SLOWED[39].commit)
    old, new, other = made(1), made(2), made(3, hardware="v5e-1")
    runs = [old, new, other, made(4, pull=7)]
    assert [judge(each, runs, (), NOW).newer for each in (old, new, other)] == [new, None, None]


def test_the_score_of_a_flaky_test_decays() -> None:
    runs = [made(0, tests=(ended("a", FLAKY),)), *(made(at, tests=(ended("a", PASSED),)) for at in range(1, 10))]
    twice = [
        made(0, tests=(ended("a", FLAKY), ended("b", FLAKY))),
        made(1, tests=(ended("b", FLAKY), ended("a", PASSED))),
    ]
    assert [each.test for each in flaky_tests(twice, FIRST + timedelta(days=1))] == ["b", "a"], "the worst first"
    scores = [flaky_tests(runs, FIRST + timedelta(days=days))[0].score for days in (10,)]
    (early,) = flaky_tests(runs[:2], FIRST + timedelta(days=1))
    assert scores[0] < early.score < 0.6
    assert flaky_tests(runs, FIRST + timedelta(days=200)) == ()


FILES = [("src/a.py", "1" * 40), ("src/b/c.py", "2" * 40), ("docs/x.md", "3" * 40)]


def test_the_digest_is_of_the_declared_inputs_alone() -> None:
    one = cache.inputs_digest(FILES, ["src/**"])
    assert cache.inputs_digest([*reversed(FILES[:2]), ("docs/x.md", "4" * 40)], ["src/**"]) == one
    assert cache.inputs_digest([("src/a.py", "9" * 40), *FILES[1:]], ["src/**"]) != one
    with pytest.raises(ResultsError, match=r"tests/\*\*; say it in the checkout that was tested"):
        cache.inputs_digest(FILES, ["src/**", "tests/**"])
    with pytest.raises(ResultsError, match="no inputs"):
        cache.inputs_digest(FILES, [])


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        ([made(1), made(2)], "2"),
        ([made(1), made(2, tests=(ended("a", FAILED),))], None),
        ([made(1), made(2, tests=(ended("a", FLAKY),))], None),
        ([made(1, versions={"jax": "0.7.2"})], None),
        ([made(1, reused="0")], None),
        ([made(1, ended="incomplete")], None),
        ([made(1, ended="passed", tests=(ended("a", FAILED), ended("b", PASSED)))], None),
        ([], None),
    ],
    ids=["passes", "failure", "flaky", "versions", "reused", "incomplete", "excused", "none"],
)
def test_only_a_clean_pass_is_reused(runs: list[SuiteRun], found: str | None) -> None:
    reused = cache.reusable(runs, {"jax": "0.8.0"})
    assert (reused.run if reused else None) == found


def test_what_a_pull_request_says_stands_for_itself_alone() -> None:
    theirs = made(2, pull=7)
    for pull, found in ((None, None), (8, None), (7, theirs)):
        assert cache.reusable([theirs], {"jax": "0.8.0"}, pull) == found
    assert cache.reusable([made(1), made(2, pull=7, tests=(ended("a", FAILED),))], {"jax": "0.8.0"}) == made(1)
