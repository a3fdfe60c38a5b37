"""The repositories whose pushes build an image, and which of them Cloud Build is connected to.

Owns when a connection is there. Google makes one only for an installation of its app at GitHub with a token to use it,
and a person has to see to both: until the stack file names them, nothing that needs the connection is declared.
Leaves which files of a push count to rebuilds. Source, read 2026-11-22:
https://docs.cloud.google.com/build/docs/automating-builds/github/connect-repo-github
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from infra.model.images.rebuilds import trigger_files
from infra.model.images.spec import Builder, Image, ImageSpec
from infra.model.schema import Builds

CONNECT: Final = "docs/first-deploy.md#6-connect-github-to-cloud-build"
"""Where a person reads how a repository is connected."""


def push_sources(spec: ImageSpec, image: Image) -> Mapping[str, tuple[str, ...]]:
    """Each repository whose pushes start a build of the image by itself, with the files that count."""
    if not image.when.push:
        return {}
    files = {each: trigger_files(spec, image, each) for each in (image.context.repository, spec.recipes)}
    return {repository: included for repository, included in files.items() if included}


def unconnected(spec: ImageSpec, image: Image, builds: Builds) -> tuple[str, ...]:
    """The repositories whose pushes would start a build of the image in Cloud Build, and cannot yet."""
    if image.builder is not Builder.CLOUDBUILD:
        return ()
    connected = {each.repository for each in builds.connections if each.access}
    return tuple(each for each in push_sources(spec, image) if each not in connected)
