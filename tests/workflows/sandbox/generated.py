"""Every generated file, and for each of its jobs the event and the legs with which it is run here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.synthetic_lab import the_lab
from tests.workflows.event_tables import table
from tests.workflows.specs import pinned
from workflows.composite import called
from workflows.events import GitHubEvent
from workflows.generate import Generated, generate
from workflows.own import generate_own
from workflows.read import read
from workflows.runs import Given, LegRun, run
from workflows.spec import load_spec, spec_names
from workflows.world import World

ROOT = Path(__file__).resolve().parents[3]
OWN = "own"
OWN_REPOSITORY = "lab/tidepool"
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
GIVEN = Given(variables=VARIABLES, outputs=OUTPUTS)


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


def generated(world: World) -> dict[str, tuple[str, Generated]]:
    """By specification and name: the repository and the file."""
    found: dict[str, tuple[str, Generated]] = {}
    for name in spec_names(the_lab()):
        spec = load_spec(the_lab(), name, world)
        for each in generate(spec, world):
            found[f"{name}/{Path(each.path).name}"] = spec.declared.repository, each
    for each in generate_own(world):
        found[f"{OWN}/{Path(each.path).name}"] = OWN_REPOSITORY, each
    return found


@cache
def files() -> dict[str, tuple[str, Generated]]:
    return generated(pinned())


@cache
def jobs() -> tuple[Asked, ...]:
    """Every job of every file that some event starts."""
    return tuple(each for name in files() for each in _jobs(name))


def _jobs(name: str) -> Iterator[Asked]:
    repository, file = files()[name]
    workflow, written, actions = file.workflow.plain(), read(file.text, name).data, called(file.workflow)
    events = table(workflow, repository)
    if any(each.inputs for each in events):
        events = tuple(each for each in events if each.inputs or each.name != "workflow_dispatch")
    for job, spec in workflow["jobs"].items():
        for event in events:
            found = {each.id: each for each in run(workflow, event, GIVEN).jobs}
            if job in found and found[job].starts:
                needed = [spec["needs"]] if isinstance(spec.get("needs"), str) else spec.get("needs", [])
                needs = {
                    each: {"result": found[each].result, "outputs": dict(OUTPUTS.get(each, {}))} for each in needed
                }
                yield Asked(name, repository, workflow, written, actions, job, event, needs, found[job].legs)
                break
