"""Examples of rules over what a whole file has: clean-ups, calls, preparations, releases, queues, artifacts."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.workflows.rule_examples.files import (
    CHECKS,
    ENDED,
    GUARD,
    WAITS,
    Data,
    Example,
    Repository,
    alone,
    following,
    run,
    uses,
    workflow,
)

PUSHED = {"push": {"branches": ["main"]}}
RUN = "${{ github.run_id }}"
ENV: Data = {"RUN": RUN, "ZONES": "us-east1-c us-west4-a"}
CREATE = 'gcloud compute tpus tpu-vm create vm --labels="tidepool-run=$RUN,tidepool-expires=$end"'
MAKE = f'end=$(($(date +%s) + LIFETIME))\nfor zone in $ZONES; do\n  {CREATE} --zone="$zone"\ndone'
SWEEP = (
    'for zone in $ZONES; do\n  gcloud compute tpus tpu-vm list --zone="$zone" --filter="labels.tidepool-run=$RUN"\n'
    '  gcloud compute tpus tpu-vm delete vm --zone="$zone" --quiet\ndone'
)
DELETE: Data = {"if": "always()", "run": SWEEP}
AUTH = uses("google-github-actions/auth", workload_identity_provider="projects/1/p", service_account="a@b")
CHECKOUT = uses("actions/checkout")
UV = uses("astral-sh/setup-uv", version="0.13.8")
TOKEN = {"GH_TOKEN": "${{ github.token }}"}
OF_RUN = "${{ github.event.workflow_run.head_sha }}"
PROOF = run("git rev-list --first-parent origin/main | grep -qx $SHA")
SECRET = "${{ secrets.HF_TOKEN }}"


def published(*steps: Data) -> Data:
    """A workflow that publishes after green checks of a push."""
    return following(
        *steps,
        run("twine upload dist/*"),
        concurrency={"group": "x-${{ github.event.workflow_run.id }}"},
        condition=f"{ENDED} && github.event.workflow_run.event == 'push'",
    )


def made(step: Data | None = None, *, life: int | str = 7200, env: Data = ENV, **clean_up: object) -> Data:
    """A workflow that makes a VM in one job and deletes it there and in another. step: the deletion in the first."""
    make = run(MAKE, env={"LIFETIME": life})
    behind: Data = {"needs": "train", "if": "always()", "env": env, "steps": [run(SWEEP)], **clean_up}
    train: Data = {"env": ENV, "timeout-minutes": 60, "steps": [make, DELETE if step is None else step]}
    return workflow(on=PUSHED, jobs={"train": train, "clean-up": behind}, **WAITS)


def requested(*, limit: int = 1500, **other: str | None) -> Data:
    """A workflow that makes a VM by this project's own code, for an hour with that limit, and deletes it in another
    job. other: what that job is told in place of the same, or not at all."""
    times = {"create": 600, "ready": 600, "limit": limit, "delete": 600, "spare": 300}
    place = {"zone": "us-east1-c", "capacity": "spot", "node": {}}
    asked = {"stack": "ci", "project": "my-lab", "bucket": "my-lab-ci", "pool": "runs", "accelerator": "v6e-1",
             "places": [place], "zones": ["us-east1-c", "us-west4-a"],
             "command": ["pytest"], "contained": True, "times": times}  # fmt: skip
    env = {"RUN_ID": RUN, "ZONES": "us-east1-c us-west4-a", "REQUEST": json.dumps(asked)}
    told = {key: value for key, value in {**env, **other}.items() if value is not None}
    train = {"env": env, "timeout-minutes": 60, "steps": [run("python -m infra.fleet.runs run")]}
    behind = {"needs": "train", "if": "always()", "env": told, "steps": [run("python -m infra.fleet.runs delete")]}
    return workflow(on=PUSHED, jobs={"train": train, "clean-up": behind}, **WAITS)


def pulled(group: str) -> Data:
    """A workflow that publishes for pull requests from the repository itself, in a group of that name."""
    steps = run("twine upload dist/*")
    return workflow(steps, on={"pull_request": {}}, job={"if": GUARD}, concurrency={"group": group})


def tested(*steps: Data, **job: object) -> Data:
    return workflow(*steps, on=PUSHED, job=job, **WAITS)


def uploads(name: str, **job: object) -> Data:
    return workflow(uses("actions/upload-artifact", name=name, path="out/"), job=job)


def called(inputs: Data, *, uses_file: str = "./.github/workflows/1-Called.yaml") -> Repository:
    """A workflow that calls another, which wants `sha` and may get `count`."""
    declared = {"sha": {"type": "string", "required": True}, "count": {"type": "number"}}
    on = {"workflow_call": {"inputs": declared}}
    caller = workflow(jobs={"call": {"uses": uses_file, "with": inputs}}, drop="timeout-minutes")
    return caller, workflow(name="Called", on=on)


def starts(script: str, **inputs: Data) -> Repository:
    """A workflow whose script starts another by hand."""
    other = workflow(name="Nightly", on={"workflow_dispatch": {"inputs": inputs} if inputs else {}})
    return tested(run(script, env=TOKEN), permissions={"actions": "write"}), other


JAX = {"fail-fast": False, "matrix": {"jax": ["0.7", "0.8"]}}
FIRST: Data = {"permissions": {"contents": "read", "id-token": "write"}}

WHOLES: Mapping[str, Example] = {
    "clean-up-always": Example(
        bad=alone(
            made(**{"if": "always() && needs.train.result == 'failure'"}),
            made(**{"if": "${{ !cancelled() }}"}),
            made(run(SWEEP)),
        ),
        good=alone(made(), made(**{"if": "${{ always() && vars.KEEP == '' }}"})),
    ),
    "clean-up-same-run": Example(
        bad=alone(
            made(env={**ENV, "RUN": "${{ github.run_id }}-${{ github.run_attempt }}"}),
            made(env={**ENV, "ZONES": "us-east1-c"}),
            requested(RUN_ID="${{ github.run_number }}"),
            requested(ZONES="us-east1-c"),
            requested(ZONES=None),
        ),
        good=alone(
            made(env={"RUN": "${{github.run_id}}", "ZONES": "us-west4-a us-east1-c us-east5-a"}),
            requested(),
            requested(ZONES="us-west4-a us-east1-c us-east5-a"),
        ),
    ),
    "machine-outlives-job": Example(
        bad=alone(made(life=3000), made(life="3599"), requested(limit=1499)),
        good=alone(made(life=3600), requested(limit=1500)),
    ),
    "secret-for-forks": Example(
        bad=alone(
            workflow(run("echo a", env={"HF_TOKEN": SECRET})),
            workflow(uses("lab/upload", token="${{ format('{0}', secrets.KEY) }}")),
        ),
        good=alone(
            workflow(run("echo a", env={"HF_TOKEN": "${{ secrets.HF_TOKEN || '' }}"})),
            workflow(run("echo a", env={"HF_TOKEN": SECRET}), job={"if": f"github.event_name == 'push' || {GUARD}"}),
            workflow({"if": GUARD, **run("echo a", env={"HF_TOKEN": SECRET})}),
            workflow(run("gh pr view", env={"GH_TOKEN": "${{ secrets.GITHUB_TOKEN }}"})),
            tested(run("echo a", env={"HF_TOKEN": SECRET})),
        ),
    ),
    "asks-first": Example(
        bad=alone(
            tested(CHECKOUT, run("./tidepool up ci --yes")),
            tested(uses("pypa/gh-action-pypi-publish"), permissions={"id-token": "write"}),
        ),
        good=alone(
            tested(CHECKOUT, run("./tidepool up ci --yes"), environment="apply"),
            tested(CHECKOUT, run("./tidepool up ci --yes"), environment={"name": "apply"}),
            tested(CHECKOUT, run("./tidepool preview ci")),
            tested(
                uses("pypa/gh-action-pypi-publish", password="${{ secrets.PYPI }}"), permissions={"id-token": "write"}
            ),
        ),
    ),
    "tested-commit-stays": Example(
        bad=((CHECKS, published(PROOF, uses("actions/checkout", ref="${{ github.event.workflow_run.head_branch }}"))),),
        good=((CHECKS, published(PROOF, uses("actions/checkout", ref=OF_RUN))),),
    ),
    "branch-is-proven": Example(
        bad=((CHECKS, published()),),
        good=(
            (CHECKS, published(PROOF)),
            (tested(run("twine upload dist/*")),),
        ),
    ),
    "run-image-by-digest": Example(
        bad=alone(tested(run(MAKE, env={**ENV, "IMAGE": "docker.io/library/python:3.12", "LIFETIME": 7200}), DELETE)),
        good=alone(
            tested(
                run(MAKE, env={**ENV, "IMAGE": f"ghcr.io/lab/a@sha256:{'0' * 64}", "LIFETIME": 7200}),
                {**DELETE, "env": ENV},
            ),
            tested(run(MAKE, env={**ENV, "IMAGE": "${{ vars.IMAGE }}", "LIFETIME": 7200}), {**DELETE, "env": ENV}),
        ),
    ),
    "queue-keeps-work": Example(
        bad=(
            (CHECKS, following(PROOF, run("twine upload dist/*"), concurrency={"group": "publish"})),
            (pulled("publish"),),
        ),
        good=(
            (
                CHECKS,
                following(
                    PROOF, run("twine upload dist/*"), concurrency={"group": "p-${{ github.event.workflow_run.id }}"}
                ),
            ),
            (CHECKS, following(run("echo seen"), concurrency={"group": "publish"})),
            (pulled("publish-${{ github.head_ref }}"),),
            (pulled("publish-${{ github.run_id }}"),),
            (tested(run("twine upload dist/*"), concurrency={"group": "publish"}),),
        ),
    ),
    "artifact-name-once": Example(
        bad=alone(
            uploads("results", strategy=JAX),
            workflow(
                uses("actions/upload-artifact", name="a", path="x"), uses("actions/upload-artifact", name="a", path="y")
            ),
        ),
        good=alone(
            uploads("results-${{ matrix.jax }}", strategy=JAX),
            uploads("results"),
            workflow(
                uses("actions/upload-artifact", name="a", path="x"),
                uses("actions/upload-artifact", name="a", path="y", overwrite=True),
            ),
        ),
    ),
    "cache-told-apart": Example(
        bad=alone(
            workflow(uses("actions/cache", path="out", key="out-${{ runner.os }}"), run("make out")),
            workflow(
                uses("actions/cache", path="out", key="out-${{ matrix.jax }}"), run("make out"), job={"strategy": JAX}
            ),
        ),
        good=alone(
            workflow(
                run('echo "tree=1" >>"$GITHUB_OUTPUT"', id="tree"),
                uses("actions/cache", path="out", key="out-${{ steps.tree.outputs.tree }}"),
                run("make out"),
            ),
        ),
    ),
    "rights-suffice": Example(
        bad=alone(
            tested(CHECKOUT, permissions={}),
            tested(run("gh issue create --title a", env=TOKEN)),
            tested(run('gh api "repos/$GITHUB_REPOSITORY/actions/artifacts"', env=TOKEN)),
            tested(uses("actions/download-artifact", **{"name": "a", "run-id": "1"})),
            tested(
                {"shell": "python", **run('ask("POST", "/issues", {})', env={"GITHUB_TOKEN": "${{ github.token }}"})}
            ),
            tested(uses("pypa/gh-action-pypi-publish"), environment="pypi"),
        ),
        good=alone(
            tested(CHECKOUT),
            tested(run("gh issue create --title a", env=TOKEN), permissions={"issues": "write"}),
            tested(run("gh issue create --title a", env={"GH_TOKEN": "${{ secrets.BOT }}"})),
            tested(run("gh issue list", env=TOKEN), permissions={}),
        ),
    ),
    "called-exists": Example(
        bad=(
            called({"sha": "1"}, uses_file="./.github/workflows/2-Gone.yaml"),
            called({}),
            called({"sha": "1", "cuont": 2}),
            called({"sha": "1"}, uses_file="./.github/workflows/0-Checks.yaml"),
            starts("gh workflow run nightly.yaml"),
            starts("gh workflow run 1-Nightly.yaml -f sha=1"),
            starts("gh workflow run 1-Nightly.yaml", sha={"required": True}),
        ),
        good=(
            called({"sha": "1"}),
            called({"sha": "1", "count": 2}),
            starts("gh workflow run 1-Nightly.yaml"),
            starts("gh workflow run 1-Nightly.yaml -f sha=1", sha={"required": True}),
        ),
    ),
    "prepared-first": Example(
        bad=alone(
            tested(run("./tidepool test")),
            tested(run("uv run --no-project pytest")),
            tested(CHECKOUT, run("uv sync"), UV),
            tested(UV, run("uv sync")),
            tested(run("gcloud storage ls"), AUTH, **FIRST),
        ),
        good=alone(
            tested(CHECKOUT, UV, run("uv sync\n./tidepool test")),
            tested(AUTH, run("gcloud storage ls"), **FIRST),
            tested(run("curl -LsSf https://astral.sh/uv/0.13.8/install.sh | sh\nuvx ruff --version")),
            tested(run("git clone https://github.com/lab/mono .\n./tidepool test")),
        ),
    ),
    "history-is-there": Example(
        bad=alone(
            tested(CHECKOUT, run("git rev-list --count HEAD")),
            tested(CHECKOUT, run("./tidepool plan --base HEAD^1")),
        ),
        good=alone(
            tested(uses("actions/checkout", **{"fetch-depth": 0}), run("git rev-list --count HEAD")),
            tested(CHECKOUT, run("git fetch --unshallow\ngit rev-list --count HEAD")),
            tested(CHECKOUT, run("git rev-parse 'HEAD^{tree}'")),
        ),
    ),
    "variable-is-set": Example(
        bad=alone(
            tested(run('docker pull "$IMAGE"')),
            tested({"shell": "python", "run": "import os\nprint(os.environ['SUITE'])"}),
            tested(run('echo "X=1" >>"$GITHUB_ENV"'), run('echo "$X $Y"')),
        ),
        good=alone(
            tested(run('docker pull "$IMAGE"', env={"IMAGE": "a"})),
            tested(run('docker pull "$IMAGE"'), env={"IMAGE": "a"}),
            tested(run('IMAGE=$(cat image)\ndocker pull "$IMAGE" "${TAG:-latest}"')),
            tested(run('echo "X=1" >>"$GITHUB_ENV"'), run('echo "$X"')),
            tested(run('for EACH in a b; do\n  read -r LINE <"$EACH"\n  echo "$LINE $HOME $RUNNER_TEMP"\ndone')),
        ),
    ),
}
