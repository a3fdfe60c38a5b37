"""The section of results of test runs: where they are kept and how long, what suites read, tests in quarantine."""

from __future__ import annotations

from typing import Annotated

from infra.model.fields.common import BucketLocation, BucketName, Day, Reason, some
from infra.model.fields.results import InputGlob, KeptDays, Person, SuiteName, TestName
from infra.model.schema.base import Section


class ResultsBucket(Section):
    """A bucket of their own: results are read by more people than records of the fleet."""

    name: BucketName
    location: BucketLocation


class Suite(Section):
    """One suite of tests. inputs: paths of the repository, with * and **, that decide how it ends; all of them."""

    name: SuiteName
    inputs: Annotated[
        tuple[InputGlob, ...], some("no inputs: one result would stand for every tree", "name what the tests read")
    ]


class QuarantineEntry(Section):
    """A flaky test whose failures fail nobody until a day, and whose they are."""

    suite: SuiteName
    test: TestName
    owner: Person
    reason: Reason
    expires: Day


class Results(Section):
    """Where results are kept. kept_days: after these a run is deleted."""

    bucket: ResultsBucket
    kept_days: KeptDays
    suites: tuple[Suite, ...] = ()
    quarantine: tuple[QuarantineEntry, ...] = ()
