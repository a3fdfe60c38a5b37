"""Values of what runs in a cluster for long: sizes of tasks and workers, programs, ports."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import PlainValidator, StrictStr

from infra.model import names
from infra.model.fields.common import Written, between, matching, passing, some
from infra.model.refusals import refuse

TASKS_IN_FLIGHT = 1000
"""The most tasks that one class has under way, for which its scheduler is sized."""
_LONGEST = 40
"""Pods, and a slice's hosts, are called NAME-rollout-N-N or NAME-default-worker-..., and a label has 63 characters."""
_UNITS = {"MB": 1, "GB": 1000}


def _memory(value: object) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,8})(MB|GB)", value) if isinstance(value, str) else None
    megabytes = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 512 <= megabytes <= 350_000:
        refuse("not a size of memory from 512MB to 350GB", "such as 4GB")
    return megabytes


def _cpus(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.01 <= value <= 16:
        refuse("not a number of CPUs from 0.01 to 16", "such as 0.5")
    return round(value * 1000)


WorkName = Annotated[
    StrictStr,
    passing(
        lambda text: names.is_resource_name(text) and len(text) <= _LONGEST,
        f"a name of at most {_LONGEST} lower-case letters, digits and hyphens, a letter first, no hyphen last",
        "such as transform",
        names.RESOURCE_NAME,
    ),
]
Memory = Annotated[
    int,
    PlainValidator(_memory),
    Written(
        lambda: {"type": "string", "pattern": "^[1-9][0-9]{0,8}(MB|GB)$", "description": "512MB to 350GB, such as 4GB"}
    ),
]
"""In MB of 10^6 bytes."""
Cpus = Annotated[
    int,
    PlainValidator(_cpus),
    Written(lambda: {"type": "number", "minimum": 0.01, "maximum": 16, "description": "CPUs, such as 0.5"}),
]
"""In thousandths of a core."""
Tasks = Annotated[int, between(1, TASKS_IN_FLIGHT, "tasks that a worker has at once", "a number such as 8")]
LeastWorkers = Annotated[int, between(0, TASKS_IN_FLIGHT, "workers that a class always has", "a number such as 0")]
MostWorkers = Annotated[int, between(1, TASKS_IN_FLIGHT, "workers that a class may have", "a number such as 100")]
SliceCount = Annotated[int, between(1, 1000, "slices of a role", "a number such as 4")]
Port = Annotated[int, between(1024, 65535, "a port", "a number from 1024 to 65535, such as 8815")]
Program = Annotated[StrictStr, matching(r"[\s\S]+", "a word of a command", "such as python", 8000)]
COMMAND = some("the command is empty", "the program and its arguments, a word an item")
