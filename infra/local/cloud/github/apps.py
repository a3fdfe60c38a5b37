"""Apps: what one says of itself, and the tokens it gets for its installation.

https://docs.github.com/rest/apps/apps, read 2026-11. An app here has one installation, on one account.
"""

from __future__ import annotations

import secrets
from typing import Any

from infra.local.cloud.errors import JsonObject
from infra.local.cloud.github import records
from infra.local.cloud.github.credentials import token_digest
from infra.local.cloud.github.routes import Answer, Ask, GitHubError, Made, missing, serves, unprocessable

LIFE = 3600.0
"""Seconds that a token of an installation lasts."""
_RANK = {"read": 1, "write": 2}


@serves("GET", "/app")
def get_app(ask: Ask) -> Answer:
    app = _app(ask)
    return {"id": app["id"], "slug": app["slug"], "permissions": app["permissions"], "installations_count": 1}


@serves("POST", "/app/installations/{id}/access_tokens")
def create_installation_token(ask: Ask) -> Answer:
    """With no more than the app was given; for some repositories of the account where they are named."""
    app = _app(ask)
    if ask.number("id") != app["installation"]:
        raise missing()
    permissions = _permissions(ask, app["permissions"])
    repositories = _repositories(ask, app)
    token = f"ghs_{secrets.token_urlsafe(30)}"
    content = {
        "login": f"{app['slug']}[bot]",
        "app": True,
        "permissions": permissions,
        "account": app["account"],
        "repositories": repositories,
        "installation": app["installation"],
        "expires": ask.cloud.now + LIFE,
    }
    ask.cloud.store.insert(records.TOKEN, token_digest(token), content, now=ask.cloud.now)
    return Made(
        {
            "token": token,
            "expires_at": records.stamp(ask.cloud.now + LIFE),
            "permissions": permissions,
            "repository_selection": "all" if repositories is None else "selected",
        }
    )


def _app(ask: Ask) -> JsonObject:
    """The app that asks in its own name; anybody else is refused."""
    if ask.user.app_id is None:
        raise GitHubError(401, "A JSON web token could not be decoded")
    return ask.cloud.store.get(records.APP, str(ask.user.app_id)).body


def _permissions(ask: Ask, given: JsonObject) -> JsonObject:
    # No permissions and an empty object mean the same: PyGithub sends the latter and gets all there are.
    wanted: Any = ask.body.get("permissions") or given
    if not isinstance(wanted, dict) or any(level not in _RANK for level in wanted.values()):
        raise unprocessable("InstallationToken", "permissions", "invalid")
    if any(_RANK[level] > _RANK.get(given.get(name, ""), 0) for name, level in wanted.items()):
        raise GitHubError(422, "The permissions requested are not granted to this installation.")
    return wanted


def _repositories(ask: Ask, app: JsonObject) -> list[str] | None:
    wanted: Any = ask.body.get("repositories")
    if wanted is None:
        return app["repositories"]
    if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
        raise unprocessable("InstallationToken", "repositories", "invalid")
    for name in wanted:
        known = ask.cloud.store.find(records.REPOSITORY, records.key(f"{app['account']}/{name}"))
        if known is None or (app["repositories"] is not None and name.lower() not in app["repositories"]):
            raise GitHubError(
                422, "There is at least one repository that does not exist or is not accessible to the installation."
            )
    return [name.lower() for name in wanted]
