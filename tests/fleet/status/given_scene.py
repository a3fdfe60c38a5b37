"""Scenes for tests of status and timelines: what was seen of a fleet of given VMs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from infra.fleet.controller.desired import Desired
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.observed import Observed
from infra.fleet.github_lists import QueuedJob
from infra.fleet.status.look import Scene
from infra.fleet.status.queue import JobsSeen
from tests.fleet.controller.given_fleet import START, fleet, seen

REPOSITORY = "a-lab/code"


def scene(desired: Desired | None = None, observed: Observed | None = None, **given: Any) -> Scene:
    wanted = desired or fleet(3)
    usual: dict[str, Any] = {"at": START, "memory": EMPTY, "labels": {"tpu-ci": frozenset({"TPU", "tpu-ci"})}}
    return Scene(stack="ci", desired=wanted, observed=observed or seen(wanted), **{**usual, **given})


def waiting(since: datetime, *labels: str, repository: str = REPOSITORY) -> QueuedJob:
    return QueuedJob(labels=labels, since=since, repository=repository, name="tests")


def queued(*jobs: QueuedJob) -> JobsSeen:
    return JobsSeen(jobs=jobs)
