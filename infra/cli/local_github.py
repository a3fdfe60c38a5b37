"""What a broker needs of the local cloud, made where it is not there: repositories, an app and its key in a secret."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from infra.fleet.google import Api, GoogleError, clients, execute
from infra.local.cloud.github.control import GitHubControl

PERMISSIONS = {"administration": "write", "actions": "read", "organization_self_hosted_runners": "write"}
_TAKEN = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalApp:
    """An app of the local GitHub. key_secret: its version in Secret Manager. api: the address of GitHub."""

    id: int
    installation: int
    key_secret: str
    api: str


def local_app(url: str, project: str, *, slug: str, repositories: Sequence[str]) -> LocalApp:
    """The app of that name on the account of the first repository, with a fresh key."""
    control = GitHubControl(url)
    for repository in repositories:
        control.keep_repository(repository)
    app = control.add_app(slug, account=repositories[0].partition("/")[0], permissions=PERMISSIONS)
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
