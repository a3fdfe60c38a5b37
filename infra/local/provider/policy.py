"""One member of one role in the IAM policy of something: additive grants.

Owns the cycle that the official provider runs as well: read the policy, change one binding, write it with the etag that
was read, and begin again where somebody else was faster (409). One at a time per policy in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from infra.local.engine.provider import ProviderError
from infra.local.provider.resource import Call, Path
from infra.local.provider.transport import ApiError

Policy = dict[str, Any]
Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]

_VERSION = 3  # The policy version that has conditions; always asked for and always sent.
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0
_CASE_MATTERS = ("principal:", "principalSet:", "principalHierarchy:")
_EVERYBODY = ("allUsers", "allAuthenticatedUsers")
_CONDITION = ("title", "description", "expression")


def tidy_member(member: str) -> str:
    """Google keeps members in lower case, but for those of workload identity."""
    kind, colon, who = member.partition(":")
    return member if not colon or case_matters(member) else f"{kind}:{who.lower()}"


def case_matters(member: str) -> bool:
    """Whether upper and lower case make different members of this one."""
    return member.startswith(_CASE_MATTERS) or any(each in member for each in _EVERYBODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """How a policy is read or written: the verb, and what goes with it. The path is below the policy's owner."""

    method: str
    suffix: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    wrapped: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class IamMember:
    """A grant. owner: what has the policy, version included. get, put: how its policy is read and written."""

    owner: Path
    get: Endpoint
    put: Endpoint

    def create(self, call: Call) -> None:
        grant = call.body
        self._change(call, lambda bindings: _with(bindings, grant))

    def read(self, call: Call) -> dict[str, Any] | None:
        """The grant, None where it is gone. An import knows a condition by its title alone, which must be unique."""
        path, get = self._get_path(call), self.get
        policy = call.find(path, method=get.method, query=get.query, body=get.body) or {}
        wanted = tidy_member(call.values["member"])
        found = [
            {"role": binding["role"], "member": member, "etag": policy.get("etag", "")}
            | ({"condition": binding["condition"]} if binding.get("condition") else {})
            for binding in policy.get("bindings") or []
            for member in binding.get("members", [])
            if _is_asked_for(binding, call.values) and tidy_member(member) == wanted
        ]
        if len(found) > 1:
            title = _condition(call.values)[0]
            raise ProviderError(
                f"a grant with the condition title {title!r} is not one: {len(found)} conditions have it"
            )
        return found[0] if found else None

    def update(self, call: Call) -> None:
        """Every input replaces, so there is nothing that could change in place."""

    def delete(self, call: Call) -> None:
        grant = call.values
        self._change(call, lambda bindings: _without(bindings, grant))

    def _change(self, call: Call, change: Change) -> None:
        owner, wait = self.owner.fill(call.values), _FIRST_WAIT
        while True:
            with call.api.turn(owner):
                policy = self._policy(call)
                policy["bindings"] = change(policy.get("bindings") or [])
                policy["version"] = _VERSION
                try:
                    self._write(call, owner, policy)
                except ApiError as error:
                    if error.code != HTTPStatus.CONFLICT or call.deadline.left() <= wait:
                        raise
                else:
                    return
            call.deadline.pause(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _policy(self, call: Call) -> Policy:
        return call.send(self.get.method, self._get_path(call), query=self.get.query, body=self.get.body)

    def _get_path(self, call: Call) -> str:
        return f"{self.owner.fill(call.values)}{self.get.suffix}"

    def _write(self, call: Call, owner: str, policy: Policy) -> None:
        body = {"policy": policy, **(self.put.body or {})} if self.put.wrapped else policy
        call.send(self.put.method, f"{owner}{self.put.suffix}", query=self.put.query, body=body)


def _condition(holder: Mapping[str, Any]) -> tuple[str, ...]:
    condition = holder.get("condition") or {}
    return tuple(condition.get(part) or "" for part in _CONDITION)


def _is_of(binding: Mapping[str, Any], grant: Mapping[str, Any]) -> bool:
    return binding.get("role") == grant["role"] and _condition(binding) == _condition(grant)


def qualifier(values: Mapping[str, Any]) -> str:
    """What the official provider puts behind the id of a conditional grant: /TITLE/DESCRIPTION/EXPRESSION."""
    condition = _condition(values)
    return "/" + "/".join(condition) if any(condition) else ""


def _is_asked_for(binding: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether this is the binding of a grant, which is known in full or, at an import, by its condition's title."""
    if "expression" in (wanted.get("condition") or {"expression": ""}):
        return _is_of(binding, wanted)
    return binding.get("role") == wanted["role"] and _condition(binding)[0] == _condition(wanted)[0]


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
