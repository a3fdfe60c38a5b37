"""What the comparison of old and new workflows says and where, run as its job runs it, against a recorded GitHub."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infra.model.errors import ConfigError
from tests.synthetic_lab import the_lab
from tests.workflows.event_tables import table, told
from tests.workflows.legacy_checkout import legacy
from workflows.generate import Generated, generate
from workflows.legacy import COMPARISON, comparison
from workflows.runs import Given
from workflows.spec import Spec, load_spec
from workflows.world import World, load_world

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"
REPOSITORY, SHA = "lab/monorepo", "c0ffee00" * 5
ROBOT = "github-actions[bot]"
START = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def world() -> World:
    return load_world(the_lab())


@pytest.fixture(scope="module")
def spec(world: World) -> Spec:
    found = load_spec(the_lab(), "marin", world)
    return replace(found, declared=found.declared.model_copy(update={"legacy": legacy()}))


@pytest.fixture(scope="module")
def files(spec: Spec, world: World) -> tuple[Generated, ...]:
    return generate(spec, world)


@pytest.fixture(scope="module")
def made(spec: Spec, world: World, files: tuple[Generated, ...]) -> Generated:
    return comparison(spec, world, files)


def step(made: Generated) -> dict[str, Any]:
    [only] = made.workflow.plain()["jobs"]["compare"]["steps"]
    return only


def test_the_file_and_what_starts_it_are_as_their_goldens_say(made: Generated, update_goldens: bool) -> None:
    workflow = made.workflow.plain()
    events = table(workflow, "marin-community/marin")
    for name, found in ((COMPARISON, made.text), ("legacy-comparison.txt", told(workflow, events, Given()))):
        if update_goldens:
            (GOLDEN / name).write_text(found)
        assert found == (GOLDEN / name).read_text()


def test_without_a_section_there_is_nothing_to_compare(spec: Spec, world: World) -> None:
    with pytest.raises(ConfigError, match="a section `legacy`"):
        comparison(replace(spec, declared=spec.declared.model_copy(update={"legacy": None})), world, ())


# What it says

GH = """\
#!{python}
import json, os, sys
arguments = sys.argv[1:]
assert arguments.pop(0) == "api"
method, body, place = "GET", None, ""
while arguments:
    word = arguments.pop(0)
    if word == "--method":
        method = arguments.pop(0)
    elif word == "--field":
        name, _, file = arguments.pop(0).partition("=@")
        assert name == "body"
        body = open(file).read()
    elif not word.startswith("--"):
        place = word
assert os.environ["GH_TOKEN"] == "token"
github = json.load(open(os.environ["GITHUB_AS_RECORDED"]))
if method == "GET":
    for page in github[place]:
        print(json.dumps(page))
else:
    with open(os.environ["WRITTEN"], "a") as written:
        written.write(json.dumps([method, place, body]) + "\\n")
"""


@dataclass
class Recorded:
    """A GitHub of one commit: what it answers, and what is written to it."""

    folder: Path
    script: str
    environ: dict[str, str]
    runs: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, list[Any]] = field(default_factory=dict)

    def ran(
        self, file: str, *jobs: tuple[str, str], waited: int = 10, took: int = 600, status: str = "completed"
    ) -> None:
        """A run of a file with its jobs (name, conclusion), each starting and ending at once."""
        number = len(self.runs) + 1
        bad = [conclusion for _, conclusion in jobs if conclusion not in {"success", "skipped"}]
        self.runs.append(
            {
                "id": number,
                "path": f".github/workflows/{file}",
                "status": status,
                "conclusion": (bad or ["success"])[0] if status == "completed" else None,
                "run_started_at": at(0),
            }
        )
        told = [
            {
                "run_id": number,
                "name": name,
                "conclusion": conclusion,
                "created_at": at(0),
                "started_at": at(waited),
                "completed_at": at(waited + took),
            }
            for name, conclusion in jobs
        ]
        self.answers[f"repos/{REPOSITORY}/actions/runs/{number}/jobs?per_page=100"] = [{"jobs": told}]

    def pull(self, number: int, sha: str, *comments: tuple[int, str, str]) -> None:
        pulls = self.answers.setdefault(f"repos/{REPOSITORY}/pulls?state=open&per_page=100", [[]])
        pulls[0].append({"number": number, "head": {"sha": sha}})
        said = [{"id": each, "user": {"login": who}, "body": body} for each, who, body in comments]
        self.answers[f"repos/{REPOSITORY}/issues/{number}/comments?per_page=100"] = [said[:1], said[1:]]

    def compared(self, event: str = "pull_request", **environ: str) -> subprocess.CompletedProcess[str]:
        runs = f"repos/{REPOSITORY}/actions/runs?head_sha={SHA}&event={event}&per_page=100"
        self.answers[runs] = [{"workflow_runs": self.runs[:2]}, {"workflow_runs": self.runs[2:]}]
        self.answers.setdefault(f"repos/{REPOSITORY}/pulls?state=open&per_page=100", [[]])
        (self.folder / "github.json").write_text(json.dumps(self.answers))
        for each in ("summary", "written"):
            (self.folder / each).write_text("")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.script]
        told = {**self.environ, "EVENT": event, **environ}
        return subprocess.run(command, env=told, cwd=self.folder, capture_output=True, text=True, check=False)

    @property
    def summary(self) -> str:
        return (self.folder / "summary").read_text()

    @property
    def written(self) -> list[tuple[str, str, str]]:
        return [tuple(json.loads(line)) for line in (self.folder / "written").read_text().splitlines()]


def at(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def recorded(made: Generated, tmp_path: Path) -> Recorded:
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text(GH.format(python=sys.executable))
    gh.chmod(0o755)
    given: Mapping[str, str] = {key: value for key, value in step(made)["env"].items() if "${{" not in value}
    return Recorded(
        tmp_path,
        step(made)["run"],
        {
            "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
            "TMPDIR": str(tmp_path),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_AS_RECORDED": str(tmp_path / "github.json"),
            "WRITTEN": str(tmp_path / "written"),
            "GH_TOKEN": "token",
            "SHA": SHA,
            **given,
            "UNTIL": "9999-12-31",
        },
    )


OLD, OLD_TPU, NEW = "levanter-run_tests-legacy.yaml", "levanter-tpu_unit_tests-legacy.yaml", "levanter-tests.yaml"


def test_both_results_stand_side_by_side_with_waits_and_times(recorded: Recorded) -> None:
    recorded.ran(OLD, ("unit (0.6.2)", "success"), ("unit (0.7.2)", "success"), waited=5, took=600)
    recorded.ran(OLD_TPU, ("tpu", "success"), waited=420, took=900)
    recorded.ran(NEW, ("cpu", "success"), ("tpu", "success"), ("other", "skipped"), waited=20, took=480)
    done = recorded.compared("push")
    assert done.returncode == 0, done.stderr
    assert "### `levanter-tests.yaml`: the results agree" in recorded.summary
    assert f"| `{OLD}` | old | success | 2 of 2 | 5 s | 10 min | 20 min |" in recorded.summary
    assert f"| `{OLD_TPU}` | old | success | 1 of 1 | 7 min | 22 min | 15 min |" in recorded.summary
    assert f"| `{NEW}` | new | success | 2 of 2 | 20 s | 8 min | 16 min |" in recorded.summary
    assert "marin-unit-tests" not in recorded.summary
    assert recorded.written == []


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("success", "success", "the results agree"),
        ("failure", "failure", "the results agree"),
        ("success", "failure", "**the results differ**"),
        ("failure", "success", "**the results differ**"),
        ("success", "running", "not all have ended"),
        ("success", "", "**the new one did not run**"),
        ("", "success", "no old one ran"),
    ],
)
def test_the_verdict_says_whether_the_results_agree(recorded: Recorded, old: str, new: str, verdict: str) -> None:
    for file, result in ((OLD, old), (NEW, new)):
        if result == "running":
            recorded.ran(file, status="in_progress")
        elif result:
            recorded.ran(file, ("unit", result))
    assert recorded.compared().returncode == 0
    assert f"### `levanter-tests.yaml`: {verdict}\n" in recorded.summary


def test_jobs_that_failed_are_named_with_nothing_in_their_names_that_could_act(recorded: Recorded) -> None:
    recorded.ran(OLD, ("unit [see](//evil.example) @lab <img> | `x`", "failure"))
    recorded.ran(NEW, ("unit (0.8.0)", "failure"))
    recorded.compared()
    assert f"- `{NEW}`: unit (0.8.0) (failure)" in recorded.summary
    [line] = [each for each in recorded.summary.splitlines() if each.startswith(f"- `{OLD}`")]
    assert not re.search(r"[\[\]@<>|]|`x`", line.removeprefix(f"- `{OLD}`"))


def test_the_comment_is_edited_in_place_and_an_unchanged_one_is_not_written(recorded: Recorded) -> None:
    recorded.ran(OLD, ("unit", "success"))
    recorded.pull(7, SHA, (3, "ada", "hello"), (5, ROBOT, "<!-- tidepool:legacy-comparison -->\nold"))
    recorded.compared()
    [(method, place, body)] = recorded.written
    assert (method, place) == ("PATCH", f"repos/{REPOSITORY}/issues/comments/5")
    recorded.answers[f"repos/{REPOSITORY}/issues/7/comments?per_page=100"] = [
        [{"id": 5, "user": {"login": ROBOT}, "body": body.rstrip("\n")}]
    ]
    assert recorded.compared().returncode == 0
    assert recorded.written == []


def test_a_github_that_does_not_answer_fails_the_job(recorded: Recorded) -> None:
    recorded.ran(OLD, ("unit", "success"))
    del recorded.answers[f"repos/{REPOSITORY}/actions/runs/1/jobs?per_page=100"]
    assert recorded.compared("push").returncode != 0
    assert recorded.written == []
