"""The typed shape of `images/images.yaml`: frozen models that refuse unknown keys, and the order of builds.

Owns which keys exist and what a single value may be. Does not own rules between values (rules), reading (load), the
table of pinned bases and downloads (pins), nor the names under which images are pushed (places).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StrictStr

from infra.model.document import DocumentPart
from infra.model.fields.common import WRITTEN, Age, Cron, Day, ResourceName, TimeZone, some
from infra.model.fields.fleet import GitHubRepository
from infra.model.fields.images import KeepCount, RepositoryRegion
from infra.model.images.globs import is_path_filter
from infra.model.names import RESOURCE_NAME_RULE, is_resource_name
from infra.model.refusals import refuse

SPEC_FILE = "images/images.yaml"
DOCKERFILE = "Dockerfile"
DOCKERIGNORE = "Dockerfile.dockerignore"
SMOKE_TEST = "smoke.sh"

PLATFORMS = ("linux/amd64", "linux/arm64")
"""What the runners, the clusters and the builders of the lab run; in the spelling of an OCI image index."""

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
# A build's day in UTC as YYYYMMDD, and the first 12 digits of its commit.
_TAG_FIELDS = {"{date}": "20261121", "{revision}": "0" * 12}
_FIELD = re.compile(r"\{[^{}]*\}")


class Builder(StrEnum):
    """Who builds an image; never two of them, so that one place has one writer."""

    CLOUDBUILD = "cloudbuild"
    """Cloud Build, as the stack's builder identity: the only writer of Artifact Registry."""
    GITHUB = "github"
    """A GitHub job with the job's own token: the only writer of GHCR."""


def matching(pattern: str, what: str, fix: str) -> AfterValidator:
    """A validator of text that must match the whole pattern. what: a valid text is, as a noun."""
    compiled = re.compile(pattern)
    return AfterValidator(lambda text: text if compiled.fullmatch(text) else refuse(f"not {what}", fix))


def _path_filter(text: str) -> str:
    if is_path_filter(text):
        return text
    rule = "not a path from the top of the repository, with * within a folder and ** for whole folders only"
    return refuse(rule, "such as uv.lock, lib/*/pyproject.toml or lib/levanter/**")


def _tag(text: str) -> str:
    if any(each not in _TAG_FIELDS for each in _FIELD.findall(text)):
        refuse("the tag has another field than {date} and {revision}", "such as latest or {date}")
    if not _TAG.fullmatch(_FIELD.sub(lambda found: _TAG_FIELDS[found[0]], text)):
        refuse("not a tag: up to 128 letters, digits, dots, hyphens and underscores", "such as latest or {date}")
    return text


_SOME = some("the list is empty", "one item a line, each after a hyphen")


def _version(value: object) -> object:
    return value if value == 1 else refuse("not version 1, which this program reads", "1")


Version = Annotated[int, BeforeValidator(_version)]
PathFilter = Annotated[StrictStr, AfterValidator(_path_filter)]
Tag = Annotated[StrictStr, AfterValidator(_tag)]
Platform = Annotated[StrictStr, matching("|".join(PLATFORMS), f"a platform: {' or '.join(PLATFORMS)}", "linux/amd64")]
Folder = Annotated[
    StrictStr, matching(r"images/[a-z0-9][a-z0-9-]*", "a folder right below images/", "such as images/tpu-ci")
]
AbsolutePath = Annotated[
    StrictStr, matching(r"(/[A-Za-z0-9._-]+)+", "an absolute path without spaces", "such as /opt/uv/cache")
]
GhcrName = Annotated[
    StrictStr,
    matching(
        r"ghcr\.io/[a-z0-9-]+(/[a-z0-9]+([._-]+[a-z0-9]+)*)+",
        "a package of GitHub's registry without tag or digest",
        "such as ghcr.io/owner/name",
    ),
]
BuildArg = Annotated[
    StrictStr, matching(r"[A-Z][A-Z0-9_]*_IMAGE", "a build argument that names an image", "such as BASE_IMAGE")
]
ParentName = Annotated[
    StrictStr,
    matching(
        r"[^:@/]*",
        "an image of this file by its name alone: its digest is the one just built, never a tag",
        "the name alone, such as levanter-base",
    ),
    AfterValidator(
        lambda name: name if is_resource_name(name) else refuse(f"not a name: {RESOURCE_NAME_RULE}", "a name")
    ),
]
PinName = Annotated[
    StrictStr, matching(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", "the name of an entry of images/bases.yaml", "such as uv")
]
Branch = Annotated[StrictStr, matching(r"[A-Za-z0-9][A-Za-z0-9._/-]*", "the name of a branch", "such as main")]
Finding = Annotated[
    StrictStr, matching(r"(CVE|GHSA|DSA|PYSEC)-[A-Za-z0-9-]+", "the name of a finding", "such as CVE-2026-1234")
]
Reason = Annotated[StrictStr, matching(r"\S(.*\S)?", "one line of text", "why it is accepted, and what ends it")]
WorkflowName = Annotated[StrictStr, matching(r"\S(.*\S)?", "a workflow's name", "such as Levanter - Tests")]


class Paths(DocumentPart):
    """Where uv and its environment live in every image, on every runner and in every workflow."""

    uv_cache: AbsolutePath
    uv_environment: AbsolutePath

    @property
    def build_args(self) -> Mapping[str, str]:
        """The same as environment variables of uv, which Dockerfiles take as build arguments."""
        return {"UV_CACHE_DIR": self.uv_cache, "UV_PROJECT_ENVIRONMENT": self.uv_environment}


class Context(DocumentPart):
    """What a build reads: a repository, and the files of it that count."""

    repository: GitHubRepository
    paths: Annotated[tuple[PathFilter, ...], _SOME]


class ArtifactRegistry(DocumentPart):
    """A repository of a stack's registries; `regions` are all of the stack's where none are named."""

    stack: ResourceName
    repository: ResourceName
    regions: Annotated[tuple[RepositoryRegion, ...] | None, WRITTEN] = None


class ImagePush(DocumentPart):
    """Where an image goes: one of the two."""

    artifact_registry: Annotated[ArtifactRegistry | None, WRITTEN] = None
    ghcr: Annotated[GhcrName | None, WRITTEN] = None


class PushTrigger(DocumentPart):
    """A push to this branch, of the context's repository or of the recipes', that touches what the image reads."""

    branch: Branch


class Schedule(DocumentPart):
    """Wall-clock times in a time zone."""

    cron: Cron
    time_zone: TimeZone


class When(DocumentPart):
    """What starts a build. `after` is the name of a workflow: its success on the branch starts one too."""

    push: Annotated[PushTrigger | None, WRITTEN] = None
    schedule: Annotated[Schedule | None, WRITTEN] = None
    after: Annotated[WorkflowName | None, WRITTEN] = None


class Retention(DocumentPart):
    """What Artifact Registry forgets; what is in use stays whatever its age (the stack's keep_tag_prefixes)."""

    delete_older_than: Age
    keep_newest: KeepCount


class UsedBy(DocumentPart):
    """Who runs the image: pools and roles of a stack, workflows, and in words whoever pulls it outside this project."""

    stack: Annotated[ResourceName | None, WRITTEN] = None
    pools: tuple[ResourceName, ...] = ()
    roles: tuple[ResourceName, ...] = ()
    workflows: tuple[WorkflowName, ...] = ()
    outside: Annotated[Reason | None, WRITTEN] = None


class Image(DocumentPart):
    """One image. `bases` are build arguments and the entries of images/bases.yaml that they get."""

    name: ResourceName
    folder: Folder
    context: Context
    builder: Builder
    parents: tuple[ParentName, ...] = ()
    bases: Mapping[BuildArg, PinName] = {}
    downloads: tuple[PinName, ...] = ()
    platforms: Annotated[tuple[Platform, ...], _SOME]
    push: ImagePush
    when: When
    tags: tuple[Tag, ...] = ()
    retention: Annotated[Retention | None, WRITTEN] = None
    used_by: UsedBy = UsedBy()

    @property
    def pins(self) -> tuple[str, ...]:
        """Every entry of images/bases.yaml that a build of this image needs, sorted."""
        return tuple(sorted({*self.bases.values(), *self.downloads}))


class ScanException(DocumentPart):
    """A finding of the scan that keeps no image back until the end of the day `expires`.

    finding: its name, such as CVE-2026-1234. package: the one that has it; any, where none is named. images: those that
    it holds for; all, where none is named.
    """

    finding: Finding
    package: StrictStr | None = None
    images: tuple[ResourceName, ...] = ()
    reason: Reason
    expires: Day


class ImageSpec(DocumentPart):
    """Everything that is built.

    recipes: the repository that holds the Dockerfiles, this project. shared: its files, beside an image's own folder,
    whose change rebuilds every image. ignored: its files in image folders that no build reads. exceptions: findings of
    the scan that are accepted until a day.
    """

    version: Version
    recipes: GitHubRepository
    paths: Paths
    shared: tuple[PathFilter, ...]
    ignored: tuple[PathFilter, ...] = ()
    exceptions: tuple[ScanException, ...] = ()
    images: tuple[Image, ...]

    def image(self, name: str) -> Image:
        """The image of that name; KeyError where there is none."""
        for image in self.images:
            if image.name == name:
                return image
        raise KeyError(name)

    def order(self) -> tuple[Image, ...]:
        """Every image after its parents; as they are declared where parents leave it open."""
        return tuple(_in_order({image.name: image for image in self.images}))

    def family(self, name: str) -> tuple[Image, ...]:
        """The image and its descendants, in build order: what one build of it makes."""
        members = {image.name for image in descendants(self.images, name)}
        return tuple(image for image in self.order() if image.name in members)

    def ancestors(self, name: str) -> tuple[Image, ...]:
        """What the image is built from, in build order, without itself."""
        wanted = {name}
        for image in reversed(self.order()):
            if image.name in wanted:
                wanted.update(image.parents)
        return tuple(image for image in self.order() if image.name in wanted - {name})


def descendants(images: Sequence[Image], name: str) -> tuple[Image, ...]:
    """The image and those that are built from it, as they are declared; a circle of parents does no harm."""
    members = {name}
    while more := {image.name for image in images if members.intersection(image.parents)} - members:
        members |= more
    return tuple(image for image in images if image.name in members)


def _in_order(images: Mapping[str, Image]) -> Iterator[Image]:
    waiting = dict(images)
    while waiting:
        name = next(name for name, image in waiting.items() if not waiting.keys() & set(image.parents))
        yield waiting.pop(name)
