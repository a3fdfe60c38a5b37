"""The typed shape of a specification: frozen models that refuse unknown keys. docs/workflows.md is the same for people.

Owns which keys exist. Does not own what a single value may be (values), rules between values (rules), nor reading
(load). A section is a list of workflow files of one kind; how each kind looks is `workflows.generate`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator

from infra.model.fields.common import WRITTEN, Cron, Reason, ResourceName
from infra.model.fields.fleet import Accelerator, GitHubRepository, RunnerLabel
from infra.model.images.spec import Branch, PathFilter, Version, WorkflowName
from infra.model.refusals import refuse
from workflows.spec.tiers import KeptResults, Module, Tiers
from workflows.spec.values import (
    Attempts,
    EnvValue,
    EventName,
    FileName,
    Folder,
    JaxVersion,
    JobId,
    Markers,
    Minutes,
    Model,
    NodeVersion,
    PackageName,
    PythonVersion,
    SecretKey,
    VariableName,
    Vms,
    WhereValue,
    Word,
)

_OTHER: Final = re.compile(r"[^a-z0-9]+")


class Priority(StrEnum):
    """Who waits where a pool is full. GitHub gives a free runner to whoever asked first, whatever this says."""

    FIRST = "first"
    """As many legs at once as it has."""
    NORMAL = "normal"
    """So few legs at once that what is first finds a VM of a pool that both want (`leave_free`)."""


class RunKind(StrEnum):
    """What a run is, which decides where it may run."""

    INTEGRATION = "integration"
    """To a pool, if some pool's accelerator is large enough; else a VM of its own."""
    TRAINING = "training"
    """Always a VM of its own: hours on a runner would be everybody else's wait."""


class Kept(Model):
    """A workflow that nobody generates, named so that references to it, and what it asks of runners, are checked."""

    file: FileName
    name: WorkflowName
    triggers: tuple[EventName, ...]
    runs_on: tuple[RunnerLabel, ...]


class LegacyRuns(StrEnum):
    """When a workflow runs that is kept beside the one which takes its place."""

    BESIDE = "beside"
    """As before, so that the results of both can be compared."""
    BY_HAND = "by-hand"
    """Only when somebody starts it: what publishes, builds or trains is not done twice."""


class Old(Model):
    """A workflow by hand, by its name there, whose place the generated file `replaced_by` takes."""

    file: FileName
    name: WorkflowName
    replaced_by: FileName
    runs: LegacyRuns = LegacyRuns.BESIDE


class Legacy(Model):
    """Old workflows that are kept beside the generated ones up to and with the day `until`."""

    until: date
    workflows: tuple[Old, ...]


class Gap(Model):
    """Tests that run nowhere on purpose: those that match `markers`."""

    package: PackageName
    markers: Markers
    reason: Reason


class Suite(Model):
    """Tests of one package, as one job: every Python with every jax.

    folder: where the command runs. tests: paths from there. timeout_minutes: of each leg, set-up included. leave_free:
    how many VMs of a pool one run leaves to suites that are first there; as many as these start legs at once where
    nothing is said. cover: the Python package whose coverage is measured. empty_because: why the list of tests has none
    for it yet.
    """

    job: JobId
    package: PackageName
    folder: Folder = "."
    tests: Annotated[
        tuple[Folder, ...], AfterValidator(lambda some: some or refuse("no folder of tests is named", "[tests]"))
    ]
    markers: Markers
    where: WhereValue
    python: tuple[PythonVersion, ...] = ()
    jax: tuple[JaxVersion, ...] = ()
    extras: tuple[PackageName, ...] = ()
    groups: tuple[PackageName, ...] = ()
    options: tuple[Word, ...] = ()
    cover: Annotated[Module | None, WRITTEN] = None
    node: Annotated[NodeVersion | None, WRITTEN] = None
    env: Mapping[VariableName, EnvValue] = {}
    secrets: tuple[SecretKey, ...] = ()
    priority: Priority = Priority.NORMAL
    leave_free: Annotated[Vms | None, WRITTEN] = None
    empty_because: Annotated[Reason | None, WRITTEN] = None
    timeout_minutes: Minutes

    @property
    def chosen(self) -> tuple[str, ...]:
        """What of the package is installed beside its own dependencies."""
        return (*self.extras, *self.groups)

    @property
    def kept_as(self) -> str:
        """Its name in the results, where other files and packages have jobs of the same id."""
        return _OTHER.sub("-", f"{self.package}-{self.job}".lower())


class Tests(Model):
    """One file of test suites, on pushes to the branch and on pull requests that touch `paths`."""

    file: FileName
    name: WorkflowName
    paths: tuple[PathFilter, ...] = ()
    suites: tuple[Suite, ...]


class ImageGroup(Model):
    """Images of images/images.yaml that are built as one: all by Cloud Build, or all by GitHub."""

    job: JobId
    images: tuple[ResourceName, ...]


class Images(Model):
    """The file that builds the repository's images. starts: files that are started once new images are there."""

    file: FileName
    name: WorkflowName
    groups: tuple[ImageGroup, ...]
    starts: tuple[FileName, ...] = ()


class TpuRun(Model):
    """One command on TPUs: in an image on a VM that is made for it, or on a runner from the lock of `package`.

    accelerator: the smallest that will do. vm: a pool of a stack from which a VM of its own takes zones, runtime,
    capacity, network and account. secrets: by variable, the name in Secret Manager; on a runner the repository's secret
    of the variable's name. create_minutes: of all tries to make the VM. timeout_minutes: of the command.
    """

    file: FileName
    name: WorkflowName
    job: JobId
    kind: RunKind
    accelerator: Accelerator
    vm: ResourceName
    image: ResourceName
    package: PackageName
    folder: Folder = "."
    command: Annotated[
        tuple[Word, ...], AfterValidator(lambda some: some or refuse("the command is empty", "[python]"))
    ]
    env: Mapping[VariableName, EnvValue] = {}
    secrets: Mapping[VariableName, ResourceName] = {}
    schedule: tuple[Cron, ...] = ()
    attempts: Attempts = 3
    create_minutes: Minutes = 30
    timeout_minutes: Minutes


class Publish(Model):
    """The file that publishes a development build of a package after green tests of its commit.

    follows: the workflow of those tests. environment: GitHub's, which the index trusts as this package's publisher.
    """

    file: FileName
    name: WorkflowName
    follows: WorkflowName
    package: PackageName
    python: PythonVersion
    environment: ResourceName


class Declared(Model):
    """Everything that one specification declares.

    stack: the one whose federation lets these workflows in. results: what keeps those of `tests`.
    """

    version: Version
    repository: GitHubRepository
    branch: Branch
    stack: ResourceName
    tests: tuple[Tests, ...] = ()
    results: Annotated[KeptResults | None, WRITTEN] = None
    images: tuple[Images, ...] = ()
    runs: tuple[TpuRun, ...] = ()
    publish: tuple[Publish, ...] = ()
    tiers: Annotated[Tiers | None, WRITTEN] = None
    kept: tuple[Kept, ...] = ()
    legacy: Annotated[Legacy | None, WRITTEN] = None
    accepted_gaps: tuple[Gap, ...] = ()
