"""Who holds a token: a person, a workflow run, an installation, or an app that has signed its own; what apps are told.

Owns the checking of all of these, which is GitHub's, and the tokens that an app gets for its installation; an app here
has one, on one account. Leaves what each may do to the handlers. Sources, read 2026-11:
https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app,
https://docs.github.com/rest/apps/apps
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from bench.cloud import tokens
from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud
from bench.cloud.errors import JsonObject
from bench.cloud.github import records
from bench.cloud.github.routes import Ask, GitHubAnswer, GitHubError, Made, User, missing, serves, unprocessable

LIFE = 3600.0
"""Seconds that a token of an installation lasts."""
_RANK = {"read": 1, "write": 2}
LONGEST = 600
"""Seconds that a token which an app signs may last."""
_DRIFT = 60


def holder(cloud: Cloud, authorization: str) -> tuple[User, str]:
    """Who sends this header, and the account whose rate it counts against. Raises 401."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() not in ("token", "bearer"):
        raise GitHubError(401, "Bad credentials")
    if token.count(".") == 2:
        return _signer(cloud, token)
    digest = token_digest(token)
    found = cloud.store.find(records.TOKEN, digest)
    if found is None or found.body.get("expires", cloud.now) < cloud.now:
        raise GitHubError(401, "Bad credentials")
    body = dict(found.body)
    body.pop("expires", None)
    account = body.pop("installation", None)
    return User(**body), f"installation/{account}" if account else digest


def token_digest(token: str) -> str:
    """What stands for a token in the store, which never holds one in clear."""
    return hashlib.sha256(token.encode()).hexdigest()


def _signer(cloud: Cloud, token: str) -> tuple[User, str]:
    issuer = str(tokens.unverified(token).get("iss", ""))
    found = cloud.store.find(records.APP, issuer)
    claims = tokens.verified(token, found.body["keys"]) if found else None
    if found is None or claims is None:
        raise GitHubError(401, "A JSON web token could not be decoded")
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(expires, int) or expires <= cloud.now:
        raise GitHubError(401, "'Expiration time' claim ('exp') must be a numeric value representing the future time")
    if expires > cloud.now + LONGEST:
        raise GitHubError(401, "'Expiration time' claim ('exp') is too far in the future")
    if not isinstance(issued, int) or issued > cloud.now + _DRIFT:
        raise GitHubError(401, "'Issued at' claim ('iat') must be an Integer representing the time of the assertion")
    body = found.body
    return User(login=f"{body['slug']}[bot]", app=True, permissions={}, app_id=body["id"]), f"app/{body['id']}"


@serves("POST", "/app/installations/{id}/access_tokens")
def create_installation_token(ask: Ask) -> GitHubAnswer:
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
            "expires_at": whole_seconds(ask.cloud.now + LIFE),
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
