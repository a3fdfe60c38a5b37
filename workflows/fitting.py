"""Whether a checkout's workflows and stacks fit, as `./tidepool workflows --check` asks.

Owns which demands count: the committed list, which `explain` and the rules read, and those just made from every
workflow. So a pool that is gone is named by the jobs that need it, although nothing can be generated without it, and a
label that was mistyped in a workflow before the list is written anew. Does not own a misfit nor its words
(`infra.model.fit`). Stack files are taken as far as they are right.
"""

from __future__ import annotations

from pathlib import Path

from infra.model.demand import Demands, load_demands
from infra.model.fit import misfits
from infra.model.misfit import Misfit
from infra.model.stack import read_sibling, stack_names


def fitting(root: Path, made: Demands | None) -> tuple[Misfit, ...]:
    """Every misfit of a checkout, sorted. made: `Outputs.demands`. ConfigError where the committed list is none."""
    files = {name: (root / "stacks" / f"Pulumi.{name}.yaml").read_bytes() for name in stack_names(root)}
    stacks = [stack for name, text in files.items() if (stack := read_sibling(text, stack=name)) is not None]
    known = (each for each in (load_demands(root), made) if each is not None)
    return tuple(sorted({misfit for demands in known for misfit in misfits(stacks, demands)}))
