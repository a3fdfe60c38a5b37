"""Where a fleet is and who is asked about it: project, bucket, cloud, the way to GitHub, the clock.

Owns what the environment says of it, as on Cloud Run, and by which way GitHub is asked: through the broker that
TIDEPOOL_BROKER names; else by a person's GITHUB_TOKEN; else through the broker of the published manifest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import google.auth
import urllib3
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.urllib3 import Request
from google.oauth2 import credentials, id_token

from infra.fleet.broker.settings import BUCKET, GITHUB_API, GOOGLE_ENDPOINT, PROJECT, is_safe
from infra.fleet.controller.act import Actor
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.github import NO_WAY, GitHub, GitHubError, RunnerApi
from infra.fleet.controller.observe import Observer
from infra.fleet.controller.sweep import Sweeper
from infra.fleet.google import Clients, GoogleError, clients
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.clock import Clock, machine_clock  # noqa: TID251 - a place that the environment names is on Google
from infra.model.errors import ConfigError, Problem
from infra.model.names import GITHUB

BROKER: Final = "TIDEPOOL_BROKER"
TOKEN: Final = "GITHUB_TOKEN"  # noqa: S105 - a name
BUILDS: Final = "TIDEPOOL_BUILDS"
"""Set where the fleet's stack builds images, so that its sweeps tell of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlace:
    """Where a fleet is. endpoint: the root URL that takes the place of Google's APIs, None for Google itself.

    clock: the cloud's own time. builds: whether its stack builds images.
    """

    project: str
    bucket: str
    endpoint: str | None
    github: GitHub
    clock: Clock
    builds: bool = False

    @property
    def observer(self) -> Observer:
        return Observer(project=self.project, bucket=self.bucket, endpoint=self.endpoint, github=self.github)

    @contextmanager
    def records(self) -> Generator[Records]:
        """The records of the fleet bucket, for as long as the block lasts."""
        with clients(self.project, self.endpoint) as google:
            yield Records(google=google, bucket=self.bucket)

    def sweeper(self, stack: str, google: Clients, *, pause: Callable[[float], None] = time.sleep) -> Sweeper:
        """Sweeps over a stack here. google: clients of this place. pause: waits so many seconds.

        Where the cloud's time is this machine's, its clock is put right by the Date of the services' answers.
        """
        records = Records(google=google, bucket=self.bucket)

        def actor(desired: Desired) -> Actor:
            return Actor(google=google, records=records, github=self.github, desired=desired, sleep=pause)

        clock = google.present if self.clock is machine_clock else self.clock
        return Sweeper(stack=stack, records=records, observer=self.observer, actor=actor, clock=clock)


def told_place(stack: str, environ: Mapping[str, str], *, stand_in: bool = False) -> FleetPlace | None:
    """The place that the environment names, as a Cloud Run job has it, which has no stack file and asks nobody.

    stand_in: whether it may name what takes the place of Google's APIs; for a command the cloud is said by its name.
    None where it names no project or no bucket. ConfigError for an address that must not be called.
    """
    project, bucket = environ.get(PROJECT), environ.get(BUCKET)
    if not project or not bucket:
        return None
    endpoint = (stand_in and environ.get(GOOGLE_ENDPOINT)) or None
    if endpoint is not None:
        _check(GOOGLE_ENDPOINT, endpoint, "the root of what takes the place of Google's APIs, or nothing for Google")
    github = github_way(stack, project, bucket, environ, endpoint=endpoint)
    builds = bool(environ.get(BUILDS))
    return FleetPlace(
        project=project, bucket=bucket, endpoint=endpoint, github=github, clock=machine_clock, builds=builds
    )


def github_way(
    stack: str, project: str, bucket: str, environ: Mapping[str, str], *, endpoint: str | None = None
) -> GitHub:
    """On Cloud Run a broker is the only way: there is no credential of GitHub's in the controller's environment.

    endpoint: as of the place, where its manifest is read.
    """
    if environ.get(BROKER):
        url = named_broker(environ)
        return BrokerApi(stack=stack, address=lambda: url, token=partial(identity_token, project=project))
    if token := environ.get(TOKEN):
        return RunnerApi(api=environ.get(GITHUB_API, GITHUB), token=lambda _: token)
    return BrokerApi(
        stack=stack,
        address=partial(_published_broker, stack, project, bucket, endpoint),
        token=partial(identity_token, project=project),
    )


def named_broker(environ: Mapping[str, str]) -> str:
    """ConfigError for an address that a token must not be sent to."""
    url = environ[BROKER]
    _check(BROKER, url, "the broker's URL")
    return url


def _check(name: str, address: str, fix: str) -> None:
    if not is_safe(address):
        raise ConfigError([Problem(name, address, "neither https nor on this machine", fix)])


def _published_broker(stack: str, project: str, bucket: str, endpoint: str | None) -> str:
    """The broker of the manifest, asked for each time: it may be published while somebody watches."""
    try:
        with clients(project, endpoint, hurried=True) as google:
            manifest = Records(google=google, bucket=bucket).read(bucket_names.manifest_object(stack))
    except GoogleError as error:
        raise GitHubError(str(error)) from None
    url = manifest.body.get("broker") if manifest else None
    if not isinstance(url, str) or not is_safe(url):
        raise GitHubError(NO_WAY)
    return url


def identity_token(audience: str, *, project: str) -> str:
    """A token that Google signs for whoever runs this and for one audience, not kept here. project: the fleet's.

    From the metadata server on Cloud Run or a VM, or a service account's own key. GoogleError where there is none.
    """
    with urllib3.PoolManager() as http:
        try:
            found, _ = google.auth.default(quota_project_id=project)
            if isinstance(found, credentials.Credentials):
                # Said here: Google's library would look for a metadata server for ten seconds first.
                raise GoogleError("getting an identity token", "a person's credentials give none for an audience")
            return id_token.fetch_id_token(Request(http), audience)
        except GoogleAuthError as error:
            raise GoogleError("getting an identity token", str(error)) from None
