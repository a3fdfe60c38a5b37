"""The commands about images over real HTTP: the local cloud, and a real registry that Artifact Registry shows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import urllib3
import yaml
from click.testing import Result

from bench.cloud import daemon
from bench.cloud.control import Control
from bench.registry import serve
from infra.fleet.google import Api, clients, execute
from infra.model import bucket_names, names
from infra.model.stack import load_stack
from infra.tools.install import find
from tests.cli.conftest import Checkout
from tests.lacking import lacking
from tests.synthetic_lab import lend

IMAGE, POOL, REGIONS = "tpu-ci", "tpu-ci", 6
REPOSITORY = "marin-ci"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
TWO_HOURS_AGO = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Lab(Checkout):
    """A checkout, and the registry beside its cloud."""

    registry: str
    places: tuple[str, ...]

    def run(self, *arguments: str, **environ: str) -> Result:
        return Checkout.run(self, "images", *arguments, PATH=os.environ["PATH"], **environ)

    def push(self, content: str) -> str:
        """An image of no layers in every place; its digest."""
        config = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": f"sha256:{'0' * 64}", "size": 2}
        body = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": [],
            "annotations": {"n": content},
        }
        data = json.dumps(body).encode()
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        for place in self.places:
            # A digest that no tag names is known from the registry's log alone; each gets a tag, as after a build.
            for name in (digest, "latest"):
                url = f"http://{self.registry}/v2/{place}/manifests/{name}"
                answer = urllib3.request("PUT", url, body=data, headers={"Content-Type": MANIFEST}, retries=False)
                assert answer.status == 201, answer.data
        return digest

    def build(self, content: str, hours: int) -> list[str]:
        """Arguments of `record` for a build of commits `hours` after the first; every place has it."""
        when = (TWO_HOURS_AGO + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")
        body = {
            "digest": self.push(content),
            "revision": {"marin-community/marin": "a" * 40},
            "committed": {"marin-community/marin": when},
            "built": when,
            "build": f"cloudbuild/{content}",
            "places": self.places,
        }
        words = [IMAGE]
        for name, document in (("build", body), ("sbom", {}), ("provenance", {})):
            path = self.root / f"{content}-{name}.json"
            path.write_text(json.dumps(document))
            words += [f"--{name}", str(path)]
        return words


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A cloud with fleet buckets and repositories, as an apply leaves it."""
    if find("crane") is None:
        lacking("crane is not installed")
    root = lend(tmp_path_factory.mktemp("lab"))
    handle = daemon.ensure_running(root / ".tidepool")
    registry = serve(root / "registry")
    Control(handle.url).set_registry(registry.address)
    config = load_stack(root, "ci")
    assert config.registries is not None
    with clients(config.project, handle.url) as google:
        for stack in ("ci", "nightly", "training"):
            bucket = load_stack(root, stack).bucket
            body = {"name": bucket.name, "location": bucket.location}
            execute(google.api(Api.STORAGE).buckets().insert(project=config.project, body=body), "making a bucket")
        repositories = google.api(Api.ARTIFACTS).projects().locations().repositories()
        for region in config.registries.regions:
            parent = f"projects/{config.project}/locations/{region}"
            request = repositories.create(parent=parent, repositoryId=REPOSITORY, body={"format": "DOCKER"})
            execute(request, "making a repository")
    declared = [
        f"{names.docker_path(config.project, region, REPOSITORY)}/{IMAGE}" for region in config.registries.regions
    ]
    yield Lab(root, registry.address, tuple(declared))
    registry.stop()
    daemon.stop(root / ".tidepool")


def test_before_the_first_build_nothing_is_current_and_nothing_can_be_promoted(lab: Lab) -> None:
    for arguments in (("current", IMAGE), ("promote", IMAGE, "--pool", POOL)):
        result = lab.run(*arguments)
        assert result.exit_code == 2
        assert f"no build of {IMAGE} is recorded" in result.stderr
    (image,) = lab.json("list", IMAGE)["images"]
    assert (image["current"], image["equal"], image["pools"][POOL]) == (None, None, None)


def test_a_build_goes_from_the_record_to_a_pool_and_back(lab: Lab) -> None:
    first, second, late = (lab.build(each, at) for each, at in (("one", 0), ("two", 1), ("late", -1)))
    assert lab.json("record", *first)["outcome"] == "current"
    assert lab.json("record", *first)["outcome"] == "unchanged"
    one = lab.ok("current", IMAGE).stdout.strip()
    (moved,) = lab.json("promote", IMAGE, "--pool", POOL)["pools"]
    assert (moved["digest"], moved["before"], len(moved["kept"])) == (one, None, REGIONS)

    assert lab.json("record", *second)["outcome"] == "current"
    two = lab.ok("current", IMAGE).stdout.strip()
    older = lab.json("record", *late)
    assert (older["outcome"], older["current"]) == ("older", two)
    lab.push("two")
    (image,) = lab.json("list", IMAGE)["images"]
    assert image["equal"] is True
    assert [each["has_current"] for each in image["places"]] == [True] * REGIONS
    assert {each["named"] for each in image["places"]} == {two}
    assert image["pools"][POOL]["digest"] == one
    assert image["current"]["sbom"] == bucket_names.image_document_object(IMAGE, two, "sbom.json")

    lab.ok("promote", f"{IMAGE}@{two}", "--pool", POOL)
    uses = lab.json("where", one[7:19])["uses"]
    (kept,) = [each for each in uses if each["kind"] == "pool"]
    assert (kept["subject"], "1 undo back" in kept["detail"]) == (POOL, True)
    tagged = [each for each in uses if each["kind"] == "tag"]
    assert len(tagged) == REGIONS
    assert all(names.in_use_tag(POOL, one) in each["detail"] for each in tagged)
    assert not [each for each in uses if each["kind"] == "pointer"]

    (moved,) = lab.json("undo", "--pool", POOL)["pools"]
    assert (moved["digest"], moved["before"], moved["changed"]) == (one, two, True)
    pointers = [each for each in lab.json("where", one)["uses"] if each["kind"] == "pointer"]
    assert [each["detail"].count(",") for each in pointers] == [REGIONS - 1]
    result = lab.run("undo", "--pool", POOL)
    assert result.exit_code == 2
    assert "nothing to undo" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("promote", "tpu-cy", "--pool", POOL), "images/images.yaml declares no such image"),
        (("promote", f"{IMAGE}@sha256:{'1' * 64}", "--pool", "nowhere"), "the stack file has no such pool"),
        (("promote", f"{IMAGE}@sha256:{'1' * 64}", "--pool", "train-v4"), "used_by.pools"),
        (("promote", f"controller@sha256:{'1' * 64}", "--pool", POOL), "used_by.pools"),
        (("undo", "--pool", "nowhere"), "the stack file has no such pool"),
        (("where", "latest"), "is not a digest"),
        (("where", "0" * 12), "0 recorded builds start with"),
        (("build", "levanter-base", "--trigger"), "is built by GitHub"),
        (("build", "controller", "--image-for", "BASE_IMAGE"), "is not ARGUMENT=IMAGE"),
        (("build", "controller", "--trigger", "--revision", "a/b=c"), "not a/b"),
        (("build", IMAGE, "--trigger", "--revision", "marin-community/marin=main"), "is not a commit of 40"),
        (("plan",), "either --changed FILE..., or --base REF"),
        (("plan", "uv.lock"), "--changed uv.lock"),
        (("plan", "--base", "HEAD", "--repository", "marin-community/marin"), "--changed"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_on(lab: Lab, arguments: tuple[str, ...], said: str) -> None:
    result = lab.run(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr


@pytest.mark.parametrize(("image", "inside"), [(IMAGE, "steps"), ("levanter-base", "levanter-cluster")])
def test_the_generated_build_is_shown_as_its_builder_gets_it(lab: Lab, image: str, inside: str) -> None:
    shown = lab.json("show", image)
    assert inside in shown["build"]
    text = lab.ok("show", image).stdout
    assert inside in text
    assert "\\n" not in next(line for line in text.splitlines() if "script:" in line or "run:" in line)
    assert yaml.safe_load(text) == shown["build"]


def test_before_the_first_up_the_command_that_makes_the_bucket_is_named(tmp_path: Path) -> None:
    lab = Lab(lend(tmp_path), registry="", places=())
    result = lab.run("current", IMAGE)
    daemon.stop(lab.home)
    assert result.exit_code == 1
    assert "`./tidepool up ci` makes the bucket" in result.stderr
