"""Stack files as text: which there are, and the values that the pulumi CLI hands over for one, each with its line.

Owns the way from bytes to those values. What they must be is `infra.model.stack`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from infra.model import yamlfile
from infra.model.errors import ConfigError, Problem, shown, suggestion
from infra.model.names import PULUMI_PROJECT
from infra.model.yamlfile import YamlPath

# What the pulumi CLI itself writes at the top of a stack file.
PULUMI_TOP_LEVEL = frozenset(("encryptionsalt", "secretsprovider", "encryptedkey", "environment"))
Subject = Callable[[YamlPath], str]
"""How a path is called in a file."""


@dataclass(frozen=True, slots=True)
class StackText:
    """The values of one stack, as the pulumi CLI would hand them over, and where each stands."""

    stack: str
    source: str
    values: Mapping[str, str]
    lines: Mapping[YamlPath, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def subject(self, path: YamlPath) -> str:
        """How a path is called in messages."""
        return yamlfile.subject(self.source, self.lines, path)


def stack_names(root: Path) -> tuple[str, ...]:
    """The stacks that have a file below `root/stacks`, sorted."""
    files = (root / "stacks").glob("Pulumi.*.yaml")
    return tuple(sorted(file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in files))


def no_such_stack(root: Path, stack: str) -> ConfigError:
    """Names the stacks that there are, the one that was probably meant first."""
    fix = suggestion(stack, stack_names(root), f"a file {stack_source(stack)}")
    return ConfigError([Problem(stack_source(stack), "", f"there is no stack named {stack}", fix)])


def require_stack(root: Path, stack: str) -> None:
    """ConfigError naming the known stacks where `stack` has no file; the file itself is not judged."""
    if stack not in stack_names(root):
        raise no_such_stack(root, stack)


def pulumi_values(text: str, *, source: str = "stack file") -> dict[str, str]:
    """What the pulumi CLI hands to a program for this stack file; ConfigError where the file cannot be read so."""
    given = stack_text(text, stack="", source=source)
    if given.problems:
        raise ConfigError(given.problems)
    return dict(given.values)


def stack_path(root: Path, stack: str) -> Path:
    return root / "stacks" / f"Pulumi.{stack}.yaml"


def stack_source(stack: str) -> str:
    return f"stacks/Pulumi.{stack}.yaml"


def _text(path: Path, stack: str) -> str:
    return yamlfile.decoded(path.read_bytes(), stack_source(stack))


# A stack is read as itself and as the sibling of each other one.
@lru_cache(maxsize=64)
def stack_text(text: str, *, stack: str, source: str) -> StackText:
    document = yamlfile.read(text, source)
    lines = {yamlfile.below_config(path): line for path, line in document.lines.items()}
    lines[()] = lines.get(("config",), 1)
    given = StackText(stack=stack, source=source, values={}, lines=lines)
    found = [*document.problems, *_top_level_problems(document.data, given.subject)]
    config = document.data.get("config")
    if not isinstance(config, dict):
        rule = "the stack file has no config: mapping"
        found.append(Problem(given.subject(("config",)), "", rule, "config: with indented keys below it"))
        raise ConfigError(found)
    found += _secure_values(config, (), given.subject)
    values = {key: _as_pulumi_text(_without_secure(value)) for key, value in config.items()}
    return replace(given, values=values, problems=tuple(found))


def _top_level_problems(data: Mapping[str, Any], subject: Subject) -> Iterator[Problem]:
    for key, value in data.items():
        if key != "config" and key not in PULUMI_TOP_LEVEL:
            rule = "neither config: nor one of Pulumi's own keys"
            full_key = key if ":" in key else f"{PULUMI_PROJECT}:{key}"
            yield Problem(subject((key,)), shown(value), rule, f"move it below config:, as {full_key}")


def _is_secure(value: Any) -> bool:
    """Whether the pulumi CLI encrypted this value (`pulumi config set --secret`)."""
    return isinstance(value, dict) and value.keys() == {"secure"}


def _secure_values(value: Any, path: YamlPath, subject: Subject) -> Iterator[Problem]:
    if _is_secure(value):
        rule = "a secret in configuration, where not even an encrypted one may stand"
        yield Problem(subject(path), "", rule, "a container under tidepool:secrets")
    elif isinstance(value, dict | list):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _secure_values(item, (*path, step), subject)


def _without_secure(value: Any) -> Any:
    """The value with nothing in the place of what is encrypted, so that no message can repeat it."""
    if _is_secure(value):
        return None
    if isinstance(value, dict):
        return {key: _without_secure(item) for key, item in value.items()}
    return [_without_secure(item) for item in value] if isinstance(value, list) else value


def _as_pulumi_text(value: Any) -> str:
    """As Go's encoding/json writes it: compact, keys sorted, and <, > and & escaped."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
