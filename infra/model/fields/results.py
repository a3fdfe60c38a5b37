"""Values of the sections of results and of money."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator, StrictStr

from infra.model.fields.common import MAX_DAYS, Written, between, matching
from infra.model.refusals import refuse

SuiteName = Annotated[
    StrictStr, matching(r"[a-z][a-z0-9-]{0,59}", "a suite's name: lower-case letters, digits and -", "such as tpu")
]
TestName = Annotated[StrictStr, matching(r"\S.{0,299}", "the name of a test", "as a report has it")]
Person = Annotated[
    StrictStr,
    matching(r"@?[A-Za-z0-9][A-Za-z0-9 ._/-]{0,79}", "who mends it: a person or a team", "such as @lab/serving"),
]
InputGlob = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*",
        "a path from the top of the repository, with * and **",
        "such as src/**",
    ),
]
KeptDays = Annotated[int, between(1, MAX_DAYS, "days for which results are kept", "a number such as 400")]
BillingAccount = Annotated[
    StrictStr,
    matching(r"[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}", "a billing account", "such as 012345-6789AB-CDEF01"),
]


def _threshold(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 10:
        refuse("not a share of the budget", "a number such as 0.5 or 1.0")
    return float(value)


Threshold = Annotated[
    float,
    PlainValidator(_threshold),
    Written(lambda: {"type": "number", "exclusiveMinimum": 0, "maximum": 10, "description": "a share of the budget"}),
]
