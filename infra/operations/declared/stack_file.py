"""What a stack file says to commands that look at a fleet or act on it, also while somebody is editing it.

Owns that a broken working tree hides no fleet: what cannot be read of the file is taken from its committed version.
What changes the cloud by the stack file (`up`, `preview`) reads it strictly (`declared`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from infra.model.bounds import Bound, limits
from infra.model.demand import Demands, load_demands
from infra.model.errors import ConfigError, Problem
from infra.model.schema import StackConfig
from infra.model.stack import Reading, load_stack, siblings
from infra.model.stack_text import stack_names
from infra.model.whole import whole
from infra.operations.declared.versions import stacks_of, version
from infra.operations.errors import Refusal
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFile:
    """config: the stack as far as it can be read. trouble: what keeps it from being all that is meant, else empty."""

    config: StackConfig
    trouble: str = ""


def stack_file(stack: str) -> StackFile:
    """ConfigError where neither the working tree nor its last commit says where the fleet of `stack` is."""
    try:
        return StackFile(config=load_stack(workspace().root, stack, alone=True))
    except ConfigError as error:
        root = workspace().root
        earlier, now = _reading(root, stack, "HEAD"), _reading(root, stack, None)
        before = whole(earlier) if earlier is not None and earlier.is_placed else None
        config = whole(now, before) if now is not None and (before or now.is_placed) else before
        if config is None:
            raise
        return StackFile(config=config, trouble=_trouble(error.problems, now))


def known_stacks() -> tuple[str, ...]:
    """The stacks of the working tree and of its last commit, by name."""
    root = workspace().root
    try:
        return stacks_of(root, None, "HEAD")
    except Refusal:  # no git, or no commit yet
        return stack_names(root)


def _reading(root: Path, stack: str, where: str | None) -> Reading | None:
    with suppress(ConfigError, Refusal):
        return version(root, stack, where).reading(stack)
    return None


def _trouble(problems: tuple[Problem, ...], now: Reading | None) -> str:
    first = problems[0]
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    taken = "what of it is wrong" if now else "all of it"
    said = f": {first.value}" if first.value else ""
    return f"{first.subject}{said}: {first.rule}{more}; {taken} is taken from the last commit"
