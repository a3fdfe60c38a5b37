"""What each stack of a checkout comes to, resource by resource, as reviewers read it: `stacks/plans/STACK.yaml`.

Owns these texts. Each line has the types above a resource too, since one that moves to another component is made anew.
They are of the program alone: the embedded engine previews it with nothing standing and no cloud to ask. Leaves writing
them and comparing them with what stands to `infra.operations.workflows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pulumi

from infra.engines.protocol import EngineError
from infra.local.engine.backend import Backend
from infra.local.engine.engine import Engine
from infra.local.kubernetes.provider import KubernetesProvider
from infra.local.provider.google import GoogleProvider
from infra.model.names import PULUMI_PROJECT
from infra.model.plan import Plan
from infra.model.stack import load_stack
from infra.model.stack_text import PLANS, pulumi_values, stack_names
from infra.model.urns import qualified_type
from infra.program.stack import run

_NO_CLOUD: Final = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPlans:
    """texts: of each plan, by its path. failures: of each stack without one, what its program said."""

    texts: Mapping[str, str]
    failures: Mapping[str, str]


def plans(root: Path) -> StackPlans:
    """The plan of each stack; one that fails keeps no other from having its own."""
    declared = [load_stack(root, stack) for stack in stack_names(root)]
    with TemporaryDirectory() as folder:
        backend, texts, failures = Backend(Path(folder)), {}, {}
        # What reads the registries of another stack comes after that one.
        for config in sorted(declared, key=lambda each: each.registry_stack is not None):
            try:
                plan = _preview(backend, root, config.stack)
            except EngineError as error:
                failures[config.stack] = str(error)
                continue
            texts[f"{PLANS}/{config.stack}.yaml"] = "".join(_lines(plan))
            _keep_outputs(backend, config.stack, plan.outputs)
    return StackPlans(texts=texts, failures=failures)


def _preview(backend: Backend, root: Path, stack: str) -> Plan:
    path = root / "stacks" / f"Pulumi.{stack}.yaml"
    config = pulumi_values(path.read_text(encoding="utf-8"), source=str(path))
    providers = {"gcp": GoogleProvider(_NO_CLOUD), "kubernetes": KubernetesProvider()}
    plan = Engine(backend, PULUMI_PROJECT, stack, config, partial(run, root), providers, lambda: "", "local").preview()
    for said in plan.diagnostics:
        if said.severity == "error":
            raise EngineError(said.message)
    return plan


def _keep_outputs(backend: Backend, stack: str, outputs: Mapping[str, Any]) -> None:
    """Let the stacks that come later find what this one gives."""

    def export() -> None:
        for name, value in outputs.items():
            pulumi.export(name, value)

    Engine(backend, PULUMI_PROJECT, stack, {}, export, {}, lambda: "", "local").up()


def _lines(plan: Plan) -> Iterator[str]:
    own = (step for step in plan.steps if not step.type.startswith("pulumi:"))
    yield f"# Generated from stacks/Pulumi.{plan.stack}.yaml by `./tidepool workflows --write`.\nresources:\n"
    lines = (f"{qualified_type(step.urn)} {step.name}{' (protected)' if step.protect else ''}" for step in own)
    yield from (f"  - {line}\n" for line in sorted(lines))
