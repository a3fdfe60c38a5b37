"""Where the fleet of a stack file is, and who is asked about it. The local GitHub knows a token of its own.

What the environment says of a fleet, and the ways to GitHub, are `infra.fleet.place`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from infra.cli.local_github import keep_served, repositories_served
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.github import GitHub, RunnerApi
from infra.fleet.place import BROKER, Place, github_way, named_broker
from infra.local.cloud.control import CloudClock, Control
from infra.local.cloud.github.control import GitHubControl
from infra.model import names
from infra.model.schema import StackConfig

_LOCAL_TOKEN = "tidepool-controller"  # noqa: S105 - known to the local GitHub alone, and to nobody else


def declared_place(config: StackConfig, endpoint: str | None) -> Place:
    """The place of a stack file. The local GitHub knows the repositories that the stack serves, and its groups.

    endpoint: root of the local cloud, whose time may be ahead of the wall's; None for Google.
    """
    project, bucket = config.project, config.bucket.name
    if endpoint is None:
        github = github_way(config.stack, project, bucket, os.environ)
        return Place(project=project, bucket=bucket, endpoint=None, github=github)
    control = GitHubControl(endpoint)
    keep_served(control, repositories_served(config), (config.runners.groups or {}).values())
    control.add_token(_LOCAL_TOKEN, "tidepool-controller")
    github = _local_github(config, control, os.environ)
    clock = CloudClock(Control(endpoint))
    return Place(project=project, bucket=bucket, endpoint=endpoint, github=github, clock=clock)


def _local_github(config: StackConfig, control: GitHubControl, environ: Mapping[str, str]) -> GitHub:
    """The local GitHub; through a broker where one is named, by a token that the local cloud signs."""
    if not environ.get(BROKER):
        return RunnerApi(api=control.api, token=lambda _: _LOCAL_TOKEN)
    url, account = named_broker(environ), names.role_account_id(config.stack, "controller")
    email = names.account_email(account, config.project)
    return BrokerApi(
        stack=config.stack, address=lambda: url, token=lambda audience: control.account_token(email, audience)
    )
