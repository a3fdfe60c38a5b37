"""States that an older version left are taken over: component types and resource names are an interface.

`recorded/ENGINE.tar.xz` holds the home (states, bucket, manifests, cloud) and the stack files of the stacks as version
96771423 left them, without the contents of start-up bundles. The official engine left ci and nightly: what it leaves of
training is in a real cluster, which no file holds.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from infra.local.cloud import daemon
from tests.cli.conftest import ROOT, Checkout

RECORDED: Final = Path(__file__).with_name("recorded")

KEPT: Final = (
    "gcp:tpu/",
    "gcp:artifactregistry/",
    "gcp:container/",
    "gcp:secretmanager/secret:",
    "gcp:storage/bucket:",
)
"""What holds work or data: VMs, repositories, clusters and node pools, secrets, buckets."""


@pytest.fixture(params=sorted(each.name.partition(".")[0] for each in RECORDED.iterdir()))
def taken_over(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Checkout]:
    with tarfile.open(RECORDED / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "home").rename(tmp_path / ".tidepool")
    for name in ("images", "infra", "LICENSE", "requirements-service.lock"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    yield Checkout(tmp_path)
    daemon.stop(tmp_path / ".tidepool")


def changes(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(step["op"], step["type"], step["name"]) for step in document["steps"] if step["op"] != "same"]


def test_an_up_on_the_state_of_an_older_version_replaces_nothing_that_holds_work_or_data(taken_over: Checkout) -> None:
    states = taken_over.home / "state" / "local" / ".pulumi" / "stacks" / "tidepool"
    for stack in sorted(path.stem for path in states.iterdir()):
        planned = changes(taken_over.json("preview", stack))
        harmed = [each for each in planned if each[0] not in ("create", "update") and each[1].startswith(KEPT)]
        assert harmed == []
        made = [each for each in planned if each[0] == "create" and each[1].startswith(KEPT)]
        assert made == [], "a resource with another name is another resource"
        taken_over.ok("up", stack, "--yes")
        assert changes(taken_over.json("preview", stack)) == []
