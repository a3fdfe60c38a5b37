"""One member of one role in the IAM policy of something: additive grants.

Owns the cycle that the official provider runs as well: read the policy, change one binding, write it with the etag that
was read, and begin again where somebody else was faster (409). One at a time per policy in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from bench.providers.google.resource import ResourceCall
from bench.providers.google.rest import Rest
from bench.providers.google.spellings import condition_parts, tidy_member
from bench.providers.google.transport import ApiError

Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]

_VERSION = 3  # The policy version that has conditions; always asked for and always sent.
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IamMember(Rest):
    """A grant; `item` is what has the policy.

    get, put: verb and the end of the path by which the policy is read and written. asked: the body of a read. said:
    what a write says beside the policy, which stands alone in it where it is not wrapped.
    """

    get: str
    put: str = "POST :setIamPolicy"
    asked: Mapping[str, Any] | None = None
    said: Mapping[str, Any] = field(default_factory=dict)
    wrapped: bool = True

    def create(self, call: ResourceCall) -> None:
        grant = call.body
        self._change(call, lambda bindings: _with(bindings, grant))

    def read(self, call: ResourceCall) -> dict[str, Any] | None:
        """The grant, None where it is gone."""
        method, path = self._at(call, self.get)
        policy = call.find(path, method=method, body=self.asked) or {}
        wanted = tidy_member(call.values["member"])
        found = (
            {"role": binding["role"], "member": member, "etag": policy.get("etag", "")}
            | ({"condition": binding["condition"]} if binding.get("condition") else {})
            for binding in policy.get("bindings") or []
            for member in binding.get("members", [])
            if _is_of(binding, call.values) and tidy_member(member) == wanted
        )
        return next(found, None)

    def update(self, call: ResourceCall) -> None:
        """Every input replaces, so there is nothing that could change in place."""

    def delete(self, call: ResourceCall) -> None:
        grant = call.values
        self._change(call, lambda bindings: _without(bindings, grant))

    def _change(self, call: ResourceCall, change: Change) -> None:
        wait = _FIRST_WAIT
        while True:
            with call.api.turn(self.path(call)):
                policy = call.send(*self._at(call, self.get), body=self.asked)
                policy["bindings"] = change(policy.get("bindings") or [])
                policy["version"] = _VERSION
                body = {"policy": policy, **self.said} if self.wrapped else policy
                try:
                    call.send(*self._at(call, self.put), body=body)
                except ApiError as error:
                    if error.code != HTTPStatus.CONFLICT or call.deadline.left() <= wait:
                        raise
                else:
                    return
            call.deadline.pause(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _at(self, call: ResourceCall, endpoint: str) -> tuple[str, str]:
        method, _, suffix = endpoint.partition(" ")
        return method, f"{self.path(call)}{suffix}"


def _is_of(binding: Mapping[str, Any], grant: Mapping[str, Any]) -> bool:
    return binding.get("role") == grant["role"] and condition_parts(binding) == condition_parts(grant)


def _with(bindings: list[dict[str, Any]], grant: Mapping[str, Any]) -> list[dict[str, Any]]:
    member = tidy_member(grant["member"])
    for binding in bindings:
        if _is_of(binding, grant):
            if member not in binding.setdefault("members", []):
                binding["members"].append(member)
            return bindings
    made = {"role": grant["role"], "members": [member]}
    return [*bindings, made | ({"condition": grant["condition"]} if grant.get("condition") else {})]


def _without(bindings: list[dict[str, Any]], grant: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A member that was alone takes its binding along."""
    member = tidy_member(grant["member"])
    kept: list[dict[str, Any]] = []
    for binding in bindings:
        if _is_of(binding, grant):
            binding["members"] = [each for each in binding.get("members", []) if tidy_member(each) != member]
        if binding.get("members"):
            kept.append(binding)
    return kept
