"""`images build` on this machine, with a recorded builder: parents first, each child from what was just built."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from bench.builds.builders import BuildError, Built
from bench.operations import images
from infra.cli.app import cli
from tests.cli.conftest import BARE
from tests.synthetic_lab import the_lab

if TYPE_CHECKING:
    from bench.builds.builders import Listener, Order


@dataclass
class Recorder:
    """Builds nothing, and writes down what it was asked for."""

    name: str = "a recorder"
    orders: list[Order] = field(default_factory=list)
    smoked: list[Path] = field(default_factory=list)
    cached: list[bool] = field(default_factory=list)
    fails: str = ""

    def build(self, order: Order, *, cached: bool = True, listen: Listener = print) -> Built:
        if order.image == self.fails:
            raise BuildError(f"a recorder could not build {order.image}")
        self.orders.append(order)
        self.cached.append(cached)
        listen("STEP 1")
        return Built(order.image, order.tag, "sha256:1", 1_000_000, 7, 1.5)

    def smoke(self, built: Built, script: Path) -> None:
        assert built.image in str(script)
        self.smoked.append(script)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder()
    monkeypatch.setattr(images, "local_builder", lambda: made)
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        cli, ("images", "build", *arguments), env=BARE | {"TIDEPOOL_ROOT": str(the_lab())}, prog_name="tidepool"
    )


def test_an_image_is_built_after_its_parents_and_from_them(recorder: Recorder, tmp_path: Path) -> None:
    result = run("levanter-cluster", "--context", str(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    assert [each.image for each in recorder.orders] == ["levanter-base", "levanter-cluster"]
    assert recorder.orders[1].arguments["PARENT_IMAGE"] == recorder.orders[0].tag
    assert [path.parent.name for path in recorder.smoked] == ["levanter-base", "levanter-cluster"]
    said = json.loads(result.stdout)
    assert said["builder"] == "a recorder"
    assert [(each["image"], each["layers"]) for each in said["builds"]] == [
        ("levanter-base", 7),
        ("levanter-cluster", 7),
    ]
