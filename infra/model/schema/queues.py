"""The section of queues: who shares the slices of the cluster, and who goes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from infra.model.fields.common import WRITTEN, some
from infra.model.fields.fleet import Accelerator
from infra.model.fields.gke import Flag
from infra.model.fields.queues import (
    PRIORITIES,
    AccountEmail,
    Member,
    PriorityName,
    PriorityValue,
    TeamName,
    Weight,
    WithinCohort,
    WithinQueue,
)
from infra.model.schema.base import Section


class Team(Section):
    """A team with a namespace of its name. accelerators: whose queues it may use; every one where not said.

    weight: its share where teams compete. members: who may submit there. account: the Google identity of its pods.
    """

    name: TeamName
    weight: Weight = 1
    accelerators: tuple[Accelerator, ...] = ()
    members: tuple[Member, ...] = ()
    account: Annotated[AccountEmail | None, WRITTEN] = None


class Queues(Section):
    """How Kueue shares the slices. preemption: in one queue; reclaim: of quota that was lent within a generation.

    borrowing: whether queues of a generation lend one another what they do not use. fair_sharing: by what teams used
    lately, weighted; else by priority and age alone.
    """

    teams: Annotated[tuple[Team, ...], some("no team is named", "one or more teams")]
    priorities: Annotated[Mapping[PriorityName, PriorityValue], PRIORITIES] = Field(
        default_factory=lambda: {"low": 250, "medium": 500, "high": 750}
    )
    preemption: WithinQueue = "lower-priority"
    reclaim: WithinCohort = "never"
    borrowing: Flag = False
    fair_sharing: Flag = True
