"""Who holds a token: a person's or a workflow run's, an installation's, or one that an app has signed itself.

Owns the checking of all three, which is GitHub's: https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app
(read 2026-11). Leaves what each may do to the handlers.
"""

from __future__ import annotations

import hashlib

from infra.local.cloud import tokens
from infra.local.cloud.cloud import Cloud
from infra.local.cloud.github import records
from infra.local.cloud.github.routes import GitHubError, User

LONGEST = 600
"""Seconds that a token which an app signs may last."""
_DRIFT = 60


def holder(cloud: Cloud, authorization: str) -> tuple[User, str]:
    """Who sends this header, and the account whose rate it counts against. Raises 401."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() not in ("token", "bearer"):
        raise GitHubError(401, "Bad credentials")
    if token.count(".") == 2:
        return _app(cloud, token)
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


def _app(cloud: Cloud, token: str) -> tuple[User, str]:
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
