"""The sections of images: registries, mirrors and builds."""

from __future__ import annotations

from typing import Annotated

from pydantic import StrictStr

from infra.model.fields.common import WRITTEN, Age, ResourceName, some
from infra.model.fields.fleet import GitHubRepository
from infra.model.fields.images import (
    BuildMachine,
    BuildTimeout,
    DiskGb,
    InstallationId,
    IsPrivate,
    KeepCount,
    LogDays,
    MirrorLocation,
    RepositoryRegion,
    SecretVersion,
    Severity,
    TagPrefix,
    Upstream,
)
from infra.model.schema.base import Section


class Cleanup(Section):
    """Which image versions of a repository go; what a keep rule names stays whatever its age."""

    delete_older_than: Age
    keep_newest: Annotated[KeepCount | None, WRITTEN] = None
    keep_tag_prefixes: tuple[TagPrefix, ...] = ()


class Repository(Section):
    """A Docker repository, in every region of the registries."""

    name: ResourceName
    description: StrictStr = ""
    cleanup: Annotated[Cleanup | None, WRITTEN] = None


class Registries(Section):
    """Docker repositories, each in each region."""

    regions: tuple[RepositoryRegion, ...]
    repositories: tuple[Repository, ...]


class MirrorCleanup(Section):
    """What a mirror forgets. Never a keep rule: it would pin mutable tags of the upstream for ever."""

    delete_older_than: Age


class Mirror(Section):
    """A pull-through copy of a public registry."""

    name: ResourceName
    upstream: Upstream
    locations: Annotated[tuple[MirrorLocation, ...], some("the mirror has no location", "one or more of us, europe")]
    cleanup: Annotated[MirrorCleanup | None, WRITTEN] = None


class SourceConnection(Section):
    """How Cloud Build reaches one source repository: an installation of its GitHub app and the token to use it with.

    Without the two it is not connected yet, and hears of no push. token_secret is a version in Secret Manager.
    private: builds fetch it with a token to read that the connection gives them for an hour.
    """

    repository: GitHubRepository
    installation: Annotated[InstallationId | None, WRITTEN] = None
    token_secret: Annotated[SecretVersion | None, WRITTEN] = None
    private: IsPrivate = False

    @property
    def access(self) -> tuple[int, str] | None:
        """The installation and the version of the token's secret; None while the repository is not connected."""
        if self.installation is None or self.token_secret is None:
            return None
        return self.installation, self.token_secret


class Builds(Section):
    """How this stack's images are built by Cloud Build; which images is said in images/images.yaml.

    region: where builds run and images are pushed first. timeout: seconds. severity: the scan's findings from which on
    an image is refused. keep_logs_days: after that its log goes.
    """

    region: RepositoryRegion
    machine_type: BuildMachine
    disk_gb: DiskGb
    timeout: BuildTimeout
    severity: Severity
    keep_logs_days: LogDays
    connections: tuple[SourceConnection, ...]
