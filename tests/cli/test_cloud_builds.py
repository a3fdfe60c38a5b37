"""A push, the builds and jobs that it starts, and what the record and the registries say afterwards: all by command."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.cloud import daemon
from infra.cli.app import cli
from infra.fleet.images.oci import RegistryError
from infra.operations.images import after_apply
from infra.tools.install import ToolError, need
from tests.cli.conftest import BARE
from tests.lacking import lacking
from tests.synthetic_lab import connected, lend_whole, regenerate, steady

REGIONS = 3
EVERYWHERE = "{stack: ci, repository: marin-ci}"
ELSEWHERE = "{stack: ci, repository: marin-ci, regions: [us-central1, us-west4]}"
GONE = re.compile(
    r"(?m)^(?: {8}(?:us-east1-c|europe-west4-b): .*| {6}unlisted_zone:| {6}- (?:europe-west4|us-east1|us-east5))\n"
)
"""Zones, and regions of registries."""
CLUSTER = re.compile(r"(?m)^  - name: cluster\n(?:    .*\n)+\n")
"""The other image that Cloud Build makes of the sources."""
TPU_CI = ("cloud", "push", "marin-community/tidepool", "--changed", "images/tpu-ci/Dockerfile")


@dataclass(frozen=True, slots=True)
class Player:
    """A checkout with a home of its own, in which the ci stack is up, connected to its sources."""

    root: Path
    home: Path

    def run(self, *arguments: str) -> Result:
        folders = {"TIDEPOOL_ROOT": str(self.root), "TIDEPOOL_HOME": str(self.home), "HOME": str(self.home)}
        environ = BARE | folders | {"PATH": os.environ["PATH"]}
        return CliRunner().invoke(cli, arguments, env=environ, prog_name="tidepool")

    def ok(self, *arguments: str) -> Result:
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result

    def image(self, name: str) -> dict[str, Any]:
        listed = json.loads(self.ok("images", "list", name, "--json").stdout)["images"]
        return next(each for each in listed if each["name"] == name)

    def current(self, name: str) -> str:
        return self.ok("images", "current", name).stdout.strip()


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    try:
        need("crane")
    except ToolError as error:
        lacking(str(error))
    root, home = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("player")
    lend_whole(root)
    regenerate(root)
    narrow(root)
    found = Player(root, home)
    found.ok("up", "ci", "--yes", "--engine", "local", "--cloud", "local")
    yield found
    daemon.stop(home)


def narrow(root: Path) -> None:
    """Leave one pool in one zone, repositories in three regions, and one image that a push to the sources builds.

    Every region is a copy more in each build, and every image a build more of each push.

    What workflows ask of the pools that are gone is not known to this checkout.
    """
    head, others, rest = connected(steady("ci")).partition("    - name: tpu-v5p\n")
    assert others
    text = GONE.sub("", head + rest[rest.index("  tidepool:registries:\n") :])
    (root / "stacks" / "Pulumi.ci.yaml").write_text(text, encoding="utf-8")
    images = root / "images" / "images.yaml"
    edited(images, ("pools: [tpu-ci, tpu-v4, tpu-v5p, tpu-v6e]", "pools: [tpu-ci]"))
    images.write_text(CLUSTER.sub("", images.read_text()))
    shutil.rmtree(root / "images" / "cluster")
    spec = root / "workflows" / "spec" / "marin.yaml"
    edited(spec, ("      - {job: marin-cluster-images, images: [cluster]}\n", ""))
    (root / "workflows" / "demand.yaml").unlink()


def edited(file: Path, *edits: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    file.write_text(text)


def statement(player: Player, image: str) -> dict[str, str]:
    """What the build that the record names was told, as its provenance has it."""
    build = json.loads(player.ok("images", "current", image, "--json").stdout)["build"]["build"]
    folder = player.home / "builds" / build.removeprefix("cloudbuild/") / "workspace/.tidepool/out" / image
    said = json.loads((folder / "provenance.json").read_text())
    return said["predicate"]["buildDefinition"]["internalParameters"]


def test_a_pin_is_edited_pushed_built_recorded_promoted_and_undone_with_one_digest_at_every_step(
    player: Player,
) -> None:
    """Five copies run at once; one region fails, and then all is built again. The triggers stand as before the edit."""
    player.ok(*TPU_CI)
    player.ok("cloud", "builds", "run", "--all")
    old = player.current("tpu-ci")
    player.ok("images", "promote", "tpu-ci", "--pool", "tpu-ci")
    uv = statement(player, "tpu-ci")["UV_SHA256"]

    edited(player.root / "images/bases.yaml", (uv, "a" * 64))
    player.ok("cloud", "push", "marin-community/tidepool", "--changed", "images/bases.yaml")
    queued = json.loads(player.ok("cloud", "builds", "list", "--json").stdout)["builds"]
    waiting = [each for each in queued if each["status"] == "QUEUED"]
    while "image-tpu-ci" not in waiting[0]["tags"]:
        player.ok("cloud", "builds", "run")
        waiting.pop(0)
    failed = player.run("cloud", "builds", "run", "--fail", "copy:us-central2")
    assert failed.exit_code == 1
    assert player.current("tpu-ci") == old
    player.ok("images", "build", "tpu-ci", "--trigger", "--wait", "0")
    player.ok("cloud", "builds", "run", "--all")

    new = player.current("tpu-ci")
    assert new != old
    assert statement(player, "tpu-ci")["UV_SHA256"] == "a" * 64, "the new commit is recorded with the new pin"
    state = player.image("tpu-ci")
    assert (state["equal"], {each["named"] for each in state["places"]}) == (True, {new})
    assert state["pools"]["tpu-ci"]["digest"] == old, "a build gives nothing to a pool"
    promoted = json.loads(player.ok("images", "promote", "tpu-ci", "--pool", "tpu-ci", "--json").stdout)["pools"]
    assert [(each["before"], each["digest"]) for each in promoted] == [(old, new)]
    undone = json.loads(player.ok("images", "undo", "--pool", "tpu-ci", "--json").stdout)["pools"]
    assert [(each["before"], each["digest"]) for each in undone] == [(new, old)]
    uses = json.loads(player.ok("images", "where", old, "--json").stdout)["uses"]
    assert {"pool", "pointer", "registry", "tag"} <= {each["kind"] for each in uses}

    after = json.loads(player.ok("up", "ci", "--yes", "--json").stdout)
    assert after["building"] == [], "what the push built is not built again"


def test_a_push_of_other_steps_is_refused_until_up_which_starts_the_build_anew(player: Player) -> None:
    before = player.image("tpu-ci")["current"]["build"]
    file = player.root / "images/images.yaml"
    edited(file, (EVERYWHERE, ELSEWHERE))
    player.ok("cloud", "push", "marin-community/tidepool", "--changed", "images/tpu-ci/Dockerfile")
    refused = player.run("cloud", "builds", "run")
    assert refused.exit_code == 1
    assert "Next: ./tidepool up ci, which starts the build anew" in refused.stdout
    assert player.image("tpu-ci")["current"]["build"] == before
    assert json.loads(player.ok("up", "ci", "--yes", "--json").stdout)["building"] == ["tpu-ci"]
    player.ok("cloud", "builds", "run", "--all")
    recorded = player.image("tpu-ci")["current"]
    assert recorded["build"] != before
    assert len(recorded["places"]) == REGIONS - 1
    assert player.image("tpu-ci")["cost"]["machine"] == "E2_HIGHCPU_32"


def test_a_build_whose_start_is_refused_stays_owed_until_an_up_starts_it(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = player.root / "images/images.yaml"
    other = (ELSEWHERE, EVERYWHERE)
    edited(file, other if ELSEWHERE in file.read_text() else (EVERYWHERE, ELSEWHERE))
    player.ok("cloud", "fail", "error", "--method", "pubsub.projects.topics.publish", "--code", "403")
    refused = player.run("up", "ci", "--yes", "--json")
    player.ok("cloud", "fail", "--mend-all")
    after = json.loads(refused.stdout)
    assert (refused.exit_code, after["building"]) == (1, [])
    assert "`./tidepool images build tpu-ci --trigger`" in after["problems"][0]

    def untagged(*_: object) -> None:
        raise RegistryError("tagging us-west4: 503")

    with monkeypatch.context() as patch:
        patch.setattr(after_apply, "keep_for_roles", untagged)
        after = json.loads(player.run("up", "ci", "--yes", "--json").stdout)
    assert after["building"] == ["tpu-ci"], "neither the tag nor the run before keeps it from being started"
    assert [
        each for each in after["problems"] if "tagging us-west4: 503" in each and "Next: `./tidepool up ci`" in each
    ]
    assert json.loads(player.ok("up", "ci", "--yes", "--json").stdout)["building"] == []
    player.ok("cloud", "builds", "run", "--all")


def test_an_older_commit_that_is_built_by_hand_does_not_become_current(player: Player) -> None:
    pushed = ("cloud", "push", "marin-community/marin", "--changed", "uv.lock", "--json")
    first = json.loads(player.ok(*pushed).stdout)["commit"]
    player.ok("cloud", "clock", "--advance", "1h")
    player.ok(*pushed)
    player.ok("cloud", "builds", "run", "--all")
    current = player.current("tpu-ci")
    by_hand = ("images", "build", "tpu-ci", "--trigger", "--wait", "0", "--revision")
    player.ok(*by_hand, f"marin-community/marin={first}")
    player.ok("cloud", "builds", "run")
    assert player.current("tpu-ci") == current
    player.ok(*by_hand, f"marin-community/marin={'9' * 40}")
    strange = player.run("cloud", "builds", "run")
    assert f"{'9' * 40} is not a first parent of main in marin-community/marin" in strange.stdout


def test_a_push_to_levanter_base_runs_three_jobs_in_order_each_from_the_digest_before_it(player: Player) -> None:
    push = ("marin-community/tidepool", "--changed", "images/levanter-base/Dockerfile")
    *_, said, following = player.ok("cloud", "push", *push).stdout.splitlines()
    assert following == f"next: ./tidepool cloud builds jobs {' '.join(push)}"
    assert said == (
        "  docker-images.yaml at GitHub: jobs of levanter-base, levanter-incremental, levanter-cluster, "
        "each after its parents'"
    )
    done = json.loads(player.ok("cloud", "builds", "jobs", *push, "--json").stdout)["jobs"]
    assert [(each["image"], each["status"]) for each in done] == [
        ("levanter-base", "SUCCESS"),
        ("levanter-incremental", "SUCCESS"),
        ("levanter-cluster", "SUCCESS"),
    ]
    base = player.current("levanter-base")
    for child in ("levanter-cluster", "levanter-incremental"):
        build = json.loads(player.ok("images", "current", child, "--json").stdout)["build"]
        assert build["parents"] == {"levanter-base": base}
        assert build["places"] == [f"ghcr.io/marin-community/{child}"]
