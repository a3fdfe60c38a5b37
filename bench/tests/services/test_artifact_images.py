"""Artifact Registry's images: what a real OCI registry beside the local cloud holds."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from bench.cloud.control import ControlError
from bench.cloud.testing import TestCloud
from bench.registry import serve
from bench.tests.cloud.cloud_clients import ask
from infra.tools.install import find
from tests.lacking import lacking

REPOSITORIES = "/v1/projects/a-lab/locations/us-east1/repositories"
PACKAGE = f"{REPOSITORIES}/marin/packages/levanter%2Fbase"
PLACE = "us-east1-docker.pkg.dev/a-lab/marin/levanter/base"
NOBODY = "sha256:" + "0" * 64


def test_tags_of_pushed_images_are_made_moved_and_taken_away(cloud: TestCloud, tmp_path: Path) -> None:
    crane = find("crane")
    if crane is None:
        lacking("crane is not installed")
    ask(cloud.url, "POST", f"{REPOSITORIES}?repositoryId=marin", {"format": "DOCKER"})
    registry = serve(tmp_path)
    cloud.control.set_registry(registry.address)

    def pushed(tag: str) -> str:
        with tarfile.open(tmp_path / f"{tag}.tar", "w") as archive:
            archive.addfile(tarfile.TarInfo(tag))
        there = f"{registry.address}/{PLACE}:{tag}"
        command = [str(crane), "append", "--new_layer", str(tmp_path / f"{tag}.tar"), "--new_tag", there]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return ask(cloud.url, "GET", f"{PACKAGE}/tags/{tag}")[1]["version"]

    try:
        first, second = pushed("one"), pushed("two")
        moved, nobody = f"{PACKAGE}/tags/in-use", f"{first.rpartition('/')[0]}/{NOBODY}"
        for verb, path, version, status in (
            ("GET", f"/v1/{first.replace('levanter/base', 'levanter%2Fbase')}", None, 200),
            ("GET", f"{PACKAGE}/versions/{NOBODY}", None, 404),
            ("GET", moved, None, 404),
            ("POST", f"{PACKAGE}/tags?tagId=in-use", nobody, 404),
            ("POST", f"{PACKAGE}/tags?tagId=in-use", first, 200),
            ("POST", f"{PACKAGE}/tags?tagId=in-use", first, 409),
            ("PATCH", f"{moved}?updateMask=version", second, 200),
        ):
            assert ask(cloud.url, verb, path, version and {"version": version})[0] == status, (verb, path)
        tags = ask(cloud.url, "GET", f"{PACKAGE}/tags")[1]["tags"]
        assert [(each["name"].rpartition("/")[2], each["version"]) for each in tags] == [
            ("in-use", second), ("one", first), ("two", second),
        ]  # fmt: skip
        assert ask(cloud.url, "DELETE", moved)[0] == 200
        assert ask(cloud.url, "DELETE", moved)[0] == 404
        assert ask(cloud.url, "GET", f"{PACKAGE}/tags/two")[1]["version"] == second, "a tag goes without its version"
    finally:
        registry.stop()
    status, answer = ask(cloud.url, "GET", f"{PACKAGE}/tags")
    assert (status, registry.address in answer["error"]["message"]) == (503, True), "an outage, and no empty answer"
    cloud.control.forget_registry()
    assert ask(cloud.url, "GET", f"{PACKAGE}/tags") == (200, {})
    with pytest.raises(ControlError, match="set_registry"):
        cloud.control.set_registry("registry.example.org:443")
