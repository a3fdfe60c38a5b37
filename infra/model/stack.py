"""Reading stack files: from the repository, from text, and as Pulumi hands them to a program. One schema for all three.

Owns the way from bytes to a StackConfig and the collecting of every problem on that way. Does not own which keys exist
(schema) nor rules between values (rules).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from infra.model import rules, yamlfile
from infra.model.errors import ConfigError, Problem, shown
from infra.model.names import PULUMI_PROJECT, RESOURCE_NAME_RULE, is_resource_name
from infra.model.partial import has, hides_chips, hides_limits, partial_stack, unsure_stack
from infra.model.refusals import problems, unknown_key
from infra.model.schema import StackConfig
from infra.model.secret_values import secrets_in
from infra.model.stack_text import StackText, Subject, no_such_stack, stack_names, stack_path, stack_source, stack_text
from infra.model.yamlfile import YamlPath

# Namespaces of settings that are read by Pulumi or its Google provider and not by this model.
_FOREIGN_NAMESPACES = frozenset(("gcp", "pulumi"))
_TEXT_KEYS = frozenset(("owner", "registry_stack"))
_KEYS = tuple(key for key in StackConfig.model_fields if key not in ("stack", "project"))


@dataclass(frozen=True, slots=True)
class Reading:
    """What one version of a stack file says, mistakes included, for those who must speak of it all the same.

    partial: what is right in it, for `infra.model.whole` alone. problems: every mistake. refused: where the
    values stand that are wrong by themselves, as paths of fields. siblings: the other stacks at that time. foreign: the
    settings of Pulumi and its provider by key; a difference there may change every resource.
    """

    partial: StackConfig
    problems: tuple[Problem, ...]
    refused: frozenset[YamlPath]
    siblings: tuple[StackConfig, ...] = ()
    foreign: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_placed(self) -> bool:
        """Whether it says where the fleet is."""
        return has(self.partial, "project", "bucket") and has(self.partial.bucket, "name")


def load_stack(root: Path, stack: str, *, alone: bool = False) -> StackConfig:
    """The stack of `root/stacks/Pulumi.<stack>.yaml`, checked against its siblings too; ConfigError otherwise.

    alone: its own file is judged and no other, for what a mistake in another must not stop.
    """
    path = stack_path(root, stack)
    if not path.is_file():
        raise no_such_stack(root, stack)
    others = () if alone else siblings(root, stack)
    return parse_stack(
        yamlfile.decoded(path.read_bytes(), stack_source(stack)),
        stack=stack,
        source=stack_source(stack),
        siblings=others,
    )


def siblings(root: Path, stack: str) -> tuple[StackConfig, ...]:
    """The other stacks of a repository, for the rules that span stacks.

    What of them cannot be read is left out, and they say that it is (`UnsureStack`).
    """
    others = (_sibling(stack_path(root, name), name) for name in stack_names(root) if name != stack)
    return tuple(other for other in others if other is not None)


def _sibling(path: Path, stack: str) -> StackConfig | None:
    try:
        return read_sibling(path.read_bytes(), stack=stack)
    except OSError as error:
        return unsure_stack({"stack": stack}, f"it cannot be read: {error.strerror or error}")


def parse_stack(text: str, *, stack: str, source: str, siblings: Sequence[StackConfig] = ()) -> StackConfig:
    """The stack that `text` declares; `source` is how people call the file. ConfigError with every problem."""
    return _build(stack_text(text, stack=stack, source=source), siblings)


def read_stack(content: bytes, *, stack: str, source: str, siblings: Sequence[StackConfig] = ()) -> Reading:
    """What a version of a stack file says, whatever is wrong in it; ConfigError only where nothing can be read."""
    return _reading(stack_text(yamlfile.decoded(content, source), stack=stack, source=source), siblings)


# A command judges one stack beside the same others many times.
@lru_cache(maxsize=64)
def read_sibling(content: bytes, *, stack: str) -> StackConfig | None:
    """Another stack, for the rules that span stacks: what is right in it; None where its name is that of no stack.

    An `UnsureStack` where a mistake may hide what it draws on a limit, or a limit.
    """
    if not is_resource_name(stack):
        return None
    try:
        given = stack_text(yamlfile.decoded(content, stack_source(stack)), stack=stack, source=stack_source(stack))
    except ConfigError as error:
        return unsure_stack({"stack": stack}, _first_of(error.problems))
    raw, found = _decode(given)
    found += given.problems
    limits_hidden = bool(found)
    try:
        config = StackConfig.model_validate(raw)
    except ValidationError as error:
        config = partial_stack(raw)
        if hides_chips(error):
            limits_hidden |= hides_limits(error)
            found += problems(error, StackConfig, _subject_in(given))
    found += rules.misplaced(config, _subject_in(given))
    if not found:
        return config
    return unsure_stack(raw, _first_of(ConfigError(found).problems), hides_limits=limits_hidden)


def _first_of(found: Sequence[Problem]) -> str:
    return f"{found[0].subject}: {found[0].rule}"


def stack_from_pulumi(
    values: Mapping[str, str], *, project: str, stack: str, siblings: Sequence[StackConfig] = ()
) -> StackConfig:
    """The same content as the Pulumi runtime hands it to a program.

    values: `namespace:key` to text, structured values as JSON. project: the Pulumi project, which names the namespace.
    """
    if project != PULUMI_PROJECT:
        rule = f"the Pulumi project is not named {PULUMI_PROJECT}, the namespace of every key"
        raise ConfigError([Problem("Pulumi.yaml name", project, rule, PULUMI_PROJECT)])
    given = StackText(stack=stack, source=stack_source(stack), values=values)
    held = (yamlfile.secret_problem(given.subject((key,)), what) for key in values for what in secrets_in(values[key]))
    return _build(replace(given, problems=tuple(held)), siblings)


def _decode(given: StackText) -> tuple[dict[str, Any], list[Problem]]:
    """The fields of a StackConfig as plain data, and the keys that are no such field.

    Values of keys that are not ours are never repeated: the CLI hands over decrypted secrets too.
    """
    raw: dict[str, Any] = {"stack": given.stack}
    found: list[Problem] = []
    for full_key, text in given.values.items():
        namespace, colon, key = full_key.partition(":")
        path = (full_key,)
        if full_key == "gcp:project":
            raw["project"] = text
        elif not colon:
            rule = "the key has no namespace"
            found.append(Problem(given.subject(path), "", rule, f"{PULUMI_PROJECT}:{full_key}"))
        elif namespace == PULUMI_PROJECT:
            if key not in _KEYS:
                found.append(unknown_key(key, "", given.subject(path), _KEYS))
            elif key in _TEXT_KEYS:
                raw[key] = text
            else:
                raw[key], twice = _structure(text)
                found += (_read_twice(given.subject(path), each) for each in twice)
        elif namespace not in _FOREIGN_NAMESPACES:
            rule = f"not a key of {PULUMI_PROJECT}:*, gcp:* or pulumi:*"
            found.append(Problem(given.subject(path), "", rule, "remove the line"))
    return raw, found


def _structure(text: str) -> tuple[Any, list[str]]:
    """A structured value and the keys that stand twice in it; text that is none stays as it is, and the schema says
    what is wanted in its place."""
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice.extend(sorted({name for name in names if names.count(name) > 1}))
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text, []
    return value, twice


def _no_number(name: str) -> Any:
    """NaN and the infinities, which Python's reader of JSON alone takes for numbers."""
    raise ValueError(name)


def _read_twice(subject: str, key: str) -> Problem:
    rule = "the key stands twice, and readers of JSON differ on which counts"
    return Problem(subject, f"{shown(key)} stands twice", rule, "one of the two, or the value as YAML below its key")


def _build(given: StackText, siblings: Sequence[StackConfig]) -> StackConfig:
    reading = _reading(given, siblings)
    if reading.problems:
        raise ConfigError(reading.problems)
    return reading.partial


def _reading(given: StackText, siblings: Sequence[StackConfig]) -> Reading:
    if not is_resource_name(given.stack):
        rule = f"not a stack's name: {RESOURCE_NAME_RULE}; networks and accounts are named after it"
        raise ConfigError([Problem(given.source, shown(given.stack), rule, "another name for the file, such as ci")])
    raw, found = _decode(given)
    refused: frozenset[YamlPath] = frozenset()

    subject = _subject_in(given)
    try:
        config = StackConfig.model_validate(raw)
    except ValidationError as error:
        found += problems(error, StackConfig, subject)
        refused = frozenset(detail["loc"] for detail in error.errors(include_url=False))
        config = partial_stack(raw)
    found += rules.broken(config, siblings, subject)
    # A value that could not be read as it is written is wrong for that alone.
    unread = {problem.subject for problem in given.problems}
    found = [*given.problems, *(problem for problem in found if problem.subject not in unread)]
    return Reading(
        partial=config,
        problems=ConfigError(found).problems,
        refused=refused,
        siblings=tuple(siblings),
        foreign={key: text for key, text in given.values.items() if _is_foreign(key)},
    )


def _subject_in(given: StackText) -> Subject:
    """How a path of fields is called in that file."""

    def subject(path: YamlPath) -> str:
        if path[:1] in ((), ("stack",)):
            return given.subject(())
        head = "gcp:project" if path[0] == "project" else f"{PULUMI_PROJECT}:{path[0]}"
        return given.subject((head, *path[1:]))

    return subject


def _is_foreign(key: str) -> bool:
    return key != "gcp:project" and key.partition(":")[0] in _FOREIGN_NAMESPACES
