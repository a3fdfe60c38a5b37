"""Examples of rules over rights, secrets and strangers."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflows.rule_examples.files import (
    CHECKS,
    GUARD,
    OURS,
    WAITS,
    Data,
    Example,
    alone,
    following,
    run,
    uses,
    workflow,
)

AUTH = uses("google-github-actions/auth", workload_identity_provider="projects/1/p", service_account="a@b")
HEAD = "${{ github.event.pull_request.head.sha }}"
OF_RUN = "${{ github.event.workflow_run.head_sha }}"
OWN_RUN = "github.event.workflow_run.head_repository.full_name == github.repository"
ENDED = "github.event.workflow_run.conclusion == 'success'"
TARGET = {"pull_request_target": {}}
SECRET = {"KEY": "${{ secrets.KEY }}"}


def commanded(condition: str, permissions: Data | None = None, **job: Data) -> Data:
    """A workflow that a comment starts."""
    on = {"issue_comment": {"types": ["created"]}}
    return workflow(on=on, job={"if": condition, **job}, permissions=permissions or {"issues": "write"}, **WAITS)


RIGHTS: Mapping[str, Example] = {
    "rights-said": Example(
        bad=alone(workflow(drop="permissions"), workflow(permissions="write-all")),
        good=alone(workflow(permissions={}), workflow(permissions="read-all")),
    ),
    "no-account-key": Example(
        bad=alone(
            workflow(uses("google-github-actions/auth", project_id="p", credentials_json="${{ secrets.KEY }}")),
            workflow(run("gcloud --quiet auth activate-service-account --key-file key.json")),
            workflow(run("python train.py", env={"GOOGLE_CREDENTIALS": "${{ secrets.KEY }}"})),
            workflow(run("docker login -u _json_key --password-stdin https://us-docker.pkg.dev <key.json")),
            workflow(run("docker login --username _json_key_base64 --password-stdin https://us-docker.pkg.dev <key")),
            workflow(uses("docker/login-action", registry="us", username="_json_key", password="${{ secrets.KEY }}")),
        ),
        good=alone(workflow(AUTH, permissions={"id-token": "write"})),
    ),
    "identity-has-token": Example(
        bad=alone(workflow(AUTH), workflow(AUTH, job={"permissions": {}}, permissions={"id-token": "write"})),
        good=alone(workflow(AUTH, job={"permissions": {"id-token": "write"}})),
    ),
    "secret-by-environment": Example(
        bad=alone(
            workflow(run("wandb login ${{ secrets.KEY }}")),
            workflow(run("echo first\nwandb login ${{ secrets.KEY }}")),
            workflow(run('curl -H "Authorization: Bearer $T" x', env={"T": "${{ github.token }}"})),
            workflow(run('docker login -p "${KEY}" ghcr.io', env=SECRET)),
            workflow(run("x=$(tool --key $KEY)"), job={"env": SECRET}),
            workflow(run("wandb login ${{ env.KEY }}"), job={"env": SECRET}),
            workflow(run('export COPY="$KEY"\nwandb login "$COPY"', env=SECRET)),
            workflow(run('wandb login "$(printf %s "$KEY")"', env=SECRET)),
            workflow(uses("actions/github-script", script="f('${{ secrets.KEY }}')")),
        ),
        good=alone(
            workflow(run('echo "$KEY" | docker login --password-stdin ghcr.io', env=SECRET)),
            workflow(run("wandb login --relogin", env=SECRET)),
            workflow(run("tool '$KEY' \\$KEY", env=SECRET)),
            workflow(run('[ -n "$KEY" ] || exit 1', env=SECRET)),
            workflow(run('tool --sum "$(printf %s "$KEY" | sha256sum)"', env=SECRET)),
            workflow(run('tool "$NAME"', env={"NAME": "${{ vars.NAME }}"})),
            workflow(run("tool $HAS ${{ secrets.KEY != '' }}", env={"HAS": "${{ secrets.KEY != '' }}"})),
        ),
    ),
    "secret-stays": Example(
        bad=alone(workflow(job={"outputs": {"token": "${{ secrets.TOKEN }}"}})),
        good=alone(workflow(job={"outputs": {"where": "${{ vars.WHERE }}"}})),
    ),
    "no-fork-on-our-runner": Example(
        bad=(
            *alone(
                workflow(job={"runs-on": OURS}),
                workflow(job={"runs-on": {"group": "tpu", "labels": OURS}}),
                workflow(job={"runs-on": ["self-hosted", "${{ vars.LABEL }}"]}),
                workflow(job={"runs-on": {"group": "tpu"}}),
                workflow(job={"runs-on": '${{ fromJSON(\'["self-hosted", "tpu-ci"]\') }}'}),
                workflow(on={"pull_request_review": {}}, job={"runs-on": OURS}, **WAITS),
                workflow(job={"runs-on": OURS, "if": "github.event_name == 'push' || github.actor != 'bot'"}),
                workflow(
                    job={
                        "runs-on": "${{ matrix.on }}",
                        "strategy": {"fail-fast": False, "matrix": {"on": ["ubuntu-24.04", "tpu-ci"]}},
                    }
                ),
            ),
            (CHECKS, {**following(), "jobs": {"a": {**following()["jobs"]["test"], "runs-on": OURS}}}),
        ),
        good=alone(
            workflow(job={"runs-on": OURS, "if": f"github.event_name != 'pull_request' || {GUARD}"}),
            workflow(
                job={"runs-on": OURS, "if": "github.event_name == 'push' || !github.event.pull_request.head.repo.fork"}
            ),
            workflow(
                on={"pull_request": {}},
                job={"runs-on": OURS, "if": "github.event.pull_request.head.repo.id == github.repository_id"},
            ),
            workflow(on={"push": {}}, job={"runs-on": OURS}),
            workflow(job={"runs-on": ["self-hosted", "cpu-forks"]}),
        ),
    ),
    "no-stranger-with-rights": Example(
        bad=(
            *alone(
                workflow(uses("actions/checkout", ref=HEAD), on=TARGET, **WAITS),
                workflow(
                    uses("actions/checkout", ref="refs/pull/${{ github.event.issue.number }}/head"),
                    on={"issue_comment": {}},
                    **WAITS,
                ),
            ),
            (CHECKS, following(uses("actions/checkout", ref=OF_RUN))),
        ),
        good=(
            *alone(
                workflow(uses("actions/checkout", ref=HEAD), on=TARGET, job={"if": GUARD}, **WAITS),
                workflow(uses("actions/checkout"), on=TARGET, **WAITS),
                workflow(uses("actions/checkout", ref=HEAD)),
            ),
            (CHECKS, following(uses("actions/checkout", ref=OF_RUN), condition=f"{ENDED} && {OWN_RUN}")),
            (
                CHECKS,
                following(
                    uses("actions/checkout", ref=OF_RUN),
                    condition=f"{ENDED} && github.event.workflow_run.event == 'push'",
                ),
            ),
            (workflow(on={"push": {}}), following(uses("actions/checkout", ref=OF_RUN))),
        ),
    ),
    "comment-by-whom": Example(
        bad=alone(
            commanded("contains(github.event.comment.body, '/deploy')"),
            commanded("contains(github.event.comment.body, '/hello')", permissions={"contents": "read"}, env=SECRET),
            {
                **commanded("contains(github.event.comment.body, '/hello')", permissions={"contents": "read"}),
                "env": SECRET,
            },
        ),
        good=alone(
            commanded(
                "startsWith(github.event.comment.body, '/deploy') && "
                'contains(fromJSON(\'["MEMBER", "OWNER"]\'), github.event.comment.author_association)'
            ),
            commanded("contains(github.event.comment.body, '/hello')", permissions={"contents": "read"}),
        ),
    ),
}
