"""One repository at GitHub as whoever posts there sees it: how patient it is, who we are, and how a failure is told.

A gateway error, a rate limit and a refused connection are asked again, edits included, which are all written so that
doing them twice does no harm. What creates something is not sent again where no answer came: it may have been done.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, TypeAdapter, ValidationError

from infra.fleet.github_api import Answered, CallError, GitHubClient, Patience
from infra.model.errors import OutsideError

WORKFLOW_LOGIN: Final = "github-actions[bot]"
"""Who a workflow run's own token writes as; such a token may not ask GitHub for its name."""
PATIENT: Final = Patience(tries=7, answer=30.0, backoff=1.0, limit=300.0, between_writes=1.0, repeats=False)
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_FORBIDDEN: Final = 403
_PAGE: Final = 100
_HINTS: Final[Mapping[int | None, str]] = {
    None: "GitHub could not be reached, or its answer was lost; run the same command again",
    301: "the repository was renamed or moved; write its name of today",
    401: "GITHUB_TOKEN is not valid",
    403: "the token lacks a permission, or the rate limit is used up; docs/github.md lists what is needed",
    404: "the repository or what was asked for is not there, or the token may not see it",
}


class PostError(OutsideError):
    """GitHub refused or could not be reached; the message says what was asked, the answer and what to do."""


class Author(BaseModel):
    login: str


Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingPlace:
    """A repository and the login that writes there, by which our own comments and issues are known from others'."""

    repository: str
    me: str
    client: GitHubClient = field(repr=False)
    token: str = field(repr=False)

    def ask(
        self, verb: str, path: str, body: Mapping[str, Any] | None = None, takes: frozenset[int] = frozenset()
    ) -> Answered:
        """One call below the repository; none for the repository itself. Raises CallError."""
        whole = f"repos/{self.repository}/{path}".rstrip("/")
        return self.client.ask(verb, whole, token=self.token, body=body, takes=takes)

    def listed(self, path: str, shape: type[Shape]) -> list[Shape]:
        """Every element of a list, from every page."""
        found: list[Shape] = []
        while True:
            page = f"per_page={_PAGE}&page={len(found) // _PAGE + 1}"
            answer = self.ask("GET", f"{path}{'&' if '?' in path else '?'}{page}").body
            items = TypeAdapter(list[dict[str, Any]]).validate_python(answer)
            found += [shape.model_validate(each) for each in items]
            if len(items) < _PAGE:
                return found


def connect(*, api: str, repository: str, token: str, patience: Patience | None = None) -> PostingPlace:
    """A repository at an API, `https://api.github.com` or a server's own root.

    Raises PostError for an address to which a token must not be sent, and where GitHub does not answer.
    """
    address = urlsplit(api)
    local = address.hostname in _LOOPBACK
    if address.scheme != "https" and not local:
        raise PostError(f"{api} is not https, so no token is sent to it; give an https address with --api")
    # What nobody else uses needs no pauses.
    patience = patience or (replace(PATIENT, backoff=0.0, between_writes=0.0) if local else PATIENT)
    # Comments are compared with what we wrote.
    client = GitHubClient(api, "tidepool", patience, verbatim=True)
    with failures_told(f"asking {api} who holds the token"):
        found = client.ask("GET", "user", token=token, takes=frozenset({_FORBIDDEN}))
        me = WORKFLOW_LOGIN if found.status == _FORBIDDEN else Author.model_validate(found.body).login
    return PostingPlace(repository=repository, me=me, client=client, token=token)


@contextmanager
def failures_told(doing: str) -> Generator[None]:
    """Turn whatever the client raises into one PostError that says what was being done."""
    try:
        yield
    except CallError as refusal:
        hint = _HINTS.get(refusal.status, "run the same command again")
        raise PostError(f"{doing}: {refusal} ({hint})") from None
    except ValidationError:
        raise PostError(f"{doing}: GitHub's answer has another shape; is --api the address of its REST API?") from None
