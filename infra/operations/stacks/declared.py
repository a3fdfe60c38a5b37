"""What the stack files say of a stack, read strictly, and what other files say that concerns it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from infra.model.demand import Demands, load_demands
from infra.model.errors import ConfigError, Problem
from infra.model.phases import Bound, limits
from infra.model.schema import StackConfig
from infra.model.stack import load_stack, siblings, stack_names
from infra.operations.workspace import workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A valid stack file, and what other stack files say that concerns it.

    registry: the stack whose registries it uses, None where they are its own. bounds: every limit on its VMs. siblings:
    the other stacks. demands: what workflows ask of them all, None where no file says it.
    """

    config: StackConfig
    registry: StackConfig | None
    bounds: tuple[Bound, ...]
    siblings: tuple[StackConfig, ...] = ()
    demands: Demands | None = None


def declared(stack: str) -> Declared:
    """What the stack files say; ConfigError with every problem of them."""
    root = workspace().root
    config = load_stack(root, stack)
    others = siblings(root, stack)
    elsewhere = config.registry_stack
    return Declared(
        config=config,
        registry=load_stack(root, elsewhere.rpartition("/")[2]) if elsewhere else None,
        bounds=limits(config, others),
        siblings=others,
        demands=load_demands(root),
    )


def require_stack(root: Path, stack: str) -> None:
    """ConfigError naming the known stacks where `stack` has no file; the file itself is not judged."""
    known = stack_names(root)
    if stack not in known:
        fix = f"one of {', '.join(known)}" if known else f"a file stacks/Pulumi.{stack}.yaml"
        raise ConfigError([Problem(f"stacks/Pulumi.{stack}.yaml", "", f"there is no stack named {stack}", fix)])
