"""Which requests the local GitHub answers: a table of verbs and path templates, filled in by decorators.

Owns matching of paths, what a handler is given and how GitHub says no. Leaves behaviour to the modules that register.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError, JsonObject


class GitHubError(ApiError):
    """A refusal in GitHub's shape. headers: such as Retry-After."""

    def __init__(self, code: int, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code, message)
        self.headers = headers or {}

    def to_json(self) -> JsonObject:
        return {"message": self.message}


def missing() -> GitHubError:
    return GitHubError(404, "Not Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who asks. app: a token of a workflow run or an app, which may not ask who it is.

    permissions: GitHub's names to `read` or `write`; None for a token that may do everything.
    app_id: set where an app speaks for itself, which it may do only to get a token of an installation.
    account: the organisation or person that an installation's token is for, None for every other token.
    repositories: those of the account, in lower case, that such a token reaches; None for all.
    """

    login: str
    app: bool = False
    permissions: Mapping[str, str] | None = None
    app_id: int | None = None
    account: str | None = None
    repositories: Sequence[str] | None = None

    def reaches(self, where: str) -> bool:
        """Whether a repository (`owner/name`) or an organisation is within what the token was given for."""
        if self.account is None or not where:
            return True
        owner, _, name = where.lower().partition("/")
        return owner == self.account.lower() and (not name or self.repositories is None or name in self.repositories)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. ids: variables of the path, decoded. base: where paths start for the client.

    where: the repository, `owner/name` in the spelling it was made with, or the organisation, as `records.scope` has
    it; empty where the path names neither.
    """

    cloud: Cloud
    user: User
    ids: Mapping[str, str]
    query: Mapping[str, str]
    body: JsonObject
    base: str
    where: str

    def number(self, name: str) -> int:
        """A numeric variable of the path. Raises 404."""
        if not self.ids[name].isdigit():
            raise missing()
        return int(self.ids[name])

    def demand(self, *names: str, level: str = "write") -> None:
        """Raises 403 unless the token has one of these permissions. level: `read` takes one to write with as well."""
        given = self.user.permissions
        if given is not None and not any(given.get(name) in (level, "write") for name in names):
            raise GitHubError(403, "Resource not accessible by integration")


@dataclass(frozen=True, slots=True)
class Paged:
    """Everything there is to list; the hub cuts the page. key: of the object around the array, None for a bare one."""

    items: Sequence[JsonObject]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """An answer of 201."""

    body: Any


GitHubAnswer: TypeAlias = "JsonObject | list[JsonObject] | Paged | Made | None"
Handler: TypeAlias = "Callable[[Ask], GitHubAnswer]"


ROUTES: list[tuple[str, re.Pattern[str], Handler]] = []


def serves(verb: str, template: str) -> Callable[[Handler], Handler]:
    """Register a function as the answer to a verb on a path such as `/repos/{owner}/{name}/labels`."""

    def register(handler: Handler) -> Handler:
        ROUTES.append((verb, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", template)), handler))
        return handler

    return register


def find(verb: str, path: str) -> tuple[Handler, dict[str, str]]:
    """The handler of a path with its variables. No two fit the same verb and path. Raises 404."""
    for served, pattern, handler in ROUTES:
        if served == verb and (found := pattern.fullmatch(path)):
            return handler, {name: unquote(text) for name, text in found.groupdict().items()}
    raise missing()
