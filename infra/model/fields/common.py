"""What values of a stack file are checked by, and the types that every section has: names, labels, days, dollars.

Owns how a check and its refusal are made. Does not own the values of one subject (the modules beside it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, TypeVar

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BeforeValidator, PlainValidator, StrictStr

from infra.model import calendar, names
from infra.model.refusals import refuse

_MAX_DOLLARS = 10**12
HOUR = 60  # minutes
DAY = 24 * HOUR
_YEARS = f"from {calendar.YEARS[0]} to {calendar.YEARS[-1]}"
V = TypeVar("V")


def matching(pattern: str, what: str, fix: str) -> AfterValidator:
    compiled = re.compile(pattern)
    return passing(lambda text: compiled.fullmatch(text) is not None, what, fix)


def passing(test: Callable[[str], bool], what: str, fix: str) -> AfterValidator:
    """what: a valid value is, as a noun."""
    return refusing(test, f"not {what}", fix)


def refusing(test: Callable[[str], bool], wrong: str, fix: str) -> AfterValidator:
    return AfterValidator(lambda text: text if test(text) else refuse(wrong, fix))


def one_of(valid: Callable[[], tuple[str, ...]], what: str) -> AfterValidator:
    def checked(text: str) -> str:
        return text if text in valid() else refuse(f"not {what}", f"one of {', '.join(valid())}")

    return AfterValidator(checked)


def _written(value: object) -> object:
    return value if value is not None else refuse("the key has no value", "a value, or remove the line")


def _by_key(value: Mapping[str, V]) -> Mapping[str, V]:
    return dict(sorted(value.items()))


def whole_number(value: object, least: int, what: str, fix: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        refuse(f"not a whole number from {least}: {what}", fix)
    return value


def between(least: int, most: int, what: str, fix: str) -> PlainValidator:
    def checked(value: object) -> int:
        number = whole_number(value, least, what, fix)
        return number if number <= most else refuse(f"more than {most}, the most for {what}", fix)

    return PlainValidator(checked)


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


def _cron(text: str) -> str:
    rule = "not a cron of five fields: minute, hour, day of the month, month, day of the week"
    if len(text.split()) != 5:  # cronsim would take a sixth field, seconds, which Cloud Scheduler and GitHub refuse
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
    StrictStr, passing(names.is_resource_name, f"a name: {names.RESOURCE_NAME_RULE}", "such as tpu-ci")
]
ProjectId = Annotated[
    StrictStr,
    passing(names.is_account_id, "a project id: 6 to 30 lower-case letters, digits and hyphens", "such as my-lab"),
]
LabelKey = Annotated[
    StrictStr,
    passing(names.is_label_key, f"a label's key: {names.LABEL_KEY_RULE}", "such as team"),
    refusing(lambda key: not key.startswith("tidepool-"), "labels tidepool-* are the program's own", "another key"),
]
LabelValue = Annotated[
    StrictStr, passing(names.is_label_value, f"a label's value: {names.LABEL_VALUE_RULE}", "such as my-team")
]
Owner = Annotated[LabelValue, refusing(bool, "the owner of the fleet is empty", "such as my-team")]
Reason = Annotated[StrictStr, matching(r"(?s).*\S.*", "a reason in words", "why this is so, in a sentence")]
Age = Annotated[StrictStr, matching(r"[1-9][0-9]*[smhd]", "a length of time in s, m, h or d", "such as 30d")]
StackReferenceName = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+",
        "the full name of another stack",
        "organization/tidepool/ci",
    ),
]
Day = Annotated[date, PlainValidator(_day)]
Moment = Annotated[date | datetime, PlainValidator(_moment)]
Cron = Annotated[StrictStr, AfterValidator(_cron)]
TimeZone = Annotated[
    StrictStr,
    passing(calendar.is_time_zone, "a name of the time zone database", "such as Europe/Berlin, America/New_York, UTC"),
]
Dollars = Annotated[Decimal, PlainValidator(_dollars)]
RuleId = Annotated[StrictStr, matching(r"[a-z0-9][a-z0-9-]*", "a rule's id", "such as no-secret-in-metadata")]
Subject = Annotated[StrictStr, matching(r"\S(.*\S)?", "the subject of a finding", "such as pools[tpu-ci]")]
SecretName = Annotated[
    StrictStr,
    matching(r"[A-Za-z0-9_-]{1,255}", "a secret's name: letters, digits, hyphens, underscores", "such as app-key"),
]
BucketName = Annotated[
    StrictStr,
    passing(names.is_bucket_name, f"a bucket's name: {names.BUCKET_RULE}", "such as my-lab-tidepool-ci"),
]
BucketLocation = Annotated[
    StrictStr, matching(r"[a-z]+(-[a-z]+[0-9]+)?", "a region or multi-region", "such as us-central1 or us")
]
