"""What a stack needs of the local GitHub, made where it is not there: repositories, an organisation with runner groups,
an app and its key in a secret."""

from __future__ import annotations

import base64
from collections.abc import Collection
from dataclasses import dataclass

from infra.fleet.google import Api, GoogleError, clients, execute
from infra.local.cloud.github.control import GitHubControl
from infra.model.schema import StackConfig

PERMISSIONS = {"administration": "write", "actions": "read", "organization_self_hosted_runners": "write"}
_TAKEN = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalApp:
    """An app of the local GitHub. key_secret: its version in Secret Manager. api: the address of GitHub."""

    id: int
    installation: int
    key_secret: str
    api: str


def repositories_served(config: StackConfig) -> tuple[str, ...]:
    """The repositories, `OWNER/NAME`, whose jobs a stack's pools take."""
    return tuple(sorted({repository for pool in config.pools for repository in pool.serves}))


def keep_served(control: GitHubControl, repositories: Collection[str], groups: Collection[str]) -> None:
    """Let GitHub know these repositories and, where runners go into groups, their owners as organisations with these.

    What is there stays as it is. At GitHub a person makes the groups, before the stack names them.
    """
    for repository in repositories:
        control.keep_repository(repository)
    if groups:
        for owner in sorted({repository.partition("/")[0] for repository in repositories}):
            control.add_organization(owner, groups=sorted(groups))


def local_app(url: str, project: str, *, slug: str, account: str) -> LocalApp:
    """The app of that name on an account, with a fresh key."""
    control = GitHubControl(url)
    app = control.add_app(slug, account=account, permissions=PERMISSIONS)
    control.forget_app_keys(app["id"])
    secret = f"{slug}-app-key"
    with clients(project, url) as google:
        secrets = google.api(Api.SECRETS).projects().secrets()
        try:
            body = {"replication": {"automatic": {}}}
            execute(secrets.create(parent=f"projects/{project}", secretId=secret, body=body), f"making {secret}")
        except GoogleError as error:
            if error.status != _TAKEN:
                raise
        name = f"projects/{project}/secrets/{secret}"
        payload = {"payload": {"data": base64.b64encode(app["key"].encode()).decode()}}
        execute(secrets.addVersion(parent=name, body=payload), f"writing {secret}")
    return LocalApp(
        id=app["id"], installation=app["installation"], key_secret=f"{name}/versions/latest", api=control.api
    )
