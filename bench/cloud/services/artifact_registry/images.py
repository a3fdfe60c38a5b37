"""Artifact Registry: tags and versions of the images in a repository: those of a real OCI registry beside the cloud.

A place such as `us-east1-docker.pkg.dev/P/R/IMAGE` is its own path in the one registry (`bench.registry`), whose
address the command `set_registry` says; without one there are no images. Clients of the fleet ask
whether a digest is there and move tags, and no more is served. Sources:
cloud.google.com/artifact-registry/docs/reference/rest/v1/projects.locations.repositories.packages and
github.com/opencontainers/distribution-spec/blob/main/spec.md, read 2026-11-21.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from urllib.parse import unquote

from bench.cloud.cloud import ApiCall, Cloud, handles
from bench.cloud.errors import ApiError, JsonObject, already_exists, not_found
from bench.cloud.loopback import LoopbackAnswer, NoAnswerError, asked
from bench.cloud.services.artifact_registry.repositories import REPOSITORIES, place
from bench.cloud.services.listings import page

_PACKAGES = "artifactregistry.projects.locations.repositories.packages"
_SETTING = "oci-registry"
_SECONDS = 10.0
# What a registry may answer with; go-containerregistry answers with what was put, whatever is asked for.
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)


def told(cloud: Cloud) -> JsonObject:
    """address of the registry, host:port; None where there is none."""
    return {"address": cloud.store.setting(_SETTING)}


def tell(cloud: Cloud, address: str | None) -> None:
    """Say where the registry is, host:port; None where there is none any more."""
    cloud.store.set_setting(_SETTING, address)


@handles(f"{_PACKAGES}.versions.get")
def get_version(call: ApiCall) -> JsonObject:
    if _digest(call, call.ids["versionsId"]) is None:
        raise not_found(call.params["name"])
    return {"name": call.params["name"]}


@handles(f"{_PACKAGES}.tags.list")
def list_tags(call: ApiCall) -> JsonObject:
    found = _ask(call, "GET", "tags/list")
    tags = sorted(json.loads(found.body).get("tags") or []) if found else []
    return page(call, "tags", [_shown(call, tag, digest) for tag in tags if (digest := _digest(call, tag))])


@handles(f"{_PACKAGES}.tags.get")
def get_tag(call: ApiCall) -> JsonObject:
    return _shown(call, call.ids["tagsId"], _tagged(call))


@handles(f"{_PACKAGES}.tags.create")
def create_tag(call: ApiCall) -> JsonObject:
    if _digest(call, call.params["tagId"]):
        raise already_exists(f"{call.params['parent']}/tags/{call.params['tagId']}")
    return _put(call, call.params["tagId"])


@handles(f"{_PACKAGES}.tags.patch")
def patch_tag(call: ApiCall) -> JsonObject:
    _tagged(call)
    return _put(call, call.ids["tagsId"])


@handles(f"{_PACKAGES}.tags.delete")
def delete_tag(call: ApiCall) -> JsonObject:
    """The version stays."""
    _tagged(call)
    _ask(call, "DELETE", f"manifests/{call.ids['tagsId']}")
    return {}


def _digest(call: ApiCall, name: str) -> str | None:
    """What a tag stands for, or a digest itself; None where there is no such manifest."""
    found = _ask(call, "HEAD", f"manifests/{name}")
    return found.headers.get("docker-content-digest", "") if found else None


def _tagged(call: ApiCall) -> str:
    """The digest that the tag of a call stands for. Raises 404."""
    digest = _digest(call, call.ids["tagsId"])
    if digest is None:
        raise not_found(call.params["name"])
    return digest


def _put(call: ApiCall, tag: str) -> JsonObject:
    """Give the version of the body one more name. Raises 404 where it is not there."""
    digest = call.body.get("version", "").rpartition("/")[2]
    manifest = _ask(call, "GET", f"manifests/{digest}")
    if manifest is None:
        raise not_found(call.body.get("version", ""))
    _ask(call, "PUT", f"manifests/{tag}", manifest)
    return _shown(call, tag, digest)


def _shown(call: ApiCall, tag: str, digest: str) -> JsonObject:
    package = (call.params.get("parent") or call.params["name"]).partition("/tags/")[0]
    return {"name": f"{package}/tags/{tag}", "version": f"{package}/versions/{digest}"}


def _ask(call: ApiCall, verb: str, path: str, sent: LoopbackAnswer | None = None) -> LoopbackAnswer | None:
    """What the registry answers of the image of a call; None for a refusal.

    Raises 404 for a repository that is not there, and 503 where nobody answers.
    """
    where = f"{place(REPOSITORIES.found(call))}/{unquote(call.ids['packagesId'])}"
    address = told(call.cloud)["address"]
    if address is None:
        return None
    headers = {"Content-Type": sent.headers["content-type"]} if sent else {"Accept": _MANIFESTS}
    try:
        url = f"http://{address}"
        found = asked(url, verb, f"/v2/{where}/{path}", sent.body if sent else None, headers, seconds=_SECONDS)
    except NoAnswerError as error:
        raise ApiError(503, f"The registry at {address} does not answer: {error}") from None
    return found if found.status < HTTPStatus.BAD_REQUEST else None
