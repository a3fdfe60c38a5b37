"""What may never happen to a simulated fleet, asked at each change that could bring it about, and what it must be in
the end.

Owns the promises and nothing of the world; a controller that believes otherwise is no excuse.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Final

from infra.fleet.broker.github_app import GitHubRunner
from infra.fleet.controller.desired import Cap
from infra.fleet.controller.lease import SWEEP_TIME
from infra.fleet.controller.rules import DEAD
from infra.model import bucket_names, healing
from infra.model.catalogue import AcceleratorType, region_of
from infra.model.runner_names import vm_of

if TYPE_CHECKING:
    from tests.fleet.simulation.google_in_process import Process
    from tests.fleet.simulation.simulated_tpus import Node
    from tests.fleet.simulation.simulated_world import World

STRANGER: Final = "somebodys"
NEIGHBOUR: Final = "tpu-ci-other-stack-0"
FOREIGN: Final = "big-mac-0a1b2c"
"""A VM without our label, one of another stack, and a runner whose name is no VM's of ours: they outlive everything."""
SKEW: Final = 360.0
"""Seconds by which a clock is off, at most; longer than a sweep's lease lasts."""


UNLIMITED: Final = "v6e-1"
"""An accelerator that no limit of a simulated fleet counts."""


class BrokenPromiseError(AssertionError):
    """Something happened that may never happen."""


class Promises:
    def __init__(self, world: World) -> None:
        self._world = world
        self._replaced: dict[str, deque[float]] = defaultdict(deque)

    def stand(self) -> None:
        """Asked after every create and every sweep: one VM a slot, and no more chips than a limit has.

        One that was stuck counts no more, whatever becomes of it: then one of both goes.
        """
        desired, nodes = self._world.desired, self._world.tpus.nodes.values()
        alive: dict[str, list[str]] = defaultdict(list)
        for node in nodes:
            if node.state not in DEAD and not node.freed and not node.stuck:
                alive[node.name].append(node.zone)
        for node in nodes:
            node.stuck = node.stuck and (node.state != "READY" or bool(alive[node.name]))
        for slot in desired.slots:
            if len(alive[slot.name]) > 1:
                raise BrokenPromiseError(f"{slot.name} has VMs in {', '.join(alive[slot.name])}")
        for cap in desired.caps:
            used = sum(node.accelerator.chips for node in nodes if _draws_on(node, cap))
            if used + cap.held_elsewhere > cap.chips:
                raise BrokenPromiseError(f"{used} chips of {cap.name}, which has {cap.chips - cap.held_elsewhere}")

    def before_act(self, process: Process) -> None:
        """Of whatever a controller does to VMs and runners: one acts at a time."""
        lease = self._world.kept(bucket_names.lease_object(self._world.desired.stack)) or {}
        if self._is_its_time(process) and lease.get("holder") != process.holder:
            raise BrokenPromiseError("two controllers act at the same time")

    def before_create(self, process: Process, vm: str) -> None:
        """Whoever dies right after it must leave word of it."""
        memory = self._world.kept(bucket_names.memory_object(self._world.desired.stack)) or {}
        if self._is_its_time(process) and vm not in memory.get("creating", {}):
            raise BrokenPromiseError(f"{vm} is made, and nobody would remember")

    def before_delete(self, node: Node) -> None:
        """What Google took back is dead by its word: it counts for nothing."""
        world = self._world
        labels = node.body["labels"]
        expired = int(labels.get("tidepool-expires", 10**12)) <= world.now + (0 if world.clocks_agree else SKEW)
        if labels.get("tidepool-stack") != world.desired.stack and not expired:
            raise BrokenPromiseError(f"{node.name} is not ours, and was deleted")
        if node.state == "READY" and world.github.busy(node.name):
            raise BrokenPromiseError(f"{node.name} was deleted while its runner had a job")
        slot = world.desired.slot(node.name)
        if slot is not None:
            self._leaves_others(node, slot.pool)
            if not node.freed:
                self._is_not_one_too_many(slot.pool)

    def before_removal(self, runner: GitHubRunner) -> None:
        """Of a runner at GitHub."""
        if runner.name == FOREIGN:
            raise BrokenPromiseError(f"{runner.name} is not ours, and was removed")
        if runner.online or runner.busy:
            raise BrokenPromiseError(f"{runner.name} was removed while it was online")

    def before_order(self, vm: str) -> None:
        """Of an order in the bucket."""
        if vm in (STRANGER, NEIGHBOUR):
            raise BrokenPromiseError(f"{vm} is not ours, and was given orders")

    def before_cut(self, runner: str, jit: str) -> None:
        """Of the program of a runner that stops because its supervisor was told so."""
        disks = (node.disk for node in self._world.tpus.nodes.values() if node.state == "READY")
        if any(disk is not None and disk.jit == jit for disk in disks):
            raise BrokenPromiseError(f"{runner} was stopped in the middle of a job")

    def missing(self) -> list[str]:
        """What the fleet lacks, or has too much of, to be what is declared."""
        world = self._world
        online, slots = world.github.online(), {slot.name for slot in world.desired.slots}
        nodes = world.tpus.nodes.values()
        ready = {node.name for node in nodes if node.state == "READY"}
        said = [f"{name} does not serve" for name in sorted(slots - (online & ready))]
        said += [
            f"{node.name} runs an image of another region" for node in nodes if node.name in slots and _strays(node)
        ]
        twice = {node.name for node in nodes if node.name in slots and node.state not in DEAD and node.stuck}
        twice &= {node.name for node in nodes if node.state not in DEAD and not node.stuck}
        said += [f"{name} has two VMs" for name in sorted(twice)]
        kept = slots | {STRANGER, NEIGHBOUR}
        said += [f"{node.name} is left" for node in nodes if node.name not in kept]
        names_left = [each.name for each in world.github.registrations.values() if each.name != FOREIGN]
        said += [f"runner {name} is left" for name in names_left if vm_of(name) not in slots]
        standing = {node.name for node in nodes}
        return said + [f"{name} is gone" for name in (STRANGER, NEIGHBOUR) if name not in standing]

    def _is_its_time(self, process: Process) -> bool:
        """Whether nobody may have succeeded a controller, as far as clocks can tell."""
        return self._world.clocks_agree and self._world.now < process.leased + SWEEP_TIME.total_seconds()

    def _leaves_others(self, node: Node, pool: str) -> None:
        members = {each.name for each in self._world.desired.of_pool(pool)}
        if node.state == "READY" and len(members) > 1 and members & self._world.github.alive() == {node.name}:
            raise BrokenPromiseError(f"{node.name} was the last serving VM of {pool}, and was deleted")

    def _is_not_one_too_many(self, pool: str) -> None:
        """By the controllers' clocks, which may be off both ways."""
        times, now = self._replaced[pool], self._world.now
        times.append(now)
        while times[0] <= now - 3600 + 2 * SKEW:
            times.popleft()
        desired = self._world.desired
        if len(times) > healing.replaced_an_hour(len(desired.of_pool(pool)), desired.settings.replacements):
            raise BrokenPromiseError(f"{len(times)} VMs of {pool} were replaced within {3600 - 2 * SKEW:.0f} s")


def is_limited(node: Node) -> bool:
    """Whether any limit here counts its chips."""
    return node.accelerator != AcceleratorType.parse(UNLIMITED)


def _strays(node: Node) -> bool:
    image = node.disk.state.image if node.disk else ""
    return node.state == "READY" and bool(image) and not image.startswith(f"{region_of(node.zone)}-docker.pkg.dev/")


def _draws_on(node: Node, cap: Cap) -> bool:
    scheduling = node.body.get("schedulingConfig") or {}
    return (
        not node.freed
        and node.zone == cap.zone
        and node.accelerator.generation.name == cap.generation
        and any(scheduling.get(kind.value) for kind in cap.covers)
    )
