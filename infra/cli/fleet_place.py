"""Where a fleet is and who is asked about it: project, bucket, cloud, GitHub and its token, the clock.

Owns the choice between what the environment says, as on Cloud Run, and what a stack file says. On Google Cloud the
token is GITHUB_TOKEN; the local GitHub knows one of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from infra.fleet.broker.github_calls import GITHUB
from infra.fleet.broker.settings import BUCKET, GITHUB_API, PROJECT
from infra.fleet.controller.github import RunnerApi
from infra.fleet.controller.lease import wall_clock
from infra.fleet.controller.observe import Observer
from infra.local.cloud.control import CloudClock, Control
from infra.local.cloud.github.control import GitHubControl
from infra.model.schema import StackConfig

TOKEN = "GITHUB_TOKEN"  # noqa: S105 - a name
_LOCAL_TOKEN = "tidepool-controller"  # noqa: S105 - known to the local GitHub alone, and to nobody else


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a fleet is. endpoint: root of the local cloud, None for Google. github: None where no token is at hand."""

    project: str
    bucket: str
    endpoint: str | None
    github: RunnerApi | None

    @property
    def clock(self) -> Callable[[], datetime]:
        """The cloud's own time: the local cloud's may be ahead of the wall's."""
        return wall_clock if self.endpoint is None else CloudClock(Control(self.endpoint))

    @property
    def observer(self) -> Observer:
        return Observer(project=self.project, bucket=self.bucket, endpoint=self.endpoint, github=self.github)


def told_place(environ: Mapping[str, str]) -> Place | None:
    """The place that the environment names, as a Cloud Run job has it, which has no stack file and asks nobody."""
    project, bucket = environ.get(PROJECT), environ.get(BUCKET)
    if not project or not bucket:
        return None
    return Place(project=project, bucket=bucket, endpoint=None, github=_github(environ))


def declared_place(config: StackConfig, endpoint: str | None) -> Place:
    """The place of a stack file. The local GitHub knows the repositories that the stack serves."""
    project, bucket = config.project, config.bucket.name
    if endpoint is None:
        return Place(project=project, bucket=bucket, endpoint=None, github=_github(os.environ))
    control = GitHubControl(endpoint)
    for repository in sorted({repository for pool in config.pools for repository in pool.serves}):
        control.keep_repository(repository)
    control.add_token(_LOCAL_TOKEN, "tidepool-controller")
    github = RunnerApi(api=control.api, token=lambda _: _LOCAL_TOKEN)
    return Place(project=project, bucket=bucket, endpoint=endpoint, github=github)


def _github(environ: Mapping[str, str]) -> RunnerApi | None:
    token = environ.get(TOKEN, "")
    return RunnerApi(api=environ.get(GITHUB_API, GITHUB), token=lambda _: token) if token else None
