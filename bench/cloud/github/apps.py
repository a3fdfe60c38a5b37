"""Who holds a token: a person, a workflow run, an installation, or an app that has signed its own; what apps are told.

Owns the checking of all of these, which is GitHub's, and the tokens that an app gets for its installation; an app here
has one, on one account. Leaves what each may do to the handlers. Sources, read 2026-11:
https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app,
https://docs.github.com/rest/apps/apps
"""

from __future__ import annotations

import hashlib
import secrets

from bench.cloud import tokens
from bench.cloud.clock import whole_seconds
from bench.cloud.cloud import Cloud
from bench.cloud.github import records
from bench.cloud.github.routes import Ask, GitHubAnswer, GitHubError, Made, User, missing, serves

LIFE = 3600.0
"""Seconds that a token of an installation lasts."""
_RANK = {"read": 1, "write": 2}
LONGEST = 600
"""Seconds that a token which an app signs may last."""


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
    if not cloud.now < claims.get("exp", 0) <= cloud.now + LONGEST:
        raise GitHubError(401, "'exp' must be the time of a token that is good now, for ten minutes at most")
    body = found.body
    return User(login=f"{body['slug']}[bot]", app=True, permissions={}, app_id=body["id"]), f"app/{body['id']}"


@serves("POST", "/app/installations/{id}/access_tokens")
def create_installation_token(ask: Ask) -> GitHubAnswer:
    """With no more than the app was given; for some repositories of the account where they are named."""
    if ask.user.app_id is None:
        raise GitHubError(401, "A JSON web token could not be decoded")
    app = ask.cloud.store.get(records.APP, str(ask.user.app_id)).body
    if ask.number("id") != app["installation"]:
        raise missing()
    # No permissions and an empty object mean the same: PyGithub sends the latter and gets all there are.
    permissions, given = ask.body.get("permissions") or app["permissions"], app["permissions"]
    if any(_RANK[level] > _RANK.get(given.get(name, ""), 0) for name, level in permissions.items()):
        raise GitHubError(422, "The permissions requested are not granted to this installation.")
    repositories = ask.body.get("repositories")
    token, expires = f"ghs_{secrets.token_urlsafe(30)}", ask.cloud.now + LIFE
    content = {
        "login": f"{app['slug']}[bot]",
        "app": True,
        "permissions": permissions,
        "account": app["account"],
        "repositories": repositories and [name.lower() for name in repositories],
        "installation": app["installation"],
        "expires": expires,
    }
    ask.cloud.store.insert(records.TOKEN, token_digest(token), content, now=ask.cloud.now)
    selection = "selected" if repositories else "all"
    told = {"token": token, "expires_at": whole_seconds(expires), "permissions": permissions}
    return Made({**told, "repository_selection": selection})
