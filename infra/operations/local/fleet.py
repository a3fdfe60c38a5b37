"""How a fleet on the local cloud reaches GitHub."""

from __future__ import annotations

import os

from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.github import GitHub, RunnerApi
from infra.fleet.place import BROKER, Place, named_broker
from infra.local.cloud.github.control import GitHubControl
from infra.model import names
from infra.model.schema import StackConfig
from infra.operations.local.cloud import cloud_clock
from infra.operations.local.github import keep_served, repositories_served

_TOKEN = "tidepool-controller"  # noqa: S105 - known to the local GitHub alone, and to nobody else


def local_github(config: StackConfig, url: str, broker: str | None) -> GitHub:
    """The local GitHub of a stack; through a broker where one is named, by a token that the local cloud signs.

    It knows the repositories that the stack serves, and its groups.
    """
    control = GitHubControl(url)
    keep_served(control, repositories_served(config), (config.runners.groups or {}).values())
    control.add_token(_TOKEN, "tidepool-controller")
    if broker is None:
        return RunnerApi(api=control.api, token=lambda _: _TOKEN)
    email = names.account_email(names.role_account_id(config.stack, "controller"), config.project)
    return BrokerApi(
        stack=config.stack, address=lambda: broker, token=lambda audience: control.account_token(email, audience)
    )


def local_place(config: StackConfig, url: str) -> Place:
    """The place of a stack file on the local cloud, whose clock may be ahead of the wall's."""
    broker = named_broker(os.environ) if os.environ.get(BROKER) else None
    return Place(
        project=config.project,
        bucket=config.bucket.name,
        github=local_github(config, url, broker),
        endpoint=url,
        clock=cloud_clock(url),
        builds=config.builds is not None,
    )
