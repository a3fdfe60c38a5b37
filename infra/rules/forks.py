"""The rule of pools that run any pull request's code: what they may not have, and may not be given.

Owns what isolation means of one resource. Does not own what a stack file may declare of them (`infra.model.rules`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from infra.model import bucket_names, names
from infra.model.schema import StackConfig, Trust
from infra.rules.finding import Level
from infra.rules.grants import is_grant, members, module_of
from infra.rules.machines import POOL_LABEL, VM_TYPE, account, has_external_ip
from infra.rules.rule import Broken, ResourceContext, ResourceRule
from infra.rules.view import ResourceView

TRUST_LABEL: Final = "tidepool-trust"
_READING_ROLES: Final = frozenset(("roles/artifactregistry.reader", "roles/storage.objectViewer"))
_WRITING_ROLE: Final = "roles/storage.objectUser"
_CALLING_ROLE: Final = "roles/run.invoker"
_SERVICE_GRANT: Final = "gcp:cloudrunv2/serviceIamMember:ServiceIamMember"
_SECRET_MODULES: Final = frozenset(("secretmanager", "kms"))


def _isolated(view: ResourceView, around: ResourceContext) -> Iterator[Broken]:
    if is_grant(view):
        yield from _grant(view, around)
    elif view.type == VM_TYPE:
        yield from _vm(view, around)


def _vm(view: ResourceView, around: ResourceContext) -> Iterator[Broken]:
    own, accounts = account(view), around.fork_accounts
    pool = view.text("labels", POOL_LABEL)
    if view.text("labels", TRUST_LABEL) != Trust.FORK and pool not in accounts.values():
        if own is not None and own in accounts:
            fix = "an account of its own"
            yield Broken(view.subject, f"it runs as the account of fork pool {accounts[own]} without being of it", fix)
        return
    if has_external_ip(view):
        yield Broken(view.subject, "a VM of a fork pool has an external IP", "enable_external_ips=False")
    if own is not None and accounts.get(own) != pool:
        whose = f"the account of pool {accounts[own]}" if own in accounts else "no account of a fork pool"
        yield Broken(view.subject, f"a VM of fork pool {pool} runs as {own}, {whose}", "the account of its own pool")
    for index, _ in enumerate(view.items("dataDisks")):
        if view.text("dataDisks", index, "mode") == "READ_WRITE":
            said = f"a VM of a fork pool can write {view.text('dataDisks', index, 'sourceDisk') or 'a disk'}"
            yield Broken(view.subject, said, "mode: read-only")


def _grant(view: ResourceView, around: ResourceContext) -> Iterator[Broken]:
    for member in members(view):
        pool = around.fork_accounts.get(member.partition(":")[2])
        if pool is None:
            continue
        role = view.text("role")
        if module_of(view) in _SECRET_MODULES:
            yield Broken(view.subject, f"fork pool {pool} may read a secret", "remove the reader")
        elif role is None or role in _READING_ROLES or _own_place(view, role, pool):
            continue
        elif not _declared_broker(view, role, around.config):
            fix = f"one of {', '.join(sorted(_READING_ROLES))}"
            yield Broken(view.subject, f"fork pool {pool} is granted {role}, which does more than read", fix)


def _own_place(view: ResourceView, role: str, pool: str) -> bool:
    """Whether it is where the pool's VMs tell how they are, or leave the work of their runs.

    Jobs and commands there have no way to the VM's account.
    """
    own = "|".join(re.escape(each) for each in (bucket_names.reports_prefix(pool), bucket_names.run_work_prefix(pool)))
    below = rf'resource\.name\.startsWith\("projects/_/buckets/[^/"]+/objects/({own})"\)'
    return role == _WRITING_ROLE and re.fullmatch(below, view.text("condition", "expression") or "") is not None


def _declared_broker(view: ResourceView, role: str, config: StackConfig) -> bool:
    """Whether it lets the pool's VMs call the stack's own broker, which asks each call who it is and gives one job."""
    broker = (config.project, config.controller.region, names.broker_service(config.stack))
    called = (view.text("project"), view.text("location"), view.text("name"))
    is_declared = config.controller.image is not None
    return is_declared and view.type == _SERVICE_GRANT and role == _CALLING_ROLE and called == broker


RULES: Final = (
    ResourceRule(
        id="forks-isolated",
        level=Level.STOP,
        reason="Any pull request runs there: whatever the VM can reach or write, a stranger can.",
        fix="an account of its own, no external IP, no secret; roles that read, but for reports, runs and the broker",
        check=_isolated,
    ),
)
