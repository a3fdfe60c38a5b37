"""Where a fleet is and who is asked about it: project, bucket, cloud, the way to GitHub, the clock.

Owns the choice between what the environment says, as on Cloud Run, and what a stack file says, and by which way GitHub
is asked: through the broker that TIDEPOOL_BROKER names; else by a person's GITHUB_TOKEN; else through the broker of the
published manifest. The local GitHub knows a token of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from infra.fleet.broker.github_calls import GITHUB
from infra.fleet.broker.settings import BUCKET, GITHUB_API, PROJECT, is_safe
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.github import NO_WAY, GitHub, GitHubError, RunnerApi
from infra.fleet.controller.lease import wall_clock
from infra.fleet.controller.observe import Observer
from infra.fleet.google import GoogleError, clients
from infra.fleet.identity import identity_token
from infra.fleet.records import Records
from infra.model import names
from infra.model.errors import ConfigError, Problem
from infra.model.schema import StackConfig

BROKER = "TIDEPOOL_BROKER"
TOKEN = "GITHUB_TOKEN"  # noqa: S105 - a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a fleet is. endpoint: root of the local cloud, None for Google."""

    project: str
    bucket: str
    endpoint: str | None
    github: GitHub

    @property
    def clock(self) -> Callable[[], datetime]:
        """The cloud's own time: the local cloud's may be ahead of the wall's."""
        if self.endpoint is None:
            return wall_clock
        from infra.operations.local.cloud import cloud_clock  # on Google Cloud nothing local is loaded

        return cloud_clock(self.endpoint)

    @property
    def observer(self) -> Observer:
        return Observer(project=self.project, bucket=self.bucket, endpoint=self.endpoint, github=self.github)


def told_place(stack: str, environ: Mapping[str, str]) -> Place | None:
    """The place that the environment names, as a Cloud Run job has it, which has no stack file and asks nobody."""
    project, bucket = environ.get(PROJECT), environ.get(BUCKET)
    if not project or not bucket:
        return None
    return Place(project=project, bucket=bucket, endpoint=None, github=_github(stack, project, bucket, environ))


def declared_place(config: StackConfig, endpoint: str | None) -> Place:
    """The place of a stack file. The local GitHub knows the repositories that the stack serves, and its groups."""
    project, bucket = config.project, config.bucket.name
    if endpoint is None:
        github = _github(config.stack, project, bucket, os.environ)
        return Place(project=project, bucket=bucket, endpoint=None, github=github)
    from infra.operations.local.fleet import local_github  # on Google Cloud nothing local is loaded

    github = local_github(config, endpoint, _named_broker(os.environ) if os.environ.get(BROKER) else None)
    return Place(project=project, bucket=bucket, endpoint=endpoint, github=github)


def _github(stack: str, project: str, bucket: str, environ: Mapping[str, str]) -> GitHub:
    """On Cloud Run a broker is the only way: there is no credential of GitHub's in the controller's environment."""
    if environ.get(BROKER):
        url = _named_broker(environ)
        return BrokerApi(stack=stack, address=lambda: url, token=partial(identity_token, project=project))
    if token := environ.get(TOKEN):
        return RunnerApi(api=environ.get(GITHUB_API, GITHUB), token=lambda _: token)
    return BrokerApi(
        stack=stack,
        address=partial(_published_broker, stack, project, bucket),
        token=partial(identity_token, project=project),
    )


def _named_broker(environ: Mapping[str, str]) -> str:
    """ConfigError for an address that a token must not be sent to."""
    url = environ[BROKER]
    if not is_safe(url):
        raise ConfigError([Problem(BROKER, url, "an address is https, or on this machine", "the broker's URL")])
    return url


def _published_broker(stack: str, project: str, bucket: str) -> str:
    """The broker of the manifest, asked for each time: it may be published while somebody watches."""
    try:
        with clients(project, None, hurried=True) as google:
            manifest = Records(google=google, bucket=bucket).read(names.manifest_object(stack))
    except GoogleError as error:
        raise GitHubError(str(error)) from None
    url = manifest.body.get("broker") if manifest else None
    if not isinstance(url, str) or not is_safe(url):
        raise GitHubError(NO_WAY)
    return url
