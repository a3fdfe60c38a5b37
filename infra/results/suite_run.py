"""One run of a suite as it is kept: which tests ran on which tree and machine, how they ended, what it took.

Owns the document and its reading. Does not own what it is made of (`infra.results.intake`) nor where it is kept
(`infra.results.store`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from infra.model.errors import OutsideError

LARGEST: Final = 16 << 20
"""Bytes of a run that a reader accepts."""
LARGEST_WRITTEN: Final = 12 << 20
"""Bytes of a run that a writer keeps: 50,000 tests with names of 150 characters. It is less than a reader accepts, so
that a later form of the same run can still be read."""
MOST_TESTS: Final = 100_000
"""Tests of a run that a reader accepts."""
MOST_TESTS_WRITTEN: Final = 50_000
LONGEST_NAME: Final = 300
LONGEST_MESSAGE: Final = 600

_Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
_Hash = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
_Short = Annotated[str, StringConstraints(max_length=200)]
_Seconds = Annotated[float, Field(ge=0, le=30 * 24 * 3600, allow_inf_nan=False)]


class ResultsError(OutsideError):
    """Results that cannot be taken, kept or read; the text says whose, what is wrong and what to do."""


class Outcome(StrEnum):
    """How a test ended. flaky: it failed, and passed within the same run."""

    PASSED = "passed"
    FAILED = "failed"
    FLAKY = "flaky"
    SKIPPED = "skipped"


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Test(_Shape):
    """One test. name: as its runner says it. message: what failed, in a few lines."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
    outcome: Outcome
    seconds: _Seconds = 0.0
    message: Annotated[str, StringConstraints(max_length=LONGEST_MESSAGE)] = ""


class VmTime(_Shape):
    """What of a TPU VM a run took. seconds: while it was READY, by which Google bills. capacity: the kind."""

    accelerator: _Short
    zone: _Short
    capacity: Literal["on-demand", "spot", "preemptible", "reserved"]
    seconds: _Seconds
    pool: _Short = ""


class SuiteRun(_Shape):
    """One run. run: an id that no other run of the suite has, such as GitHub's run and attempt.

    commit, tree: of git. branch: empty for a detached commit. pull: number of the pull request. at: when it began, UTC.
    hardware, versions: what durations depend on; runs are compared where both are the same. seconds: of the tests.
    waited: seconds from the request to the first test, None where nobody measured. coverage: percent of lines.
    vm, other_vms: of its shards in the place where they stood longest, and in others.
    inputs: digest of the files that the suite declares, empty where it declares none. reused: the run whose result this
    is, where nothing ran. link: of its log. ended: passed, where no test failed and at least one passed; incomplete,
    where no test failed and not all ran. missing: parts of the suite without a result, each with its reason.
    """

    version: Literal[1] = 1
    suite: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,59}$")]
    run: _Id
    commit: _Hash
    tree: _Hash
    branch: _Short = ""
    pull: int | None = None
    at: datetime
    hardware: _Short
    zone: _Short = ""
    versions: dict[_Short, _Short] = Field(default_factory=dict)
    ended: Literal["passed", "failed", "incomplete"]
    missing: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=LONGEST_NAME)], ...], Field(max_length=100)
    ] = ()
    seconds: _Seconds
    waited: _Seconds | None = None
    coverage: Annotated[float, Field(ge=0, le=100)] | None = None
    vm: VmTime | None = None
    other_vms: Annotated[tuple[VmTime, ...], Field(max_length=100)] = ()
    inputs: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""
    reused: Annotated[str, StringConstraints(max_length=100)] = ""
    link: Annotated[str, StringConstraints(pattern=r"^(https://[^\s<>\"]{1,500})?$")] = ""
    tests: Annotated[tuple[Test, ...], Field(max_length=MOST_TESTS)] = ()

    @field_validator("at")
    @classmethod
    def _in_utc(cls, at: datetime) -> datetime:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)

    @property
    def green(self) -> bool:
        return self.ended == "passed"

    @property
    def vms(self) -> tuple[VmTime, ...]:
        return () if self.vm is None else (self.vm, *self.other_vms)

    def named(self, *outcomes: Outcome) -> tuple[str, ...]:
        """The names of the tests that ended so."""
        return tuple(test.name for test in self.tests if test.outcome in outcomes)

    @property
    def object_name(self) -> str:
        """Where it is kept: by suite and day, so that a folder of a day is read by hand."""
        return f"runs/{self.suite}/{self.at:%Y/%m/%d}/{self.run}.json"

    def content(self) -> bytes:
        """The document; equal runs give equal bytes. ResultsError for one that is larger than a writer keeps."""
        content = document(self.model_dump(mode="json"))
        if len(content) > LARGEST_WRITTEN:
            raise ResultsError(
                f"run {self.run} of {self.suite}: {len(content):,} bytes, and at most {LARGEST_WRITTEN:,} are kept. "
                "Fix: split the suite"
            )
        return content


def document(body: Mapping[str, Any]) -> bytes:
    """JSON as it is kept, so that a person reads it and two versions can be compared."""
    return (json.dumps(body, indent=2, sort_keys=True) + "\n").encode()


def read_run(content: bytes, name: str) -> SuiteRun:
    """A document that is kept. name: of the object, for the error. Raises ResultsError."""
    if len(content) > LARGEST:
        raise ResultsError(f"{name} has {len(content):,} bytes, and a run has at most {LARGEST:,}; delete it")
    try:
        return SuiteRun.model_validate_json(content)
    except ValidationError as wrong:
        raise ResultsError(f"{name} is not a run as `results publish` writes it: {mistakes(wrong)}") from None


def mistakes(wrong: ValidationError) -> str:
    """Where and what, without what was written there: it may be a stranger's."""
    told = sorted({f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}" for each in wrong.errors()})
    more = f"; and {len(told) - 5} more" if len(told) > 5 else ""
    return "; ".join(told[:5]) + more


_SURROGATES: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def shortened(text: str, most: int) -> str:
    """A text of a stranger's in one piece: control characters gone, its end cut."""
    plain = _SURROGATES.sub(" ", text).strip()
    return plain if len(plain) <= most else plain[: most - 3] + "..."
