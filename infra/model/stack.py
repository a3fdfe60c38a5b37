"""Reading stack files: from the repository, from text, and as Pulumi hands them to a program. One schema for all three.

Owns the way from bytes to a StackConfig and the collecting of every problem on that way. Does not own which keys exist
(schema) nor rules between values (rules).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from infra.model import rules, yamlfile
from infra.model.errors import ConfigError, Problem, shown, suggestion
from infra.model.names import PULUMI_PROJECT, RESOURCE_NAME_RULE, is_resource_name
from infra.model.partial import STAND_INS, Draft, UnsureStack, draft, unsure_stack
from infra.model.refusals import problems, unknown_key
from infra.model.schema import StackConfig
from infra.model.secret_values import secrets_in
from infra.model.stack_text import StackText, Subject, no_such_stack, stack_names, stack_path, stack_source, stack_text
from infra.model.yamlfile import YamlPath

# Namespaces of settings that are read by Pulumi or its Google provider and not by this model.
_FOREIGN_NAMESPACES = frozenset(("gcp", "pulumi"))
_LONGEST_NUMBER = 100
_TEXT_KEYS = frozenset(("owner", "registry_stack"))
_KEYS = tuple(key for key in StackConfig.model_fields if key not in ("stack", "project"))


@dataclass(frozen=True, slots=True)
class Reading:
    """What one version of a stack file says, mistakes included, for those who must speak of it all the same.

    parts: its valid sections and items, for `infra.model.whole` alone. raw: its values as written. problems: every
    mistake, or where it has none those of the files that it reads. unchecked: the stacks of these files. siblings: the
    other stacks at that time. foreign: the settings of Pulumi and its provider by key; a difference there may change
    every resource.
    """

    parts: Draft
    raw: Mapping[str, Any]
    problems: tuple[Problem, ...]
    unchecked: tuple[str, ...] = ()
    siblings: tuple[StackConfig, ...] = ()
    foreign: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_placed(self) -> bool:
        """Whether it says where the fleet is."""
        return self.parts.refused.isdisjoint(("project", "bucket"))


def load_stack(root: Path, stack: str, *, alone: bool = False) -> StackConfig:
    """The stack of `root/stacks/Pulumi.<stack>.yaml`, checked against its siblings too; ConfigError otherwise.

    alone: its own file is judged and no other, for what a mistake in another must not stop.
    """
    path = stack_path(root, stack)
    if not path.is_file():
        raise no_such_stack(root, stack)
    others = None if alone else siblings(root, stack)
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
        rule = f"it cannot be read: {error.strerror or error}"
        problem = Problem(stack_source(stack), "", rule, "a file that can be read")
        return unsure_stack(draft({"stack": stack}), [problem], unread=True)


def parse_stack(text: str, *, stack: str, source: str, siblings: Sequence[StackConfig] | None = None) -> StackConfig:
    """The stack that `text` declares; `source` is how people call the file. ConfigError with every problem.

    siblings: all other stacks of the repository, None where nothing is known of them.
    """
    return _build(stack_text(text, stack=stack, source=source), siblings)


def read_stack(content: bytes, *, stack: str, source: str, siblings: Sequence[StackConfig] | None = None) -> Reading:
    """What a version of a stack file says, whatever is wrong in it; ConfigError only where nothing can be read."""
    return _reading(stack_text(yamlfile.decoded(content, source), stack=stack, source=source), siblings)


# A command judges one stack beside the same others many times.
@lru_cache(maxsize=64)
def read_sibling(content: bytes, *, stack: str) -> StackConfig | None:
    """Another stack, for the rules that span stacks; None where its name is that of no stack.

    An `UnsureStack` where the file has mistakes by itself.
    """
    if not is_resource_name(stack):
        return None
    try:
        given = stack_text(yamlfile.decoded(content, stack_source(stack)), stack=stack, source=stack_source(stack))
    except ConfigError as error:
        return unsure_stack(draft({"stack": stack}), error.problems, unread=True)
    raw, unread = _decode(given)
    unread += given.problems
    parts, subject = draft(raw), _subject_in(given)
    refused = problems(parts.error, StackConfig, subject) if parts.error else ()
    misplaced = rules.misplaced(parts, subject)
    found = ConfigError([*unread, *refused, *misplaced]).problems
    if not found:
        return parts.config
    return unsure_stack(parts, found, unread=bool(unread), misplaced=bool(misplaced))


def stack_from_pulumi(
    values: Mapping[str, str], *, project: str, stack: str, siblings: Sequence[StackConfig] | None = None
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
        elif namespace == PULUMI_PROJECT and key in _KEYS:
            if key in _TEXT_KEYS:
                raw[key] = text
            else:
                raw[key], twice = _structure(text)
                found += (_read_twice(given.subject(path), each) for each in twice)
        elif namespace not in _FOREIGN_NAMESPACES:
            found.append(unknown_key(full_key, "", given.subject(path), ("gcp:project", *map(_full_key, _KEYS))))
    return raw, found


def _full_key(key: str) -> str:
    return f"{PULUMI_PROJECT}:{key}"


def _structure(text: str) -> tuple[Any, list[str]]:
    """A structured value and the keys that stand twice in it; text that is none stays as it is, and the schema says
    what is wanted in its place."""
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice.extend(sorted({name for name in names if names.count(name) > 1}))
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=once, parse_int=_whole, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text, []
    return value, twice


def _whole(digits: str) -> int | str:
    """A whole number; text where it is longer than any, which takes Python too long to read."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else digits


def _no_number(name: str) -> Any:
    """NaN and the infinities, which Python's reader of JSON alone takes for numbers."""
    raise ValueError(name)


def _read_twice(subject: str, key: str) -> Problem:
    rule = "the key stands twice, and readers of JSON differ on which counts"
    return Problem(subject, f"{shown(key)} stands twice", rule, "one of the two, or the value as YAML below its key")


def _build(given: StackText, siblings: Sequence[StackConfig] | None) -> StackConfig:
    reading = _reading(given, siblings)
    if reading.problems:
        raise ConfigError(reading.problems, {given.stack: reading.unchecked} if reading.unchecked else {})
    return reading.parts.config


def _reading(given: StackText, siblings: Sequence[StackConfig] | None) -> Reading:
    if not is_resource_name(given.stack):
        rule = f"not a stack's name: {RESOURCE_NAME_RULE}; networks and accounts are named after it"
        raise ConfigError([Problem(given.source, shown(given.stack), rule, "another name for the file, such as ci")])
    raw, found = _decode(given)
    parts, subject = draft(raw), _subject_in(given)
    if parts.error:
        found += problems(parts.error, StackConfig, subject)
    found += rules.broken(parts, siblings, subject)
    # A value that could not be read as it is written is wrong for that alone.
    unread = {problem.subject for problem in given.problems}
    found = [*given.problems, *(problem for problem in found if problem.subject not in unread)]
    unknown = {} if found else dict(_unknown(parts.config, siblings))
    return Reading(
        parts=parts,
        raw=raw,
        problems=ConfigError([*found, *chain.from_iterable(unknown.values())]).problems,
        unchecked=tuple(unknown),
        siblings=tuple(siblings or ()),
        foreign={key: text for key, text in given.values.items() if _is_foreign(key)},
    )


def _unknown(config: StackConfig, siblings: Sequence[StackConfig] | None) -> Iterator[tuple[str, Sequence[Problem]]]:
    """The stacks that this one reads or shares limits with and whose files have mistakes, with these.

    What such a file draws on limits is not known. That is not nothing, so nothing changes beside it.
    """
    _, project, read = (config.registry_stack or "//").split("/")
    known = {each.stack: each for each in siblings or ()}
    if siblings is not None and project == PULUMI_PROJECT and read not in {config.stack, *known}:
        rule = "there is no such file, and tidepool:registry_stack names its stack"
        fix = suggestion(read, sorted({config.stack, *known}), "its file")
        yield read, (Problem(stack_source(read), "", rule, fix),)
    near = [each for each in known.values() if each.project in (config.project, STAND_INS["project"])]
    limited = any(each.reservations or each.quotas for each in (config, *near))
    holds = config.holders or config.reservations or config.quotas
    for other in known.values():
        if isinstance(other, UnsureStack):
            shares = holds and other in near and other.hides_chips and (limited or other.hides_limits)
            if shares or (project == PULUMI_PROJECT and read == other.stack):
                yield other.stack, other.problems


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
