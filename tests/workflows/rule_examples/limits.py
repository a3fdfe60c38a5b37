"""Examples of rules over limits, concurrency and matrices."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflows.rule_examples.files import OURS, WAITS, Data, Example, alone, run, workflow

PUSHED = {"push": {"branches": ["main"]}}
CREATE = "gcloud compute tpus tpu-vm create vm --labels=tidepool-run=1,tidepool-expires=2"
DELETED = {"if": "always()", "run": "gcloud compute tpus tpu-vm delete vm --quiet"}
MATRIX: Data = {"fail-fast": False, "matrix": {"jax": ["0.7", "0.8"]}}


def on_tpu(script: str) -> Data:
    return workflow(run(script), on=PUSHED, job={"runs-on": OURS})


def cancelling(script: str, group: str = "x-${{ github.ref }}") -> Data:
    return workflow(run(script), concurrency={"group": group, "cancel-in-progress": True})


def square(side: int) -> Data:
    matrix = {"a": list(range(side)), "b": list(range(16))}
    return workflow(job={"strategy": {"fail-fast": False, "matrix": matrix}})


LIMITS: Mapping[str, Example] = {
    "job-ends": Example(
        bad=alone(workflow(drop="timeout-minutes")),
        good=(
            (workflow(),),
            (
                workflow(jobs={"a": {"uses": "./.github/workflows/1-Called.yaml"}}, drop="timeout-minutes"),
                workflow(name="Called", on={"workflow_call": {}}),
            ),
        ),
    ),
    "inner-limit-first": Example(
        bad=alone(
            workflow(run("timeout 900 make")),
            workflow(run("timeout --kill-after=10 895s make")),
            workflow(run("timeout 5m make", **{"timeout-minutes": 5})),
            workflow(run("timeout \\\n  --kill-after=5 \\\n  900 make")),
            workflow(run('timeout "$LIMIT" make', env={"LIMIT": "900"})),
            workflow(run('LIMIT=15m\nbash -c "timeout ${LIMIT} make"')),
            workflow(run("make", **{"timeout-minutes": 15})),
        ),
        good=alone(
            workflow(run("timeout --kill-after=5 --signal=TERM 890 make")),
            workflow(run("make", **{"timeout-minutes": 14})),
            workflow(run("# timeout 900 make\necho timeout 900 make\nkubectl wait --timeout 900 pod")),
        ),
    ),
    "tests-end-themselves": Example(
        bad=alone(
            on_tpu("uv run pytest tests"),
            on_tpu('docker run here bash -c "cd a && pytest tests"'),
            on_tpu("echo timeout 800\npython -m pytest tests"),
        ),
        good=alone(
            on_tpu("timeout --kill-after=5 800 uv run pytest tests"),
            on_tpu("make lint && pip install pytest"),
            workflow(run("uv run pytest tests")),
        ),
    ),
    "second-run-decided": Example(
        bad=alone(workflow(drop="concurrency")),
        good=alone({**workflow(job={"concurrency": {"group": "own-${{ github.ref }}"}}), "concurrency": "x"}),
    ),
    "finishes-what-it-began": Example(
        bad=alone(
            cancelling("twine upload dist/*"),
            cancelling("docker buildx build --metadata-file d.json -t ghcr.io/a/b:v1 --push ."),
            cancelling("git push"),
            cancelling("kubectl --context lab apply -f pods.yaml"),
            cancelling("gcloud --quiet compute --project p tpus tpu-vm delete vm"),
            cancelling("uv run python -m twine upload dist/*"),
            cancelling("docker buildx imagetools create --tag ghcr.io/a/b:v1 ghcr.io/a/b@$DIGEST"),
            workflow(run("./tidepool up ci --yes")),
            workflow(run(CREATE), DELETED),
        ),
        good=alone(
            cancelling("make lint"),
            cancelling("minikube start && kubectl apply -f pods.yaml"),
            cancelling("docker buildx build -t ghcr.io/a/b:v1 ."),
            cancelling("git push --dry-run"),
            cancelling("echo gcloud compute tpus tpu-vm delete vm"),
            workflow(run("./tidepool up ci --yes"), **WAITS),
            workflow(run("./tidepool up ci --yes"), on=PUSHED),
            workflow(run(CREATE), DELETED, **WAITS),
        ),
    ),
    "group-of-one": Example(
        bad=alone(
            cancelling("make", "tests"),
            cancelling("make", "${{ github.workflow }}"),
            cancelling("make", "${{ github.event.issue.number }}"),
        ),
        good=alone(
            cancelling("make", "tests-${{ github.head_ref || github.run_id }}"),
            workflow(**WAITS),
            workflow(on=PUSHED, concurrency={"group": "tests", "cancel-in-progress": True}),
        ),
    ),
    "matrix-fits": Example(bad=alone(square(17), square(0)), good=alone(square(16))),
    "legs-end-alone": Example(
        bad=alone(
            workflow(job={"strategy": {"matrix": {"jax": ["0.7", "0.8"]}}}),
            workflow(run("twine upload a"), job={"strategy": {**MATRIX, "fail-fast": True}}, **WAITS),
        ),
        good=alone(
            workflow(job={"strategy": MATRIX}),
            workflow(job={"strategy": {"matrix": {"jax": ["0.8"]}}}),
            workflow(job={"strategy": {**MATRIX, "fail-fast": True}}),
        ),
    ),
}
