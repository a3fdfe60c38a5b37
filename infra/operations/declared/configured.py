"""What a stack file has at a path, as it stands: it need not be valid. It loads nothing of what stack files mean."""

from __future__ import annotations

import json
from typing import Any

from infra.model import property_paths, yamlfile
from infra.model.errors import ConfigError, Problem, nearest
from infra.model.stack_text import pulumi_values, require_stack
from infra.operations.workspace import workspace


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
    asked = str(place[-1])
    # The package that most keys begin with makes none of them like another.
    named = {key.rpartition(":")[2]: key for key in keys}
    near = named.get(nearest(asked.rpartition(":")[2], named))
    if len(place) == 1 and not near:
        fix = f"a path that is there, or {asked} into {source} first: docs/stack-file.md says what it has"
        return Problem(source, asked, "the stack file leaves it out", fix)
    offered = " or ".join(property_paths.render((*place[:-1], key)) for key in ([near] if near else keys))
    below = f"{len(there)} entries" if isinstance(there, list) else "nothing below it"
    fix = offered or f"{property_paths.render(place[:-1])}, which has {below}"
    return Problem(source, property_paths.render(place), "the stack file has nothing there", fix)


def _plain(text: str) -> Any:
    """What Pulumi hands over as JSON text, as it stands in the file; a text that only looks like JSON is itself."""
    try:
        return json.loads(text) if text.startswith(("{", "[")) else text
    except (ValueError, RecursionError):
        return text
