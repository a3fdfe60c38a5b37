"""What to look at before an edit is merged: VMs that go, labels without a runner, trust, protection, freezes.

Owns the judgement of an edit beyond its numbers. Does not own whether it may be applied (rules) nor in which order
(phases). Each function yields the risks of one kind; all are sorted by kind and subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infra.model.fields.fleet import is_github_own_label
from infra.model.freezes import ends, standing
from infra.model.phases import Phases
from infra.model.schema import Pool, Slices, StackConfig
from infra.model.slices import entry_pools
from infra.preview.cluster_edits import buffer_risks, cluster_risks
from infra.preview.meaning import Facts, Risk, RiskKind
from infra.preview.renames import renamed_pools, renamed_repositories
from infra.preview.trust_edits import trust_risks
from infra.preview.vms import PlaceChange
from infra.preview.words import counted
from infra.preview.work import run_changes, store_lost, work_changes
from infra.rules.losing import LET_GO, LETS_GO, protected_losses


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Both versions of a stack with their siblings, and what is known beside them. Both configs are whole."""

    base: StackConfig
    head: StackConfig
    base_siblings: tuple[StackConfig, ...]
    head_siblings: tuple[StackConfig, ...]
    exists_before: bool
    exists_after: bool
    sections: tuple[str, ...]
    places: tuple[PlaceChange, ...]
    order: Phases
    facts: Facts


def changes_the_fleet(edit: Edit) -> bool:
    """Whether anything of the cloud differs, and not just what the lab says of its own calendar and purse."""
    return bool(set(edit.sections) - {"freezes", "budget", "exceptions"})


def risks(edit: Edit) -> tuple[Risk, ...]:
    """Every risk of an edit, the worst kind first."""
    kinds = list(RiskKind)
    found = [risk for judge in _JUDGES for risk in judge(edit)]
    return tuple(sorted(found, key=lambda risk: (kinds.index(risk.kind), risk.subject, risk.says)))


def _vms(edit: Edit) -> Iterator[Risk]:
    for place in edit.places:
        where = f"{place.pool} in {place.zone}"
        if place.replaced:
            forced = ", ".join(place.forced_by)
            says = f"{_those(place, place.replaced)} of {where} replaced, forced by {forced}"
            says += _busy(place, place.replaced, edit)
            yield Risk(
                kind=RiskKind.REPLACE,
                subject=where,
                says=says,
                names=_names(place, place.replaced),
                forced_by=place.forced_by,
            )
        if place.deleted:
            says = f"{_those(place, place.deleted)} of {where} deleted{_busy(place, place.deleted, edit)}"
            yield Risk(kind=RiskKind.DELETE, subject=where, says=says, names=_names(place, place.deleted))
        if place.in_place and place.kept and not place.forced_by:
            changed = ", ".join(place.in_place).replace("_", " ")
            says = f"{_vms_said(place.kept)} of {where} changed in place ({changed}), none replaced"
            yield Risk(kind=RiskKind.IN_PLACE, subject=where, says=says, names=place.kept)


def _those(place: PlaceChange, names: Sequence[str]) -> str:
    if not isinstance(place.before, Slices):
        return _vms_said(names)
    return "1 slice" if len(names) == 1 else f"{len(names):,} slices"


def _names(place: PlaceChange, names: Sequence[str]) -> tuple[str, ...]:
    """Slices of one host are nodes of one pool, and have no name but the pool's."""
    entry = place.before
    if isinstance(entry, Slices) and not entry.accelerator.multi_host:
        return tuple(pool.name for pool in entry_pools(entry))
    return tuple(names)


def _of_cluster(edit: Edit) -> Iterator[Risk]:
    yield from buffer_risks(edit.places)
    yield from cluster_risks(edit.base, edit.head)


def _work(edit: Edit) -> Iterator[Risk]:
    """Classes and groups that change: neither adds capacity, which the headline counts. And a store that goes."""
    for subject, says in work_changes(edit.base, edit.head):
        yield Risk(kind=RiskKind.IN_PLACE, subject=subject, says=says)
    if says := run_changes(edit.base, edit.head):
        yield Risk(kind=RiskKind.IN_PLACE, subject="runs", says=says)
    if says := store_lost(edit.base, edit.head):
        kind = RiskKind.DELETE if edit.head.store is None else RiskKind.REPLACE
        yield Risk(kind=kind, subject="store", says=says)


def _renames(edit: Edit) -> Iterator[Risk]:
    if edit.exists_before and edit.exists_after:
        pools = renamed_pools(edit.base, edit.head, edit.order)
        for subject, says in (*pools, *renamed_repositories(edit.base, edit.head)):
            yield Risk(kind=RiskKind.RENAME, subject=subject, says=says)


def _vms_said(names: Sequence[str]) -> str:
    return "1 VM" if len(names) == 1 else f"{len(names):,} VMs"


def _busy(place: PlaceChange, names: Sequence[str], edit: Edit) -> str:
    """Of runners: slices of the cluster have none."""
    busy = edit.facts.busy
    if busy is None or isinstance(place.before, Slices):
        return ""  # what is not known is said once for all of them
    at_work = [f"{name} ({busy[name]})" for name in names if name in busy]
    return f"; busy: {', '.join(at_work)}" if at_work else "; none is busy"


def _labels(edit: Edit) -> Iterator[Risk]:
    before = _holders((edit.base, *edit.base_siblings))
    after = _holders((edit.head, *edit.head_siblings))
    used = edit.facts.labels_used
    asks = {label.lower(): workflows for label, workflows in (used or {}).items()}
    for label in sorted(before.keys() - after.keys()):
        pools = ", ".join(sorted({pool.name for pool in before[label]}))
        says = f"label {label} loses its last pool ({pools}); workflows that use it: "
        says += "not known" if used is None else ", ".join(sorted(asks.get(label, ()))) or "none"
        yield Risk(kind=RiskKind.LABELS, subject=label, says=says, names=tuple(sorted(asks.get(label, ()))))
    for label in sorted(before.keys() & after.keys()):
        if _slices(before[label]) and not _slices(after[label]):
            pools = ", ".join(sorted({pool.name for pool in after[label]}))
            says = f"label {label} keeps no standing VM (pool {pools} has 0)"
            yield Risk(kind=RiskKind.LABELS, subject=label, says=says, names=tuple(sorted(asks.get(label, ()))))
    for label in sorted(asks.keys() - before.keys() - after.keys()):
        if not is_github_own_label(label):
            workflows = tuple(sorted(asks[label]))
            says = f"label {label} is used by {', '.join(workflows)}, and no pool has it"
            yield Risk(kind=RiskKind.LABELS, subject=label, says=says, names=workflows)


def _holders(stacks: Sequence[StackConfig]) -> dict[str, list[Pool]]:
    """The pools of each label in lower case, as GitHub compares them; GitHub's own labels left out."""
    holders: dict[str, list[Pool]] = {}
    for stack in stacks:
        for pool in stack.pools:
            labels = (*(pool.__dict__.get("labels") or ()), pool.__dict__.get("label"))
            for label in {each.lower() for each in labels if each}:
                if not is_github_own_label(label):
                    holders.setdefault(label, []).append(pool)
    return holders


def _slices(pools: Sequence[Pool]) -> int:
    return sum(sum(pool.__dict__.get("zones", {}).values()) for pool in pools)


def _freezes(edit: Edit) -> Iterator[Risk]:
    """The windows of both versions count, so that an edit cannot lift the freeze that it is made in."""
    if not changes_the_fleet(edit):
        return
    declared = {freeze.name: freeze for freeze in (*edit.base.freezes, *edit.head.freezes)}
    lifted = {freeze.name for freeze in edit.base.freezes} - {freeze.name for freeze in edit.head.freezes}
    for each in standing(declared.values(), edit.facts.today):
        freeze = each.freeze
        says = f"freeze {freeze.name} stands until {ends(freeze):%Y-%m-%d %H:%M} {freeze.time_zone}"
        if each.overridden and freeze.override:
            says += f"; overridden until {freeze.override.until}: {freeze.override.reason}"
        if freeze.name in lifted:
            says += "; this edit removes it"
        yield Risk(kind=RiskKind.FREEZE, subject=freeze.name, says=says)


def _trust(edit: Edit) -> Iterator[Risk]:
    yield from trust_risks(edit.base, edit.head, made=edit.exists_before)


def _protection(edit: Edit) -> Iterator[Risk]:
    """What the engine holds protected and this edit drops: nothing of it can be applied until that is settled."""
    if not edit.exists_before:
        return
    for subject in protected_losses(edit.base, edit.head):
        says = f"{subject} is protected and leaves the file: what it holds would be lost"
        yield Risk(kind=RiskKind.PROTECTION, subject=subject, says=says)
        first = LET_GO if subject.startswith(LETS_GO) else "unprotect it first"
        says = f"`up` refuses to delete {subject}, which is protected: put it back, or {first}"
        yield Risk(kind=RiskKind.UNAPPLIABLE, subject=subject, says=says)
    known = set(edit.base.exceptions)
    for exception in edit.head.exceptions:
        if exception not in known:
            says = f"rule {exception.rule} is excepted for {exception.subject} until {exception.expires}"
            says += f": {exception.reason}"
            yield Risk(kind=RiskKind.PROTECTION, subject=f"rule {exception.rule}", says=says)


def _moved(edit: Edit) -> Iterator[Risk]:
    """Edits that no `up` follows: its engine knows neither another project's resources nor a stack without a file."""
    was, becomes = edit.base.project, edit.head.project
    if was != becomes:
        says = f"the stack moves from project {was} to {becomes}: all of it is made anew there, and `up` refuses to "
        says += f"delete what is protected in {was}"
        yield Risk(kind=RiskKind.UNAPPLIABLE, subject=f"project {was}", says=says)
    if not edit.exists_after:
        says = f"without its file no `up` deletes what {edit.head.stack} made: `./tidepool destroy {edit.head.stack}` "
        says += "comes first"
        yield Risk(kind=RiskKind.UNAPPLIABLE, subject=f"stack {edit.head.stack}", says=says)


def _never_made(edit: Edit) -> Iterator[Risk]:
    """VMs that no limit has room for: they stay wanted, and every later apply fails on them."""
    if edit.order.held:
        why = "; ".join(load.why for load in edit.order.exceeded)
        says = f"{counted(edit.order.held)} can never be made: {why}"
        yield Risk(kind=RiskKind.UNAPPLIABLE, subject="limits", says=says, names=edit.order.held)


def _not_known(edit: Edit) -> Iterator[Risk]:
    if edit.facts.labels_used is None:
        says = "labels that workflows use: not known"
        yield Risk(kind=RiskKind.NOT_KNOWN, subject="labels used", says=says)
    machines = [place for place in edit.places if not isinstance(place.before, Slices)]
    if edit.facts.busy is None and any(place.deleted or place.replaced for place in machines):
        says = "whether the runners of VMs that go are busy: not known"
        yield Risk(kind=RiskKind.NOT_KNOWN, subject="busy runners", says=says)


_JUDGES = (
    _vms,
    _of_cluster,
    _work,
    _renames,
    _labels,
    _freezes,
    _trust,
    _protection,
    _moved,
    _never_made,
    _not_known,
)
