"""Artifact Registry's images: what a real OCI registry beside the local cloud holds."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import urllib3

from bench.cloud.control import ControlError
from bench.cloud.testing import TestCloud
from bench.registry import RegistryError, serve
from infra.tools.install import find
from tests.lacking import lacking

PARENT = "projects/tidepool-test/locations/us-central1"
REPOSITORY = f"{PARENT}/repositories/marin"
PLACE = "us-central1-docker.pkg.dev/tidepool-test/marin"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
NOBODY = "sha256:" + "0" * 64
Push = Callable[..., str]


@pytest.fixture(scope="module")
def registry(google: TestCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a registry that the cloud of this module knows."""
    if find("crane") is None:
        lacking("crane is not installed")
    folder = tmp_path_factory.mktemp("registry")
    try:
        running = serve(folder)
    except RegistryError as error:
        pytest.fail(str(error))
    google.control.set_registry(running.address, log=str(folder / "registry.log"))
    yield running.address
    google.control.forget_registry()
    running.stop()


@pytest.fixture(scope="module")
def repositories(client):
    found = client("artifactregistry").projects().locations().repositories()
    found.create(parent=PARENT, repositoryId="marin", body={"format": "DOCKER"}).execute()
    return found


@pytest.fixture(scope="module")
def packages(repositories):
    return repositories.packages()


@pytest.fixture(scope="module")
def push(registry: str, repositories: Any) -> Push:
    """`push(image, content, *tags)`: put an image of one layer there by its digest, then its tags."""

    def put(path: str, data: bytes, media_type: str) -> None:
        url = f"http://{registry}/v2/{path}"
        answer = urllib3.request("PUT", url, body=data, headers={"Content-Type": media_type}, retries=False)
        assert answer.status == 201, answer.data

    def blob(place: str, data: bytes) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        begun = urllib3.request("POST", f"http://{registry}/v2/{place}/blobs/uploads/", retries=False)
        put(f"{begun.headers['Location'].removeprefix('/v2/')}?digest={digest}", data, "application/octet-stream")
        return {"digest": digest, "size": len(data)}

    def run(image: str, content: str, *tags: str, place: str = PLACE, index: bool = False) -> str:
        where = f"{place}/{image}"
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as archive:
            entry = tarfile.TarInfo("said")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
        config = {"architecture": "amd64", "os": "linux", "created": "2026-11-20T03:00:00Z"}
        manifest: dict[str, Any] = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json"}
            | blob(where, json.dumps(config).encode()),
            "layers": [
                {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"}
                | blob(where, gzip.compress(layer.getvalue(), mtime=0))
            ],
        }
        media_type = MANIFEST
        data = json.dumps(manifest).encode()
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        put(f"{where}/manifests/{digest}", data, media_type)
        if index:
            part = {"mediaType": MANIFEST, "digest": digest, "size": len(data)}
            part["platform"] = {"architecture": "amd64", "os": "linux"}
            data, media_type = (
                json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [part]}).encode(),
                INDEX,
            )
            digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
            put(f"{where}/manifests/{digest}", data, media_type)
        for tag in tags:
            put(f"{where}/manifests/{tag}", data, media_type)
        return digest

    return run


def _digests(packages: Any, image: str) -> list[str]:
    listed = packages.versions().list(parent=f"{REPOSITORY}/packages/{image}").execute()
    return [each["name"].rpartition("/")[2] for each in listed["versions"]]


def test_an_image_is_shown_with_its_tags_and_its_size(push, repositories):
    digest = push("shown", "hello", "latest", "v1")
    found = repositories.dockerImages().get(name=f"{REPOSITORY}/dockerImages/shown@{digest}").execute()
    assert found["uri"] == f"{PLACE}/shown@{digest}"
    assert found["tags"] == ["latest", "v1"]
    assert int(found["imageSizeBytes"]) > 100
    assert found["buildTime"] == "2026-11-20T03:00:00Z"
    assert found in repositories.dockerImages().list(parent=REPOSITORY).execute()["dockerImages"]


def test_a_digest_that_never_had_a_tag_is_listed(push, packages):
    first, second = push("bare", "one"), push("bare", "two")
    assert _digests(packages, "bare") == sorted([first, second])


def test_a_region_holds_what_was_pushed_to_it_alone(push, repositories):
    east = "projects/tidepool-test/locations/us-east1"
    repositories.create(parent=east, repositoryId="marin", body={"format": "DOCKER"}).execute()
    digest = push("there", "east", place=PLACE.replace("us-central1", "us-east1"))
    name = "repositories/marin/packages/there/versions"
    versions = repositories.packages().versions()
    assert versions.get(name=f"{east}/{name}/{digest}").execute()["name"].endswith(digest)
    assert f"{REPOSITORY}/packages/there" not in {
        each["name"] for each in repositories.packages().list(parent=REPOSITORY).execute().get("packages", [])
    }


def test_a_package_name_with_a_slash_is_escaped(push, packages, repositories):
    digest = push("levanter/base", "deep", "latest")
    name = f"{REPOSITORY}/packages/levanter%2Fbase"
    assert packages.get(name=name).execute()["name"] == name
    image = f"{REPOSITORY}/dockerImages/levanter%2Fbase@{digest}"
    assert repositories.dockerImages().get(name=image).execute()["name"] == image


def test_a_tag_is_made_moved_and_taken_away(push, packages, refused):
    first, second = push("moving", "one"), push("moving", "two")
    parent = f"{REPOSITORY}/packages/moving"
    tags, name = packages.tags(), f"{parent}/tags/in-use-v5e"
    body = {"version": f"{parent}/versions/{first}"}
    assert tags.create(parent=parent, tagId="in-use-v5e", body=body).execute() == {"name": name, **body}
    refused(409, tags.create(parent=parent, tagId="in-use-v5e", body=body))
    moved = {"version": f"{parent}/versions/{second}"}
    assert tags.patch(name=name, updateMask="version", body=moved).execute()["version"] == moved["version"]
    by_version = tags.list(parent=parent, filter=f'version="{moved["version"]}"').execute()["tags"]
    assert by_version == [{"name": name, **moved}]
    refused(404, tags.create(parent=parent, tagId="x", body={"version": f"{parent}/versions/{NOBODY}"}))
    assert tags.delete(name=name).execute() == {}
    refused(404, tags.get(name=name))
    assert _digests(packages, "moving") == sorted([first, second]), "a tag goes without its version"


def test_a_version_with_tags_goes_by_force_alone(push, packages, refused):
    digest = push("kept", "one", "in-use-v5e")
    name = f"{REPOSITORY}/packages/kept/versions/{digest}"
    assert "in-use-v5e" in refused(400, packages.versions().delete(name=name))["message"]
    full = packages.versions().get(name=name, view="FULL").execute()
    assert [each["name"].rpartition("/")[2] for each in full["relatedTags"]] == ["in-use-v5e"]
    packages.versions().delete(name=name, force=True).execute()
    refused(404, packages.versions().get(name=name))
    refused(404, packages.get(name=f"{REPOSITORY}/packages/kept"))


def test_several_versions_without_tags_go_at_once(push, packages, refused):
    bare, tagged = push("many", "one"), push("many", "two", "latest")
    parent = f"{REPOSITORY}/packages/many"
    both = {"names": [f"{parent}/versions/{digest}" for digest in (bare, tagged)]}
    refused(400, packages.versions().batchDelete(parent=parent, body=both))
    assert len(_digests(packages, "many")) == 2
    packages.versions().batchDelete(parent=parent, body={"names": both["names"][:1]}).execute()
    assert _digests(packages, "many") == [tagged]
    packages.delete(name=parent).execute()
    refused(404, packages.get(name=parent))


def test_the_parts_of_an_index_stay_as_long_as_it_does(push, packages, repositories, refused):
    digest = push("parts", "one", "latest", index=True)
    image = repositories.dockerImages().get(name=f"{REPOSITORY}/dockerImages/parts@{digest}").execute()
    (part,) = image["imageManifests"]
    assert part["architecture"] == "amd64"
    versions, parent = packages.versions(), f"{REPOSITORY}/packages/parts/versions"
    assert digest in refused(400, versions.delete(name=f"{parent}/{part['digest']}"))["message"]
    versions.delete(name=f"{parent}/{digest}", force=True).execute()
    versions.delete(name=f"{parent}/{part['digest']}").execute()


def test_immutable_tags_stay_where_they_are(push, repositories, refused):
    fixed = f"{PARENT}/repositories/fixed"
    body = {"format": "DOCKER", "dockerConfig": {"immutableTags": True}}
    repositories.create(parent=PARENT, repositoryId="fixed", body=body).execute()
    place = PLACE.replace("marin", "fixed")
    first, second = push("x", "one", "v1", place=place), push("x", "two", place=place)
    tags, name = repositories.packages().tags(), f"{fixed}/packages/x/tags/v1"
    refused(400, tags.patch(name=name, body={"version": f"{fixed}/packages/x/versions/{second}"}))
    refused(400, tags.delete(name=name))
    assert tags.get(name=name).execute()["version"].endswith(first)


def test_listing_images_goes_page_by_page(push, repositories):
    repositories.create(parent=PARENT, repositoryId="paged", body={"format": "DOCKER"}).execute()
    for index in range(3):
        push(f"i{index}", str(index), place=PLACE.replace("marin", "paged"))
    listing, names = repositories.dockerImages(), []
    request = listing.list(parent=f"{PARENT}/repositories/paged", pageSize=2)
    while request is not None:
        answer = request.execute()
        names += [each["uri"].rpartition("/")[2].partition("@")[0] for each in answer["dockerImages"]]
        request = listing.list_next(request, answer)
    assert names == ["i0", "i1", "i2"]


def test_without_a_registry_there_are_no_images(still_client, refused):
    bare = still_client("artifactregistry").projects().locations().repositories()
    bare.create(parent=PARENT, repositoryId="marin", body={"format": "DOCKER"}).execute()
    assert bare.packages().list(parent=REPOSITORY).execute() == {}
    assert bare.dockerImages().list(parent=REPOSITORY).execute() == {}
    refused(404, bare.packages().versions().get(name=f"{REPOSITORY}/packages/x/versions/{NOBODY}"))


def test_a_registry_that_is_gone_is_an_outage_and_no_empty_answer(cloud):
    cloud.control.set_registry("127.0.0.1:9")
    url = f"{cloud.url}/v1/{PARENT}/repositories"
    made = urllib3.request("POST", f"{url}?repositoryId=marin", json={"format": "DOCKER"}, retries=False)
    assert made.status == 200
    answer = urllib3.request("GET", f"{url}/marin/packages", retries=False)
    assert answer.status == 503
    assert "127.0.0.1:9" in answer.json()["error"]["message"]


def test_a_registry_elsewhere_is_refused(cloud):
    with pytest.raises(ControlError, match="loopback"):
        cloud.control.set_registry("registry.example.org:443")
