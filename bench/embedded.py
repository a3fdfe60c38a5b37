"""The engine that runs in this process, against the local cloud.

Owns where its program, configuration, state and provider come from. What an operation does is `bench.engine`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.engine import sdk_modules
from bench.engine.backend import Backend
from bench.engine.engine import Engine
from bench.engine.run import Options
from bench.providers.google.provider import GoogleProvider
from bench.providers.kubernetes.provider import KubernetesProvider
from infra.engines.import_ids import is_anothers, is_looked_for
from infra.engines.protocol import EngineName, EngineRequest, Listener, passphrase
from infra.engines.standing import foreign_vms, insist_planned, unadopted
from infra.engines.strays import Recorded, Strays, delete_strays, for_engine, plan_strays, targets_of_destroy
from infra.model.deployment import removed_from_state
from infra.model.names import PULUMI_PROJECT
from infra.model.plan import Diagnostic, Plan
from infra.model.planned_capacity import VM_TYPE
from infra.model.stack_text import pulumi_values

if TYPE_CHECKING:
    from bench.engine.provider import Provider


class EmbeddedEngine:
    """`infra.engines.Engine` on the embedded engine."""

    name = EngineName.LOCAL

    def __init__(self, request: EngineRequest, *, environ: Mapping[str, str] = os.environ) -> None:
        self._request = request
        self._environ = environ

    def preview(self, listener: Listener | None = None) -> Plan:
        said, options = self._look(listener, waits=False)
        return _told(said, self._engine().preview(options, listener))

    def up(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        said, options = self._look(listener, planned=planned)
        return _told(said, self._engine().up(options, listener))

    def adopt(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        del planned  # what is claimed is looked up as the program asks for it
        said, options = self._look(listener, insists=True)
        return _told(said, self._engine().adopt(options, listener))

    def forget(self, listener: Listener | None = None, *, planning: bool = False) -> Plan:
        engine = self._engine()
        steps = removed_from_state(engine.export()["deployment"], self._request.targets)
        return replace(self._nothing, steps=steps) if planning else engine.forget(steps, listener)

    def refresh(self, listener: Listener | None = None) -> Plan:
        return self._engine().refresh(self._options(), listener)

    def destroy(self, listener: Listener | None = None) -> Plan:
        recorded = self._recorded()
        strays: list[Strays] = []

        def first() -> None:
            strays.append(delete_strays(self._request, recorded, listener))

        targets = targets_of_destroy(self._request, recorded)
        if targets is None:
            first()
            plan = self._nothing
        else:
            plan = self._engine().destroy(self._options(targets=targets, first=first), listener)
        return _with(strays, plan)

    def preview_destroy(self, listener: Listener | None = None) -> Plan:
        recorded = self._recorded()
        strays = plan_strays(self._request, recorded)
        targets = for_engine(self._request, strays, recorded)
        if targets is None:
            return _with([strays], self._nothing)
        return _with([strays], self._engine().preview_destroy(self._options(targets=targets), listener))

    @property
    def _nothing(self) -> Plan:
        return Plan(stack=self._request.stack, engine=self.name.value, cloud=self._request.cloud.value, steps=())

    def _recorded(self) -> Recorded:
        engine = self._engine()
        return Recorded(vms=engine.ids(VM_TYPE), urns=engine.urns())

    def outputs(self) -> Mapping[str, Any]:
        return self._engine().outputs()

    def _look(
        self, listener: Listener | None, *, waits: bool = True, insists: bool = False, planned: Plan | None = None
    ) -> tuple[list[Diagnostic], Options]:
        """What was said while looking for what stands, and the options of an operation that adopts it."""
        said: list[Diagnostic] = []

        def say(diagnostic: Diagnostic) -> None:
            said.append(diagnostic)
            if listener is not None:
                listener(diagnostic)

        found = unadopted(self._request, self._engine().ids(VM_TYPE), say, waits=waits, insists=insists)
        insist_planned(found, planned)
        return said, self._options(standing=frozenset(each.id for each in found), previewed=planned is not None)

    def _engine(self) -> Engine:
        request = self._request
        return Engine(
            backend=self._backend(),
            project=PULUMI_PROJECT,
            stack=request.stack,
            config=self._config(),
            program=partial(_program, request.root),
            providers=self._providers(),
            passphrase=lambda: passphrase(request.home, self._environ),
            cloud=request.cloud.value,
        )

    def _backend(self) -> Backend:
        url = self._environ.get("PULUMI_BACKEND_URL")
        return Backend.from_url(url) if url else Backend(self._request.home / "state" / self._request.cloud.value)

    def _config(self) -> Mapping[str, str]:
        path = Path("stacks") / f"Pulumi.{self._request.stack}.yaml"
        return pulumi_values((self._request.root / path).read_text(encoding="utf-8"), source=str(path))

    def _providers(self) -> dict[str, Provider]:
        """None where no cloud is to be asked anything, as for outputs."""
        url = self._request.cloud_url
        if url is None:
            return {}
        return {
            "gcp": GoogleProvider(url),
            "kubernetes": KubernetesProvider(stack=f"{PULUMI_PROJECT}/{self._request.stack}"),
        }

    def _options(self, **more: Any) -> Options:
        request = self._request
        common = Options(
            parallel=request.parallel,
            targets=request.targets,
            excludes=request.excludes,
            claims=request.claims,
            continue_on_error=request.continue_on_error,
            refresh=request.refresh,
            importable=is_looked_for,
            is_anothers=is_anothers,
            foreign=foreign_vms(request, self._engine().creating(VM_TYPE)),
            exclude_protected=request.exclude_protected,
        )
        return replace(common, **more)


def _told(said: list[Diagnostic], plan: Plan) -> Plan:
    return replace(plan, diagnostics=(*said, *plan.diagnostics))


def _with(found: list[Strays], plan: Plan) -> Plan:
    for each in found:
        plan = replace(plan, steps=(*each.steps, *plan.steps), diagnostics=(*each.said, *plan.diagnostics))
    return plan


def _program(root: Path) -> None:
    """The program that the pulumi CLI runs from `infra/__main__.py`; imported when first run, for it takes a second."""
    sdk_modules.load_by_name("pulumi_gcp")
    from infra.program.stack import run

    run(root)
