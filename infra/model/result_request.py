"""What a workflow keeps of its test runs, as one document: where, which suites, what judges them.

Owns the document (version 1), which generated workflows carry and `infra.operations.result_jobs` reads. Everything in
it is of the stack that declares the results and of the specification; what a run did is no part of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.model.errors import ConfigError, Problem


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SuiteVm(_Part):
    """The VM that a suite runs on, for its cost. zone: the first in which it is tried."""

    accelerator: str
    zone: str
    capacity: str
    pool: str


class KeptSuite(_Part):
    """One suite, or of one that runs on several kinds of hardware or with several versions one leg.

    files: of its shards' results, all of them: timing JSON, or JUnit XML where they end in `.xml`. coverage: the file
    with its coverage, where it is measured. leg: what tells it from other legs of the suite. workflow: the file whose
    runs these are, where another one keeps them. job: the name at GitHub of the job that ran it, whose end is believed
    over its files. inputs: globs that decide how it ends, none where a result stands for no other. labels: of the issue
    while it is broken, beside those that every one has.
    """

    name: str
    hardware: str
    files: Annotated[tuple[str, ...], Field(min_length=1)]
    coverage: str = ""
    leg: str = ""
    versions: Mapping[str, str] = {}
    workflow: str = ""
    job: str = ""
    inputs: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    vm: SuiteVm | None = None


class KeptQuarantine(_Part):
    """One entry of the stack's quarantine list."""

    suite: str
    test: str
    owner: str
    reason: str
    expires: date


class ResultRequest(_Part):
    """Where results are kept and what judges them.

    main: the branch that runs are compared with. usd_per_month: what VMs of tests may cost in 30 days; None where
    nobody says.
    """

    version: Literal[1] = 1
    project: str
    bucket: str
    main: str
    suites: Annotated[tuple[KeptSuite, ...], Field(min_length=1)]
    quarantine: tuple[KeptQuarantine, ...] = ()
    usd_per_month: Decimal | None = None


def read_result_request(text: str) -> ResultRequest:
    """The request of a document; ConfigError with every mistake in it."""
    try:
        return ResultRequest.model_validate(json.loads(text))
    except ValidationError as error:
        told = ((".".join(map(str, each["loc"])), each["msg"]) for each in error.errors())
        raise ConfigError(Problem(f"result request {at}", "", said, "generate it anew") for at, said in told) from None
    except ValueError as error:
        raise ConfigError([Problem("result request", text[:80], f"not JSON: {error}", "generate it anew")]) from None
