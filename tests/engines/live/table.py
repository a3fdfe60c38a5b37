"""The table: what people and clouds do to a stack, as data. `rows` runs each row on both engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.engines.live import acts, kills
from tests.engines.live.acts import Act
from tests.engines.live.live_stacks import CLUSTER, COMMITTED, SMALL

WITH_VMS: Final = (*COMMITTED, SMALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """name: what happens, for people. stacks: on which. acts: in order; each must come out the same on both engines.

    settled: whether afterwards neither engine finds anything to do, on its own state and on the other's.
    core: whether it belongs to the core of the live tier.
    """

    name: str
    stacks: tuple[str, ...]
    acts: tuple[Act, ...]
    settled: bool = True
    core: bool = False


def _killed(name: str, edit: str, moment: kills.Moment) -> Row:
    done = (acts.edit(edit), acts.killed(moment), acts.heals)
    return Row(name=f"killed {name}", stacks=(SMALL,), acts=done, core=True)


_STOCKOUT = (
    acts.edit("one more"),
    acts.fault("stockout", method="tpu.*"),
    acts.fails,
    acts.mended,
    acts.made_by_the_controller,
    acts.preview,
    acts.up,
)

_DESTROYED = (acts.edit("one more"), acts.made_by_the_controller, acts.destroy_is_refused, acts.destroy_the_rest)
_LIFE = (
    *(acts.edit("one more"), acts.preview, acts.up),
    *(acts.edit_back("one more"), acts.preview, acts.up),
    *(acts.edit("another accelerator"), acts.preview, acts.up),
    *(acts.preempted, acts.preview, acts.refresh),
    *(acts.vms, acts.state, acts.finds_nothing_to_do),
    *_DESTROYED,
)

ROWS: Final = (
    Row(
        name="one more, one fewer, replaced, preempted, destroyed",
        stacks=COMMITTED,
        acts=_LIFE,
        settled=False,
        core=True,
    ),
    Row(
        name="one slice more, another kind of capacity",
        stacks=(CLUSTER,),
        acts=(
            *(acts.edit("one slice more"), acts.preview, acts.up),
            *(acts.edit("another kind of capacity"), acts.preview, acts.up),
        ),
    ),
    Row(
        name="a swap of node pools inside a full limit",
        stacks=(CLUSTER,),
        acts=(acts.full, acts.edit("swap"), acts.phased),
    ),
    Row(
        name="what is protected goes",
        stacks=COMMITTED,
        acts=(acts.edit("what is protected goes"), acts.refused),
        settled=False,
    ),
    Row(name="a swap inside a full limit", stacks=(SMALL,), acts=(acts.full, acts.edit("swap"), acts.phased)),
    Row(
        name="a zone moves, what is new first",
        stacks=(SMALL,),
        acts=(acts.edit("a zone moves"), acts.preview, acts.new_first),
    ),
    Row(name="a stockout, then the controller", stacks=WITH_VMS, acts=_STOCKOUT),
    Row(
        name="a VM is deleted by hand",
        stacks=WITH_VMS,
        acts=(acts.deleted_by_hand, acts.preview, acts.up_after_refresh),
    ),
    _killed("in a create", "one more", kills.creating),
    _killed("in a replacement, while the old VM goes", "one of another accelerator", kills.deleting),
    _killed("in a replacement, while the new VM comes", "one of another accelerator", kills.replacing),
    _killed("in a delete", "one fewer", kills.deleting),
    Row(
        name="interrupted with Ctrl-C in a create",
        stacks=(SMALL,),
        acts=(acts.edit("one more"), acts.interrupted(kills.creating), acts.heals),
    ),
    Row(name="destroyed, with a VM that the state lacks", stacks=(SMALL,), acts=_DESTROYED, settled=False, core=True),
)
