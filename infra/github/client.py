"""The way to GitHub: one maintained client, how patient it is, and who we are there.

Owns the client's settings and the words of its failures. Retries and back-off are the client's own: a gateway error, a
rate limit (primary, or secondary with its Retry-After) and a refused connection are asked again, edits included, which
are all written so that doing them twice does no harm.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import github
from github.Repository import Repository

from infra.model.errors import OutsideError

PUBLIC_API = "https://api.github.com"
WORKFLOW_LOGIN = "github-actions[bot]"
"""Who a workflow run's own token writes as; such a token may not ask GitHub for its name."""

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_ASKED_AGAIN = (429, *range(500, 600))
_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"})
_PAGE = 100


class PostError(OutsideError):
    """GitHub refused or could not be reached; the message says what was asked, the answer and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast and how patiently the client works, in seconds.

    between_requests, between_writes: GitHub's advice for avoiding secondary rate limits.
    backoff: the unit that doubles with every retry. secondary_wait: after a secondary limit without a Retry-After.
    longest_wait: the longest pause for a rate limit; a longer one is a failure.
    """

    between_requests: float = 0.25
    between_writes: float = 1.0
    backoff: float = 1.0
    secondary_wait: float = 60.0
    longest_wait: float = 300.0
    retries: int = 6


UNHURRIED = Pace()
ON_THIS_MACHINE = Pace(between_requests=0.0, between_writes=0.0, backoff=0.0, secondary_wait=0.0)
"""For a server that nobody else uses, such as the local GitHub."""


@dataclass(frozen=True, slots=True)
class Place:
    """A repository and the login that writes there, by which our own comments and issues are known from others'."""

    repository: Repository
    me: str


def connect(*, api: str, repository: str, token: str, pace: Pace | None = None) -> Place:
    """A repository at an API, `https://api.github.com` or a server's own root.

    Raises PostError for an address to which a token must not be sent, and where GitHub does not answer.
    """
    address = urlsplit(api)
    local = address.hostname in _LOOPBACK
    if address.scheme != "https" and not local:
        raise PostError(f"{api} is not https, so no token is sent to it; give an https address with --api")
    pace = pace or (ON_THIS_MACHINE if local else UNHURRIED)
    client = github.Github(
        base_url=api.rstrip("/"),
        auth=github.Auth.Token(token),
        per_page=_PAGE,
        lazy=True,
        user_agent="tidepool",
        seconds_between_requests=pace.between_requests,
        seconds_between_writes=pace.between_writes,
        retry=github.GithubRetry(
            secondary_rate_wait=pace.secondary_wait,
            max_rate_limit_wait=pace.longest_wait,
            total=pace.retries,
            backoff_factor=pace.backoff,
            status_forcelist=list(_ASKED_AGAIN),
            allowed_methods=_METHODS,
        ),
    )
    with failures_told(f"asking {api} who holds the token"):
        return Place(client.get_repo(repository), _login(client))


@contextmanager
def failures_told(doing: str) -> Generator[None]:
    """Turn whatever the client raises into one PostError that says what was being done."""
    try:
        yield
    except github.GithubException as refusal:
        raise PostError(f"{doing}: {_said(refusal)}") from None
    except OSError as broken:
        # The client's transport raises its own errors, all of them OSErrors.
        said = f"GitHub could not be reached, or its answer was lost ({type(broken).__name__})"
        raise PostError(f"{doing}: {said}; run the same command again") from None


def is_missing(refusal: github.GithubException) -> bool:
    return refusal.status == 404


def _login(client: github.Github) -> str:
    try:
        return client.get_user().login
    except github.GithubException as refusal:
        if refusal.status != 403:
            raise
        return WORKFLOW_LOGIN


def _said(refusal: github.GithubException) -> str:
    message = refusal.data.get("message", "") if isinstance(refusal.data, dict) else ""
    hints = {
        401: "GITHUB_TOKEN is not valid",
        403: "the token lacks a permission, or the rate limit is used up; docs/github.md lists what is needed",
        404: "the repository or what was asked for is not there, or the token may not see it",
    }
    hint = hints.get(refusal.status, "run the same command again")
    return f"GitHub answered {refusal.status} {message}".rstrip() + f" ({hint})"
