"""Whether inputs can be, and what they become before they are compared and recorded.

Owns what the official provider tests before any call (unknown and missing properties, kinds, allowed values, forms,
relations), the defaults it fills in, and the names it makes. Does not own what only the service knows: an
impossible accelerator passes here and fails in the create, as it does there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.engine.provider import UNKNOWN, CheckFailure
from bench.providers.google.codec import DEFAULTS
from bench.providers.google.differ import under
from bench.providers.google.fields import Field, Relation, Shape
from infra.model.errors import meant

_SUFFIX_LENGTH = 7


@dataclass(slots=True)
class Findings:
    """What is wrong with one resource's inputs; filled while they are walked."""

    token: str
    failures: list[CheckFailure] = field(default_factory=list)

    def refuse(self, path: str, reason: str) -> None:
        self.failures.append(CheckFailure(path, f"{self.token}: {reason}"))


def check_fields(
    findings: Findings,
    path: str,
    fields: Mapping[str, Field],
    given: Mapping[str, Any],
    relations: tuple[Relation, ...] = (),
) -> dict[str, Any]:
    """The given properties with defaults filled in and marked, each in the kind that its field has."""
    written = {name: value for name, value in given.items() if value is not None and not name.startswith("__")}
    taken = {name for each in relations if each.most == 1 and written.keys() & {*each.names} for name in each.names}
    checked: dict[str, Any] = {}
    defaulted: list[str] = []
    for name, value in written.items():
        known = fields.get(name)
        if known is None or known.computed:
            findings.refuse(under(path, name), _unknown_property(name, fields))
        else:
            checked[name] = _check_value(findings, under(path, name), known, value)
    for name, known in fields.items():
        if name in checked:
            if known.needs and known.needs not in checked:
                findings.refuse(under(path, name), f"all of {name}, {known.needs} must be specified")
        elif known.required:
            findings.refuse(under(path, name), f"the required property {name!r} is missing")
        elif known.default is not None and name not in taken:
            checked[name] = known.default
            defaulted.append(name)
    for relation in relations:
        if wrong := relation.broken_by(written, UNKNOWN):
            findings.refuse(path, wrong)
    checked[DEFAULTS] = sorted(defaulted)
    return checked


def _unknown_property(name: str, fields: Mapping[str, Field]) -> str:
    inputs = [known for known, field in fields.items() if not field.computed]
    hint = meant(name, inputs) or f" It takes {', '.join(sorted(inputs))}"
    return f"the embedded provider knows no input {name!r}.{hint}"


def _check_value(findings: Findings, path: str, known: Field, value: Any) -> Any:
    if value is UNKNOWN:
        return value
    if known.most and isinstance(value, list) and len(value) > known.most:
        findings.refuse(path, f"at most {known.most} elements, got {len(value)}")
    match known.kind:
        case Shape.BLOCK if isinstance(value, Mapping):
            return check_fields(findings, path, known.inner, value, known.relations)
        case Shape.BLOCKS if isinstance(value, list):
            return [
                item if item is UNKNOWN else _check_item(findings, f"{path}[{index}]", known, item)
                for index, item in enumerate(value)
            ]
        case Shape.TEXTS | Shape.REALS if isinstance(value, list):
            return [_check_scalar(findings, f"{path}[{index}]", known, item) for index, item in enumerate(value)]
        case Shape.TABLE if isinstance(value, Mapping):
            entries = {key: item for key, item in value.items() if item is not None and key != DEFAULTS}
            checked = {key: _check_scalar(findings, under(path, key), known, item) for key, item in entries.items()}
            if known.rule is not None and (wrong := known.rule(checked)):
                findings.refuse(path, wrong)
            return checked
        case Shape.TEXT | Shape.WHOLE | Shape.REAL | Shape.FLAG:
            return _check_scalar(findings, path, known, value)
        case _:
            findings.refuse(path, f"expected {known.kind.value}, got {value!r}")
            return value


def _check_item(findings: Findings, path: str, known: Field, item: Any) -> Any:
    if isinstance(item, Mapping):
        return check_fields(findings, path, known.inner, item, known.relations)
    findings.refuse(path, f"expected object, got {item!r}")
    return item


def _check_scalar(findings: Findings, path: str, known: Field, value: Any) -> Any:
    if value is UNKNOWN:
        return value
    kind = {Shape.TEXTS: Shape.TEXT, Shape.TABLE: Shape.TEXT, Shape.REALS: Shape.REAL}.get(known.kind, known.kind)
    converted = _convert(kind, value)
    if converted is None:
        findings.refuse(path, f"expected {kind.value}, got {value!r}")
        return value
    empty = converted == "" and not known.required
    if known.choices and converted not in known.choices and not empty:
        findings.refuse(path, f"expected one of {', '.join(known.choices)}, got {converted!r}")
    if known.rule is not None and known.kind is not Shape.TABLE and (wrong := known.rule(converted)):
        findings.refuse(path, wrong)
    return converted


def _convert(kind: Shape, value: Any) -> Any:
    """The value as its kind, None where it is none: numbers arrive as floats, flags and numbers sometimes as text."""
    if kind is Shape.FLAG:
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(value)
    if kind is Shape.TEXT:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return str(int(value)) if value == int(value) else str(value)
        return value if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    if kind is Shape.REAL:
        return number
    return int(number) if number == int(number) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """The property that names a resource of a type where the program does not, and the rules for a made name."""

    property: str = "name"
    longest: int = 63
    lower: bool = False

    def make(self, name: str, urn: str) -> str:
        """NAME-xxxxxxx. The suffix follows from the URN alone, so that previews and later runs agree on it."""
        suffix = hashlib.sha256(urn.encode()).hexdigest()[:_SUFFIX_LENGTH]
        stem = name.lower() if self.lower else name
        return f"{stem[: self.longest - _SUFFIX_LENGTH - 1]}-{suffix}"


def fill_name(naming: Naming, checked: dict[str, Any], name: str, urn: str, old: Mapping[str, Any] | None) -> None:
    """Give the resource its name where the program gives none: the one it has, else a new one."""
    if naming.property in checked:
        return
    kept = None if old is None else old.get(naming.property)
    checked[naming.property] = kept if isinstance(kept, str) and kept else naming.make(name, urn)
    checked[DEFAULTS] = sorted([*checked[DEFAULTS], naming.property])
