"""What a stack file says to commands that look at a fleet or act on it, also while somebody is editing it.

Owns that a broken working tree hides no fleet: what cannot be read of the file is taken from its committed version.
What changes the cloud by the stack file (`up`, `preview`) reads it strictly (`declared`).
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from infra.model import property_paths, yamlfile
from infra.model.demand import Demands, load_demands
from infra.model.errors import ConfigError, Problem
from infra.model.phases import Bound, limits
from infra.model.schema import StackConfig
from infra.model.stack import Reading, load_stack, no_such_stack, pulumi_values, siblings, stack_names
from infra.model.whole import whole
from infra.operations.errors import Refusal
from infra.operations.stacks.versions import stacks_of, version
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
    if stack not in stack_names(root):
        raise no_such_stack(root, stack)


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


def configured(stack: str, path: str) -> Any:
    """What the stack file of the working tree has at a property path (`tidepool:controller.region`); all of it at "".

    ConfigError where the file cannot be read, or has nothing there. It need not be valid otherwise.
    """
    root = workspace().root
    require_stack(root, stack)
    source = f"stacks/Pulumi.{stack}.yaml"
    text = yamlfile.decoded((root / source).read_bytes(), source)
    values = {key: _plain(each) for key, each in pulumi_values(text, source=source).items()}
    found: Any = values
    place = property_paths.parse(path) if path else ()
    for depth, part in enumerate(place):
        there, found = found, property_paths.get(found, (part,))
        if found is property_paths.ABSENT:
            raise ConfigError([_missing(source, place[: depth + 1], there)])
    return found


def _missing(source: str, place: property_paths.Place, there: Any) -> Problem:
    keys = list(there) if isinstance(there, dict) else []
    near = get_close_matches(str(place[-1]), keys, n=1) or keys
    offered = " or ".join(property_paths.render((*place[:-1], key)) for key in near)
    below = f"{len(there)} entries" if isinstance(there, list) else "nothing below it"
    fix = offered or f"{property_paths.render(place[:-1])}, which has {below}"
    return Problem(source, property_paths.render(place), "the stack file has nothing there", fix)


def _plain(text: str) -> Any:
    """What Pulumi hands over as JSON text, as it stands in the file; a text that only looks like JSON is itself."""
    try:
        return json.loads(text) if text.startswith(("{", "[")) else text
    except (ValueError, RecursionError):
        return text


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
