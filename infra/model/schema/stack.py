"""Everything that one stack declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from infra.model.fields.common import (
    BY_KEY,
    WRITTEN,
    LabelKey,
    LabelValue,
    Owner,
    ProjectId,
    ResourceName,
    StackReferenceName,
)
from infra.model.schema.base import Section
from infra.model.schema.fleet import Pool, Quota, Reservation
from infra.model.schema.gke import Cluster, Slices
from infra.model.schema.images import Builds, Mirror, Registries
from infra.model.schema.queues import Queues
from infra.model.schema.results import Results
from infra.model.schema.running import (
    Bucket,
    Budget,
    Controller,
    Freeze,
    GitHub,
    RuleException,
    Runners,
    Runs,
    SecretDecl,
)
from infra.model.schema.store import LockStore
from infra.model.schema.workloads import DaskClass, WorkerGroup


class StackConfig(Section):
    """Everything that one stack declares.

    owner: whose fleet this is. vm_labels: the lab's own labels on every VM. registry_stack: the stack whose registries
    are read.
    """

    stack: ResourceName
    project: ProjectId
    owner: Owner
    bucket: Bucket
    vm_labels: Annotated[Mapping[LabelKey, LabelValue], BY_KEY] = Field(default_factory=dict)
    pools: tuple[Pool, ...] = ()
    cluster: Annotated[Cluster | None, WRITTEN] = None
    slices: tuple[Slices, ...] = ()
    queues: Annotated[Queues | None, WRITTEN] = None
    store: Annotated[LockStore | None, WRITTEN] = None
    batch: tuple[DaskClass, ...] = ()
    groups: tuple[WorkerGroup, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    quotas: tuple[Quota, ...] = ()
    registries: Annotated[Registries | None, WRITTEN] = None
    registry_stack: Annotated[StackReferenceName | None, WRITTEN] = None
    mirrors: tuple[Mirror, ...] = ()
    builds: Annotated[Builds | None, WRITTEN] = None
    secrets: tuple[SecretDecl, ...] = ()
    github: Annotated[GitHub | None, WRITTEN] = None
    runners: Annotated[Runners, WRITTEN] = Field(default_factory=Runners)
    controller: Annotated[Controller, WRITTEN] = Field(default_factory=Controller)
    runs: Annotated[Runs | None, WRITTEN] = None
    results: Annotated[Results | None, WRITTEN] = None
    freezes: tuple[Freeze, ...] = ()
    budget: Annotated[Budget | None, WRITTEN] = None
    exceptions: tuple[RuleException, ...] = ()

    @property
    def holders(self) -> tuple[Pool | Slices, ...]:
        """All that holds chips: pools of TPU VMs, and slices of the cluster. Limits, money and phases count both."""
        return (*self.pools, *self.slices)

    def pool(self, name: str) -> Pool:
        """The pool of that name; KeyError where there is none."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise KeyError(name)
