"""Every generated file, and for each of its jobs the event and the legs with which it is run here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.synthetic_lab import the_lab
from tests.workflows import monorepo
from tests.workflows.event_tables import table
from workflows.composite import called
from workflows.events import GitHubEvent, dispatch, pull_request
from workflows.generate import Generated, generate
from workflows.own import generate_own
from workflows.read import read
from workflows.runs import Given, LegRun, run
from workflows.spec import load_spec, spec_names

ROOT = Path(__file__).resolve().parents[3]
OWN = "own"
OWN_REPOSITORY = "lab/tidepool"
SHA = "c0ffee" * 6 + "cafe"
DIGEST = f"sha256:{'ab' * 32}"
VARIABLES = {
    "TIDEPOOL_IDENTITY_PROVIDER": "projects/1/locations/global/workloadIdentityPools/p/providers/github",
    "TIDEPOOL_PREVIEWER": "previewer@p.iam.gserviceaccount.com",
    "TIDEPOOL_DEPLOYER": "deployer@p.iam.gserviceaccount.com",
    "PULUMI_BACKEND_URL": "gs://state",
}
OUTPUTS: Mapping[str, Mapping[str, str]] = {
    "choose": {"images": '["levanter-base", "levanter-incremental", "levanter-cluster"]'},
    "plan": {"environment": "apply", "steps": "3", "digest": DIGEST},
    "levanter-base": {"digest": DIGEST},
    "levanter-incremental": {"digest": DIGEST},
    "head": {"same": "true"},
    "tested": {"commit": "f00dfeed" * 5},
    "results": {"budget": "success"},
    "reuse": {"reused": ""},
}
"""What needed jobs put out, by name."""
INPUTS = {"sha": SHA, "pull_request": "12", "run": "1", "revision": SHA, "image": "all"}


@dataclass(frozen=True)
class Asked:
    """One job of a file, at the first event that starts it, with its legs.

    workflow: all that it does. written: as it is shipped; actions: what is in those of ours that it calls.
    """

    file: str
    repository: str
    workflow: Mapping[str, Any]
    written: Mapping[str, Any]
    actions: Mapping[str, Mapping[str, Any]]
    job: str
    event: GitHubEvent
    needs: Mapping[str, Any]
    legs: tuple[LegRun, ...]

    def __str__(self) -> str:
        return f"{self.file} {self.job}"


@cache
def files() -> dict[str, tuple[str, Generated]]:
    """By specification and name: the repository and the file."""
    world = monorepo.pinned()
    found: dict[str, tuple[str, Generated]] = {}
    for name in spec_names(the_lab()):
        spec = monorepo.spec() if name == "marin" else load_spec(the_lab(), name, world)
        for each in generate(spec, world):
            found[f"{name}/{Path(each.path).name}"] = spec.declared.repository, each
    for each in generate_own(world):
        found[f"{OWN}/{Path(each.path).name}"] = OWN_REPOSITORY, each
    return found


@cache
def jobs() -> tuple[Asked, ...]:
    """Every job of every file that some event starts."""
    return tuple(each for name in files() for each in _jobs(name))


def targets(repository: str) -> tuple[GitHubEvent, ...]:
    """Forks' pull requests as workflows with rights hear of them: a label that is set, and a push where it is set."""
    label = "run-tpu-tests"
    return (
        pull_request(
            title="label added, told to the base branch", fork=True, target=True, activity="labeled", label=label,
            repository=repository,
        ),
        pull_request(
            title="push to a labeled one, told to the base branch", fork=True, target=True, labels=[label],
            repository=repository,
        ),
    )  # fmt: skip


def _jobs(name: str) -> Iterator[Asked]:
    repository, file = files()[name]
    workflow, written, actions = file.workflow.plain(), read(file.text, name).data, called(file.workflow)
    declared = (workflow["on"].get("workflow_dispatch") or {}).get("inputs") or {}
    inputs = {key: value for key, value in INPUTS.items() if key in declared}
    events = (*table(repository=repository), *targets(repository), dispatch(inputs, repository=repository))
    given = Given(variables=VARIABLES, outputs=OUTPUTS)
    for job, spec in workflow["jobs"].items():
        for event in events:
            if event.name == "workflow_dispatch" and inputs and not event.inputs:
                continue
            found = {each.id: each for each in run(workflow, event, given).jobs}
            if job in found and found[job].starts:
                needed = [spec["needs"]] if isinstance(spec.get("needs"), str) else spec.get("needs", [])
                needs = {
                    each: {"result": found[each].result, "outputs": dict(OUTPUTS.get(each, {}))} for each in needed
                }
                yield Asked(name, repository, workflow, written, actions, job, event, needs, found[job].legs)
                break
