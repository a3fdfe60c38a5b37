"""What a stack needs of the local GitHub, made where it is not there: repositories, an organisation with runner groups,
an app and its key in a secret; and the place of its fleet, which reaches GitHub by it."""

from __future__ import annotations

import base64
import os
from collections.abc import Collection
from contextlib import suppress

from bench.cloud.control import Control
from bench.operations.cloud import cloud_clock
from infra.fleet.broker import settings
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.controller.github import GitHub, RunnerApi
from infra.fleet.google import Api, GoogleError, clients, execute
from infra.fleet.place import BROKER, FleetPlace, named_broker
from infra.model import names
from infra.model.schema import StackConfig

PERMISSIONS = {"administration": "write", "actions": "read", "organization_self_hosted_runners": "write"}


def repositories_served(config: StackConfig) -> tuple[str, ...]:
    """The repositories, `OWNER/NAME`, whose jobs a stack's pools take."""
    return tuple(sorted({repository for pool in config.pools for repository in pool.serves}))


def keep_served(control: Control, repositories: Collection[str], groups: Collection[str]) -> None:
    """Let GitHub know these repositories and, where runners go into groups, their owners as organisations with these.

    What is there stays as it is. At GitHub a person makes the groups, before the stack names them.
    """
    for repository in repositories:
        control.add_repository(repository)
    if groups:
        for owner in sorted({repository.partition("/")[0] for repository in repositories}):
            control.add_organization(owner, groups=sorted(groups))


def local_app(url: str, project: str, *, slug: str, account: str) -> dict[str, str]:
    """The app of that name on an account, with a fresh key, as settings of a broker."""
    control = Control(url)
    app = control.add_app(slug, account=account, permissions=PERMISSIONS)
    control.forget_app_keys(app["id"])
    secret = f"{slug}-app-key"
    name = f"projects/{project}/secrets/{secret}"
    with clients(project, url) as google:
        secrets = google.api(Api.SECRETS).projects().secrets()
        with suppress(GoogleError):  # it is there already, and gets another version
            body = {"replication": {"automatic": {}}}
            execute(secrets.create(parent=f"projects/{project}", secretId=secret, body=body), f"making {secret}")
        payload = {"payload": {"data": base64.b64encode(app["key"].encode()).decode()}}
        execute(secrets.addVersion(parent=name, body=payload), f"writing {secret}")
    return {
        settings.APP: str(app["id"]),
        settings.INSTALLATION: str(app["installation"]),
        settings.KEY_SECRET: f"{name}/versions/latest",
        settings.GITHUB_API: control.api,
    }


_TOKEN = "tidepool-controller"  # noqa: S105 - known to the local GitHub alone, and to nobody else


def local_github(config: StackConfig, url: str, broker: str | None) -> GitHub:
    """The local GitHub of a stack; through a broker where one is named, by a token that the local cloud signs.

    It knows the repositories that the stack serves, and its groups.
    """
    control = Control(url)
    keep_served(control, repositories_served(config), (config.runners.groups or {}).values())
    control.add_token(_TOKEN, "tidepool-controller")
    if broker is None:
        return RunnerApi(api=control.api, token=lambda _: _TOKEN)
    email = names.account_email(names.role_account_id(config.stack, "controller"), config.project)
    return BrokerApi(
        stack=config.stack, address=lambda: broker, token=lambda audience: control.account_token(email, audience)
    )


def local_place(config: StackConfig, url: str) -> FleetPlace:
    """The place of a stack file on the local cloud, whose clock may be ahead of the wall's."""
    broker = named_broker(os.environ) if os.environ.get(BROKER) else None
    return FleetPlace(
        project=config.project,
        bucket=config.bucket.name,
        github=local_github(config, url, broker),
        endpoint=url,
        clock=cloud_clock(url),
        builds=config.builds is not None,
    )
