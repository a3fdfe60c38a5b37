"""Examples of rules over what jobs hand to one another, runners and expressions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.workflows.rule_examples.files import OURS, Data, Example, alone, run, uses, when, workflow

PUSHED = {"push": {"branches": ["main"]}}
WRITES = 'echo "go=yes" >>"$GITHUB_OUTPUT"'


def chained(needs: object, *steps: Data, outputs: Data | None = None, script: str = WRITES, **job: Any) -> Data:
    """A job behind one with a step `plan`."""
    first = {"outputs": outputs or {}, "steps": [run(script, id="plan"), uses("actions/upload-artifact", name="dist")]}
    second = {"needs": needs, "steps": [*steps] or [run("echo a")], **job}
    return workflow(jobs={"build": first, "test": second})


def stepped(script: str, condition: str = "steps.plan.outputs.go == 'yes'") -> Data:
    return workflow(run(script, id="plan"), when(condition))


def switched(kind: str, condition: str) -> Data:
    return workflow(when(condition), on={"workflow_dispatch": {"inputs": {"force": {"type": kind}}}})


def computed(label: str) -> Data:
    """A matrix that depends on the event."""
    pushed, timed = json.dumps({"on": [label]}), json.dumps({"on": ["tpu"]})
    matrix = f"${{{{ fromJSON(github.event_name == 'push' && '{pushed}' || '{timed}') }}}}"
    job = {"runs-on": ["self-hosted", "${{ matrix.on }}"], "strategy": {"fail-fast": False, "matrix": matrix}}
    return workflow(on={**PUSHED, "schedule": [{"cron": "0 2 * * *"}]}, job=job)


READ: Any = {"if": "needs.build.outputs.go == 'yes'"}
GOES = {"go": "${{ steps.plan.outputs.go }}"}

WIRING: Mapping[str, Example] = {
    "output-is-written": Example(
        bad=alone(
            stepped('echo "DATE=1" >>"$GITHUB_ENV"', "steps.plan.outputs.date != ''"),
            stepped('echo "stop=yes" >>"$GITHUB_OUTPUT"'),
            stepped(WRITES, "steps.plans.outputs.go == 'yes'"),
            chained("build", **READ),
            workflow(
                jobs={
                    "build": {"outputs": GOES, "steps": [run(WRITES, id="plan")]},
                    "test": {"steps": [run('echo "$GO"', env={"GO": "${{ needs.build.outputs.go }}"})]},
                }
            ),
        ),
        good=alone(
            stepped(WRITES),
            stepped('{\n  echo "go<<END"\n  cat file\n  echo END\n} >>"$GITHUB_OUTPUT"'),
            stepped('jq -r . plan.json >>"$GITHUB_OUTPUT"'),
            stepped("./plan --write-outputs"),
            workflow({**uses("lab/plan"), "id": "plan"}, when("steps.plan.outputs.go == 'yes'")),
            chained("build", outputs=GOES, **READ),
            chained(
                "build",
                outputs={"result": "${{ steps.plan.outputs.go }}"},
                **{"if": "needs.build.outputs.result != ''"},
            ),
        ),
    ),
    "artifact-is-uploaded": Example(
        bad=alone(
            chained("build", uses("actions/download-artifact", name="package")),
            chained([], uses("actions/download-artifact", name="dist")),
            workflow(uses("actions/download-artifact", name="dist"), uses("actions/upload-artifact", name="dist")),
        ),
        good=alone(
            chained("build", uses("actions/download-artifact", name="dist")),
            chained("build", uses("actions/download-artifact")),
            chained("build", uses("actions/download-artifact", pattern="di*")),
            chained([], uses("actions/download-artifact", name="dist", **{"run-id": "1"})),
            workflow(uses("actions/download-artifact", name="dist"), on={"workflow_call": {}}),
            workflow({"uses": "./.github/actions/build"}, uses("actions/download-artifact", name="dist")),
        ),
    ),
    "runner-has-labels": Example(
        bad=alone(
            workflow(on=PUSHED, job={"runs-on": ["self-hosted", "tpu-v5"]}),
            workflow(on=PUSHED, job={"runs-on": [*OURS, "cpu-forks"]}),
            workflow(on=PUSHED, job={"runs-on": "ubuntu-2404"}),
            workflow(on=PUSHED, job={"runs-on": "self-hosted"}),
            workflow(
                on=PUSHED,
                job={"runs-on": "tpu-${{ matrix.v }}-big", "strategy": {"fail-fast": False, "matrix": {"v": [4, 6]}}},
            ),
            computed("tpu-v9"),
        ),
        good=alone(
            workflow(on=PUSHED, job={"runs-on": OURS}),
            workflow(on=PUSHED, job={"runs-on": ["Self-Hosted", "TPU-CI"]}),
            workflow(on=PUSHED, job={"runs-on": "Ubuntu-24.04"}),
            workflow(on=PUSHED, job={"runs-on": "tpu-ci"}),
            workflow(on=PUSHED, job={"runs-on": "${{ vars.RUNNER }}"}),
            computed("tpu-ci"),
            workflow(
                on=PUSHED,
                job={
                    "runs-on": "${{ matrix.on }}",
                    "strategy": {"fail-fast": False, "matrix": {"on": [OURS, ["ubuntu-24.04"]]}},
                },
            ),
        ),
    ),
    "runner-stays": Example(
        bad=alone(workflow(job={"runs-on": "ubuntu-latest"})), good=alone(workflow(job={"runs-on": "ubuntu-24.04-arm"}))
    ),
    "types-meet": Example(
        bad=alone(
            stepped(WRITES, "steps.plan.outputs.go != true"),
            workflow(when("vars.SKIP != false")),
            workflow(when("true == vars.SKIP")),
            switched("boolean", "inputs.force != 'true'"),
        ),
        good=alone(
            stepped(WRITES, "steps.plan.outputs.go != 'true'"),
            switched("boolean", "inputs.force != true"),
            switched("string", "inputs.force != 'true'"),
            switched("boolean", "github.event.inputs.force != 'true'"),
        ),
    ),
    "false-is-no-text": Example(
        bad=alone(
            stepped('echo "go=false" >>"$GITHUB_OUTPUT"', "steps.plan.outputs.go"),
            chained(
                "build",
                outputs=GOES,
                script='echo "go=false" >>"$GITHUB_OUTPUT"',
                **{"if": "${{ !needs.build.outputs.go }}"},
            ),
        ),
        good=alone(
            stepped('echo "go=false" >>"$GITHUB_OUTPUT"', "steps.plan.outputs.go == 'true'"),
            stepped(WRITES, "steps.plan.outputs.go"),
        ),
    ),
}
