"""What values of a stack file are checked by, and the types that every section has: names, labels, days, dollars.

Owns how a check and its refusal are made. Does not own the values of one subject (the modules beside it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, TypeVar

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler, PlainValidator, StrictStr
from pydantic_core import CoreSchema

from infra.model import calendar, names
from infra.model.errors import suggestion
from infra.model.facts import bucket_locations
from infra.model.refusals import refuse

SCHEMA = "one that `./tidepool schema` lists"
MAX_ID = 2**53 - 1
"""The largest number of GitHub's that every reader of JSON keeps exactly."""
MAX_DAYS = 3650
_MAX_DOLLARS = 10**12
_MOST_CHARACTERS = 1000
"""Of any text that has no limit of its own."""
_N = r"[0-9]{1,2}"
_DAY_NAME, _MONTH_NAME = "SUN|MON|TUE|WED|THU|FRI|SAT", "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
HOUR = 60  # minutes
DAY = 24 * HOUR
_YEARS = f"from {calendar.YEARS[0]} to {calendar.YEARS[-1]}"
V = TypeVar("V")


@dataclass(frozen=True)
class Written:
    """How a value is written, as a JSON Schema: for editors (`infra.model.stack_schema`). Beside a validator in a type.

    schema: made when it is asked for, since some are read from tables. What is said nearer to the type wins.
    """

    schema: Callable[[], Mapping[str, Any]]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**self.schema(), **handler(core)}


@dataclass(frozen=True)
class _Checked(AfterValidator):
    """A check of a text and how it is written, in one."""

    schema: Callable[[], Mapping[str, Any]] = field(default=dict, kw_only=True)
    __get_pydantic_json_schema__ = Written.__get_pydantic_json_schema__


@dataclass(frozen=True)
class _Plain(PlainValidator):
    """The same of a value of any type."""

    schema: Callable[[], Mapping[str, Any]] = field(default=dict, kw_only=True)
    __get_pydantic_json_schema__ = Written.__get_pydantic_json_schema__


def matching(pattern: str, what: str, fix: str, most: int = _MOST_CHARACTERS) -> AfterValidator:
    compiled = re.compile(pattern)
    return passing(lambda text: compiled.fullmatch(text) is not None, what, fix, pattern, most)


def passing(
    test: Callable[[str], bool], what: str, fix: str, pattern: str = "", most: int = _MOST_CHARACTERS
) -> AfterValidator:
    """what: a valid value is, as a noun. pattern: what all valid values match, for editors. most: characters."""

    def checked(text: str) -> str:
        if len(text) > most:
            refuse(f"more than {most:,} characters, the most for {what}", fix)
        return text if test(text) else refuse(f"not {what}", fix)

    schema = {"description": f"{what}; {fix}", "minLength": 1, "maxLength": most}
    schema |= {"pattern": f"^(?:{pattern})$"} if pattern else {}
    return _Checked(checked, schema=lambda: schema)


def refusing(test: Callable[[str], bool], wrong: str, fix: str) -> AfterValidator:
    return AfterValidator(lambda text: text if test(text) else refuse(wrong, fix))


def one_of(valid: Callable[[], tuple[str, ...]], what: str) -> AfterValidator:
    def checked(text: str) -> str:
        return text if text in valid() else refuse(f"not {what}", suggestion(text, valid(), SCHEMA))

    return _Checked(checked, schema=lambda: {"description": what, "enum": list(valid())})


def _written(value: object) -> object:
    return value if value is not None else refuse("the key has no value", "a value, or remove the line")


def _by_key(value: Mapping[str, V]) -> Mapping[str, V]:
    return dict(sorted(value.items()))


def whole_number(value: object, least: int, what: str, fix: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        refuse(f"not a whole number from {least}: {what}", fix)
    return value


def some(rule: str, fix: str) -> AfterValidator:
    """Of a list or mapping that means nothing while it is empty; rule: what is wrong then."""
    schema = {"minItems": 1, "minProperties": 1}
    return _Checked(lambda values: values or refuse(rule, fix), schema=lambda: schema)


def between(least: int, most: int, what: str, fix: str) -> PlainValidator:
    def checked(value: object) -> int:
        number = whole_number(value, least, what, fix)
        return number if number <= most else refuse(f"more than {most}, the most for {what}", fix)

    schema = {"type": "integer", "minimum": least, "maximum": most, "description": f"{what}, {least} to {most}"}
    return _Plain(checked, schema=lambda: schema)


def _day(value: object) -> date:
    try:
        return calendar.parse_day(str(value))
    except ValueError:
        refuse(f"not a day as year, month and day, {_YEARS}", "such as 2026-12-20")


def _moment(value: object) -> date | datetime:
    try:
        return calendar.parse_moment(str(value))
    except ValueError:
        refuse(f"not a day, or a day and a wall-clock time, {_YEARS}", "such as 2026-12-20 or 2026-12-20T18:00")


def _dollars(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_DOLLARS:
        refuse("not an amount of US dollars: a number from 0", "such as 12000, without a sign or separators")
    return Decimal(str(value))


def _cron_field(value: str) -> str:
    """`*`, values, ranges and lists of them, with steps after `*` and ranges."""
    each = rf"(?:\*(?:/{_N})?|(?:{value})(?:-(?:{value})(?:/{_N})?)?)"
    return f"{each}(?:,{each})*"


_CRON = r"\s+".join(map(_cron_field, (_N, _N, _N, f"{_N}|{_MONTH_NAME}", f"[0-7]|{_DAY_NAME}")))
"""What cron, Cloud Scheduler and GitHub all read alike. cronsim also reads seconds, `@daily`, `L`, `W` and `#`."""


def _cron(text: str) -> str:
    rule = "not a cron of five fields: minute, hour, day of the month, month, day of the week"
    if not re.fullmatch(_CRON, text.strip()):
        refuse(rule, 'such as "0 3 * * *"')
    try:
        next(CronSim(text, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        refuse(f"{rule} ({error})", 'such as "0 3 * * *"')
    except StopIteration:
        refuse("a cron that never comes round", "a day that its month has")
    return text


# Put beside a type, for values that are mappings or may be absent.
WRITTEN = BeforeValidator(_written)
BY_KEY = AfterValidator(_by_key)
ResourceName = Annotated[
    StrictStr, matching(names.RESOURCE_NAME, f"a name: {names.RESOURCE_NAME_RULE}", "such as tpu-ci")
]
ProjectId = Annotated[
    StrictStr,
    matching(names.ACCOUNT_ID, "a project id: 6 to 30 lower-case letters, digits and hyphens", "such as my-lab"),
]
LabelKey = Annotated[
    StrictStr,
    matching(names.LABEL_KEY, f"a label's key: {names.LABEL_KEY_RULE}", "such as team"),
    refusing(lambda key: not key.startswith("tidepool-"), "labels tidepool-* are the program's own", "another key"),
]
LabelValue = Annotated[
    StrictStr, matching(names.LABEL_VALUE, f"a label's value: {names.LABEL_VALUE_RULE}", "such as my-team")
]
Owner = Annotated[LabelValue, refusing(bool, "the owner of the fleet is empty", "such as my-team")]
Reason = Annotated[StrictStr, matching(r"[\s\S]*\S[\s\S]*", "a reason in words", "why this is so, in a sentence")]
Age = Annotated[
    StrictStr,
    matching(r"[1-9][0-9]{0,8}[smhd]", "a length of time in s, m, h or d", "such as 30d"),
    refusing(lambda text: calendar.length_of(text).days <= MAX_DAYS, f"more than {MAX_DAYS} days", "such as 30d"),
]
StackReferenceName = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+",
        "the full name of another stack",
        "organization/tidepool/ci",
    ),
]
_DAY = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}", "description": "a day, such as 2026-12-20"}
Day = Annotated[date, PlainValidator(_day), Written(lambda: _DAY)]
Moment = Annotated[
    date | datetime,
    PlainValidator(_moment),
    Written(lambda: _DAY | {"description": "a day or a wall-clock time, such as 2026-12-20 or 2026-12-20T18:00"}),
]
Cron = Annotated[
    StrictStr,
    AfterValidator(_cron),
    Written(
        lambda: {
            "pattern": rf"^\s*{_CRON}\s*$",
            "maxLength": 200,
            "description": "a cron: minute, hour, day of the month, month, day of the week",
        }
    ),
]
TimeZone = Annotated[
    StrictStr,
    passing(
        lambda text: text in calendar.time_zones(),
        "a name of the time zone database",
        "such as Europe/Berlin, America/New_York, UTC",
    ),
]
Dollars = Annotated[
    Decimal,
    PlainValidator(_dollars),
    Written(lambda: {"type": "number", "minimum": 0, "exclusiveMaximum": _MAX_DOLLARS, "description": "US dollars"}),
]
RuleId = Annotated[StrictStr, matching(r"[a-z0-9][a-z0-9-]*", "a rule's id", "such as no-secret-in-metadata")]
Subject = Annotated[StrictStr, matching(r"\S(.*\S)?", "the subject of a finding", "such as pools[tpu-ci]")]
SecretName = Annotated[
    StrictStr,
    matching(r"[A-Za-z0-9_-]{1,255}", "a secret's name: letters, digits, hyphens, underscores", "such as app-key"),
]
BucketName = Annotated[
    StrictStr,
    passing(names.is_bucket_name, f"a bucket's name: {names.BUCKET_RULE}", "such as my-lab-tidepool-ci", names.BUCKET),
]
BucketLocation = Annotated[
    StrictStr, one_of(bucket_locations, "a location of buckets: a region, dual-region or multi-region")
]
