"""A training job that nobody has is refused, with where it was looked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from infra.jobs.gke import GkeClient
from infra.jobs.kube import Kube, KubePlace
from infra.operations.declared.known import Named
from infra.operations.errors import Refusal
from infra.operations.jobs import JobBackend
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


@pytest.mark.parametrize("verb", ["why", "logs", "cancel"])
def test_a_command_about_a_job_that_nobody_has_is_refused_with_2(verb: str, tmp_path: Path) -> None:
    environ = {"TIDEPOOL_HOME": str(tmp_path)}
    refused = CliRunner().invoke(cli, ["jobs", verb, "nope", "--backend", "local"], env=environ)
    assert refused.exit_code == 2, refused.output
    assert "there is no job nope on this machine; `./tidepool jobs list --backend local` lists the jobs" in " ".join(
        refused.output.split()
    )
