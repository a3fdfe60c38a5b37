"""Artifact Registry: packages, versions, tags and Docker images of a repository.

Owns their names and what may be deleted: a version with tags goes only by `force`, one that an index consists of does
not go, and a tag of a repository with immutable tags stays as it is. What there is, is `artifact_repository`'s to say.
Source: https://cloud.google.com/artifact-registry/docs/reference/rest/v1/projects.locations.repositories.packages,
read 2026-11-21.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote

from bench.cloud.clock import timestamp
from bench.cloud.cloud import ApiCall, handles
from bench.cloud.errors import JsonObject, already_exists, failed_precondition, invalid, not_found
from bench.cloud.services.artifact_registry import repositories
from bench.cloud.services.artifact_registry.repository import RepositoryImages, Version, docker_image, indexes_of
from bench.cloud.services.listings import page, serve_known

_BASE = "artifactregistry.projects.locations.repositories"
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DELETE_SECONDS = 2.0


@handles(f"{_BASE}.dockerImages.list")
def list_images(call: ApiCall) -> JsonObject:
    found = [docker_image(version, _repository(call)) for version in _all(call)]
    return page(call, "dockerImages", _by_name(found))


@handles(f"{_BASE}.dockerImages.get")
def get_image(call: ApiCall) -> JsonObject:
    image, _, digest = unquote(call.ids["dockerImagesId"]).partition("@")
    return docker_image(_version(call, image, digest), _repository(call))


@handles(f"{_BASE}.packages.delete")
def delete_package(call: ApiCall) -> JsonObject:
    repository = _repository_images(call)
    for version in _versions(call):
        repository.delete(version)
    return _operation(call)


@handles(f"{_BASE}.packages.versions.list")
def list_versions(call: ApiCall) -> JsonObject:
    return page(call, "versions", _by_name(_shown(call, version) for version in _versions(call)))


@handles(f"{_BASE}.packages.versions.get")
def get_version(call: ApiCall) -> JsonObject:
    return _shown(call, _version(call, _image(call), call.ids["versionsId"]))


@handles(f"{_BASE}.packages.versions.delete")
def delete_version(call: ApiCall) -> JsonObject:
    version = _version(call, _image(call), call.ids["versionsId"])
    if version.tags and not call.params.get("force"):
        raise failed_precondition(f"Version '{version.digest}' has tags ({', '.join(version.tags)}); use force.")
    _delete(call, version)
    return _operation(call)


@handles(f"{_BASE}.packages.versions.batchDelete")
def delete_versions(call: ApiCall) -> JsonObject:
    found = [_version(call, _image(call), name.rpartition("/")[2]) for name in call.body.get("names", [])]
    for version in found:
        if version.tags:
            raise failed_precondition(f"Version '{version.digest}' has tags ({', '.join(version.tags)}).")
    if not call.body.get("validateOnly"):
        for version in found:
            _delete(call, version)
    return _operation(call)


@handles(f"{_BASE}.packages.tags.create")
def create_tag(call: ApiCall) -> JsonObject:
    tag = call.params.get("tagId") or call.body.get("name", "").rpartition("/")[2]
    if not _TAG.fullmatch(tag):
        raise invalid(f"Invalid tag '{tag}'.", field="tag_id")
    if tag in dict(_tags(call)):
        raise already_exists(_tag_name(call, tag))
    return _put(call, tag)


@handles(f"{_BASE}.packages.tags.patch")
def patch_tag(call: ApiCall) -> JsonObject:
    current = _tagged(call)
    if _wanted(call) != current:
        _check_movable(call)
    return _put(call, call.ids["tagsId"])


@handles(f"{_BASE}.packages.tags.delete")
def delete_tag(call: ApiCall) -> JsonObject:
    _tagged(call)
    _check_movable(call)
    _repository_images(call).untag(_image(call), call.ids["tagsId"])
    return {}


def _repository_images(call: ApiCall) -> RepositoryImages:
    """Raises 404 for a repository that does not exist. One of another format than Docker has no images."""
    return RepositoryImages(call.cloud, repositories.place(repositories.REPOSITORIES.found(call)))


def _repository(call: ApiCall) -> str:
    return repositories.REPOSITORIES.found(call).name


def _image(call: ApiCall) -> str:
    return unquote(call.ids["packagesId"])


def _package_name(call: ApiCall, image: str) -> str:
    return f"{_repository(call)}/packages/{quote(image, safe='')}"


def _all(call: ApiCall) -> Iterator[Version]:
    repository = _repository_images(call)
    for image in repository.images():
        yield from repository.versions(image)


def _versions(call: ApiCall) -> list[Version]:
    """Raises 404 for a package without any."""
    found = _repository_images(call).versions(_image(call))
    if not found:
        raise not_found(_package_name(call, _image(call)))
    return found


def _version(call: ApiCall, image: str, digest: str) -> Version:
    version = _repository_images(call).version(image, digest)
    if version is None:
        raise not_found(f"{_package_name(call, image)}/versions/{digest}")
    return version


def _delete(call: ApiCall, version: Version) -> None:
    repository = _repository_images(call)
    if parents := indexes_of(version, repository.versions(unquote(version.image))):
        raise failed_precondition(f"Version '{version.digest}' is part of {', '.join(parents)}.")
    repository.delete(version)


def _tags(call: ApiCall) -> Iterator[tuple[str, str]]:
    for version in _repository_images(call).versions(_image(call)):
        for tag in version.tags:
            yield tag, version.digest


def _tagged(call: ApiCall) -> str:
    """The digest that the tag of a call stands for. Raises 404."""
    tag = call.ids["tagsId"]
    digest = dict(_tags(call)).get(tag)
    if digest is None:
        raise not_found(_tag_name(call, tag))
    return digest


def _wanted(call: ApiCall) -> str:
    return call.body.get("version", "").rpartition("/")[2]


def _put(call: ApiCall, tag: str) -> JsonObject:
    version = _version(call, _image(call), _wanted(call))
    _repository_images(call).tag(version, tag)
    return _shown_tag(call, tag, version.digest)


def _check_movable(call: ApiCall) -> None:
    if repositories.REPOSITORIES.found(call).body.get("dockerConfig", {}).get("immutableTags"):
        raise failed_precondition(f"The tags of '{_repository(call)}' are immutable.")


def _tag_name(call: ApiCall, tag: str) -> str:
    return f"{_package_name(call, _image(call))}/tags/{tag}"


def _shown_tag(call: ApiCall, tag: str, digest: str) -> JsonObject:
    return {"name": _tag_name(call, tag), "version": f"{_package_name(call, _image(call))}/versions/{digest}"}


def _package(call: ApiCall, image: str, versions: list[Version]) -> JsonObject:
    came = [version.came for version in versions]
    return {
        "name": _package_name(call, image),
        "createTime": timestamp(min(came)),
        "updateTime": timestamp(max(came)),
    }


def _shown(call: ApiCall, version: Version) -> JsonObject:
    """Its tags are shown in the FULL view alone."""
    name = f"{_repository(call)}/packages/{version.image}/versions/{version.digest}"
    image = docker_image(version, _repository(call))
    shown: JsonObject = {
        "name": name,
        "createTime": timestamp(version.came),
        "updateTime": timestamp(version.came),
        "metadata": {key: image[key] for key in ("name", "imageSizeBytes", "mediaType", "buildTime") if key in image},
    }
    if call.params.get("view") == "FULL" and version.tags:
        package = name.partition("/versions/")[0]
        shown["relatedTags"] = [{"name": f"{package}/tags/{tag}", "version": name} for tag in version.tags]
    return shown


def _packages(call: ApiCall) -> list[JsonObject]:
    repository = _repository_images(call)
    return _by_name(_package(call, image, repository.versions(image)) for image in repository.images())


def _shown_tags(call: ApiCall) -> list[JsonObject]:
    return _by_name(_shown_tag(call, tag, digest) for tag, digest in _tags(call))


serve_known(f"{_BASE}.packages", _packages)
serve_known(f"{_BASE}.packages.tags", _shown_tags)


def _by_name(items: Iterable[JsonObject]) -> list[JsonObject]:
    return sorted(items, key=lambda item: item["name"])


def _operation(call: ApiCall) -> JsonObject:
    return call.cloud.operations.lro(
        _repository(call).rpartition("/repositories/")[0],
        seconds=_DELETE_SECONDS,
        metadata=repositories.METADATA,
    )
