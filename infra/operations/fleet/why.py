"""One VM's story: what the controller remembers, the VM's own report, the broker's record, and what comes next."""

from __future__ import annotations

from infra.engines.protocol import CloudName
from infra.fleet.google import GoogleError
from infra.fleet.reports import read_report
from infra.fleet.status.story import Story, story
from infra.model import names, runner_names
from infra.operations.errors import Refusal
from infra.operations.fleet.looks import Fleet, UnknownSubject, fleets_declared, open_fleet, stack_of
from infra.operations.ports import SILENT, Teller


def why(vm: str, *, stack: str | None = None, cloud: CloudName | None = None, teller: Teller = SILENT) -> Story:
    """The story of a VM, or of a runner's VM; nothing is changed.

    Raises Refusal for a name that is of no VM here, GoogleError where the fleet's records do not answer.
    """
    vm = runner_names.vm_of(vm) or vm
    try:
        owner = stack_of(vm, stack)
    except UnknownSubject as unknown:
        found = _seen(vm, stack, cloud, teller)
        if found is None:
            raise Refusal(f"{unknown}; no other VM of that name was seen in their zones") from None
        return found
    fleet = open_fleet(owner, cloud, teller)
    pool = _pool(vm, fleet)
    scene = fleet.look()
    with fleet.place.records() as records:
        report = read_report(records, pool, vm)
        binding = records.body(names.binding_object(fleet.stack, vm))
    return story(vm, scene, report, binding)


def _seen(vm: str, stack: str | None, cloud: CloudName | None, teller: Teller) -> Story | None:
    """What is known of a VM whose name is of no pool, as of somebody else's in a zone of ours; None if none is seen."""
    for name in fleets_declared(stack):
        try:
            scene = open_fleet(name, cloud, teller).look()
        except GoogleError:
            continue
        if scene.observed and any(node.name == vm for node in scene.observed.nodes):
            return story(vm, scene, None, None)
    return None


def _pool(vm: str, fleet: Fleet) -> str:
    pools = sorted((pool.name for pool in fleet.config.pools if vm.startswith(f"{pool.name}-")), key=len)
    if not pools:
        raise Refusal(f"{vm} is a pool; a VM is POOL-ZONE-INDEX, as in `./tidepool status {fleet.stack}`")
    return pools[-1]
