"""VMs that stand in the cloud under a declared slot's name while the state lacks them.

A controller made them after an apply had met a stockout, or an apply was killed before it wrote its state. An engine
that knew nothing of them would create them again, and Google would answer 409 for ever. Owns finding them and telling
whose they are, by their labels. Each engine takes them into its state in its own way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from infra.engines.protocol import EngineRequest
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.model import fleet, urns
from infra.model.errors import EngineError
from infra.model.fleet import OWNERSHIP, Slot, owns
from infra.model.names import PULUMI_PROJECT
from infra.model.plan import Diagnostic, Op, Plan
from infra.model.planned_capacity import POOL_TYPE, VM_TYPE
from infra.model.stack import load_stack

Say = Callable[[Diagnostic], None]

IN_TRANSIT: Final = frozenset({"CREATING", "DELETING"})
"""States of a node in which it cannot be said yet whether it will stand."""
PATIENCE: Final = 1200.0
"""Seconds for which an apply waits for such nodes: as long as the official provider waits for a create."""
_NAMED: Final = frozenset({"project", "zone", "name"})
_PAUSE_ON_GOOGLE: Final = 10.0
_PAUSE_HERE: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingVm:
    """A declared slot whose VM stands.

    id: the VM's resource id, `projects/P/locations/Z/nodes/NAME`. node: what the Cloud TPU API says of it.
    """

    id: str
    slot: Slot
    node: Mapping[str, Any]

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.get("labels") or {}


def unadopted(
    request: EngineRequest, known: Collection[str], say: Say, *, waits: bool, insists: bool = False
) -> tuple[StandingVm, ...]:
    """The declared slots whose VM stands with this stack's labels and is not among `known`, the ids of the state.

    Only zones that have a slot outside `known` are asked. What a zone does not answer is told and left out.
    waits: for an apply: nodes that are being made or deleted are waited for. A preview takes them as they are.
    insists: a zone that does not answer is an error, and no warning.
    Raises EngineError where a VM of others (`infra.model.fleet.owns`) has the name of a slot and is not claimed.
    """
    config = load_stack(request.root, request.stack)
    wanted = {vm_id(config.project, slot.zone, slot.name): slot for slot in fleet.slots(config)}
    wanted = {id_: slot for id_, slot in wanted.items() if id_ not in known}
    if not wanted:
        return ()
    found = _Look(request, config.project, say, "error" if insists else "warning").of(wanted, waits=waits)
    standing = [StandingVm(id=id_, slot=wanted[id_], node=found[id_]) for id_ in sorted(found)]
    claims = urns.Patterns(request.claims)
    if foreign := [
        each
        for each in standing
        if not (owns(request.stack, each.labels) or vm_urn(request.stack, each.slot.name) in claims)
    ]:
        raise EngineError(_in_the_way(foreign))
    return tuple(standing)


def insist_planned(found: Sequence[StandingVm], planned: Plan | None) -> None:
    """EngineError where a VM stands that the plan was going to make: what becomes of it was shown to nobody.

    planned: None where there was no plan before. The controller goes on between a plan and its apply.
    """
    making = {step.name for step in planned.steps if step.op is Op.CREATE} if planned is not None else set()
    if late := [each.slot.name for each in found if each.slot.name in making]:
        raise EngineError(
            f"{', '.join(late)}: made by another since the plan was shown, so that the plan is another now; "
            "nothing was changed, run up again"
        )


def foreign_vms(request: EngineRequest, creates: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Of VMs whose create was in flight when a run died, by their inputs: the ids under which another's VM stands.

    Its labels say so. A VM of which nothing can be learned is not among them: it cannot be adopted either.
    """
    wanted = {vm_id(inputs["project"], inputs["zone"], inputs["name"]) for inputs in creates if inputs.keys() >= _NAMED}
    if not wanted:
        return frozenset()
    found = set()
    with clients(next(iter(wanted)).split("/")[1], request.cloud_url) as google:
        api = google.api(Api.TPU).projects().locations().nodes()
        for id_ in sorted(wanted):
            try:
                labels = execute(api.get(name=id_), f"looking up {id_}").get("labels") or {}
            except GoogleError:
                continue
            if not owns(request.stack, labels):
                found.add(id_)
    return frozenset(found)


def pause(request: EngineRequest) -> float:
    """Seconds between two looks at nodes that change: the local cloud makes and deletes them at once."""
    return _PAUSE_ON_GOOGLE if request.cloud_url is None else _PAUSE_HERE


def vm_id(project: str, zone: str, name: str) -> str:
    """The id by which Google and every provider know a VM."""
    return f"projects/{project}/locations/{zone}/nodes/{name}"


def pool_urn(stack: str, pool: str) -> str:
    """The URN that the program gives a pool's component."""
    return f"urn:pulumi:{stack}::{PULUMI_PROJECT}::{POOL_TYPE}::{pool}"


def vm_urn(stack: str, name: str) -> str:
    """The URN that the program gives a VM, which is below its pool's component."""
    return f"urn:pulumi:{stack}::{PULUMI_PROJECT}::{POOL_TYPE}${VM_TYPE}::{name}"


class _Look:
    """Looks at the zones of some slots until what is in transit has settled."""

    def __init__(self, request: EngineRequest, project: str, say: Say, silence: Literal["error", "warning"]) -> None:
        self._request = request
        self._project = project
        self._say = say
        self._silence: Literal["error", "warning"] = silence

    def of(self, wanted: Mapping[str, Slot], *, waits: bool) -> dict[str, Mapping[str, Any]]:
        """The nodes of these slots, by id."""
        try:
            with clients(self._project, self._request.cloud_url) as google:
                return self._settled(google, wanted, waits=waits)
        except GoogleError as error:
            self._silent(sorted({slot.zone for slot in wanted.values()}), str(error))
            return {}

    def _settled(self, google: Clients, wanted: Mapping[str, Slot], *, waits: bool) -> dict[str, Mapping[str, Any]]:
        until = time.monotonic() + PATIENCE
        told = False
        while True:
            found = dict(self._listed(google, wanted))
            moving = [wanted[id_].name for id_, node in found.items() if node.get("state") in IN_TRANSIT]
            if not moving or not waits or time.monotonic() >= until:
                return {id_: node for id_, node in found.items() if node.get("state") != "DELETING"}
            if not told:
                self._tell("info", f"waiting for {', '.join(moving)}: being created or deleted, and not in the state")
            told = True
            time.sleep(pause(self._request))

    def _listed(self, google: Clients, wanted: Mapping[str, Slot]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        api = google.api(Api.TPU).projects().locations().nodes()
        silent: dict[str, str] = {}
        for zone in sorted({slot.zone for slot in wanted.values()}):
            try:
                nodes = nodes_in(api, f"projects/{self._project}/locations/{zone}")
            except GoogleError as error:
                silent[zone] = str(error)
                continue
            yield from ((node["name"], node) for node in nodes if node["name"] in wanted)
        if silent:
            self._silent(list(silent), next(iter(silent.values())))

    def _silent(self, zones: list[str], why: str) -> None:
        self._tell(self._silence, f"{', '.join(zones)}: unknown whether VMs exist that the state lacks ({why})")

    def _tell(self, severity: Literal["error", "warning", "info"], message: str) -> None:
        self._say(Diagnostic(severity=severity, message=message))


def _in_the_way(foreign: Sequence[StandingVm]) -> str:
    lines = []
    for each in foreign:
        slot = each.slot
        has = ", ".join(f"{key}={each.labels.get(key, '(none)')}" for key in OWNERSHIP)
        needs = ", ".join(f"{key}={slot.labels[key]}" for key in OWNERSHIP)
        lines.append(
            f"{slot.name} in {slot.zone} exists with the labels {has}; a VM of this stack has {needs}. Fix: "
            f"rename pool {slot.pool.name}, have the VM's owner delete it, or run `./tidepool adopt "
            f"{slot.labels['tidepool-stack']} {slot.name}`, which takes it over"
        )
    return "VMs that are not this stack's have the names of declared ones; nothing was changed:\n" + "\n".join(lines)


def nodes_in(api: Any, parent: str) -> list[Mapping[str, Any]]:
    """The TPU nodes of a location, all pages of them. Raises GoogleError, also where a part of it was not reached."""
    found: list[Mapping[str, Any]] = []
    request = api.list(parent=parent, pageSize=1000)
    while request is not None:
        page = execute(request, f"listing TPU VMs of {parent}")
        if silent := page.get("unreachable"):
            raise GoogleError(f"listing TPU VMs of {parent}", f"{', '.join(silent)} did not answer")
        found += page.get("nodes", ())
        request = api.list_next(request, page)
    return found
