"""The engine that drives the official pulumi CLI through Pulumi's Automation API.

Owns the operations: what comes before one (a killed run is settled), which calls it is made of, and the `Plan` that it
becomes. Leaves calls of the CLI to `calls`, events to `recorder`, the project folder to `workspace`, recovery to
`recovery` and processes to `runner`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pulumi import automation

from infra.engines.official.adoption import Claim, claims, creating, half_replaced, recorded, unsettled
from infra.engines.official.calls import Calls
from infra.engines.official.recorder import Recorder
from infra.engines.official.steps import protected_steps
from infra.engines.official.workspace import Workspace
from infra.engines.protocol import EngineName, EngineRequest, Listener
from infra.engines.standing import Say, StandingVm, foreign_vms, insist_planned, unadopted
from infra.engines.strays import Recorded, Strays, delete_strays, for_engine, plan_strays, targets_of_destroy
from infra.model.deployment import removed_from_state, without
from infra.model.plan import Diagnostic, Op, Plan, Status, Step
from infra.model.planned_capacity import VM_TYPE
from infra.model.protected import kept
from infra.model.stack import load_stack

_NO_STATE: Final[Mapping[str, Any]] = {"version": 3, "deployment": {}}


class OfficialEngine:
    """`infra.engines.Engine` on the pulumi CLI."""

    name = EngineName.PULUMI

    def __init__(
        self,
        request: EngineRequest,
        *,
        runner: automation.PulumiCommand | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._request = request
        self._calls = Calls(request, runner=runner, environ=environ)

    def preview(self, listener: Listener | None = None) -> Plan:
        self._check()
        recorder = Recorder(listener, planning=True)
        try:
            with self._calls.workspace(recorder.say) as work:
                self._preview(work, recorder)
                exported = self._lacking(work, recorder)
        except automation.StackNotFoundError:
            exported = _NO_STATE
        if exported is None:
            return self._plan(recorder)
        return self._plan(self._previewed_aside(exported, listener))

    def _preview(self, work: Workspace, recorder: Recorder) -> None:
        self._calls.run(recorder, self._calls.stack(work).preview, self._of_program)

    def _lacking(self, work: Workspace, recorder: Recorder) -> Mapping[str, Any] | None:
        """The state, where `up` would first take something into it: then the preview was not of the same state."""
        if not recorder.makes_anything:
            return None
        exported = work.exported(self._request.stack)
        recorder.create_again(half_replaced(exported["deployment"]))
        standing = self._standing(exported, recorder.say, waits=False)
        return exported if unsettled(self._request.stack, exported["deployment"], standing) else None

    def _previewed_aside(self, exported: Mapping[str, Any], listener: Listener | None) -> Recorder:
        """A preview on a passing copy of the state, in which all is adopted first that `up` would adopt."""
        recorder = Recorder(listener, planning=True)
        kept = None if exported is _NO_STATE else exported
        with self._calls.copy_of(kept) as work:
            standing = self._standing(exported, recorder.say, waits=False)
            adopted = self._settled(work, recorder, work.exported(self._request.stack), standing)
            recorder.adopt(adopted)
            recorder.create_again(half_replaced(exported["deployment"]) - adopted)
            self._preview(work, recorder)
        return recorder

    def up(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        self._check()
        options = {**self._of_program, "continue_on_error": self._request.continue_on_error}
        recorder = Recorder(listener, planning=False)
        with self._calls.workspace(recorder.say) as work:
            self._adopted(work, recorder, planned=planned)
            self._calls.run(recorder, self._calls.stack(work).up, options, work)
            run = self._plan(recorder, {} if recorder.failed else self._calls.outputs(work))
            return _with_unreached(run, planned) if planned and run.failed else run

    def adopt(self, listener: Listener | None = None, *, planned: Plan | None = None) -> Plan:
        self._check()
        recorder = Recorder(listener, planning=False)
        claimed = claims(planned, self._request.claims) if planned else ()
        with self._calls.workspace(recorder.say) as work:
            for urn in sorted(self._adopted(work, recorder, insists=True, claimed=claimed)):
                recorder.took_over(urn)
        return self._plan(recorder)

    def forget(self, listener: Listener | None = None, *, planning: bool = False) -> Plan:
        targets = self._request.targets

        def let_go(work: Workspace, recorder: Recorder) -> None:
            exported = work.exported(self._request.stack)
            steps = removed_from_state(exported["deployment"], targets)
            rest = without(exported, steps)
            self._calls.recovery(work, recorder).through_locks(lambda: work.load(self._request.stack, rest))
            for step in steps:
                recorder.close(replace(step, status=Status.DONE))

        if not planning:
            return self._change_state(listener, let_go)
        known = self._calls.exported(self._request.stack) or _NO_STATE
        return replace(
            self._plan(Recorder(listener, planning=True)), steps=removed_from_state(known["deployment"], targets)
        )

    def _adopted(
        self,
        work: Workspace,
        recorder: Recorder,
        *,
        planned: Plan | None = None,
        insists: bool = False,
        claimed: Sequence[Claim] = (),
    ) -> frozenset[str]:
        """Make the stack where it is missing, and settle all that its state lacks of the cloud."""
        try:
            exported = work.exported(self._request.stack)
        except automation.StackNotFoundError:
            work.create_stack(self._request.stack)
            exported = _NO_STATE
        standing = self._standing(exported, recorder.say, waits=True, insists=insists)
        insist_planned(standing, planned)
        adopted = self._settled(work, recorder, exported, standing, claimed)
        recorder.adopt(adopted)
        recorder.create_again(half_replaced(exported["deployment"]) - adopted)
        return adopted

    def _settled(
        self,
        work: Workspace,
        recorder: Recorder,
        exported: Mapping[str, Any],
        standing: Sequence[StandingVm] = (),
        claimed: Sequence[Claim] = (),
    ) -> frozenset[str]:
        foreign = foreign_vms(self._request, creating(exported["deployment"], VM_TYPE))
        return self._calls.recovery(work, recorder).settle(exported, standing, foreign, claimed)

    def _standing(
        self, exported: Mapping[str, Any], say: Say, *, waits: bool, insists: bool = False
    ) -> tuple[StandingVm, ...]:
        return unadopted(self._request, recorded(exported["deployment"]).vms, say, waits=waits, insists=insists)

    def refresh(self, listener: Listener | None = None) -> Plan:
        return self._change_state(listener, self._refresh)

    def destroy(self, listener: Listener | None = None) -> Plan:
        return self._change_state(listener, self._destroy)

    def outputs(self) -> Mapping[str, Any]:
        try:
            with self._calls.workspace(lambda _: None) as work:
                return self._calls.outputs(work)
        except automation.StackNotFoundError:
            return {}

    def _change_state(self, listener: Listener | None, change: Callable[[Workspace, Recorder], None]) -> Plan:
        recorder = Recorder(listener, planning=False)
        try:
            with self._calls.workspace(recorder.say) as work:
                self._settled(work, recorder, work.exported(self._request.stack))
                change(work, recorder)
        except automation.StackNotFoundError:
            recorder.say(
                Diagnostic(severity="info", message=f"stack {self._request.stack} has no state: nothing to do")
            )
            if change == self._destroy:
                _take_over(delete_strays(self._request, Recorded(), recorder.listener), recorder)
        return self._plan(recorder)

    def preview_destroy(self, listener: Listener | None = None) -> Plan:
        recorder = Recorder(listener, planning=True)
        exported = self._calls.exported(self._request.stack) or _NO_STATE
        known = recorded(exported["deployment"])
        strays = plan_strays(self._request, known)
        _take_over(strays, recorder)
        targets = for_engine(self._request, strays, known)
        if protected := self._protected(exported):
            recorder.refuse(protected, kept(protected))
        elif known.urns and targets is not None:
            options = {**self._options, "target": list(targets) or None, **self._sparing_protected}
            with self._calls.workspace(recorder.say) as work:
                self._calls.run(recorder, self._calls.stack(work).preview_destroy, options)
        return self._plan(recorder)

    def _protected(self, exported: Mapping[str, Any]) -> tuple[Step, ...]:
        """The protected resources for which a destroy is refused."""
        return () if self._request.exclude_protected else protected_steps(exported, self._request.targets)

    @property
    def _sparing_protected(self) -> Mapping[str, Any]:
        return {"exclude_protected": self._request.exclude_protected or None}

    def _refresh(self, work: Workspace, recorder: Recorder) -> None:
        self._calls.run(recorder, self._calls.stack(work).refresh, self._options, work)

    def _destroy(self, work: Workspace, recorder: Recorder) -> None:
        """Where anything protected would go, refuse it and touch nothing: the CLI would delete all else first."""
        request = self._request
        exported = work.exported(request.stack)
        if protected := self._protected(exported):
            recorder.refuse(protected, kept(protected))
        else:
            known = recorded(exported["deployment"])
            targets = targets_of_destroy(request, known)
            _take_over(delete_strays(request, known, recorder.listener), recorder)
            if targets is None:
                return
            options = {
                **self._options,
                "target": list(targets) or None,
                "continue_on_error": request.continue_on_error,
                **self._sparing_protected,
            }
            self._calls.run(recorder, self._calls.stack(work).destroy, options, work)

    def _check(self) -> None:
        """Raise ConfigError for a stack file at fault, which the CLI would bury in a traceback."""
        load_stack(self._request.root, self._request.stack)

    @property
    def _options(self) -> dict[str, Any]:
        return {"target": list(self._request.targets) or None, "parallel": self._request.parallel}

    @property
    def _of_program(self) -> dict[str, Any]:
        """Of what runs the program: a destroy takes no excludes."""
        return {**self._options, "exclude": list(self._request.excludes) or None, "refresh": self._request.refresh}

    def _plan(self, recorder: Recorder, outputs: Mapping[str, Any] | None = None) -> Plan:
        return Plan(
            stack=self._request.stack,
            engine=self.name.value,
            cloud=self._request.cloud.value,
            steps=recorder.steps(),
            outputs=outputs or {},
            diagnostics=recorder.diagnostics(),
        )


def _with_unreached(run: Plan, planned: Plan) -> Plan:
    """The run with what had been planned before and a failure kept it from beginning, as SKIPPED."""
    reached = {step.urn for step in run.steps}
    unreached = tuple(
        replace(step, status=Status.SKIPPED)
        for step in planned.steps
        if step.op is not Op.SAME and step.urn not in reached
    )
    return replace(run, steps=(*run.steps, *unreached))


def _take_over(strays: Strays, recorder: Recorder) -> None:
    recorder.done(strays.steps)
    for said in strays.said:
        recorder.say(said)
