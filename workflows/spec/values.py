"""The types of single values in a specification: what each may be, and how a wrong one is said.

Owns values that are right or wrong by themselves. Does not own which keys have them (model) nor rules between (rules).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, StrictStr

from infra.model.images.spec import matching
from infra.model.names import RESOURCE_NAME_RULE, is_resource_name
from infra.model.refusals import refuse
from workflows import markers
from workflows.markers import MarkersError

GITHUB_HOSTED = "github-hosted"
POOL_EVENTS = ("pull_request", "push")
LONGEST_MINUTES = 24 * 60
MOST_VMS = 1000

_WHERE = f"{GITHUB_HOSTED}, a list of pools, or pools by event: {{pull_request: [...], push: [...]}}"


class Model(BaseModel):
    """What every part of a specification is: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


@dataclass(frozen=True, slots=True)
class Where:
    """On which runners a suite runs: GitHub's own where `pools` is empty, else pools by event."""

    pools: Mapping[str, tuple[str, ...]]

    @property
    def hosted(self) -> bool:
        return not self.pools

    @property
    def every(self) -> tuple[str, ...]:
        """Each pool once, in the order in which they are written."""
        return tuple(dict.fromkeys(pool for pools in self.pools.values() for pool in pools))


def _pools(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        refuse("not a list of pools with at least one", _WHERE)
    for name in value:
        if not isinstance(name, str) or not is_resource_name(name):
            refuse(f"not a pool's name: {RESOURCE_NAME_RULE}", "such as tpu-ci")
    if len(set(value)) < len(value):
        refuse("a pool is named twice", "each name once")
    return tuple(value)


def _where(value: object) -> Where:
    if value == GITHUB_HOSTED:
        return Where({})
    if isinstance(value, list):
        pools = _pools(value)
        return Where(dict.fromkeys(POOL_EVENTS, pools))
    if isinstance(value, dict) and value:
        for event in value:
            if event not in POOL_EVENTS:
                refuse(f"not an event of suites: {' and '.join(POOL_EVENTS)}", _WHERE)
        return Where({event: _pools(value[event]) for event in POOL_EVENTS if event in value})
    return refuse("neither GitHub's runners nor pools of the fleet", _WHERE)


def whole(least: int, most: int, what: str, such: int | None = None) -> PlainValidator:
    """A whole number within bounds. what: how it is said; such: an example, the least where none is named."""

    def checked(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            refuse(f"not {what}, {least} to {most}", f"such as {least if such is None else such}")
        return value

    return PlainValidator(checked)


def _folder(text: str) -> str:
    parts = text.split("/")
    if text != "." and (not re.fullmatch(r"[A-Za-z0-9._/-]+", text) or "" in parts or ".." in parts or "." in parts):
        refuse("not a path below the top of the repository", "such as lib/levanter, or . for the top")
    return text


def _markers(text: str) -> str:
    """pytest's expression of -m; an empty one is none."""
    try:
        if text.strip():
            markers.parse(text)
            return text
    except MarkersError:
        pass
    return refuse("not names of markers joined by and, or, not and parentheses", "such as not slow and not tpu_ci")


Minutes = Annotated[int, whole(5, LONGEST_MINUTES, "a limit is a whole number of minutes", 15)]
Attempts = Annotated[int, whole(1, 20, "how often all zones are tried", 3)]
Vms = Annotated[int, whole(0, MOST_VMS, "a number of VMs", 1)]
WhereValue = Annotated[Where, PlainValidator(_where)]
Folder = Annotated[StrictStr, AfterValidator(_folder)]
Markers = Annotated[StrictStr, AfterValidator(_markers)]
FileName = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]*\.ya?ml", "a file right below .github/workflows", "such as levanter-tests.yaml"
    ),
]
JobId = Annotated[
    StrictStr, matching(r"[A-Za-z_][A-Za-z0-9_-]*", "a job's id: letters, digits, _ and -", "such as tpu-tests")
]
PackageName = Annotated[
    StrictStr, matching(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", "a package's name", "such as levanter")
]
PythonVersion = Annotated[
    StrictStr, matching(r"3\.[0-9]{1,2}", "a Python by its first two numbers, as text", 'such as "3.11"')
]
NodeVersion = Annotated[StrictStr, matching(r"[0-9]+(\.[0-9]+){0,2}", "a release of Node, as text", 'such as "22"')]
JaxVersion = Annotated[
    StrictStr, matching(r"[0-9]+\.[0-9]+\.[0-9]+", "a whole release of jax, as text", 'such as "0.8.0"')
]
SecretKey = Annotated[
    StrictStr,
    matching(r"(?!GITHUB_)[A-Z_][A-Z0-9_]*", "the name of a secret, never its value", "such as HF_TOKEN"),
]
VariableName = Annotated[
    StrictStr, matching(r"[A-Z_][A-Z0-9_]*", "a variable: capitals, digits and _", "such as WANDB_MODE")
]
Word = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z0-9_@%+=:,./-]*(\{run\}[A-Za-z0-9_@%+=:,./-]*)*",
        "one word of a command: letters, digits, _@%+=:,./- and {run}",
        "one word an item",
    ),
]
EnvValue = Annotated[
    StrictStr,
    matching(r"(?!.*\$\{\{)[^\n\r]*", "one line of text without expressions", "such as offline"),
]
EventName = Annotated[StrictStr, matching(r"[a-z_]+", "an event of GitHub's", "such as pull_request")]
