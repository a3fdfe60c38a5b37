"""Reading stack files: from the repository, from text, and as Pulumi hands them to a program. One schema for all three.

Owns the way from bytes to a StackConfig and the collecting of every problem on that way. Does not own which keys exist
(schema) nor rules between values (rules).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from infra.model import rules, yamlfile
from infra.model.errors import ConfigError, Problem, nearest
from infra.model.names import PULUMI_PROJECT, RESOURCE_NAME_RULE, is_resource_name
from infra.model.partial import has, hides_chips, hides_limits, partial_stack, unsure_stack
from infra.model.refusals import Subject, problems, shown, unknown_key
from infra.model.schema import StackConfig
from infra.model.secret_values import secrets_in
from infra.model.yamlfile import YamlPath

# What the pulumi CLI itself writes at the top of a stack file.
PLANS = "stacks/plans"
"""Where a checkout keeps what each stack comes to, resource by resource."""
_PULUMI_TOP_LEVEL = frozenset(("encryptionsalt", "secretsprovider", "encryptedkey", "environment"))
# Namespaces of settings that are read by Pulumi or its Google provider and not by this model.
_FOREIGN_NAMESPACES = frozenset(("gcp", "pulumi"))
_TEXT_KEYS = frozenset(("owner", "registry_stack"))
_KEYS = tuple(key for key in StackConfig.model_fields if key not in ("stack", "project"))


@dataclass(frozen=True, slots=True)
class _Input:
    """The values of one stack, as the pulumi CLI would hand them over, and where each stands."""

    stack: str
    source: str
    values: Mapping[str, str]
    lines: Mapping[YamlPath, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def subject(self, path: YamlPath) -> str:
        """Where a path stands, for people: file, line of the nearest part that is written, and the path."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        line = f":{self.lines[known]}" if known in self.lines else ""
        return f"{self.source}{line} {yamlfile.render(path)}".rstrip()


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


def stack_names(root: Path) -> tuple[str, ...]:
    """The stacks that have a file below `root/stacks`, sorted."""
    files = (root / "stacks").glob("Pulumi.*.yaml")
    return tuple(sorted(file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in files))


def load_stack(root: Path, stack: str, *, alone: bool = False) -> StackConfig:
    """The stack of `root/stacks/Pulumi.<stack>.yaml`, checked against its siblings too; ConfigError otherwise.

    alone: its own file is judged and no other, for what a mistake in another must not stop.
    """
    path = _path(root, stack)
    if not path.is_file():
        raise no_such_stack(root, stack)
    others = () if alone else siblings(root, stack)
    return parse_stack(_text(path, stack), stack=stack, source=_source(stack), siblings=others)


def no_such_stack(root: Path, stack: str) -> ConfigError:
    """Names the stacks that there are, the one that was probably meant first."""
    there = stack_names(root)
    near = nearest(stack, there)
    listed = f"one of {', '.join(there)}" if there else f"a file {_source(stack)}"
    fix = f"{near}; stacks are {', '.join(there)}" if near else listed
    return ConfigError([Problem(_source(stack), "", f"there is no stack named {stack}", fix)])


def siblings(root: Path, stack: str) -> tuple[StackConfig, ...]:
    """The other stacks of a repository, for the rules that span stacks.

    What of them cannot be read is left out, and they say that it is (`UnsureStack`).
    """
    others = (_sibling(_path(root, name), name) for name in stack_names(root) if name != stack)
    return tuple(other for other in others if other is not None)


def _sibling(path: Path, stack: str) -> StackConfig | None:
    try:
        return read_sibling(path.read_bytes(), stack=stack)
    except OSError as error:
        return unsure_stack({"stack": stack}, f"it cannot be read: {error.strerror or error}")


def parse_stack(text: str, *, stack: str, source: str, siblings: Sequence[StackConfig] = ()) -> StackConfig:
    """The stack that `text` declares; `source` is how people call the file. ConfigError with every problem."""
    return _build(_from_text(text, stack=stack, source=source), siblings)


def read_stack(content: bytes, *, stack: str, source: str, siblings: Sequence[StackConfig] = ()) -> Reading:
    """What a version of a stack file says, whatever is wrong in it; ConfigError only where nothing can be read."""
    return _reading(_from_text(yamlfile.decoded(content, source), stack=stack, source=source), siblings)


# A command judges one stack beside the same others many times.
@lru_cache(maxsize=64)
def read_sibling(content: bytes, *, stack: str) -> StackConfig | None:
    """Another stack, for the rules that span stacks: what is right in it; None where its name is that of no stack.

    An `UnsureStack` where a mistake may hide what it draws on a limit, or a limit.
    """
    if not is_resource_name(stack):
        return None
    try:
        given = _from_text(yamlfile.decoded(content, _source(stack)), stack=stack, source=_source(stack))
    except ConfigError as error:
        return unsure_stack({"stack": stack}, _first_of(error.problems))
    raw, found = _decode(given)
    found += given.problems
    config, limits_hidden = partial_stack(raw), bool(found)
    try:
        config = StackConfig.model_validate(raw)
    except ValidationError as error:
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
    given = _Input(stack=stack, source=_source(stack), values=values)
    held = (yamlfile.secret_problem(given.subject((key,)), what) for key in values for what in secrets_in(values[key]))
    return _build(replace(given, problems=tuple(held)), siblings)


def pulumi_values(text: str, *, source: str = "stack file") -> dict[str, str]:
    """What the pulumi CLI hands to a program for this stack file; ConfigError where the file cannot be read so."""
    given = _from_text(text, stack="", source=source)
    if given.problems:
        raise ConfigError(given.problems)
    return dict(given.values)


def _path(root: Path, stack: str) -> Path:
    return root / "stacks" / f"Pulumi.{stack}.yaml"


def _source(stack: str) -> str:
    return f"stacks/Pulumi.{stack}.yaml"


def _text(path: Path, stack: str) -> str:
    return yamlfile.decoded(path.read_bytes(), _source(stack))


def _from_text(text: str, *, stack: str, source: str) -> _Input:
    document = yamlfile.read(text, source)
    lines = {yamlfile.below_config(path): line for path, line in document.lines.items()}
    lines[()] = lines.get(("config",), 1)
    given = _Input(stack=stack, source=source, values={}, lines=lines)
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
        if key != "config" and key not in _PULUMI_TOP_LEVEL:
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


def _decode(given: _Input) -> tuple[dict[str, Any], list[Problem]]:
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


def _build(given: _Input, siblings: Sequence[StackConfig]) -> StackConfig:
    reading = _reading(given, siblings)
    if reading.problems:
        raise ConfigError(reading.problems)
    return reading.partial


def _reading(given: _Input, siblings: Sequence[StackConfig]) -> Reading:
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


def _subject_in(given: _Input) -> Subject:
    """How a path of fields is called in that file."""

    def subject(path: YamlPath) -> str:
        if path[:1] in ((), ("stack",)):
            return given.subject(())
        head = "gcp:project" if path[0] == "project" else f"{PULUMI_PROJECT}:{path[0]}"
        return given.subject((head, *path[1:]))

    return subject


def _is_foreign(key: str) -> bool:
    return key != "gcp:project" and key.partition(":")[0] in _FOREIGN_NAMESPACES
