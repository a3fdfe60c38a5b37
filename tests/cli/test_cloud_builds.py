"""A push, the builds and jobs that it starts, and what the record and the registries say afterwards: all by command."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infra.cli.app import cli
from infra.local.cloud import daemon
from infra.tools.install import ToolError, need
from tests.cli.conftest import BARE, ROOT
from tests.shipped_stacks import connected, of_this_lab, shipped

pytestmark = of_this_lab

TPU_CI = ("cloud", "push", "marin-community/tidepool", "--changed", "images/tpu-ci/Dockerfile")


@dataclass(frozen=True, slots=True)
class Player:
    """This checkout with a home of its own, in which the ci stack is up, connected to its sources."""

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
        if os.environ.get("TIDEPOOL_STRICT") == "1":
            raise
        pytest.skip(str(error))
    root, home = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("player")
    for each in ROOT.iterdir():
        if each.name not in (".git", ".hypothesis", ".tidepool", "stacks"):
            (root / each.name).symlink_to(each)
    shutil.copytree(ROOT / "stacks", root / "stacks")
    (root / "stacks" / "Pulumi.ci.yaml").write_text(connected(shipped("ci")), encoding="utf-8")
    found = Player(root, home)
    found.ok("up", "ci", "--yes", "--engine", "local", "--cloud", "local")
    yield found
    daemon.stop(home)


def test_a_push_to_tpu_ci_ends_with_one_digest_in_six_regions_and_a_failing_region_keeps_it(player: Player) -> None:
    player.ok(*TPU_CI)
    (build,) = json.loads(player.ok("cloud", "builds", "run", "--all", "--json").stdout)["builds"]
    assert (build["status"], build["images"]) == ("SUCCESS", ["tpu-ci"])
    digest = player.current("tpu-ci")
    assert f"{player.image('tpu-ci')}".count(digest) >= 6
    places = [line for line in player.ok("images", "list", "tpu-ci").stdout.splitlines() if "has it" in line]
    said = [", nothing copied of " in line for line in places]
    assert said == [False, *[True] * 5], "the first is pushed to, and one registry stands for all: blobs are mounted"

    player.ok(*TPU_CI)
    failed = player.run("cloud", "builds", "run", "--fail", "copy:us-east5")
    assert failed.exit_code == 1
    assert "FAILURE  copy-tpu-ci-us-east5" in failed.stdout
    assert player.current("tpu-ci") == digest
    again, run = (line.removeprefix("next: ./tidepool ") for line in failed.stdout.splitlines()[-2:])
    player.ok(*again.split())
    assert player.ok(*run.split()).stdout.splitlines()[0].endswith("of tpu-ci: SUCCESS")

    statuses = [each["status"] for each in json.loads(player.ok("cloud", "builds", "list", "--json").stdout)["builds"]]
    assert statuses == ["SUCCESS", "FAILURE", "SUCCESS"]


def test_what_is_built_after_a_push_is_built_from_it_and_becomes_current(player: Player) -> None:
    player.ok(*TPU_CI)
    player.ok("cloud", "builds", "run", "--all")
    first = player.current("tpu-ci")
    player.ok("cloud", "push", "marin-community/marin", "--changed", "lib/levanter/pyproject.toml")
    player.ok("cloud", "builds", "run", "--all")
    second = player.current("tpu-ci")
    assert second != first
    player.ok("cloud", "clock", "--advance", "24h")
    player.ok("cloud", "builds", "run", "--all")
    assert player.current("tpu-ci") == second, "the night's build is of the same commits"


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


def test_a_step_that_is_not_there_is_named_and_the_build_stays_in_the_queue(player: Player) -> None:
    player.ok(*TPU_CI)
    refused = player.run("cloud", "builds", "run", "--fail", "lunch")
    assert refused.exit_code == 2
    assert "no step is called lunch" in refused.stderr
    assert "SUCCESS" in player.ok("cloud", "builds", "run").stdout
    assert "no build waits" in player.ok("cloud", "builds", "run").stdout


def test_a_change_that_no_github_image_reads_starts_no_job(player: Player) -> None:
    said = player.ok("cloud", "builds", "jobs", "marin-community/tidepool", "--changed", "README.md").stdout
    assert said == "this push starts no job of an image; paths has none of what changed\n"


@pytest.mark.parametrize(
    ("repository", "commit", "said"),
    [
        ("marin-community/mairn", "", "one of marin-community/marin, marin-community/tidepool"),
        ("marin-community/marin", "../../head", "is no commit of 40 hexadecimal digits"),
    ],
)
def test_a_push_that_could_not_be_is_refused(player: Player, repository: str, commit: str, said: str) -> None:
    refused = player.run("cloud", "builds", "jobs", repository, "--changed", "uv.lock", "--commit", commit)
    assert refused.exit_code == 2
    assert said in refused.stderr
