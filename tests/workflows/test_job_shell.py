"""The shell of every job of every generated file, run for real among recorded programs: what it calls, how it fails."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.event_tables import SHA
from tests.workflows.sandbox.generated import DIGEST, VARIABLES, Asked, files, jobs
from tests.workflows.sandbox.hub import Hub, serving
from tests.workflows.sandbox.programs import Call, Programs
from tests.workflows.sandbox.running import JobEnd, Runner, StepRun, named, secrets

GOLDEN = Path(__file__).parent / "golden" / "shell"
EACH = pytest.mark.parametrize("asked", jobs(), ids=str)
TO_BUILD = [
    {"image": "levanter-base", "builder": "github", "reason": "its recipe changed"},
    {"image": "cluster", "builder": "cloud-build", "reason": "its parent is built"},
]
COMMIT = "f00dfeed" * 5
"""What events are about."""
OURS = {"id": 1}
OF_OURS = {"repository_id": 1, "head_repository_id": 1, "head_sha": SHA, "id": 77}
REVIEWED = {
    r"^api repos/\S+/environments/[^/]+$": {
        "protection_rules": [{"type": "required_reviewers", "reviewers": [{"type": "User"}]}],
        "deployment_branch_policy": {"custom_branch_policies": True},
    },
    "^api .*deployment-branch-policies": {"branch_policies": [{"name": "main", "type": "branch"}]},
    "^api .*/commits/.*/pulls": [
        {"merged_at": "now", "merge_commit_sha": COMMIT, "base": {"ref": "main", "repo": OURS},
         "head": {"sha": SHA, "ref": "edit", "repo": OURS}},
    ],
    "^api --method GET .*/pulls": [],
    "^api .*artifacts": {"artifacts": [{"expired": False, "created_at": "now", "workflow_run": OF_OURS}]},
    "^api .*/actions/runs/77": {
        "path": ".github/workflows/plan.yaml", "event": "pull_request", "conclusion": "success", "head_sha": SHA,
        "head_branch": "edit", "repository": OURS, "head_repository": OURS,
    },
}  # fmt: skip
"""What GitHub tells of protected environments, and of the review of a pull request that was merged as this commit."""


class Machines:
    """Runs one job after the other, each on a machine of its own, with programs that do well.

    What nothing is wrong with is run once for all tests.
    """

    def __init__(self, folder: Path, hub: Hub) -> None:
        self.folder, self.hub = folder, hub
        self._numbers = count()
        self._ends: dict[str, tuple[tuple[JobEnd, str], ...]] = {}

    def well(self, asked: Asked) -> JobEnd:
        """The first leg."""
        return self.ends(asked)[0][0]

    def ends(self, asked: Asked) -> tuple[tuple[JobEnd, str], ...]:
        """Every leg and what it does, line by line; where steps are left out, one whose first step fails; and where an
        earlier result may stand for the tests, one for which it does."""
        if str(asked) not in self._ends:
            legs = [self._told(asked, dict(leg.matrix)) for leg in asked.legs]
            first, *others = legs[0][0].steps
            if any(step.outcome == "skipped" for step in others):
                legs.append(self._told(asked, dict(asked.legs[0].matrix), first.name))
            if any(step.get("uses", "").startswith(RESTORE) for step in asked.workflow["jobs"][asked.job]["steps"]):
                legs.append(self._told(asked, dict(asked.legs[0].matrix), cached=True))
            self._ends[str(asked)] = tuple(legs)
        return self._ends[str(asked)]

    def _told(
        self, asked: Asked, matrix: Mapping[str, Any], failing: str = "", *, cached: bool = False
    ) -> tuple[JobEnd, str]:
        done = self.run(asked, matrix, failing, cached=cached)
        return done, self._masked(_told(asked, matrix, done, tuple(self.hub.asked)))

    def run(
        self,
        asked: Asked,
        matrix: Mapping[str, Any] | None = None,
        failing: str = "",
        *,
        cached: bool = False,
        answers: Sequence[Mapping[str, Any]] = (),
    ) -> JobEnd:
        """failing: a step that fails; cached: whether a result of the same files is there; answers: of
        programs, before the good ones."""
        self.hub.asked.clear()
        folder = self.folder / f"machine-{next(self._numbers)}"
        programs = Programs(folder / "programs")
        _do_well(programs)
        for each in answers:
            programs.answer(**each)
        runner = Runner(
            folder=folder, programs=programs, variables=VARIABLES,
            actions={**ACTIONS, RESTORE: _restored(found=cached)}, composites=asked.actions,
            failing=frozenset({failing}),
            environ={"GITHUB_API_URL": self.hub.url, "PAUSE_SECONDS": "0"},
        )  # fmt: skip
        return runner.run(
            asked.written, asked.job, asked.event, matrix=matrix or dict(asked.legs[0].matrix), needs=asked.needs
        )

    def _masked(self, text: str) -> str:
        """Without what another run has elsewhere."""
        return re.sub(rf"{re.escape(str(self.folder))}/machine-\d+", "MACHINE", text).replace(self.hub.url, "HUB")


PYTHON = r"""
mkdir -p "$RUNNER_TEMP/tidepool/bin"
cat >"$RUNNER_TEMP/tidepool/bin/python" <<'END'
#!/bin/sh
case "$*" in
*' run') printf '%s\n' ended=success reason=done result=results/tpu.json >>"$GITHUB_OUTPUT" ;;
*' keep') printf '%s\n' budget=success >>"$GITHUB_OUTPUT" && mkdir -p "$REPORT" && echo report >"$REPORT/report.md" ;;
esac
END
chmod +x "$RUNNER_TEMP/tidepool/bin/python"
"""
"""What `uv venv` makes: a stand-in for the code of runs and of results, which have whole tests of their own
(tests/fleet/runs, tests/results)."""


def _do_well(programs: Programs) -> None:
    record = {"images": {"levanter-incremental": {"current": {"digest": DIGEST}}}}
    decision = {"digest": DIGEST, "steps": 3, "approval": False, "why": ["nothing is deleted"]}
    programs.hurry(120)
    programs.answer("uv", "^venv", effect=PYTHON)
    programs.answer("gcloud", "^storage cat", out=json.dumps(record))
    for pattern, answer in REVIEWED.items():
        programs.answer("gh", pattern, out=json.dumps(answer))
    programs.answer("git", r"rev-parse HEAD\^\{tree\}", out=f"{SHA}\n")
    programs.answer("git", "rev-list --count HEAD", out="41\n")
    programs.answer("git", "rev-list --first-parent FETCH_HEAD", out=f"{COMMIT}\n")
    programs.answer("git", "^init", effect='mkdir -p "${WORKSPACE:-.}/history"')
    programs.answer("git", "log -1 --format=%H %ct", out=f"{SHA} 1799999999\n")
    programs.answer("git", "status --porcelain", out=" M README.md\n")
    programs.answer("tidepool", "^images current", out=f"{DIGEST}\n")
    programs.answer("tidepool", "^images plan", out=json.dumps(TO_BUILD))
    programs.answer("tidepool", "^plan approval", out=json.dumps(decision))
    programs.answer("tidepool", "^plan digest", out=json.dumps({"digest": DIGEST}))
    programs.answer("tidepool", "^preview", out="{}")
    programs.answer("uv", "^version --short", out="1.2.0.dev3\n")
    programs.answer("sh", "record.sh$", effect=f'echo digest={DIGEST} >>"$GITHUB_OUTPUT"')


def _checked_out(inputs: Mapping[str, str], runner: Runner) -> Mapping[str, str]:
    place = runner.workspace / inputs.get("path", ".")
    runner.programs.stand_in(place / "tidepool", "tidepool")
    runner.programs.stand_in(place / ".ci" / "run", "ci-run")
    return {}


def _downloaded(inputs: Mapping[str, str], runner: Runner) -> Mapping[str, str]:
    result = {
        "version": 1, "suite": "tpu", "commit": SHA, "run": "1-1", "at": 1_800_000_000, "ok": True, "seconds": 61.0,
        "tests": {"a": {"seconds": 61.0, "outcome": "passed"}}, "coverage": None, "vm_seconds": 600,
    }  # fmt: skip
    place = runner.workspace / inputs["path"]
    place.mkdir(parents=True, exist_ok=True)
    (place / "tpu.json").write_text(json.dumps(result))
    return {}


def _restored(*, found: bool) -> Callable[[Mapping[str, str], Runner], Mapping[str, str]]:
    """A cache that has what was left by runs that passed, or nothing; of runs that failed it has nothing."""

    def restored(inputs: Mapping[str, str], runner: Runner) -> Mapping[str, str]:
        hit = found and not inputs["key"].startswith("failed-")
        return {"cache-hit": "true" if hit else "false", "cache-primary-key": inputs["key"]}

    return restored


RESTORE = "actions/cache/restore"
ACTIONS = {"actions/checkout": _checked_out, "actions/download-artifact": _downloaded}


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    open_pull = {"number": 12, "state": "open", "head": {"sha": SHA}}
    answers: dict[str, Any] = {
        "/pulls/12": open_pull, "/permission": {"permission": "write"}, "/issues": [], "/comments": [],
        "/git/ref/heads/main": {"object": {"sha": COMMIT}}, "/commits": [{"sha": COMMIT, "parents": []}],
        "/actions/workflows": {"workflows": [{"id": 7, "name": "Levanter - Tests"}]},
        "/workflows/7/runs": {"workflow_runs": [{"head_sha": COMMIT}]},
    }  # fmt: skip
    with serving(Hub(answers=answers)) as found:
        yield found


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> Machines:
    return Machines(tmp_path_factory.mktemp("machines"), hub)


# What is called.


@EACH
def test_a_job_calls_what_its_golden_says_runs_every_script_and_shows_no_secret(
    machines: Machines, asked: Asked, update_goldens: bool
) -> None:
    ends = machines.ends(asked)
    found = "\n".join(told for _, told in ends)
    golden = GOLDEN / asked.file.removesuffix(".yaml") / f"{asked.job}.txt"
    if update_goldens:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(found)
    assert found == golden.read_text()
    well, run = ends[0][0], {step.name for end, _ in ends for step in end.steps if step.outcome == "success"}
    assert {named(step) for step in asked.workflow["jobs"][asked.job]["steps"] if "run" in step} <= run
    said = "".join(step.said for step in well.steps) + well.summary
    assert "command not found" not in said
    arguments = "\n".join(word for call in well.calls for word in call.words)
    for value in (*secrets(asked.workflow).values(), "the-value-of-github.token"):
        assert value not in arguments + said


def test_every_job_of_every_file_is_run_and_has_its_golden() -> None:
    there = {str(path.relative_to(GOLDEN).with_suffix("")) for path in GOLDEN.rglob("*.txt")}
    every = {f"{name}/{job}" for name, (_, file) in files().items() for job in file.workflow.plain()["jobs"]}
    assert there == {each.replace(".yaml/", "/") for each in every}


def _told(asked: Asked, matrix: Mapping[str, Any], done: JobEnd, hub: tuple[str, ...]) -> str:
    values = ", ".join(f"{key} {value}" for key, value in matrix.items())
    lines = [f"{asked.job}{f' ({values})' if values else ''} at {asked.event.title}: {done.result}"]
    for step in done.steps:
        lines.append(f"{step.name}: {step.outcome}")
        lines += [f"  with {key}: {value}" for key, value in (step.inputs or {}).items()]
        lines += [f"  {call}" for call in _outermost(step.calls)]
        lines += [f"  -> {key}={value}" for key, value in step.outputs.items()]
    lines += [f"asked of GitHub: {each}" for each in hub]
    lines += [f"puts out {key}: {value}" for key, value in done.outputs.items()]
    lines += [f"summary: {line}" for line in done.summary.splitlines() if line]
    return "".join(f"{line}\n" for line in lines)


def _outermost(calls: tuple[Call, ...]) -> Iterator[Call]:
    """Without what `timeout` was told to call, which its own line says."""
    limited: tuple[str, ...] = ()
    for call in calls:
        if not (limited and limited[-len(call.words) :] == call.words):
            yield call
        limited = call.words if call.program == "timeout" else ()


# How it fails.

FORGIVEN: Mapping[str, str] = {
    "*: tidepool preview": "drift: a plan that failed is reported",
}
"""Calls whose failure alone does not fail their step, each with the reason."""


@pytest.mark.heavy
@EACH
def test_a_program_that_fails_fails_its_job(machines: Machines, asked: Asked) -> None:
    well = machines.well(asked)
    hidden = []
    for step, call in _distinct(asked, well):
        words = re.escape(" ".join(call.argv))
        words = re.sub(r"/\S*?/machine-\d+|/\S*?/machine\\-\d+", ".*", words)
        done = machines.run(asked, answers=[{"program": call.program, "words": f"^{words}$", "code": 9}])
        told = f"{step.name}: {call}"
        if done.result != "failure" and not any(fnmatch(told, f"{each}*") for each in FORGIVEN):
            hidden.append(told)
    assert not hidden


_SEEN: set[tuple[str, str, int]] = set()


def _distinct(asked: Asked, done: JobEnd) -> list[tuple[StepRun, Call]]:
    """The calls of scripts that no job before has; of `timeout`, what it calls."""
    scripts = {named(step): step["run"] for step in asked.workflow["jobs"][asked.job]["steps"] if "run" in step}
    found: dict[str, tuple[StepRun, Call]] = {}
    for step in done.steps:
        for number, call in enumerate(step.calls):
            key = hashlib.sha256(scripts[step.name].encode()).hexdigest(), call.program, number
            if call.program != "timeout" and key not in _SEEN:
                _SEEN.add(key)
                found.setdefault(str(call), (step, call))
    return list(found.values())


@EACH
def test_a_github_that_refuses_fails_the_job_that_asks_it(machines: Machines, asked: Asked) -> None:
    if "asked of GitHub" not in machines.ends(asked)[0][1]:
        return
    machines.hub.broken = True
    try:
        assert machines.run(asked).result == "failure"
    finally:
        machines.hub.broken = False


# What strangers choose.

NASTY = """a b $(touch pwned) `touch pwned` "; touch pwned; ' \\ * $HOME"""
LINES = f"{NASTY}\n::warning::pwned\npwned=pwned"
"""Where more than one line can be: what a body says, and what an input of a run by hand is."""
BY_MEMBERS = ("push", "schedule")
"""Events of main, whose texts are those of people who may push there: tried in the heavy tier alone."""
_CHOSEN = ("head_ref", "ref_name", "actor")


@pytest.mark.parametrize(
    "asked",
    [pytest.param(each, marks=pytest.mark.heavy if each.event.name in BY_MEMBERS else ()) for each in jobs()],
    ids=str,
)
def test_what_strangers_choose_stays_one_argument(machines: Machines, asked: Asked) -> None:
    event = asked.event
    github = {**event.github, **dict.fromkeys(_CHOSEN, NASTY), "ref": f"refs/heads/{NASTY}"}
    payload = _chosen(dict(event.payload))
    inputs = {key: LINES if isinstance(value, str) else value for key, value in event.inputs.items()}
    done = machines.run(replace(asked, event=replace(event, github=github, payload=payload, inputs=inputs)))
    assert not list(machines.folder.rglob("pwned"))
    for call in done.calls:
        for word in call.words:
            assert "pwned" not in word or NASTY in word, f"{shlex.join(call.words)} has it in pieces"
    assert "pwned" not in {name for step in done.steps for name in step.outputs}, "it put out what it likes"
    assert not [step.name for step in done.steps if "\n::warning::pwned" in f"\n{step.said}"], "it commanded the runner"


def _chosen(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {each: _chosen(inner, each) for each, inner in value.items()}
    if key == "body":
        return LINES
    return NASTY if key in ("title", "login", "head_branch") or (key == "ref" and value == "change") else value


def test_a_stack_that_was_stopped_keeps_no_other_from_its_turn_and_fails_the_job(machines: Machines) -> None:
    (apply,) = (each for each in jobs() if str(each) == "own/apply.yaml apply")
    done = machines.run(apply, answers=[{"program": "tidepool", "words": "^up (ci|nightly) ", "code": 124}])
    assert done.result == "failure"
    asked = [call.argv for call in done.calls if call.program == "tidepool"]
    assert [words[1] for words in asked if words[0] == "up"] == ["ci", "nightly", "training"]


@pytest.mark.parametrize(
    ("code", "number", "result", "asked"),
    [
        (0, "7", "success", ["issue list", "issue close"]),
        (1, "", "success", ["issue list", "label create", "issue create"]),
        (1, "7", "success", ["issue list", "issue edit"]),
        (2, "7", "failure", []),
    ],
)
def test_newer_bases_are_told_in_one_issue(
    machines: Machines, code: int, number: str, result: str, asked: list[str]
) -> None:
    (look,) = (each for each in jobs() if str(each) == "own/bases.yaml look")
    answers = [
        {"program": "tidepool", "words": "--ask", "code": code, "out": "python  sha256:1"},
        {"program": "gh", "words": "^issue list", "out": number},
    ]
    done = machines.run(look, answers=answers)
    said = [" ".join(call.argv[:2]) for call in done.calls if call.program == "gh"]
    assert (done.result, said, "python  sha256:1" in done.summary) == (result, asked, True)
