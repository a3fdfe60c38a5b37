"""Nothing is found in what the builders can make, nor in this repository's own workflows; no file stops the checker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.model.errors import ConfigError
from tests.synthetic_lab import the_lab
from tests.workflows.values import SCALARS
from workflows.builders import (
    Access,
    Concurrency,
    Expression,
    Grant,
    Hosted,
    Input,
    Job,
    Matrix,
    MergeGroup,
    Ours,
    Permissions,
    Pinned,
    PullRequest,
    Purpose,
    Push,
    Schedule,
    Scope,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    always,
    context,
    literal,
    not_cancelled,
    template,
    timed,
)
from workflows.builders.triggers import Trigger
from workflows.checks import Known, Pool, check
from workflows.checks.shell import commands
from workflows.dump import dump
from workflows.read import Position, WorkflowFile, read, read_file
from workflows.steps import READ_CONTENTS

ROOT = Path(__file__).parents[2]
KNOWN = Known(repository="lab/mono", pools=(Pool("tpu-ci", frozenset(("self-hosted", "tpu-ci", "tpu-v6e"))),))
PLAIN = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])

TRIGGERS = st.lists(
    st.sampled_from(
        (
            Push(branches=["main"]),
            Push(branches=["main", "release/**"], paths=["lib/**"]),
            PullRequest(),
            PullRequest(branches=["main"], types=["labeled", "synchronize"]),
            Schedule(["0 2 * * *"]),
            WorkflowDispatch(
                inputs={"count": Input(description="Legs", kind="choice", options=["1", "2"], default="1")}
            ),
            MergeGroup(),
        )
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda trigger: trigger.event,
)
RUNNERS = st.sampled_from(
    (Hosted(), Hosted("ubuntu-24.04-arm"), Ours(["self-hosted", "tpu-ci"]), Ours(["tpu-v6e"], group="tpu"))
)
MATRICES = st.sampled_from(
    (
        None,
        Matrix(axes={"jax": ["0.6.2", "0.7.2", "0.8.0"]}),
        Matrix(axes={"jax": ["0.8.0"], "python": ["3.11", "3.12"]}, exclude=[{"python": "3.12"}], max_parallel=2),
        Matrix(include=[{"jax": "0.8.0", "extra": "a"}]),
    )
)
RIGHTS = st.sampled_from(
    (
        Permissions.of(READ_CONTENTS),
        Permissions.of(
            Grant(Scope.CONTENTS, Access.READ), Grant(Scope.ISSUES, Access.WRITE, why="one issue of what failed")
        ),
    )
)
BEGIN = (
    Step(uses=Pinned("actions/checkout", "08c6903cd8c0fde910a37f88322edcfb5dd907a8", "v5.0.0")),
    Step(uses=Pinned("astral-sh/setup-uv", "11f9893b081a58869d3b5fccaea48c9e9e46f990", "v8.3.2")),
)
PREPARE = (
    Step(name="Install", run="uv sync --locked \\\n  --package levanter \\\n  --extra 'tpu'\n"),
    Step(run="echo \"$TITLE\" | tr -d '\\n'\n", env={"TITLE": context("github.event.pull_request.title")}),
    Step(run="wandb login --relogin\n", env={"WANDB_API_KEY": context("secrets.WANDB_API_KEY") | literal("")}),
    Step(run='case "$1" in\n  -h | --help) exit 0 ;;\nesac\nset -- --locked "$@"\n'),
    Step(run="python - <<'END'\n--not-a-command\nEND\n"),
)
TEST = Step(
    id="test", env={"JAX": context("matrix.jax")}, run=timed(800, 'uv run --with "jax[tpu]==$JAX" pytest') + "\n"
)
PLAIN_TEST = Step(id="test", run=timed(800, "uv run pytest -m 'not slow'") + "\n", shell="bash")
REPORT = Step(name="Report", condition=not_cancelled(), run="./tidepool drift report --last\n")
VM = {"VM": "vm", "RUN": "1", "END": "2"}
MAKE = Step(env=VM, run='gcloud compute tpus tpu-vm create "$VM" --labels="tidepool-run=$RUN,tidepool-expires=$END"\n')
DELETE = Step(env=VM, condition=always(), run='gcloud compute tpus tpu-vm delete "$VM" --quiet\n')
UP = Step(run="./tidepool up ci --yes\n")
KEYS = [
    "on", "push", "pull_request", "workflow_run", "workflow_dispatch", "schedule", "cron", "types", "branches",
    "workflows", "inputs", "jobs", "name", "env", "permissions", "concurrency", "group", "cancel-in-progress",
    "defaults", "run", "shell", "if", "needs", "runs-on", "labels", "strategy", "matrix", "include", "exclude",
    "fail-fast", "timeout-minutes", "container", "image", "outputs", "steps", "uses", "with", "id", "path", "key",
    "restore-keys", "ref", "tags", "push",
]  # fmt: skip
ODD: st.SearchStrategy[Any] = st.recursive(
    SCALARS
    | st.sampled_from(
        ("always()", "${{ needs.a.outputs.b }}", "${{ matrix.name }}", "actions/cache@v4", "docker push a/b")
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)
"""Values of any kind under the keys that rules look at."""
PIECES = (*"ab -\\\n\"'`$(){}<>|&;#=!*[]", "case ", " in", "esac", "<<EOF", "${{", "}}", "$((", "bash -c ")
"""What scripts are made of, and what they go wrong with."""
CONDITIONS: tuple[Expression | None, ...] = (
    None,
    context("vars.TIDEPOOL_IDENTITY_PROVIDER").differs(""),
    context("github.actor").differs("dependabot[bot]"),
)


@st.composite
def jobs(draw: st.DrawFn, name: str, before: tuple[str, ...]) -> Job:
    """A job that does what its purpose says."""
    purpose = draw(st.sampled_from(tuple(Purpose)))
    matrix = draw(MATRICES)
    steps = [*BEGIN, *draw(st.lists(st.sampled_from(PREPARE), max_size=3, unique_by=id))]
    match purpose:
        case Purpose.APPLY | Purpose.PUBLISH:
            steps.append(UP)
        case Purpose.CLEANUP:
            steps += [MAKE, DELETE]
        case _:
            steps += [TEST if matrix and matrix.legs()[0].get("jax") else PLAIN_TEST, REPORT]
    needs = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
    condition = draw(st.sampled_from(CONDITIONS))
    return Job(
        id=name,
        runs_on=draw(RUNNERS),
        timeout_minutes=draw(st.integers(15, 60)),
        permissions=draw(RIGHTS),
        purpose=purpose,
        steps=steps,
        needs=needs,
        condition=always() if purpose is Purpose.CLEANUP and needs else condition,
        matrix=matrix,
        environment="apply" if UP in steps else "",
        why="What it is for",
    )


@st.composite
def workflows(draw: st.DrawFn) -> Workflow | None:
    """A workflow of up to three jobs; None for what the builders refuse."""
    triggers: tuple[Trigger, ...] = tuple(draw(TRIGGERS))
    number = context("github.event.pull_request.number") | context("github.ref")
    try:
        made: list[Job] = []
        for name in draw(st.sampled_from((("a",), ("a", "b"), ("a", "b", "c")))):
            made.append(draw(jobs(name, tuple(job.id for job in made))))
        group = Concurrency(template("tests-", number), draw(st.sampled_from(tuple(Purpose))))
        return Workflow(name="Tests", triggers=Triggers(triggers), jobs=made, concurrency=group, header="Generated.")
    except ConfigError:
        return None


def as_file(workflow: Workflow) -> WorkflowFile:
    return read(dump(workflow.document()), ".github/workflows/tests.yaml")


@PLAIN
@given(workflows().filter(lambda workflow: workflow is not None))
def test_nothing_is_found_in_what_the_builders_make(workflow: Workflow) -> None:
    found = check([as_file(workflow)], KNOWN)
    assert not found, "\n".join(map(str, found))


def test_nothing_is_found_in_this_repository_s_own_workflows() -> None:
    files = [read_file(path, the_lab()) for path in sorted((the_lab() / ".github" / "workflows").glob("*.yaml"))]
    found = check(files, Known(pools=()))
    assert files
    assert not found, "\n".join(map(str, found))


@PLAIN
@given(ODD, ODD, ODD, ODD)
def test_a_file_of_any_shape_is_judged(top: Any, on: Any, job: Any, step: Any) -> None:
    jobs = {"a": job, "b": {"runs-on": "ubuntu-24.04", "steps": [step]}, "c": {"needs": ["a", "b"], "steps": job}}
    for data in ({"on": on, "jobs": jobs}, {"on": on, **top} if isinstance(top, dict) else {"on": on, "jobs": top}):
        check([WorkflowFile("a.yaml", data, {(): Position(1, 1)}, {})], KNOWN)


@PLAIN
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_a_script_of_any_shape_is_read_to_its_end(script: str) -> None:
    assert all(0 <= each.line <= script.count("\n") for each in commands(script))


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        ("a \\\n  b\nc", ["a b", "c"]),
        ("x=1 a 'b c' \"d $e\"", ["a b c d $e"]),
        ("a && b || c; d | e &", ["a", "b", "c", "d", "e"]),
        ("if a; then\n  b\nelse\n  c\nfi", ["a", "b", "c"]),
        ("for x in -a -b; do\n  c\ndone", ["for x in -a -b", "c"]),
        ("case $x in\n  -h | --help) a ;;\n  *)\n    b\n    ;;\nesac\nc", ["a", "b", "c"]),
        ("cat <<-'END' >f\n\t--x\n\tEND\nb", ["cat", "b"]),
        ("a=(\n  --b\n  -c\n)\nd", ["", "d"]),
        ("a $(b -c | d) `e f`", ["b -c", "d", "e f", "a $(b -c | d) `e f`"]),
        ("f() {\n  a\n}\nf", ["a", "f"]),
        ("(a; b) >c", ["a", "b", ""]),
        ("[[ $a == -* && -n $b ]] && c", ["[[", "c"]),
        ("((a < 3)) && b", ["b"]),
        ("a ${{ matrix.b && 'c' }} d # e", ["a ${{ matrix.b && 'c' }} d"]),
        ('bash -c "a && b"', ["bash -c a && b", "a", "b"]),
        ("timeout --kill-after=5 -s TERM 890 sudo -u me env A=b c -d &", ["c -d"]),
        ("diff <(a) <(b)", ["a", "b", "diff"]),
    ],
)
def test_a_script_is_read_as_its_commands(script: str, lines: list[str]) -> None:
    assert [each.said for each in commands(script)] == lines
