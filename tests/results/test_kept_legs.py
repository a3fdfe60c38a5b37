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


def xml(*failed: str, passed: tuple[str, ...] = ("test_a",), suite: str = "20-1", seconds: float = 30) -> str:
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


DECLARED = [leg(jax, inputs=["src/**"]) for jax in JAX]
LOST_JOB = job("0.7.2") | {"conclusion": "cancelled", "steps": [{"conclusion": "success"}, {"conclusion": "cancelled"}]}


@pytest.mark.parametrize(
    ("texts", "jobs", "kept", "said"),
    [
        (
            (xml(), xml(seconds=40)), (job("0.7.2"), job("0.8.0", began="2026-11-20T02:01:30Z")),
            (("passed", 30, 0, ""), ("passed", 40, 90, "")),
            "| ubuntu-24.04, jax 0.7.2, python 3.11 | passed | 30 |",
        ),
        (
            ("", xml()), (job("0.7.2", "failure"), job("0.8.0", "failure")),
            (("failed", 0, 0, ""), ("failed", 30, 0, "")), "it was ended, or could not begin",
        ),
        (
            ("", xml()), (LOST_JOB, job("0.8.0")), (("incomplete", 0, 0, ""), ("passed", 30, 0, "")),
            "| missing | `0.7.2` | its job was cancelled, or its machine was lost",
        ),
        (
            ("<html>", xml()), (), (("failed", 0, 0, ""), ("passed", 30, 0, "")), "is not XML",
        ),
        ((xml(), xml(suite="18-1")), (), (("passed", 30, 0, ""), ("passed", 30, 0, "18-1-0.8.0")), "passed, reused"),
    ],
    ids=["waited", "failed whatever it left", "machine lost", "not XML", "given back by a cache"],
)  # fmt: skip
def test_legs_are_kept_as_they_were_left_and_as_github_says_that_they_ended(
    desk: Desk, texts: tuple[str, ...], jobs: tuple[dict[str, Any], ...], kept: tuple[tuple[Any, ...], ...], said: str
) -> None:
    for jax, text in zip(JAX, texts, strict=True):
        if text:
            left(desk, jax, text)
    assert do(desk, PUSH, *jobs, legs=DECLARED) == 0, desk.log
    found = {each.run: (each.ended, each.seconds, each.waited, each.reused) for each in desk.kept(SUITE)}
    assert found == {f"20-1-{jax}": each for jax, each in zip(JAX, kept, strict=True)}
    assert said in told(desk)["markdown"]


def test_one_broken_leg_is_one_issue_of_the_suite_until_all_legs_are_well(desk: Desk, lab: Lab) -> None:
    left(desk, "0.7.2", xml())
    for number, result, state in ((20, "failure", "open"), (22, "cancelled", "open"), (23, "success", "closed")):
        left(desk, "0.8.0", xml("test_b") if result == "failure" else xml())
        at_ = f"2026-11-{number}T02:00:00Z"
        jobs = [job(jax, began=at_, asked=at_) for jax in JAX]
        jobs[1] |= {"conclusion": result, "steps": [{"conclusion": result}]}
        if result == "cancelled":
            (desk.folder / "results" / f"{SUITE}-0.8.0.xml").unlink()
        assert do(desk, PUSH | {"id": number, "run_started_at": at_}, *jobs) == 0, desk.log
        assert desk.do("tell", PUSH, **at(lab)) == 0, desk.log
        (issue,) = (each for each in lab.repository().get_issues(state="all") if each.pull_request is None)
        assert (issue.state, issue.title) == (state, f"Suite {SUITE} in 1 of 2 legs: 1 broken")
        assert "tests.test_x.test_b" in issue.body


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
