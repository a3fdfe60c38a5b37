"""Rules of grants and keys: on what a role is given, which role, to whom, and that no key is ever made.

Owns what of Google's IAM resources is refused. Does not own what fork pools may be granted (forks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from infra.model import names
from infra.model.grants import NODE_ROLES, USES_FIRESTORE, only_in_database
from infra.model.schema import StackConfig
from infra.rules.finding import Level
from infra.rules.rule import Broken, ResourceContext, ResourceRule
from infra.rules.view import ResourceView, is_known

_GRANT: Final = re.compile(r"gcp:(?P<module>\w+)/\w*?iam(?P<form>member|binding|policy):", re.IGNORECASE)
_WIDE: Final = {
    "projects": "project",
    "folder": "folder",
    "organizations": "organization",
    "billing": "billing account",
}
"""Modules of the provider whose grants stand on more than one resource, and on what."""
_ON_PROJECT: Final = "gcp:projects/iAMMember:IAMMember"
_BASIC_ROLES: Final = frozenset(("roles/owner", "roles/editor", "roles/viewer"))
_EVERYBODY: Final = frozenset(("allUsers", "allAuthenticatedUsers"))
_RUN_SERVICE: Final = "gcp:cloudrunv2/service:Service"
_KEYS: Final = {
    "gcp:serviceaccount/key:Key": "a service account's key",
    "gcp:storage/hmacKey:HmacKey": "an HMAC key of a service account",
    "gcp:projects/apiKey:ApiKey": "an API key",
}


def is_grant(view: ResourceView) -> bool:
    """Whether the resource gives somebody a role on something."""
    return _GRANT.match(view.type) is not None


def module_of(view: ResourceView) -> str:
    """The provider's module: `secretmanager` of `gcp:secretmanager/secretIamMember:SecretIamMember`."""
    return view.type.partition(":")[2].partition("/")[0]


def members(view: ResourceView) -> tuple[str, ...]:
    """Who is granted the role, as far as it is known."""
    given = (view.get("member"), *view.items("members"))
    return tuple(member for member in given if isinstance(member, str) and is_known(member))


def _on_one_resource(view: ResourceView, around: ResourceContext) -> Iterator[Broken]:
    found = _GRANT.match(view.type)
    if found is None or _is_of_nodes(view, around.config) or _is_of_store(view, around.config):
        return
    role = view.text("role") or "a role"
    if found["module"] in _WIDE:
        yield Broken(view.subject, f"{role} is granted on the whole {_WIDE[found['module']]}")
    elif role in _BASIC_ROLES:
        yield Broken(view.subject, f"{role} is a basic role: it opens everything that the resource has")


def _is_of_nodes(view: ResourceView, config: StackConfig) -> bool:
    """Whether it lets the nodes of the stack's cluster write logs and metrics, which only a project has."""
    if config.cluster is None or view.type != _ON_PROJECT or view.text("role") not in NODE_ROLES:
        return False
    email = names.account_email(names.role_account_id(config.stack, "nodes"), config.project)
    own_project = view.text("project") == config.project
    return own_project and members(view) == (f"serviceAccount:{email}",)


def _is_of_store(view: ResourceView, config: StackConfig) -> bool:
    """Whether it lets a team's account use the stack's Firestore database and no other, which has no policy itself."""
    if not (config.store and config.store.firestore) or (view.type, view.text("role")) != (_ON_PROJECT, USES_FIRESTORE):
        return False
    condition = only_in_database(config.project, names.store_name(config.stack))
    teams = {f"serviceAccount:{team.account}" for team in (config.queues.teams if config.queues else ())}
    own_project = view.text("project") == config.project
    return own_project and view.text("condition", "expression") == condition and set(members(view)) <= teams


def _adds(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    found = _GRANT.match(view.type)
    if found is None or found["form"].lower() == "member":
        return
    taken = "every grant" if found["form"].lower() == "policy" else f"every other grant of {view.text('role')}"
    yield Broken(view.subject, f"an authoritative {found['form'].lower()} takes away {taken} on the resource")


def _not_public(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    for member in members(view) if is_grant(view) else ():
        if member in _EVERYBODY:
            yield Broken(view.subject, f"{view.text('role') or 'a role'} is granted to {member}, which is everybody")
        elif member.startswith("principalSet://") and member.endswith("/*"):
            yield Broken(view.subject, "a role is granted to every identity of a workload identity pool")
    if view.type == _RUN_SERVICE and view.get("invokerIamDisabled") is True:
        yield Broken(view.subject, "everybody may call it: Google does not ask who does")


def _no_key(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type in _KEYS:
        yield Broken(view.subject, f"this makes {_KEYS[view.type]}, which does not expire and can be copied")


RULES: Final = (
    ResourceRule(
        id="grant-on-one-resource",
        level=Level.STOP,
        reason="A role on a project reaches everything in it, also what is made tomorrow.",
        fix="grant a narrower role on the one resource that needs it",
        check=_on_one_resource,
    ),
    ResourceRule(
        id="grant-adds",
        level=Level.STOP,
        reason="A policy or a binding in place of a member silently removes what others were granted.",
        fix="use the resource's IAM member type, one for each member",
        check=_adds,
    ),
    ResourceRule(
        id="no-public-grant",
        level=Level.STOP,
        reason="What everybody may read or call is public, and no audit finds who did.",
        fix="name the identity that needs it; of a pool, an attribute such as attribute.repository",
        check=_not_public,
    ),
    ResourceRule(
        id="no-account-key",
        level=Level.STOP,
        reason="A key stands in the state, is copied, and works from anywhere until somebody finds it.",
        fix="let CI use workload identity federation, VMs their own account, and people impersonation",
        check=_no_key,
    ),
)
