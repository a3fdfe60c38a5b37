"""States that an older version left are taken over: component types and resource names are an interface.

`recorded/ENGINE.tar.xz` holds the home (states, bucket, manifests, cloud) and the stack files of the stacks as version
96771423 left them, without the contents of start-up bundles. The official engine left ci and nightly: what it leaves of
training is in a real cluster, which no file holds.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from bench.cloud import daemon
from bench.cloud.control import Control
from bench.providers.google.settings import ProviderSettings
from bench.providers.google.tables import TYPES
from infra.engines.official.workspace import provider_inputs
from infra.engines.protocol import CloudName, EngineRequest
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


VIEWS: Final = frozenset({"id", "__defaults", "__meta", "pulumiLabels", "effectiveLabels", "effectiveAnnotations"})
"""Outputs that every type may have, in no table."""
ENGINES: Final = sorted(each.name.partition(".")[0] for each in RECORDED.iterdir())


def recorded(engine: str) -> Iterator[dict[str, Any]]:
    """Google Cloud's resources in the states that an engine left."""
    with tarfile.open(RECORDED / f"{engine}.tar.xz") as archive:
        for member in archive:
            if (
                "/.pulumi/stacks/" in member.name
                and member.name.endswith(".json")
                and (file := archive.extractfile(member))
            ):
                resources = json.load(file)["checkpoint"]["latest"]["resources"]
                yield from (each for each in resources if each["type"].startswith("gcp:"))


def test_each_output_of_an_older_state_is_still_one_of_its_type() -> None:
    """One that a state lacks is a difference to the other engine, which may replace a cluster for it."""
    unknown = {
        (each["type"], name)
        for each in recorded("embedded")
        for name, value in each["outputs"].items()
        if value is not None and name not in {*VIEWS, *TYPES[each["type"]].fields}
    }
    assert unknown == set()


def test_the_embedded_provider_takes_the_settings_that_the_official_engine_writes() -> None:
    request = EngineRequest(root=ROOT, home=ROOT, stack="ci", cloud=CloudName.LOCAL, cloud_url="http://127.0.0.1:1")
    assert ProviderSettings().with_config({**provider_inputs(request), "project": "a-lab"}).project == "a-lab"


@pytest.fixture(params=ENGINES)
def taken_over(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Checkout]:
    with tarfile.open(RECORDED / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "home").rename(tmp_path / ".tidepool")
    for name in ("images", "infra", "LICENSE", "requirements-service.lock"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    serve_clusters_where_they_were(tmp_path / ".tidepool")
    yield Checkout(tmp_path)
    daemon.stop(tmp_path / ".tidepool")


def serve_clusters_where_they_were(home: Path) -> None:
    """The port at which a cloud served clusters is anybody's by now: states get the one at which it serves them."""
    for reached in Control(daemon.ensure_running(home).url).clusters():
        address, _, path = reached["host"].partition("/")
        for state in (home / "state").rglob("*.json"):
            text = state.read_text(encoding="utf-8")
            state.write_text(
                re.sub(rf"127\.0\.0\.1:\d+/{re.escape(path)}", f"{address}/{path}", text), encoding="utf-8"
            )


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
