"""A training job that nobody has is refused with where it was looked for."""

from __future__ import annotations

from typing import Any

import pytest

from infra.jobs.gke import GkeClient
from infra.jobs.kube import Kube, KubePlace
from infra.operations.errors import Refusal
from infra.operations.jobs import JobBackend
from infra.operations.stacks.known import Named
from infra.operations.why.find import Asked


class NoJobs(GkeClient):
    def jobs(self) -> tuple[Any, ...]:
        return ()


def test_the_namespace_that_was_asked_is_said_with_the_command_for_another() -> None:
    asked = Asked("llama-8b", (Named.TRAINING,))
    place = KubePlace(server="https://127.0.0.1:1", namespace="default", said="the cluster of context lab")
    asked.__dict__.update(jobs=JobBackend(NoJobs(Kube(place))), configs=[])
    with pytest.raises(Refusal) as refused:
        asked.subject()
    assert refused.value.message == (
        "there is no training named llama-8b; training jobs were looked for in namespace default of the cluster of "
        "context lab: `./tidepool jobs list --namespace NAME` lists another's"
    )
