"""Suites with several legs: kept leg by leg as pytest left them, believed as GitHub says that they ended, told once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.operations import results
from infra.operations.results import text_of
from infra.results.flaky import Quarantined
from infra.results.judge import judge
from infra.results.suite_run import Outcome
from tests.github.conftest import lab as lab
from tests.github.lab_repository import SHA, Lab
from tests.results.result_runs import NOW, ended, made
from tests.results.test_result_jobs import COMMIT, FORKS, NIGHT, Desk, at
from tests.results.test_result_jobs import desk as desk

FILE = ".github/workflows/levanter-tests.yaml"
PUSH = NIGHT | {"path": FILE, "event": "push", "id": 20}
PULL = FORKS | {"path": FILE, "id": 21}
JAX = ("0.7.2", "0.8.0")
BEGAN = "2026-11-20T02:00:00Z"


def leg(jax: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "levanter-cpu-unit-tests", "hardware": "ubuntu-24.04", "leg": jax,
        "files": [f"levanter-cpu-unit-tests-{jax}.xml"], "versions": {"python": "3.11", "jax": jax},
        "workflow": FILE, "job": f"cpu-unit-tests, jax {jax}", **more,
    }  # fmt: skip


LEGS = [leg(jax) for jax in JAX]
SUITE = str(LEGS[0]["name"])


def xml(*failed: str, passed: tuple[str, ...] = ("test_a",), suite: str = "pytest", seconds: float = 30) -> str:
    cases = [f'<testcase classname="tests.test_x" name="{name}" time="{seconds}"/>' for name in passed]
    wrong = '<failure message="assert 1 == 2">E</failure>'
    cases += [f'<testcase classname="tests.test_x" name="{name}" time="1">{wrong}</testcase>' for name in failed]
    return f'<testsuites><testsuite name="{suite}" tests="{len(cases)}">{"".join(cases)}</testsuite></testsuites>'


def left(desk: Desk, jax: str, text: str) -> None:
    (desk.folder / "results").mkdir(exist_ok=True)
    (desk.folder / "results" / f"{SUITE}-{jax}.xml").write_text(text)


def job(jax: str, conclusion: str | None = "success", *, began: str = BEGAN, asked: str = BEGAN) -> dict[str, Any]:
    """None: its machine was lost in the step that tests."""
    steps = [{"conclusion": "success"}, {"conclusion": conclusion}]
    name = f"cpu-unit-tests, jax {jax}"
    return {
        "name": name,
        "conclusion": conclusion or "failure",
        "created_at": asked,
        "started_at": began,
        "steps": steps,
    }


def do(desk: Desk, run: dict[str, Any], *jobs: dict[str, Any], legs: list[dict[str, Any]] | None = None) -> int:
    """Keep a run whose jobs GitHub tells so; they began as the run did where nothing else is said."""
    number, attempt = run["id"], run["run_attempt"]
    answer = {"jobs": list(jobs) or [job(jax) for jax in JAX]}
    desk.hub.answers[f"/actions/runs/{number}/attempts/{attempt}/jobs"] = answer
    return desk.do("keep", {"run_started_at": BEGAN} | run, *(legs or LEGS))


def told(desk: Desk) -> dict[str, Any]:
    return json.loads((desk.folder / "report" / f"{SUITE}.json").read_text())


def test_legs_of_one_run_are_kept_by_hardware_and_versions_with_their_waits(desk: Desk) -> None:
    left(desk, "0.7.2", xml())
    left(desk, "0.8.0", xml(seconds=40))
    late = job("0.8.0", began="2026-11-20T02:01:30Z")
    assert do(desk, PUSH, job("0.7.2"), late) == 0, desk.log
    kept = {each.run: (each.ended, each.versions["jax"], each.seconds, each.waited) for each in desk.kept(SUITE)}
    assert kept == {"20-1-0.7.2": ("passed", "0.7.2", 30, 0), "20-1-0.8.0": ("passed", "0.8.0", 40, 90)}
    assert told(desk)["status"] == "all 2 legs passed"
    assert "| ubuntu-24.04, jax 0.7.2, python 3.11 | passed | 30 |" in (desk.folder / "summary").read_text()


def test_one_broken_leg_is_one_issue_of_the_suite_that_closes_when_all_are_well(desk: Desk, lab: Lab) -> None:
    left(desk, "0.7.2", xml())
    left(desk, "0.8.0", xml("test_b"))
    assert do(desk, PUSH, job("0.7.2"), job("0.8.0", "failure")) == 0, desk.log
    assert desk.do("tell", PUSH, **at(lab)) == 0, desk.log
    (issue,) = (each for each in lab.repository().get_issues() if each.pull_request is None)
    assert issue.title == f"Suite {SUITE} in 1 of 2 legs: 1 broken"
    assert "tests.test_x.test_b" in issue.body
    assert "assert 1 == 2" in issue.body
    left(desk, "0.8.0", xml())
    assert do(desk, PUSH | {"id": 22, "run_started_at": "2026-11-21T02:00:00Z"}, *late_jobs()) == 0, desk.log
    assert desk.do("tell", PUSH, **at(lab)) == 0, desk.log
    assert lab.repository().get_issue(issue.number).state == "closed"


def late_jobs() -> list[dict[str, Any]]:
    return [job(jax, began="2026-11-21T02:00:05Z", asked="2026-11-21T02:00:00Z") for jax in JAX]


def test_a_leg_whose_job_failed_is_broken_whatever_it_left(desk: Desk) -> None:
    """One was ended by its limit before pytest wrote anything, the other crashed after all tests had passed."""
    left(desk, "0.8.0", xml())
    assert do(desk, PUSH, job("0.7.2", "failure"), job("0.8.0", "failure")) == 0, desk.log
    assert {(each.run, each.ended, len(each.tests)) for each in desk.kept(SUITE)} == {
        ("20-1-0.7.2", "failed", 0),
        ("20-1-0.8.0", "failed", 1),
    }
    assert "it was ended, or could not begin" in told(desk)["markdown"]


def test_a_leg_whose_machine_was_lost_is_missing_and_closes_no_issue(desk: Desk, lab: Lab) -> None:
    left(desk, "0.8.0", xml())
    assert do(desk, PUSH, job("0.7.2", "failure"), job("0.8.0")) == 0, desk.log
    assert desk.do("tell", PUSH, **at(lab)) == 0, desk.log
    lost, well = late_jobs()
    lost |= {"conclusion": "cancelled", "steps": [{"conclusion": "success"}, {"conclusion": "cancelled"}]}
    assert do(desk, PUSH | {"id": 22, "run_started_at": "2026-11-21T02:00:00Z"}, lost, well) == 0, desk.log
    assert {each.run: each.ended for each in desk.kept(SUITE) if each.run.startswith("22")} == {
        "22-1-0.7.2": "incomplete",
        "22-1-0.8.0": "passed",
    }
    assert (told(desk)["status"], told(desk)["unknown"]) == ("1 of 2 legs incomplete; 1 finding", True)
    assert "| missing | `0.7.2` | its job was cancelled, or its machine was lost" in told(desk)["markdown"]
    assert desk.do("tell", PUSH, **at(lab)) == 0, desk.log
    (issue,) = (each for each in lab.repository().get_issues(state="all") if each.pull_request is None)
    assert (issue.state, issue.title) == ("open", f"Suite {SUITE} in 1 of 2 legs: 1 broken")


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        ("success", None, "error"),
        ("failure", None, "failure"),
        (None, None, "error"),
        ("success", "success", "success"),
    ],
    ids=["passed-lost", "failed-lost", "lost", "passed"],
)
def test_a_pull_request_passes_where_each_leg_that_began_has_passed(
    desk: Desk, lab: Lab, first: str | None, second: str | None, state: str
) -> None:
    for jax, how in zip(JAX, (first, second), strict=True):
        if how:
            left(desk, jax, xml() if how == "success" else xml("test_b"))
    assert do(desk, PULL, job("0.7.2", first), job("0.8.0", second)) == 0, desk.log
    (desk.folder / "report" / f"{SUITE}.json").write_text(json.dumps(told(desk) | {"pull": lab.pull, "commit": SHA}))
    rights = at(lab, permissions={"statuses": "write", "pull_requests": "write", "issues": "write"})
    assert desk.do("tell", PULL, *LEGS, **rights) == 0, desk.log
    assert desk.log[-1] == f"{SUITE}: comment created, status {state}"


@pytest.mark.parametrize("text", ["<html>", '<?xml version="1.0" encoding="nonsense"?><testsuites/>'])
def test_a_leg_whose_file_cannot_be_read_is_broken_and_the_others_are_told(desk: Desk, text: str) -> None:
    left(desk, "0.7.2", text)
    left(desk, "0.8.0", xml())
    (desk.folder / "results" / f"{SUITE}-coverage.xml").write_text("<html>")
    legs = [leg("0.7.2", coverage=f"{SUITE}-coverage.xml"), leg("0.8.0")]
    assert do(desk, PUSH, legs=legs) == 0, desk.log
    assert {each.run: each.ended for each in desk.kept(SUITE)} == {"20-1-0.7.2": "failed", "20-1-0.8.0": "passed"}
    assert (told(desk)["failed"], told(desk)["unknown"]) == (True, False)
    assert f"{SUITE}-0.7.2.xml is not XML" in told(desk)["markdown"]
    assert any(line.startswith(f"::error::{SUITE} 0.7.2: ") for line in desk.log)


def test_a_second_attempt_keeps_what_ran_again_and_tells_of_all(desk: Desk) -> None:
    """Of jobs that GitHub carries over, the artifacts are there a second time."""
    left(desk, "0.7.2", xml())
    left(desk, "0.8.0", xml("test_b"))
    assert do(desk, PUSH, job("0.7.2"), job("0.8.0", "failure")) == 0, desk.log
    left(desk, "0.8.0", xml(passed=("test_a", "test_b")))
    again = PUSH | {"run_attempt": 2, "run_started_at": "2026-11-20T03:00:00Z"}
    second = job("0.8.0", began="2026-11-20T03:00:10Z", asked="2026-11-20T03:00:00Z")
    assert do(desk, again, job("0.7.2"), second) == 0, desk.log
    assert [each.run for each in desk.kept(SUITE)] == ["20-1-0.7.2", "20-1-0.8.0", "20-2-0.8.0"]
    assert (told(desk)["failed"], told(desk)["status"]) == (False, "all 2 legs passed")
    assert "| `tests.test_x.test_b` | 50.0 % | 1 |" in told(desk)["markdown"], "it failed and passed on one tree"


def test_a_pass_that_a_cache_gave_back_is_said_to_be_that_runs(desk: Desk) -> None:
    declared = [leg(jax, inputs=["src/**"]) for jax in JAX]
    left(desk, "0.7.2", xml(suite="20-1"))
    left(desk, "0.8.0", xml(suite="18-1"))
    assert do(desk, PUSH, legs=declared) == 0, desk.log
    assert {each.run: each.reused for each in desk.kept(SUITE)} == {"20-1-0.7.2": "", "20-1-0.8.0": "18-1-0.8.0"}
    assert "passed, reused" in told(desk)["markdown"]


def test_a_run_keeps_the_suites_of_its_own_file_and_is_refused_of_any_other(desk: Desk) -> None:
    left(desk, "0.7.2", xml())
    other = leg("0.7.2", workflow=".github/workflows/marin-unit-tests.yaml", name="marin-cpu-unit-tests")
    assert do(desk, PUSH, legs=[*LEGS, other]) == 0, desk.log
    assert desk.kept("marin-cpu-unit-tests") == []
    assert do(desk, PUSH | {"path": ".github/workflows/evil.yaml"}) == 1
    assert "levanter-tests.yaml alone" in desk.log[-1]


@pytest.mark.parametrize(("body", "code"), [("assert True", 0), ("assert 1 == 2", 1)], ids=["passes", "fails"])
def test_what_pytest_itself_writes_is_kept(desk: Desk, body: str, code: int) -> None:
    """By the options of the generated step."""
    tests = desk.folder / "tests"
    tests.mkdir()
    (tests / "test_x.py").write_text(f"def test_a():\n    {body}\n")
    (desk.folder / "pytest.ini").touch()
    file = desk.folder / "results" / f"{SUITE}-0.8.0.xml"
    options = [f"--junitxml={file}", "--override-ini=junit_suite_name=20-1", "-p", "no:cacheprovider"]
    done = subprocess.run([sys.executable, "-m", "pytest", "tests", *options], cwd=desk.folder, check=False)
    assert done.returncode == code
    declared = [leg("0.8.0", inputs=["src/**"])]
    assert do(desk, PUSH, job("0.8.0", "failure" if code else "success"), legs=declared) == 0, desk.log
    (kept,) = desk.kept(SUITE)
    assert (kept.ended, kept.reused, kept.commit) == ("failed" if code else "passed", "", COMMIT)
    assert [test.name for test in kept.tests] == ["tests.test_x.test_a"]
    assert Path(file).is_file()


GREEN: dict[str, Any] = {}
BROKEN: dict[str, Any] = {"tests": (ended("b", Outcome.FAILED),)}
LOST: dict[str, Any] = {"tests": (), "ended": "incomplete", "missing": ("0.8.0: lost",)}
UNREAD: dict[str, Any] = {"tests": (), "ended": "failed", "missing": ("0.8.0: no XML",)}
HALF: dict[str, Any] = BROKEN | {"missing": ("2: lost",)}
EXCUSED: dict[str, Any] = {"tests": (ended("a", Outcome.FAILED),)}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (GREEN, GREEN, (False, False, "passing")),
        (GREEN, LOST, (False, True, "no result")),
        (LOST, LOST, (False, True, "no result")),
        (GREEN, BROKEN, (True, False, "failing")),
        (LOST, BROKEN, (True, False, "failing")),
        (GREEN, HALF, (True, False, "failing")),
        (LOST, UNREAD, (True, False, "failing")),
        (GREEN, EXCUSED, (False, False, "passing")),
        (LOST, EXCUSED, (False, True, "no result")),
        (BROKEN, EXCUSED, (True, False, "failing")),
    ],
)
def test_a_suite_is_as_its_worst_leg_whichever_that_is(
    first: dict[str, Any], second: dict[str, Any], said: tuple[bool, bool, str]
) -> None:
    """Alone, where both are the same; whether it needs a look, whether nobody knows, and its badge."""
    entry = Quarantined(suite="tpu", test="a", owner="ann", reason="a port", expires=NOW.date())
    for each in ((first, second), (second, first), *([(first,)] if first == second else [])):
        runs = [made(1, run=f"1-{leg}", versions={"jax": str(leg)}, **of) for leg, of in enumerate(each)]
        legs = [judge(run, runs, [entry], NOW) for run in runs]
        text = text_of(legs, alone=len(legs) == 1)
        assert (text.failed, text.unknown) == said[:2]
        assert said[2] in results._badges(legs)[".svg"].decode()
        assert text.hardware == ("v6e-1" if len(legs) == 1 else "")
