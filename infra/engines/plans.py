"""What each stack of a checkout comes to, resource by resource, as reviewers read it: `stacks/plans/STACK.yaml`.

Owns these texts. Each line has the types above a resource too, since one that moves to another component is made anew.
They are of the program alone: the embedded engine previews it with nothing standing and no cloud to ask. Leaves writing
them and comparing them with what stands to `infra.operations.workflows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pulumi

from infra.engines.protocol import PROJECT, EngineError
from infra.local.engine.backend import Backend
from infra.local.engine.engine import Engine
from infra.local.kubernetes.provider import KubernetesProvider
from infra.local.provider.google import GoogleProvider
from infra.model.plan import Plan
from infra.model.stack import PLANS, load_stack, pulumi_values, stack_names
from infra.model.urns import qualified_type
from infra.program.stack import run

_NO_CLOUD: Final = "http://127.0.0.1:9"


def plans(root: Path) -> dict[str, str]:
    """The text of each plan by its path; EngineError where a program does not end well."""
    declared = [load_stack(root, stack) for stack in stack_names(root)]
    with TemporaryDirectory() as folder:
        backend, texts = Backend(Path(folder)), {}
        # What reads the registries of another stack comes after that one.
        for config in sorted(declared, key=lambda each: each.registry_stack is not None):
            plan = _preview(backend, root, config.stack)
            texts[f"{PLANS}/{config.stack}.yaml"] = "".join(_lines(plan))
            _keep_outputs(backend, config.stack, plan.outputs)
    return texts


def _preview(backend: Backend, root: Path, stack: str) -> Plan:
    path = root / "stacks" / f"Pulumi.{stack}.yaml"
    config = pulumi_values(path.read_text(encoding="utf-8"), source=str(path))
    providers = {"gcp": GoogleProvider(_NO_CLOUD), "kubernetes": KubernetesProvider()}
    plan = Engine(backend, PROJECT, stack, config, partial(run, root), providers, lambda: "", "local").preview()
    for said in plan.diagnostics:
        if said.severity == "error":
            raise EngineError(f"{stack} has no plan: {said.message}")
    return plan


def _keep_outputs(backend: Backend, stack: str, outputs: Mapping[str, Any]) -> None:
    """Let the stacks that come later find what this one gives."""

    def export() -> None:
        for name, value in outputs.items():
            pulumi.export(name, value)

    Engine(backend, PROJECT, stack, {}, export, {}, lambda: "", "local").up()


def _lines(plan: Plan) -> Iterator[str]:
    own = (step for step in plan.steps if not step.type.startswith("pulumi:"))
    yield f"# Generated from stacks/Pulumi.{plan.stack}.yaml by `./tidepool workflows --write`.\nresources:\n"
    lines = (f"{qualified_type(step.urn)} {step.name}{' (protected)' if step.protect else ''}" for step in own)
    yield from (f"  - {line}\n" for line in sorted(lines))
