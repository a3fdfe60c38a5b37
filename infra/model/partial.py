"""What can be saved of a stack file with mistakes, so that rules between values are checked in the same go.

Objects made here may lack fields; only rules read them, through `has`. They never leave the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, PrivateAttr, TypeAdapter, ValidationError

from infra.model import schema
from infra.model.schema import Pool, Slices, StackConfig

M = TypeVar("M", bound=BaseModel)


class UnsureStack(StackConfig):
    """A stack file whose mistakes may hide chips that it draws on a limit, or a limit that it declares."""

    _doubt: str = PrivateAttr(default="")
    _hides_limits: bool = PrivateAttr(default=True)

    def because(self, doubt: str, *, hides_limits: bool = True) -> UnsureStack:
        """This stack, with what is said of it."""
        self._doubt, self._hides_limits = doubt, hides_limits
        return self

    @property
    def doubt(self) -> str:
        """The first of those mistakes, for people."""
        return self._doubt

    @property
    def hides_limits(self) -> bool:
        """Whether it may declare limits that cannot be read, and not only draw on those of others."""
        return self._hides_limits


_HIDE_LIMITS = frozenset(("project", "reservations", "quotas"))
_HIDE_CHIPS = _HIDE_LIMITS | {"pools", "runs", "slices"}

_SAVED_IN_PARTS: frozenset[type[BaseModel]] = frozenset(
    (
        schema.App,
        schema.Builds,
        schema.Cluster,
        schema.Controller,
        schema.CpuPool,
        schema.DaskClass,
        schema.Exclusion,
        schema.Fallback,
        schema.FirestoreDecl,
        schema.Freeze,
        schema.LockStore,
        schema.Maintenance,
        schema.Mirror,
        schema.Pool,
        schema.Queues,
        schema.Quota,
        schema.RedisDecl,
        schema.Registries,
        schema.Repository,
        schema.QuarantineEntry,
        schema.Reservation,
        schema.Results,
        schema.RuleException,
        schema.Runners,
        schema.Runs,
        schema.SecretDecl,
        schema.Slices,
        schema.SourceConnection,
        schema.Suite,
        schema.Team,
        schema.Window,
        schema.WorkerGroup,
    )
)
"""Sections of which what is right is kept; a list of them keeps its length and order."""


def has(thing: BaseModel, *fields: str) -> bool:
    """Whether every one of those fields was right by itself."""
    return all(field in thing.__dict__ for field in fields)


def counted(config: StackConfig) -> Iterator[Pool | Slices]:
    """All that holds chips and whose name, accelerator, zones and capacity were right by themselves."""
    for pool in config.pools:
        if has(pool, "name", "zones", "accelerator", "capacity", "windows"):
            yield pool
    for entry in config.slices:
        if has(entry, *Slices.model_fields):
            yield entry


def partial_stack(raw: Mapping[str, Any]) -> StackConfig:
    """A StackConfig of the fields that are right; lists keep the length and order of what was written."""
    return _partial(StackConfig, raw)


def unsure_stack(raw: Mapping[str, Any], doubt: str, *, hides_limits: bool = True) -> UnsureStack:
    """A stack of which it is not known what it draws on limits, with the fields that are right."""
    return _partial(UnsureStack, raw).because(doubt, hides_limits=hides_limits)


def hides_chips(error: ValidationError) -> bool:
    """Whether a refused value may hide chips or a limit: a wrong owner does not, a wrong pool does."""
    return not _HIDE_CHIPS.isdisjoint(_heads(error))


def hides_limits(error: ValidationError) -> bool:
    """Whether a refused value may hide a limit."""
    return not _HIDE_LIMITS.isdisjoint(_heads(error))


def _heads(error: ValidationError) -> set[int | str]:
    return {detail["loc"][0] for detail in error.errors(include_url=False) if detail["loc"]}


def _partial(model: type[M], raw: object) -> M:
    given = raw if isinstance(raw, Mapping) else {}
    valid: dict[str, Any] = {}
    refused = set(model.model_fields) if not isinstance(raw, Mapping) else set()
    for name in model.model_fields:
        if name in given:
            try:
                valid[name] = _field(model, name, given[name])
            except ValidationError:
                refused.add(name)
    if model is Pool and not valid.keys() & {"name", "label"}:
        refused.add("label")
        valid["label"] = ""  # the default would be the name, which is not right either
    made = model.model_construct(**valid)
    for name in refused:
        made.__dict__.pop(name, None)
    return made


def _field(model: type[BaseModel], name: str, value: Any) -> Any:
    part, is_list = _part(model, name)
    if part is not None and is_list:
        return tuple(_partial(part, item) for item in value) if isinstance(value, list) else ()
    if part is not None and isinstance(value, Mapping):
        return _partial(part, value)
    return _checked(model, name, value)


@cache
def _part(model: type[BaseModel], name: str) -> tuple[type[BaseModel] | None, bool]:
    """The section of a field that is saved in parts, and whether the field is a list of such."""
    annotation = model.model_fields[name].annotation
    within = {annotation, *get_args(annotation)}
    return next(iter(_SAVED_IN_PARTS & within), None), get_origin(annotation) is tuple


def _checked(model: type[BaseModel], name: str, value: Any) -> Any:
    """The value of one field; entries of a mapping that are wrong are left out, items of a list become None."""
    adapter = _adapter(model, name)
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        wrong = {detail["loc"] for detail in error.errors() if detail["loc"]}
        if not wrong:
            raise
        if isinstance(value, dict):
            right = _right_entries(value, wrong, keep_keys=name == "zones")
            if not right:
                raise
            return adapter.validate_python(right)
        if isinstance(value, list):
            return tuple(_right_items(adapter, value, {location[0] for location in wrong}))
        raise


def _right_entries(value: dict[str, Any], wrong: set[tuple[int | str, ...]], *, keep_keys: bool) -> dict[str, Any]:
    """keep_keys: a zone whose count is wrong is still a zone of the pool; it counts for none."""
    if keep_keys:
        value = {key: 0 if (key,) in wrong else entry for key, entry in value.items()}
        wrong = {location for location in wrong if "[key]" in location}
    dropped = {location[0] for location in wrong}
    return {key: entry for key, entry in value.items() if key not in dropped}


def _right_items(adapter: TypeAdapter[Any], value: list[Any], wrong: set[int | str]) -> Iterator[Any]:
    for number, item in enumerate(value):
        yield None if number in wrong else adapter.validate_python([item])[0]


@cache
def _adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    field: Any = model.model_fields[name]
    return TypeAdapter(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
