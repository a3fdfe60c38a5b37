"""Rules of Dask classes and groups: whose namespace and nodes they use, and that what they ask for can ever be had.

A class that fits no node, or a group whose gangs fit no flavor, waits for ever: Kueue and the scheduler say so only of
the running cluster, so it is refused here, with the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from infra.model.catalogue import AcceleratorType
from infra.model.dask import SCHEDULER, worker_size
from infra.model.errors import Problem, shown, suggestion
from infra.model.fields.workloads import TASKS_IN_FLIGHT
from infra.model.gke_shapes import gke_shape
from infra.model.groups import can_be_admitted, chips_of, gangs
from infra.model.plain_machines import MachineSize, room_for_pods
from infra.model.queues import shared_queues
from infra.model.refusals import Subject
from infra.model.rules.common import Items, Rule, repeats
from infra.model.schema import Bucket, Cluster, CpuPool, DaskClass, Queues, Slices, StackConfig, Team, WorkerGroup
from infra.model.slices import entry_pools
from infra.model.yamlfile import YamlPath

_TWO_PROCESSES: Final = "tpu7x"
"""A VM of this generation has two NUMA nodes with a process on each, and a role serves one port a VM."""


def _work_has_queues(
    batch: Items[DaskClass], groups: Items[WorkerGroup], queues: Queues | None, subject: Subject
) -> Iterator[Problem]:
    for section, work in (("batch", batch), ("groups", groups)):
        if work and queues is None:
            rule = f"the stack declares {section} and no queues to admit its pods"
            yield Problem(subject((section,)), "", rule, f"tidepool:queues with its team, or no tidepool:{section}")


def _names_once(batch: Items[DaskClass], groups: Items[WorkerGroup], subject: Subject) -> Iterator[Problem]:
    for section, work in (("batch", batch), ("groups", groups)):
        listed = ((index, each.name) for index, each in work)
        yield from repeats(listed, subject, (section,), f"the name is listed twice in {section}", "name")


def _teams_and_priorities(
    batch: Items[DaskClass], groups: Items[WorkerGroup], queues: Queues, subject: Subject
) -> Iterator[Problem]:
    teams = [team.name for team in queues.teams]
    work: list[tuple[YamlPath, DaskClass | WorkerGroup]] = [
        *((("batch", index), each) for index, each in batch),
        *((("groups", index), each) for index, each in groups),
    ]
    for path, each in work:
        if each.team not in teams:
            rule = "tidepool:queues has no team of this name, whose namespace it would be"
            fix = suggestion(each.team, teams, "a team of tidepool:queues first")
            yield Problem(subject((*path, "team")), shown(each.team), rule, fix)
        if each.priority is not None and each.priority not in queues.priorities:
            fix = suggestion(each.priority, queues.priorities, "a priority of tidepool:queues first")
            rule = "tidepool:queues has no priority of this name"
            yield Problem(subject((*path, "priority")), shown(each.priority), rule, fix)


def _cpu_pools(
    batch: Items[DaskClass],
    groups: Items[WorkerGroup],
    cluster: Cluster,
    slices: Items[Slices],
    subject: Subject,
) -> Iterator[Problem]:
    """A CPU pool is the only place without chips that takes them."""
    there = {pool.name: pool for pool in cluster.cpu_pools}
    chips = {pool.name for _, entry in slices for pool in entry_pools(entry)}
    for path, pool, size, what in _on_cpus(batch, groups):
        fix = suggestion(pool, there, "an entry of tidepool:cluster.cpu_pools first")
        if pool in chips:
            rule = f"{pool} is a node pool of TPU slices, whose chips only jobs and groups use"
            yield Problem(subject((*path, "pool")), shown(pool), rule, fix)
        elif pool not in there:
            yield Problem(subject((*path, "pool")), shown(pool), "the cluster has no CPU pool of this name", fix)
        else:
            machine = there[pool].machine_type
            room = room_for_pods(machine)
            if not room.holds(size):
                rule = f"{what} asks {size}; a node of {pool} ({machine}) has {room} for pods"
                yield Problem(subject(path), "", rule, "less, or a pool of larger machines")


def _on_cpus(batch: Items[DaskClass], groups: Items[WorkerGroup]) -> Iterator[tuple[YamlPath, str, MachineSize, str]]:
    """What goes to CPU pools: where it is said, the pool, the largest pod, and what it is."""
    for index, each in batch:
        said = f"a worker of {each.tasks} tasks at once" if each.tasks > 1 else "a worker"
        yield ("batch", index), each.pool, worker_size(each), said
    for index, group in groups:
        declared = group.curriculum
        size = MachineSize(declared.cpus, declared.memory)
        yield ("groups", index, "curriculum"), declared.pool, size, "the curriculum"


def _limits_of_classes(batch: Items[DaskClass], cluster: Cluster | None, subject: Subject) -> Iterator[Problem]:
    pools = {pool.name: pool for pool in (cluster.cpu_pools if cluster else ())}
    for index, each in batch:
        path = ("batch", index)
        if each.minimum > each.maximum:
            rule = "the minimum is larger than the maximum"
            yield Problem(subject((*path, "minimum")), str(each.minimum), rule, f"at most {each.maximum}")
        if each.maximum * each.tasks > TASKS_IN_FLIGHT:
            rule = f"{each.maximum} workers of {each.tasks} tasks have {each.maximum * each.tasks:,} tasks in flight"
            rule += f", and one scheduler is for {TASKS_IN_FLIGHT:,}"
            fix = f"at most {TASKS_IN_FLIGHT // each.tasks}, or a second class"
            yield Problem(subject((*path, "maximum")), str(each.maximum), rule, fix)
        elif each.pool in pools:
            most = _most_workers(each, pools[each.pool])
            if 0 < most < each.maximum:
                pool = pools[each.pool]
                rule = f"{pool.maximum * len(pool.zones)} nodes of {pool.name} hold {most} such workers of "
                rule += f"{worker_size(each)} beside their scheduler"
                fix = f"at most {most}, or a larger maximum of the pool"
                yield Problem(subject((*path, "maximum")), str(each.maximum), rule, fix)


def _most_workers(declared: DaskClass, pool: CpuPool) -> int:
    """How many fit on the pool's nodes when it has all of them, one of which has the scheduler."""
    room, worker = room_for_pods(pool.machine_type), worker_size(declared)
    beside = MachineSize(max(0, room.cpus - SCHEDULER.cpus), max(0, room.memory - SCHEDULER.memory))
    nodes = pool.maximum * len(pool.zones)
    return (nodes - 1) * room.holds(worker) + beside.holds(worker)


def _least_of_pools(
    batch: Items[DaskClass], groups: Items[WorkerGroup], cluster: Cluster, subject: Subject
) -> Iterator[Problem]:
    """What always stands has to fit together: the autoscaler makes no node past a pool's maximum, so that what is over
    waits for ever. Maximums may pass a pool together: classes that adapt take turns, and Kueue says who waits."""
    for pool in cluster.cpu_pools:
        standing = list(_always_on(batch, groups, pool.name))
        nodes, room = pool.maximum * len(pool.zones), room_for_pods(pool.machine_type)
        whole = MachineSize(nodes * room.cpus, nodes * room.memory)
        asked = MachineSize(sum(size.cpus for _, size in standing), sum(size.memory for _, size in standing))
        if len(standing) > 1 and not whole.holds(asked):
            rule = f"{', '.join(what for what, _ in standing)} always stand and ask {asked} together; "
            rule += f"{nodes} nodes of {pool.name} have {whole} for pods, so that some would wait for ever"
            yield Problem(subject(("batch",)), "", rule, "smaller minimums, or a larger maximum of the pool")


def _always_on(batch: Items[DaskClass], groups: Items[WorkerGroup], pool: str) -> Iterator[tuple[str, MachineSize]]:
    """What stands on a pool whatever is asked of it, and how much that is in all."""
    for _, each in batch:
        if each.pool == pool:
            worker = worker_size(each)
            cpus, memory = (each.minimum * amount for amount in (worker.cpus, worker.memory))
            said = f"{each.name} with {each.minimum} workers" if each.minimum else f"the scheduler of {each.name}"
            yield said, MachineSize(SCHEDULER.cpus + cpus, SCHEDULER.memory + memory)
    for _, group in groups:
        declared = group.curriculum
        if declared.pool == pool:
            yield f"the curriculum of {group.name}", MachineSize(declared.cpus, declared.memory)


def _groups_have_slices(groups: Items[WorkerGroup], slices: tuple[Slices, ...], subject: Subject) -> Iterator[Problem]:
    there = sorted({entry.accelerator.name for entry in slices})
    for index, group in groups:
        for role, accelerator in _roles(group):
            where, name = subject(("groups", index, role, "accelerator")), accelerator.name
            if name not in there:
                fix = suggestion(name, there, "an entry of tidepool:slices first")
                yield Problem(where, shown(name), "the stack declares no slices of this accelerator", fix)
            elif accelerator.generation.name == _TWO_PROCESSES:
                rule = "a VM of tpu7x needs two processes, and a role of a group starts one"
                yield Problem(where, shown(name), rule, "slices of another generation, or a job")


def _groups_use_what_their_team_may(groups: Items[WorkerGroup], queues: Queues, subject: Subject) -> Iterator[Problem]:
    allowed = {team.name: team.accelerators for team in queues.teams if team.accelerators}
    for index, group in groups:
        for role, accelerator in _roles(group):
            if accelerator not in allowed.get(group.team, (accelerator,)):
                rule = f"team {group.team} may use {', '.join(each.name for each in allowed[group.team])} alone"
                where = subject(("groups", index, role, "accelerator"))
                yield Problem(where, shown(accelerator.name), rule, "one of these, or more accelerators of the team")


def _roles(group: WorkerGroup) -> tuple[tuple[str, AcceleratorType], ...]:
    return ("train", group.train.accelerator), ("rollout", group.rollout.accelerator)


def _groups_can_start(
    config: StackConfig,
    groups: tuple[WorkerGroup, ...],
    slices: tuple[Slices, ...],
    queues: Queues | None,
    subject: Subject,
) -> Iterator[Problem]:
    """A group stands until it is taken out of the file, so that all of them together have to fit as well."""
    if queues is None:
        return
    shared = _queues_of_slices(config, slices)
    late = set()
    for index, group in enumerate(groups):
        for queue in dict.fromkeys(gang.queue for gang in gangs(group) if gang.queue in shared):
            asked = [gang for gang in gangs(group) if gang.queue == queue]
            if not can_be_admitted(shared[queue], asked):
                late.add(queue)
                rule = f"it asks {sum(gang.chips for gang in asked)} chips of {queue}"
                rule += f" ({', '.join(f'{gang.role} {gang.chips}' for gang in asked)}), each of these of one kind of "
                rule += f"capacity, and the queue has {_offer(shared[queue])}: it would wait for ever"
                yield Problem(subject(("groups", index)), group.name, rule, "fewer slices, or more of tidepool:slices")
    for queue, chips in chips_of(groups).items():
        if queue in shared and queue not in late and chips > sum(shared[queue].values()):
            rule = f"all groups together ask {chips} chips of {queue}, and its queue has {_offer(shared[queue])}"
            yield Problem(subject(("groups",)), f"{chips} chips", rule, "fewer slices, or more of tidepool:slices")


def _queues_of_slices(config: StackConfig, slices: tuple[Slices, ...]) -> Mapping[str, Mapping[str, int]]:
    """Chips by flavor of every accelerator type that the stack declares slices of, those of which it has none too."""
    shaped = tuple(entry for entry in slices if gke_shape(entry.accelerator) is not None)
    found: dict[str, Mapping[str, int]] = {entry.accelerator.name: {} for entry in shaped}
    everyone = Queues(teams=(Team(name="everyone"),))
    for queue in shared_queues(config.model_copy(update={"cluster": None, "slices": shaped}), everyone):
        found[queue.name] = {quota.flavor: quota.chips for quota in queue.quotas}
    return found


def _offer(flavors: Mapping[str, int]) -> str:
    return " and ".join(f"{chips} of {name}" for name, chips in flavors.items()) or "none"


def _checkpoints(
    groups: Items[WorkerGroup], bucket: Bucket, queues: Queues | None, subject: Subject
) -> Iterator[Problem]:
    accounts = {team.name: team.account for team in (queues.teams if queues else ())}
    declared = {bucket.name}
    for index, group in groups:
        said, where = group.checkpoints, ("groups", index, "checkpoints")
        if said is None and group.image is not None:
            rule = "the group has an image and no bucket for its checkpoints"
            yield Problem(subject(where), "", rule, "checkpoints: {bucket: NAME}")
        if said is None or said.location is None:
            continue
        name = said.bucket
        if name in declared:
            rule = "the stack declares a bucket of this name already"
            yield Problem(subject((*where, "bucket")), shown(name), rule, "another name, or no location")
        declared.add(name)
        if accounts.get(group.team, "unknown") is None:
            rule = f"team {group.team} has no account that could write to it"
            yield Problem(subject(where), shown(name), rule, f"account of the team {group.team}, or no location")


RULES: Final[tuple[Rule, ...]] = (
    _work_has_queues,
    _names_once,
    _teams_and_priorities,
    _cpu_pools,
    _limits_of_classes,
    _least_of_pools,
    _groups_have_slices,
    _groups_use_what_their_team_may,
    _groups_can_start,
    _checkpoints,
)
