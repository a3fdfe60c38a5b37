"""VMs that stand at fallbacks of their pools while the state has them at home, or has none.

A controller makes a VM at a fallback, under its own name, where its home has no capacity. An engine knows the home
alone: it would count chips where none are held, and call a VM deleted that stands elsewhere. Owns finding such VMs and
deleting them where they stand. Does not own when (`infra.engines.phased`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.engines.protocol import Request
from infra.engines.standing import pause, vm_id
from infra.engines.strays import OwnVms
from infra.fleet.google import GoogleError, clients
from infra.model.errors import ConfigError
from infra.model.plan import Diagnostic, Op, Plan, Status
from infra.model.planned_capacity import VM_TYPE, Place, place
from infra.model.stack import load_stack

_LEAVING: Final = frozenset((Op.CREATE, Op.REPLACE, Op.DELETE))
"""What a plan does to a slot whose VM at a fallback then has no place any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwayVm:
    """One such VM. id: where it stands. node: what the Cloud TPU API says of it. alone: nothing stands at its home."""

    id: str
    node: Mapping[str, Any]
    alone: bool

    @property
    def name(self) -> str:
        return self.id.rpartition("/")[2]

    @property
    def project(self) -> str:
        return self.id.split("/")[1]

    @property
    def zone(self) -> str:
        return self.id.split("/")[3]

    @property
    def place(self) -> Place:
        return place({**self.node, "zone": self.zone})

    def __str__(self) -> str:
        """`tpu-ci-us-west4-a-0 in us-east1-c`, which is no name of a slot."""
        return f"{self.name} in {self.zone}"


class Fallbacks:
    """The VMs of a stack that stand away from home, and their deletion. leaving: those whose slot a plan changes.

    home: what the Cloud TPU API says of those at home, by name; a state that has just adopted one may know less of it.
    """

    def __init__(
        self,
        request: Request | None = None,
        vms: Sequence[AwayVm] = (),
        plan: Plan | None = None,
        home: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._request = request
        self.vms = tuple(vms)
        self.home = home or {}
        slots = {step.name for step in plan.steps if step.type == VM_TYPE and step.op in _LEAVING} if plan else set()
        self.leaving = tuple(vm for vm in self.vms if vm.name in slots)

    def delete(self, vms: Sequence[AwayVm]) -> Mapping[str, str]:
        """Delete these where they stand, and wait until they are gone; why it failed, by what each is called."""
        if not vms or self._request is None:
            return {}
        try:
            config = load_stack(self._request.root, self._request.stack, alone=True)
            with clients(config.project, self._request.cloud_url) as google:
                work = OwnVms(google, config, frozenset(), pause(self._request))
                steps = work.delete({vm.id: vm.node for vm in vms})
                ended = dict(zip((str(vm) for vm in vms), steps, strict=True))
        except (ConfigError, GoogleError) as error:
            return {str(vm): str(error) for vm in vms}
        return {each: step.error or "" for each, step in ended.items() if step.status is not Status.DONE}


def vms_away(request: Request, plan: Plan, say: Callable[[Diagnostic], None]) -> Fallbacks:
    """The VMs of a plan's slots that stand elsewhere than at home. Nobody is asked where the plan moves no VM.

    Where they cannot be listed that is said as a warning: limits may then be met while a plan is applied.
    """
    steps = [step for step in plan.steps if step.type == VM_TYPE]
    if not any(step.op in _LEAVING for step in steps):
        return Fallbacks()
    homes: dict[str, set[str]] = {}
    for step in steps:
        for inputs in (step.old_inputs, step.new_inputs):
            if inputs and inputs.keys() >= {"project", "zone"}:
                homes.setdefault(step.name, set()).add(vm_id(inputs["project"], inputs["zone"], step.name))
    try:
        config = load_stack(request.root, request.stack, alone=True)
        with clients(config.project, request.cloud_url) as google:
            found = OwnVms(google, config, frozenset(), 0.0).standing()
    except GoogleError as error:
        message = f"not known whether VMs stand at fallbacks ({error}): a limit may be met while this is applied"
        say(Diagnostic(severity="warning", message=message))
        return Fallbacks()
    standing = {id_: node for id_, node in found.items() if node.get("state") != "DELETING"}
    away = [
        AwayVm(id=id_, node=node, alone=not homes[name] & standing.keys())
        for id_, node in sorted(standing.items())
        if (name := id_.rpartition("/")[2]) in homes and id_ not in homes[name]
    ]
    home = {name: standing[id_] for name, ids in homes.items() for id_ in ids & standing.keys()}
    return Fallbacks(request, away, plan, home)
