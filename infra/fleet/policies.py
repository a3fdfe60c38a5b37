"""Reading the policies of what a stack declares, and telling the grants in them that no stack does.

Owns the calls. What counts as declared is `infra.model.grants`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.model.grants import Guarded, StrangeGrant, guarded, strange
from infra.model.schema import StackConfig

_ABSENT: Final = 404
_VERSION: Final = 3
"""Of a policy, so that bindings with a condition are answered whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantsSeen:
    """What was found. unread: of which no policy could be read, and why, as sentences."""

    strange: tuple[StrangeGrant, ...] = ()
    unread: tuple[str, ...] = ()


def grants_seen(config: StackConfig, stacks: Sequence[StackConfig], endpoint: str | None) -> GrantsSeen:
    """Read every policy of a stack. stacks: all of the checkout, this one among them. What is not made yet has none.

    Raises GoogleError where credentials are missing.
    """
    clients(config.project, endpoint)
    by_kind: dict[str, list[Guarded]] = {}
    for thing in guarded(config):
        by_kind.setdefault(thing.kind, []).append(thing)

    def read(things: list[Guarded]) -> list[tuple[StrangeGrant, ...] | str]:
        with clients(config.project, endpoint, hurried=True) as google:
            return [_read(google, thing, stacks) for thing in things]

    with ThreadPoolExecutor(max_workers=len(by_kind)) as readers:
        found = [each for some in readers.map(read, by_kind.values()) for each in some]
    return GrantsSeen(
        strange=tuple(sorted(grant for each in found if not isinstance(each, str) for grant in each)),
        unread=tuple(each for each in found if isinstance(each, str)),
    )


def _read(google: Clients, thing: Guarded, stacks: Sequence[StackConfig]) -> tuple[StrangeGrant, ...] | str:
    """Its strange grants, or why its policy is not known."""
    try:
        policy = execute(_request(google, thing), f"reading who may use {thing.kind} {thing.name}")
    except GoogleError as error:
        return () if error.status == _ABSENT else str(error)
    return tuple(strange(thing, policy, stacks))


def _request(google: Clients, thing: Guarded) -> Any:
    match thing.kind:
        case "registry":
            places = google.api(Api.ARTIFACTS).projects().locations().repositories()
            return places.getIamPolicy(resource=thing.name, options_requestedPolicyVersion=_VERSION)
        case "bucket":
            buckets = google.api(Api.STORAGE).buckets()
            return buckets.getIamPolicy(bucket=thing.name, optionsRequestedPolicyVersion=_VERSION)
        case "account":
            accounts = google.api(Api.IAM).projects().serviceAccounts()
            return accounts.getIamPolicy(resource=thing.name, options_requestedPolicyVersion=_VERSION)
        case "secret":
            secrets = google.api(Api.SECRETS).projects().secrets()
            return secrets.getIamPolicy(resource=thing.name, options_requestedPolicyVersion=_VERSION)
