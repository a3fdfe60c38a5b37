"""Rules of what workflows and the fleet have of one another: a runner for every job, and a job for every runner.

Owns which misfits concern the stack that is judged. Does not own a misfit nor its words (`infra.model.fit`), which
`./tidepool workflows --check` tells as well. Where nobody handed in what workflows ask, these rules say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from infra.model.fit import misfits
from infra.model.unclaimed import MisfitKind
from infra.rules.finding import Level
from infra.rules.rule import Broken, Edit, EditRule


def _misfits(kind: MisfitKind, edit: Edit) -> Iterator[Broken]:
    if edit.demands is None:
        return
    for each in misfits((edit.after, *edit.siblings), edit.demands):
        if each.kind is kind and edit.after.stack in each.stacks:
            yield Broken(each.subject, each.reason, each.fix, Level.STOP if each.stops else Level.WARN)


RULES: Final = (
    EditRule(
        id=MisfitKind.RUNNER,
        level=Level.STOP,
        reason="A job whose labels no runner has waits a day and fails, and nobody is told why.",
        fix="a label of a pool that serves the repository and trusts the event",
        check=partial(_misfits, MisfitKind.RUNNER),
    ),
    EditRule(
        id=MisfitKind.IMAGE,
        level=Level.STOP,
        reason="A job that expects another image or cache than its runner has tests something else, or slowly.",
        fix="the image that the pool runs, in the region of its VMs, and the cache folder of images/images.yaml",
        check=partial(_misfits, MisfitKind.IMAGE),
    ),
    EditRule(
        id=MisfitKind.LIMIT,
        level=Level.STOP,
        reason="What GitHub or Google ends first leaves a process on the TPU and no word of what hung.",
        fix="a limit within what the runner allows, and one within that for the command",
        check=partial(_misfits, MisfitKind.LIMIT),
    ),
    EditRule(
        id=MisfitKind.WAIT,
        level=Level.WARN,
        reason="People wait for the last leg; past a day GitHub fails it.",
        fix="more VMs, fewer legs, or a shorter limit",
        check=partial(_misfits, MisfitKind.WAIT),
    ),
    EditRule(
        id=MisfitKind.USER,
        level=Level.WARN,
        reason="A pool that no workflow uses costs money and is tested by nobody.",
        fix="a suite or a run that names it, or no such pool",
        check=partial(_misfits, MisfitKind.USER),
    ),
)
