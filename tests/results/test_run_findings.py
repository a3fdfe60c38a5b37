"""What is found of a run beside those before it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from infra.results import cache
from infra.results.flaky import Quarantined, flaky_tests
from infra.results.judge import Kind, Report, judge
from infra.results.suite_run import Outcome, ResultsError, SuiteRun
from tests.results.result_runs import FIRST, NOW, ended, hashed, made, nights
from tests.results.test_timing import noise, slowed

PASSED, FAILED, FLAKY = Outcome.PASSED, Outcome.FAILED, Outcome.FLAKY


def kinds(report: Report) -> list[Kind]:
    return [finding.kind for finding in report.findings]


def entry(**more: Any) -> Quarantined:
    body: dict[str, Any] = {
        "suite": "tpu",
        "test": "a",
        "owner": "ann",
        "reason": "a port",
        "expires": date(2026, 12, 1),
    }
    return Quarantined(**(body | more))


def test_a_slower_suite_names_the_first_commit_in_question_and_the_test_that_takes_longer() -> None:
    runs = nights(slowed(35, 30, 1.25))
    report = judge(runs[-1], runs, (), NOW)
    (finding,) = report.findings
    assert (finding.kind, report.first_slow, report.last_usual) == (Kind.SLOWER, runs[30].commit, runs[29].commit)
    assert f"{runs[29].commit[:12]}..{runs[30].commit[:12]}" in finding.next
    assert "a (+" in finding.says
    assert report.failed


def test_other_hardware_versions_branches_and_failures_are_not_compared() -> None:
    runs = nights(noise(20))
    others = [
        made(40 + at, 10.0, **more)
        for at, more in enumerate(
            [{"hardware": "v5e-1"}, {"versions": {"jax": "0.7.2"}}, {"branch": "feature"}, {"pull": 7}, {"reused": "3"}]
        )
    ]
    failing = made(60, 1.0, tests=(ended("a", FAILED),))
    run = made(70, 100.0)
    report = judge(run, [*runs, *others, failing], (), NOW)
    assert report.verdict is not None
    assert report.verdict.usual is not None
    assert report.verdict.usual.runs == 21
    assert report.findings == ()


def test_a_broken_test_says_when_it_passed_last() -> None:
    runs = [*nights(noise(5)), made(5, tests=(ended("a", FAILED, "boom\nmore"), ended("b", PASSED)))]
    (finding,) = judge(runs[-1], runs, (), NOW).findings
    assert (finding.kind, finding.subject, finding.says) == (Kind.BROKEN, "a", "boom")
    assert f"git bisect start {runs[5].commit[:12]} {runs[4].commit[:12]}" in finding.next


def test_a_run_that_failed_without_a_failing_test_is_broken_all_the_same() -> None:
    run = made(1, ended="failed", tests=())
    assert kinds(judge(run, [run], (), NOW)) == [Kind.BROKEN]


def test_coverage_that_falls_is_told_and_noise_of_half_a_point_is_not() -> None:
    runs = [made(at, coverage=80.0) for at in range(6)]
    fell, slightly = made(6, coverage=78.0), made(6, coverage=79.5)
    assert kinds(judge(fell, [*runs, fell], (), NOW)) == [Kind.COVERAGE]
    assert judge(slightly, [*runs, slightly], (), NOW).findings == ()
    assert judge(fell, [*runs, fell], (), NOW).coverage_change == -2


def test_a_test_that_failed_and_passed_on_one_tree_is_flaky_and_fails_no_report() -> None:
    tree = hashed("same")
    first = made(1, tree=tree, tests=(ended("a", FAILED), ended("b", FAILED)))
    second = made(2, tree=tree, tests=(ended("a", PASSED), ended("b", FAILED)))
    third = made(3, tests=(ended("a", FLAKY), ended("b", PASSED)))
    report = judge(third, [first, second, third], (), NOW)
    assert [each.test for each in report.flaky] == ["a"]
    assert kinds(report) == [Kind.FLAKY]
    assert not report.failed


def test_a_second_run_of_a_tree_that_passes_tells_the_flaky_test_and_a_third_does_not() -> None:
    tree = hashed("same")
    failed = made(1, tree=tree, tests=(ended("a", FAILED), ended("b", PASSED)))
    passed, again = (made(at, tree=tree, tests=(ended("a", PASSED), ended("b", PASSED))) for at in (2, 3))
    (finding,) = judge(passed, [failed, passed], (), NOW).findings
    assert (finding.kind, finding.subject) == (Kind.FLAKY, "a")
    assert finding.says.endswith("on 1 tree")
    assert judge(again, [failed, passed, again], (), NOW).findings == ()
    elsewhere = made(2, tree=tree, hardware="v5litepod-4", tests=passed.tests)
    assert judge(elsewhere, [failed, elsewhere], (), NOW).findings == ()
    reused = passed.model_copy(update={"run": "4", "reused": "2"})
    assert judge(reused, [failed, reused], (), NOW).findings == ()


def test_the_score_of_a_flaky_test_decays() -> None:
    runs = [made(0, tests=(ended("a", FLAKY),)), *(made(at, tests=(ended("a", PASSED),)) for at in range(1, 10))]
    scores = [flaky_tests(runs, FIRST + timedelta(days=days))[0].score for days in (10,)]
    (early,) = flaky_tests(runs[:2], FIRST + timedelta(days=1))
    assert scores[0] < early.score < 0.6
    assert flaky_tests(runs, FIRST + timedelta(days=200)) == ()


def test_a_quarantined_failure_is_told_and_fails_nobody_until_its_last_day_and_then_the_entry_fails() -> None:
    run = made(1, tests=(ended("a", FAILED), ended("b", PASSED)))
    held = judge(run, [run], (entry(),), NOW)
    assert (held.failed, [each.test for each in held.excused]) == (False, ["a"])
    over = judge(run, [run], (entry(expires=date(2026, 11, 22)),), NOW)
    assert kinds(over) == [Kind.BROKEN, Kind.EXPIRED]
    green = made(2)
    assert kinds(judge(green, [green], (entry(expires=date(2026, 11, 22)),), NOW)) == [Kind.EXPIRED]
    assert judge(run, [run], (entry(suite="cpu"),), NOW).failed


def test_one_slow_run_of_a_pull_request_proves_nothing_and_three_do() -> None:
    runs = nights(noise(30))
    own = [made(40 + at, 130.0, pull=7, branch="edit") for at in range(3)]
    assert judge(own[0], [*runs, own[0]], (), NOW).findings == ()
    assert kinds(judge(own[2], [*runs, *own], (), NOW)) == [Kind.SLOWER]


def test_a_pull_request_is_slower_than_what_the_main_branch_became() -> None:
    slow = nights(slowed(50, 40, 1.25))
    own = [made(60 + at, 250.0, pull=7, branch="edit") for at in range(3)]
    (finding,) = judge(own[2], [*slow, *own], (), NOW).findings
    assert finding.kind is Kind.SLOWER
    assert own[0].commit[:12] in finding.next


@pytest.mark.parametrize("of_main", [0, 1, 6])
def test_runs_of_a_pull_request_are_never_their_own_baseline(of_main: int) -> None:
    """Not where the main branch has too few for one."""
    own = [made(60 + at, pull=7, branch="edit") for at in range(9)]
    slow = [made(70 + at, 150.0, pull=7, branch="edit") for at in range(3)]
    told = judge(slow[-1], [*nights([100.0] * of_main), *own, *slow], (), NOW)
    assert told.verdict is not None
    assert (told.verdict.usual, kinds(told)) == (None, [])


def test_coverage_that_the_main_branch_lost_is_no_pull_requests_finding_and_what_it_loses_itself_is() -> None:
    before = [made(at, coverage=80.0) for at in range(9)] + [made(9, coverage=76.0)]
    for covered, found in ((76.0, []), (74.5, [Kind.COVERAGE]), (80.0, [])):
        assert kinds(judge(made(10, coverage=covered, pull=7, branch="edit"), before, (), NOW)) == found
    assert kinds(judge(made(10, coverage=76.0), before, (), NOW)) == [Kind.COVERAGE], "on the main branch it stays told"


def test_what_strangers_pull_requests_say_is_said_of_the_main_branch_by_nobody() -> None:
    tree = hashed("same")
    strange = [made(at, pull=7, tree=tree, tests=(ended("evil", how),)) for at, how in ((1, FAILED), (2, PASSED))]
    broken = made(3, tests=(ended("a", FAILED),))
    report = judge(broken, [*strange, broken], (), NOW)
    assert report.flaky == ()
    assert "bisect" not in report.findings[0].next
    assert [each.test for each in judge(strange[1], strange, (), NOW).flaky] == ["evil"]


def test_a_report_knows_the_newer_run_of_its_place() -> None:
    old, new, other = made(1), made(2), made(3, hardware="v5e-1")
    runs = [old, new, other, made(4, pull=7)]
    assert [judge(each, runs, (), NOW).newer for each in (old, new, other)] == [new, None, None]


FILES = [("src/a.py", "1" * 40), ("src/b/c.py", "2" * 40), ("docs/x.md", "3" * 40)]


def test_the_digest_is_of_the_declared_inputs_alone() -> None:
    one = cache.inputs_digest(FILES, ["src/**"])
    assert cache.inputs_digest([*reversed(FILES[:2]), ("docs/x.md", "4" * 40)], ["src/**"]) == one
    assert cache.inputs_digest([("src/a.py", "9" * 40), *FILES[1:]], ["src/**"]) != one
    with pytest.raises(ResultsError, match=r"tests/\*\*"):
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
