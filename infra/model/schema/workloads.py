"""The sections of what runs in a cluster beside jobs: Dask classes for batch work, and groups for learning by rollouts.

An image that is not said is not built yet: what needs it is checked and not declared.
"""

from __future__ import annotations

from typing import Annotated

from infra.model.fields.common import WRITTEN, BucketLocation, BucketName
from infra.model.fields.fleet import Accelerator
from infra.model.fields.gke import ClusterName
from infra.model.fields.queues import PriorityName, TeamName
from infra.model.fields.running import ServiceImage
from infra.model.fields.workloads import (
    COMMAND,
    Cpus,
    LeastWorkers,
    Memory,
    MostWorkers,
    Port,
    Program,
    SliceCount,
    Tasks,
    WorkName,
)
from infra.model.schema.base import Section


class DaskClass(Section):
    """Tasks that are alike, and the Dask cluster that runs them in a team's namespace.

    memory, cpus: of one task. tasks: at once on a worker. minimum, maximum: workers, between which the cluster adapts.
    pool: the CPU pool of the cluster where its pods run.
    """

    name: WorkName
    team: TeamName
    pool: ClusterName
    image: Annotated[ServiceImage | None, WRITTEN] = None
    memory: Memory
    cpus: Cpus
    tasks: Tasks = 1
    minimum: LeastWorkers = 0
    maximum: MostWorkers
    priority: Annotated[PriorityName | None, WRITTEN] = None


class TrainRole(Section):
    """The one slice that learns. port: where it serves weights, by Arrow Flight, on its first host."""

    accelerator: Accelerator
    command: Annotated[tuple[Program, ...], COMMAND]
    port: Port = 8815


class RolloutRole(Section):
    """The slices that act by the newest weights. slices: so many of them."""

    accelerator: Accelerator
    slices: SliceCount = 1
    command: Annotated[tuple[Program, ...], COMMAND]


class CurriculumRole(Section):
    """The one service that says what is tried next, on a CPU pool. port: where it answers."""

    pool: ClusterName
    command: Annotated[tuple[Program, ...], COMMAND]
    memory: Memory = 8000
    cpus: Cpus = 2000
    port: Port = 50051


class CheckpointBucket(Section):
    """Where a group's checkpoints are. location: the stack declares the bucket there; else it is somebody else's."""

    bucket: BucketName
    location: Annotated[BucketLocation | None, WRITTEN] = None


class WorkerGroup(Section):
    """Programs that learn from one another's rollouts: one learner, its actors, and what picks their lessons.

    They use slices of the stack and make no capacity. checkpoints: needed once there is an image.
    """

    name: WorkName
    team: TeamName
    image: Annotated[ServiceImage | None, WRITTEN] = None
    train: TrainRole
    rollout: RolloutRole
    curriculum: CurriculumRole
    checkpoints: Annotated[CheckpointBucket | None, WRITTEN] = None
    priority: Annotated[PriorityName | None, WRITTEN] = None

    @property
    def own_bucket(self) -> CheckpointBucket | None:
        """The bucket that the stack makes for it; None for somebody else's, and while the group has no image."""
        said = self.checkpoints if self.image is not None else None
        return said if said is not None and said.location is not None else None
