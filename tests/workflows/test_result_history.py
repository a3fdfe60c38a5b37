"""Results of every commit on a branch of their own, what is slow against them, the page of health, and its cost."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.shipped_scripts import SHA, run

DAY = 86_400
BEGAN = int(time.time())
JUDGE = {"SUITE": "tpu", "SLOWER": 20, "RUNS": 20, "LEAST": 5}


def result(number: int = 1, seconds: float = 100, **more: Any) -> dict[str, Any]:
    """One result, of a commit of its own, so many minutes after the first."""
    return {
        "version": 1, "suite": "tpu", "commit": f"{number:040x}", "run": f"{number}-1", "ok": True, "coverage": 80.0,
        "at": BEGAN - DAY + number * 60, "seconds": seconds, "vm_seconds": 600,
        "tests": {"test.T.test_a": {"seconds": 1.0, "outcome": "passed"}}, **more,
    }  # fmt: skip


def kept(folder: Path, *results: dict[str, Any]) -> Path:
    """A history of these."""
    for each in results:
        path = folder / "history" / "results" / each["suite"] / f"{each['commit']}-{each['run']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(each))
    return folder / "history"


def judged(folder: Path, one: object, history: Path) -> tuple[str, str]:
    """The log and the report."""
    (folder / "result.json").write_text(one if isinstance(one, str) else json.dumps(one))
    told = {**JUDGE, "RESULT": folder / "result.json", "HISTORY": history, "REPORT": folder / "report.md"}
    done = run("judge", folder, told)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "report.md").read_text()


@pytest.mark.parametrize(("seconds", "slow"), [(119, False), (120, False), (121, True), (50, False)])
def test_more_than_a_fifth_over_the_median_of_the_history_warns(tmp_path: Path, seconds: float, slow: bool) -> None:
    history = kept(tmp_path, *(result(each, 100 + each % 3 - 1) for each in range(1, 10)))
    log, report = judged(tmp_path, result(99, seconds), history)
    assert ("::warning::tpu took" in log) is slow
    assert "compared with the median of 100 s" in report


def test_failed_runs_and_the_run_itself_are_no_baseline(tmp_path: Path) -> None:
    good = [result(each) for each in range(1, 6)]
    bad = [result(each, 1, ok=False) for each in range(10, 30)]
    log, report = judged(tmp_path, result(99, 115), kept(tmp_path, *good, *bad, result(99, 500)))
    assert "+15 % compared with the median of 100 s" in report
    assert "::warning::" not in log


def test_the_latest_runs_count_and_older_ones_do_not(tmp_path: Path) -> None:
    history = kept(tmp_path, *(result(each, 500) for each in range(1, 30)), *(result(each) for each in range(40, 60)))
    assert "::warning::tpu took 130 s: +30 %" in judged(tmp_path, result(99, 130), history)[0]


def test_there_is_no_baseline_of_too_few_runs(tmp_path: Path) -> None:
    log, report = judged(tmp_path, result(99, 900), kept(tmp_path, *(result(each) for each in range(1, 5))))
    assert "No baseline yet" in report
    assert "::warning::" not in log


def test_a_green_run_whose_times_were_lost_is_neither_fast_nor_a_baseline(tmp_path: Path) -> None:
    lost = [result(each, 0, tests={}) for each in range(10, 40)]
    history = kept(tmp_path, *(result(each) for each in range(1, 6)), *lost)
    assert "::warning::tpu took 130 s: +30 %" in judged(tmp_path, result(99, 130), history)[0]
    assert judged(tmp_path, lost[0], history)[1].startswith("**tpu**: passed; no times were recorded.")


def test_flaky_and_failed_tests_are_named_and_coverage_is_compared(tmp_path: Path) -> None:
    tests = {"t.a": {"seconds": 1, "outcome": "flaky"}, "t.b": {"seconds": 1, "outcome": "failed"}}
    log, report = judged(tmp_path, result(99, tests=tests, coverage=78.5), kept(tmp_path, result(1)))
    assert "::warning::flaky: t.a" in log
    assert "::warning::failed: t.b" in log
    assert "coverage 78.5 % (-1.5)" in report


@pytest.mark.parametrize(
    "nothing",
    [
        "", "[]", '{"suite": "tpu"}', "[" * 5000, json.dumps(result(commit="../x")), json.dumps(result(tests=[])),
        json.dumps(result(seconds=float("nan"))), json.dumps(result(seconds=-1)), json.dumps(result(coverage=1e300)),
        json.dumps(result(at=float("inf"))),
    ],
)  # fmt: skip
def test_what_is_no_result_is_said_and_ends_nothing(tmp_path: Path, nothing: str) -> None:
    log, report = judged(tmp_path, nothing, kept(tmp_path))
    assert "No result: the tests did not reach their end" in log + report


def test_what_a_stranger_wrote_gives_no_command_to_the_runner(tmp_path: Path) -> None:
    tests = {"x\n::add-mask::y`|<b>": {"seconds": 1, "outcome": "failed"}}
    log, report = judged(tmp_path, result(99, tests=tests), kept(tmp_path))
    assert log.count("\n") == 1
    assert "<b>" not in report
    assert "|" not in report


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    folder = tmp_path / "hub" / "lab" / "engine"
    git(tmp_path, "init", "--quiet", "--bare", str(folder))
    return folder


def git(folder: Path, *arguments: str) -> str:
    environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def record(tmp_path: Path, name: str, *results: dict[str, Any], **told: Any) -> subprocess.CompletedProcess[str]:
    """Adds results as a job on a machine of its own does."""
    machine = tmp_path / name
    (machine / "artifacts").mkdir(parents=True)
    for each in results:
        (machine / "artifacts" / f"{each['run']}.json").write_text(json.dumps(each))
    around = {
        "GITHUB_SERVER_URL": tmp_path / "hub", "GITHUB_REPOSITORY": "lab/engine", "GITHUB_TOKEN": "very-secret",
        "BRANCH": "test-history", "HISTORY": machine / "history", "RESULTS": machine / "artifacts", "DAYS": 30,
        "RUNS": 20, "LEAST": 5, "USD_PER_HOUR": "0.544", "BUDGET": "10",
    }  # fmt: skip
    return run("record", machine, around | told)


def test_results_are_kept_a_file_of_each_commit_and_run(tmp_path: Path, origin: Path) -> None:
    for number in (1, 2):
        assert record(tmp_path, f"job{number}", result(number)).returncode == 0
    listed = git(origin, "ls-tree", "-r", "--name-only", "test-history").split()
    assert listed == ["README.md", *(f"results/tpu/{each:040x}-{each}-1.json" for each in (1, 2))]
    assert json.loads(git(origin, "show", f"test-history:{listed[1]}")) == result(1)


def test_a_run_without_a_result_still_brings_the_page_up_to_date(tmp_path: Path, origin: Path) -> None:
    assert record(tmp_path, "only", RESULTS=tmp_path / "nowhere").returncode == 0
    assert "0.0 hours of TPU VMs" in git(origin, "show", "test-history:README.md")


def test_a_result_that_is_there_already_makes_no_commit(tmp_path: Path, origin: Path) -> None:
    one = result(1)
    record(tmp_path, "first", one)
    record(tmp_path, "second", one)
    assert git(origin, "rev-list", "--count", "test-history").strip() == "1"


def test_what_is_older_than_it_is_kept_goes(tmp_path: Path, origin: Path) -> None:
    record(tmp_path, "first", result(1, at=BEGAN - 29 * DAY), result(2))
    record(tmp_path, "second", result(3), DAYS=10)
    listed = git(origin, "ls-tree", "-r", "--name-only", "test-history")
    assert "-1-1.json" not in listed
    assert "-2-1.json" in listed


def test_results_of_two_jobs_at_once_are_both_kept(tmp_path: Path, origin: Path) -> None:
    record(tmp_path, "first", result(1))
    hook = origin / "hooks" / "pre-receive"
    hook.write_text(f'#!/bin/sh\n[ -e "{tmp_path}/refused" ] && exit 0\ntouch "{tmp_path}/refused"\nexit 1\n')
    hook.chmod(0o755)
    assert record(tmp_path, "second", result(2)).returncode == 0
    assert "-1-1.json" in git(origin, "ls-tree", "-r", "--name-only", "test-history")
    assert "-2-1.json" in git(origin, "ls-tree", "-r", "--name-only", "test-history")


def test_a_branch_that_takes_nothing_fails_the_job_without_the_token(tmp_path: Path, origin: Path) -> None:
    hook = origin / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    refused = record(tmp_path, "only", result(1))
    assert refused.returncode == 1
    assert "could not be pushed to branch test-history" in refused.stderr
    assert "very-secret" not in refused.stderr + refused.stdout


def test_a_hub_that_gives_no_history_fails_a_comparison_never_and_keeping_at_last(tmp_path: Path) -> None:
    told = {
        "GITHUB_SERVER_URL": tmp_path / "nowhere", "GITHUB_REPOSITORY": "lab/engine", "GITHUB_TOKEN": "very-secret",
        "BRANCH": "test-history", "HISTORY": tmp_path / "there",
    }  # fmt: skip
    brought = run("fetch_history", tmp_path, told)
    assert brought.returncode == 0
    assert "::warning::the history could not be fetched: git ls-remote" in brought.stdout
    refused = record(tmp_path, "only", result(1))
    assert refused.returncode == 1
    assert refused.stderr.startswith(
        "::error::the results could not be pushed to branch test-history in 5 tries: git ls-remote"
    )
    assert "very-secret" not in brought.stdout + brought.stderr + refused.stdout + refused.stderr


def test_nothing_but_results_reaches_the_branch(tmp_path: Path, origin: Path) -> None:
    record(tmp_path, "only", result(1), result(2, suite="../../.github/workflows"), result(3, run="x"))
    assert git(origin, "ls-tree", "-r", "--name-only", "test-history").split()[1:] == [f"results/tpu/{1:040x}-1-1.json"]


def test_the_history_is_brought_and_is_empty_at_first(tmp_path: Path, origin: Path) -> None:
    told = {
        "GITHUB_SERVER_URL": tmp_path / "hub", "GITHUB_REPOSITORY": "lab/engine", "GITHUB_TOKEN": "t",
        "BRANCH": "test-history",
    }  # fmt: skip
    assert run("fetch_history", tmp_path, {**told, "HISTORY": tmp_path / "empty"}).returncode == 0
    assert [each.name for each in (tmp_path / "empty").iterdir()] == [".git"]
    record(tmp_path, "first", result(1))
    run("fetch_history", tmp_path, {**told, "HISTORY": tmp_path / "there"})
    assert (tmp_path / "there" / "results" / "tpu" / f"{1:040x}-1-1.json").is_file()


def test_the_page_shows_each_suite_what_is_flaky_and_the_cost(tmp_path: Path, origin: Path) -> None:
    flaky = {"t.a": {"seconds": 1, "outcome": "flaky"}}
    runs = [result(each, vm_seconds=1800, tests=flaky) for each in range(1, 6)]
    record(tmp_path, "only", *runs, result(9, ok=False, suite="unit", vm_seconds=0, coverage=None))
    page = git(origin, "show", "test-history:README.md")
    assert f"| tpu | passed at `{5:040x}"[:30] in page
    assert "| 5 of 5 | 100 s | 100 s | 80.0 % |" in page
    assert "| unit | **failed** at" in page
    assert "- `t.a`: 5 times" in page
    assert "2.5 hours of TPU VMs at $0.544 an hour: $1.36 of $10.00." in page
    assert (tmp_path / "only" / "output").read_text() == "budget=success\n"


def test_a_test_that_ends_both_ways_at_one_commit_is_flaky_and_one_that_was_mended_is_not(
    tmp_path: Path, origin: Path
) -> None:
    def ended(number: int, commit: int, **outcomes: str) -> dict[str, Any]:
        tests = {name: {"seconds": 1, "outcome": outcome} for name, outcome in outcomes.items()}
        return result(number, commit=f"{commit:040x}", tests=tests)

    record(tmp_path, "only", ended(1, 1, a="passed", b="failed"), ended(2, 1, a="failed"), ended(3, 2, b="passed"))
    page = git(origin, "show", "test-history:README.md")
    assert "- `a`: 1 times" in page
    assert "`b`" not in page


def test_a_month_over_the_budget_is_said(tmp_path: Path, origin: Path) -> None:
    done = record(tmp_path, "only", result(1, vm_seconds=3600 * 20))
    assert "::warning::" in done.stdout
    assert (tmp_path / "only" / "output").read_text() == "budget=failure\n"


def test_what_is_older_than_a_month_costs_nothing_in_this_one(tmp_path: Path, origin: Path) -> None:
    record(tmp_path, "only", result(1, vm_seconds=3600 * 20, at=BEGAN - 40 * DAY), DAYS=300)
    assert (tmp_path / "only" / "output").read_text() == "budget=success\n"
    assert SHA not in git(origin, "log", "--format=%an%ae%s", "test-history")
