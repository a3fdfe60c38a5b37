"""Keys of three tiers of tests: every pull request on CPU, every night on a TPU, and on a TPU whenever a label asks.

Owns which keys a section `tiers` has and what a single value may be. Does not own what is made of them
(`workflows.generate.tiers`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, StrictStr

from infra.model.fields.common import WRITTEN, Cron, Dollars, ResourceName
from infra.model.fields.fleet import Accelerator
from infra.model.images.spec import PathFilter, WorkflowName, matching
from infra.model.refusals import refuse
from workflows.spec.values import EnvValue, FileName, JobId, Minutes, Model, PythonVersion, VariableName, whole

Each = TypeVar("Each")


def _some(values: tuple[Each, ...]) -> tuple[Each, ...]:
    return values or refuse("the list is empty", "[one]")


Lines = Annotated[tuple[EnvValue, ...], AfterValidator(_some)]
"""Commands, one an item, each a line of shell without expressions of GitHub's."""
Module = Annotated[
    StrictStr,
    matching(
        r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", "a name that unittest loads", "test.srt.test_score_api"
    ),
]
SUITE: Final = re.compile(r"[a-z][a-z0-9-]{0,59}")
SuiteName = Annotated[
    StrictStr, matching(SUITE.pattern, "a suite's name: lower-case letters, digits and -", "such as tpu")
]
IssueLabel = Annotated[
    StrictStr,
    matching(r"[A-Za-z0-9][A-Za-z0-9 :_-]{0,49}", "a label of GitHub's, without commas", "such as ci-failure"),
]
PinnedImage = Annotated[
    StrictStr,
    matching(
        r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[A-Za-z0-9._-]+)?@sha256:[0-9a-f]{64}",
        "an image of a public registry by its digest",
        "docker.io/library/python:3.12-slim-bookworm@sha256:...",
    ),
]
ArchiveDays = Annotated[int, whole(1, 90, "a count of days for which GitHub keeps artifacts")]
Shards = Annotated[int, whole(1, 16, "a count of shards")]
TargetMinutes = Annotated[int, whole(1, 60, "a whole number of minutes")]
Times = Annotated[int, whole(0, 1000, "a number of runs a month")]


class Check(Model):
    """A job that runs one tool after another, such as a linter."""

    job: JobId
    run: Lines


class CpuSuite(Model):
    """Modules of unittest that need no accelerator. cover: the package whose coverage is measured.

    shards: jobs among which its modules are dealt out.
    """

    job: SuiteName
    modules: Annotated[tuple[Module, ...], AfterValidator(_some)]
    cover: Module
    shards: Shards = 1


class EveryPullRequest(Model):
    """The first tier. install: what the suites need. target_minutes: after which tests are ended."""

    file: FileName
    name: WorkflowName
    paths: tuple[PathFilter, ...] = ()
    python: PythonVersion
    install: Lines
    checks: tuple[Check, ...]
    suites: tuple[CpuSuite, ...]
    env: Mapping[VariableName, EnvValue] = {}
    target_minutes: TargetMinutes
    timeout_minutes: Minutes


class TpuTier(StrEnum):
    """When a suite runs on TPUs."""

    NIGHTLY = "nightly"
    ASKED = "asked"


class OnTpu(Model):
    """One suite of the second and the third tier, each of whose shards runs on a VM of its own.

    vm: the pool as which it is made; asked_vm: the same where a label asks, which is for strangers' commits, `vm` where
    nothing is said. accelerator: what it has, the pool's own where nothing is said. tiers: in which it runs; reuse: in
    which a pass with the same files stands for a run, where the stack says which those are. Nights find what changes
    around a tree. install: in the container of `image`, before the time of the tests begins.
    timeout_minutes: of the tests; job_minutes: of everything from making the VM to having deleted it.
    """

    suite: SuiteName
    vm: ResourceName
    asked_vm: Annotated[ResourceName | None, WRITTEN] = None
    accelerator: Annotated[Accelerator | None, WRITTEN] = None
    tiers: Annotated[tuple[TpuTier, ...], AfterValidator(_some)] = (TpuTier.NIGHTLY, TpuTier.ASKED)
    reuse: tuple[TpuTier, ...] = (TpuTier.ASKED,)
    shards: Shards = 1
    image: PinnedImage
    install: Lines
    modules: Annotated[tuple[Module, ...], AfterValidator(_some)]
    cover: Module
    env: Mapping[VariableName, EnvValue] = {}
    timeout_minutes: Minutes
    job_minutes: Minutes

    def pool(self, tier: TpuTier) -> str:
        """As which the VMs of a tier are made."""
        return self.asked_vm or self.vm if tier is TpuTier.ASKED else self.vm


class Nightly(Model):
    """The second tier. labels: of the one issue that is open while it fails."""

    file: FileName
    name: WorkflowName
    schedule: Annotated[tuple[Cron, ...], AfterValidator(_some)]
    labels: Annotated[tuple[IssueLabel, ...], AfterValidator(_some)]


class AskedTests(Model):
    """The third tier: the file that hears of the label, and the one that it starts on the main branch."""

    label: IssueLabel
    file: FileName
    name: WorkflowName
    run_file: FileName
    run_name: WorkflowName
    times_a_month: Times


class KeptResults(Model):
    """What becomes of results. The stack's `tidepool:results` says where they are kept and how long.

    file: what keeps those of runs without an identity, once they have ended: of tiers what pull requests and the main
    branch test on CPU, of suites of packages all. archive_days: for which GitHub keeps the files of a run.
    """

    file: FileName
    name: WorkflowName
    archive_days: ArchiveDays


class Money(Model):
    """usd_per_month: what the TPU VMs of these tests may cost. labels: of the issue that is open while it is more."""

    usd_per_month: Dollars
    labels: Annotated[tuple[IssueLabel, ...], AfterValidator(_some)]


class Tiers(Model):
    every_pull_request: EveryPullRequest
    on_tpu: Annotated[tuple[OnTpu, ...], AfterValidator(_some)]
    nightly: Nightly
    asked: AskedTests
    results: KeptResults
    money: Money

    def files(self) -> tuple[tuple[str, str, str], ...]:
        """Each file: the key of the part that names it, the file and its name."""
        first, second, third, kept = self.every_pull_request, self.nightly, self.asked, self.results
        return (
            ("every_pull_request", first.file, first.name),
            ("nightly", second.file, second.name),
            ("asked", third.file, third.name),
            ("asked", third.run_file, third.run_name),
            ("results", kept.file, kept.name),
        )

    def of(self, tier: TpuTier) -> tuple[tuple[int, OnTpu], ...]:
        """The suites of a tier on TPUs, each with its place."""
        return tuple((place, each) for place, each in enumerate(self.on_tpu) if tier in each.tiers)


def dealt(modules: Sequence[str], shards: int) -> tuple[tuple[str, ...], ...]:
    """Modules by the shard that runs them: by the hash of their names, as many in each, in any order."""
    ordered = sorted(modules, key=lambda name: sha256(name.encode()).hexdigest())
    return tuple(tuple(sorted(ordered[place::shards])) for place in range(shards))
