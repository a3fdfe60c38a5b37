"""VMs that stand elsewhere than the state has them: at fallbacks of their pools, or with no slot at all.

A controller makes a VM at a fallback, under its own name, where its home has no capacity. An engine knows the home
alone: it would count chips where none are held, and call a VM changed or deleted that stands elsewhere. Owns finding
such VMs, and changing and deleting them where they stand. Does not own when (`infra.engines.phased`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from infra.engines.protocol import EngineRequest
from infra.engines.standing import pause, vm_id
from infra.engines.strays import OwnVms
from infra.fleet.bundle import STUB
from infra.fleet.google import Api, GoogleError, clients, execute
from infra.model import fleet
from infra.model.errors import ConfigError
from infra.model.node import node_spec
from infra.model.plan import Diagnostic, Op, Plan, Status
from infra.model.planned_capacity import VM_TYPE, CapacityPlace, place
from infra.model.schema import StackConfig
from infra.model.stack import load_stack

_LEAVING: Final = frozenset((Op.CREATE, Op.REPLACE, Op.DELETE))
"""What a plan does to a slot whose VM at a fallback then has no place any more."""
_CHANGING: Final = frozenset((Op.UPDATE, Op.REPLACE, Op.DELETE))
_CHANGEABLE: Final = ("description", "labels", "metadata", "tags")
"""What the Cloud TPU API changes of a node in place, but for its disks, which are those of its zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwayVm:
    """One such VM. id: where it stands. node: what the Cloud TPU API says of it. alone: nothing stands at its home.

    in_window: whether it has a slot of a window, which the controller keeps and no state has.
    """

    id: str
    node: Mapping[str, Any]
    alone: bool
    in_window: bool = False

    @property
    def name(self) -> str:
        return self.id.rpartition("/")[2]

    @property
    def whose(self) -> str:
        return "there by its window" if self.in_window else "neither declared nor in the state"

    @property
    def given_back(self) -> bool:
        """Whether Google took it back, so that it holds no chips."""
        # Here, for few plans meet such a VM, and the controller's rules take long to import.
        from infra.fleet.controller.rules import GIVEN_BACK

        return self.node.get("state") in GIVEN_BACK

    @property
    def project(self) -> str:
        return self.id.split("/")[1]

    @property
    def zone(self) -> str:
        return self.id.split("/")[3]

    @property
    def place(self) -> CapacityPlace:
        return place({**self.node, "zone": self.zone})

    def __str__(self) -> str:
        """`tpu-ci-us-west4-a-0 in us-east1-c`, which is no name of a slot."""
        return f"{self.name} in {self.zone}"


class Fallbacks:
    """The VMs of a stack that stand away from home, their changes and their deletion.

    leaving: those whose slot a plan changes. changing: those that it changes in place. strays: those without a slot.
    home: what the Cloud TPU API says of those at home, by name; a state that has just adopted one may know less of it.
    missing: names by URN of VMs that the plan changes or deletes and that exist nowhere.
    """

    def __init__(
        self,
        request: EngineRequest | None = None,
        vms: Sequence[AwayVm] = (),
        plan: Plan | None = None,
        home: Mapping[str, Mapping[str, Any]] | None = None,
        missing: Mapping[str, str] | None = None,
    ) -> None:
        self._request = request
        self.vms = tuple(vms)
        self.home = home or {}
        self.missing = missing or {}
        ops = {step.name: step.op for step in plan.steps if step.type == VM_TYPE} if plan else {}
        self.leaving = tuple(vm for vm in self.vms if ops.get(vm.name) in _LEAVING)
        self.changing = tuple(vm for vm in self.vms if vm.alone and ops.get(vm.name) is Op.UPDATE)
        self.strays = tuple(vm for vm in self.vms if vm.name not in ops)

    def change(self, vms: Sequence[AwayVm]) -> Mapping[str, str]:
        """Change these where they stand to what the stack file says; why it failed, by what each is called."""
        if not vms or self._request is None:
            return {}
        config = load_stack(self._request.root, self._request.stack)
        try:
            with clients(config.project, self._request.cloud_url) as google:
                nodes = google.api(Api.TPU).projects().locations().nodes()
                tried = {str(vm): _changed(nodes, config, vm) for vm in vms}
        except GoogleError as error:
            return {str(vm): str(error) for vm in vms}
        return {each: why for each, why in tried.items() if why}

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


def _changed(nodes: Any, config: StackConfig, vm: AwayVm) -> str:
    """Change one to what its slot says of the place in which it stands; why it failed, else empty."""
    (slot,) = (slot for slot in fleet.slots(config) if slot.name == vm.name)
    here = next((each for each in fleet.fallbacks(slot) if each.zone == vm.zone), slot)
    body = node_spec(config, here, startup_script=STUB.read_text(encoding="utf-8")).to_api()
    mask = [key for key in _CHANGEABLE if body.get(key) != vm.node.get(key)]
    part = {key: body.get(key) for key in mask}
    try:
        if mask:
            execute(nodes.patch(name=vm.id, updateMask=",".join(mask), body=part), f"changing {vm}")
    except GoogleError as error:
        return str(error)
    return ""


def vms_away(request: EngineRequest, plan: Plan, say: Callable[[Diagnostic], None]) -> Fallbacks:
    """The stack's VMs that stand elsewhere than a plan has them. Nobody is asked where the plan changes no VM.

    Where they cannot be listed that is said as a warning: limits may then be met while a plan is applied.
    """
    steps = [step for step in plan.steps if step.type == VM_TYPE]
    if not any(step.op in _LEAVING or step.op is Op.UPDATE for step in steps):
        return Fallbacks()
    homes: dict[str, AbstractSet[str]] = {}
    for step in steps:
        for inputs in (step.old_inputs, step.new_inputs):
            if inputs and inputs.keys() >= {"project", "zone"}:
                home_id = vm_id(inputs["project"], inputs["zone"], step.name)
                homes[step.name] = homes.get(step.name, frozenset()) | {home_id}
    try:
        config = load_stack(request.root, request.stack, alone=True)
        with clients(config.project, request.cloud_url) as google:
            found = OwnVms(google, config, frozenset(), 0.0).standing()
    except GoogleError as error:
        message = f"VMs at fallbacks are not known ({error}): this apply may reach a limit"
        say(Diagnostic(severity="warning", message=message))
        return Fallbacks()
    by_hour = {slot.name for slot in fleet.window_slots(config)}
    standing = {id_: node for id_, node in found.items() if node.get("state") != "DELETING"}
    away = [
        AwayVm(id=id_, node=node, alone=not at_home & standing.keys(), in_window=id_.rpartition("/")[2] in by_hour)
        for id_, node in sorted(standing.items())
        if id_ not in (at_home := homes.get(id_.rpartition("/")[2], frozenset()))
    ]
    home = {name: standing[id_] for name, ids in homes.items() for id_ in ids & standing.keys()}
    names = {id_.rpartition("/")[2] for id_ in standing}
    missing = {step.urn: step.name for step in steps if step.op in _CHANGING and step.name not in names}
    return Fallbacks(request, away, plan, home, missing)
