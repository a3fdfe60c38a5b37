"""What a plan deletes and replaces, so loud that nobody merges it unread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model.plan import Op, Plan, Step
from infra.model.planned_capacity import VM_TYPE, chips_of
from infra.preview.blocks import Block, Rank
from infra.preview.comment.resources import of, runs
from infra.preview.sentences import plural


def blocks(plan: Plan) -> Iterator[Block]:
    """A heading that counts them and a red box that names every VM; nothing where nothing goes."""
    deleted, replaced = of(plan, Op.DELETE), of(plan, Op.REPLACE)
    if not (deleted or replaced):
        return
    parts = [_counted(op, steps) for op, steps in (("deletes", deleted), ("replaces", replaced)) if steps]
    yield Block(rank=Rank.SUMMARY, lines=[f"### ⚠️ This {' and '.join(parts)}"], what="warnings")
    vms = [(op, _vms(steps)) for op, steps in (("Deleted", deleted), ("Replaced", replaced))]
    lines = [f"> **{op}:** {line}  " for op, steps in vms for line in runs(steps)]
    if not lines:
        return
    yield Block(
        rank=Rank.LOSSES,
        opening="> [!CAUTION]\n> A job that runs on one of these VMs is lost." + _anew(vms[1][1]) + "\n>",
        lines=lines,
        what="lines of VMs that go",
    )


def _anew(replaced: Sequence[Step]) -> str:
    return " A replaced VM is deleted before its successor of the same name is made." if replaced else ""


def _counted(verb: str, steps: Sequence[Step]) -> str:
    vms, others = _vms(steps), len(steps) - len(_vms(steps))
    chips = sum(map(chips_of, vms))
    parts = [f"{plural(len(vms), 'VM')} ({plural(chips, 'chip')})"] if vms else []
    if others:
        parts.append(plural(others, "other resource" if vms else "resource"))
    return f"{verb} {' and '.join(parts)}"


def _vms(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.type == VM_TYPE]
