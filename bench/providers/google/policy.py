"""One member of one role in the IAM policy of something: additive grants.

Owns the cycle that the official provider runs as well: read the policy, change one binding, write it with the etag that
was read, and begin again where somebody else was faster (409). One at a time per policy in this process.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from bench.providers.google.fields import Given, JsonObject
from bench.providers.google.rest import ResourceCall, Rest, until
from bench.providers.google.spellings import condition_parts, tidy_member
from bench.providers.google.transport import ApiError

_VERSION = 3  # The policy version that has conditions; always asked for and always sent.


@dataclass(frozen=True, slots=True, kw_only=True)
class IamMember(Rest):
    """A grant; `item` is what has the policy.

    get, put: verb and the end of the path by which the policy is read and written. asked: the body of a read. A write
    says the policy in an object of its own where that is wrapped.
    """

    get: str
    put: str = "POST :setIamPolicy"
    asked: Given | None = None
    wrapped: bool = True

    def create(self, call: ResourceCall) -> None:
        self._change(call, call.body, granted=True)

    def read(self, call: ResourceCall) -> JsonObject | None:
        """The grant, None where it is gone."""
        method, path = self._at(call, self.get)
        policy = call.find(path, method=method, body=self.asked) or {}
        wanted = tidy_member(call.values["member"])
        found = (
            {**binding, "member": member, "etag": policy.get("etag", "")}
            for binding in policy.get("bindings") or []
            for member in binding.get("members", [])
            if _is_of(binding, call.values) and tidy_member(member) == wanted
        )
        return next(found, None)

    def update(self, call: ResourceCall) -> None:
        """Every input replaces, so there is nothing that could change in place."""

    def delete(self, call: ResourceCall) -> None:
        self._change(call, call.values, granted=False)

    def _change(self, call: ResourceCall, grant: Given, *, granted: bool) -> None:
        def written() -> bool | None:
            with call.api.turn(self.path(call)):
                policy = call.send(*self._at(call, self.get), body=self.asked)
                bindings = _changed(policy.get("bindings") or [], grant, granted=granted)
                policy |= {"bindings": bindings, "version": _VERSION}
                try:
                    call.send(*self._at(call, self.put), body={"policy": policy} if self.wrapped else policy)
                except ApiError as error:
                    if error.code != HTTPStatus.CONFLICT:
                        raise
                    return None
            return True

        until(call.deadline, written)

    def _at(self, call: ResourceCall, endpoint: str) -> tuple[str, str]:
        method, _, suffix = endpoint.partition(" ")
        return method, f"{self.path(call)}{suffix}"


def _is_of(binding: Given, grant: Given) -> bool:
    return binding.get("role") == grant["role"] and condition_parts(binding) == condition_parts(grant)


def _changed(bindings: list[JsonObject], grant: Given, *, granted: bool) -> list[JsonObject]:
    """The bindings with this grant or without it; a binding without members goes."""
    kept = [binding for binding in bindings if not _is_of(binding, grant)]
    members = {tidy_member(member) for binding in bindings if _is_of(binding, grant) for member in binding["members"]}
    members -= {tidy_member(grant["member"])}
    members |= {tidy_member(grant["member"])} if granted else set()
    made = {part: grant[part] for part in ("role", "condition") if grant.get(part)}
    return [*kept, {**made, "members": sorted(members)}] if members else kept
