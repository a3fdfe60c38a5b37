"""Where the embedded engine's program, state and secrets come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.cloud.testing import TestCloud
from bench.embedded import EmbeddedEngine
from infra.engines.protocol import CloudName, EngineRequest
from infra.fleet.google import Api, clients
from infra.model import federation
from infra.model.errors import EngineError
from infra.model.plan import Op
from infra.model.stack import load_stack
from tests.synthetic_lab import lend

pytestmark = pytest.mark.usefixtures("cheap_keys")

ROOT = Path(__file__).resolve().parents[2]


def _request(tmp_path: Path, url: str | None, *, targets: tuple[str, ...] = ()) -> EngineRequest:
    return EngineRequest(
        root=lend(tmp_path), home=tmp_path / "home", stack="ci", cloud=CloudName.LOCAL, cloud_url=url, targets=targets
    )


def test_a_preview_makes_neither_state_nor_home(tmp_path: Path, cloud: TestCloud) -> None:
    plan = EmbeddedEngine(_request(tmp_path, cloud.url), environ={}).preview()
    assert {step.op for step in plan.steps} == {Op.CREATE}
    assert (plan.stack, plan.engine, plan.cloud) == ("ci", "local", "local")
    assert not (tmp_path / "home").exists()
    assert {call["verb"] for call in cloud.control.log(limit=1000)} == {"GET"}, "it looks for what it would create"


def test_a_stack_without_state_has_no_outputs(tmp_path: Path) -> None:
    assert EmbeddedEngine(_request(tmp_path, None), environ={}).outputs() == {}


def test_a_backend_url_wins_over_the_home(tmp_path: Path, cloud: TestCloud) -> None:
    environ = {"PULUMI_BACKEND_URL": f"file://{tmp_path}/elsewhere", "PULUMI_CONFIG_PASSPHRASE": "x"}
    EmbeddedEngine(_request(tmp_path, cloud.url), environ=environ).refresh()
    assert (tmp_path / "elsewhere" / ".pulumi" / "meta.yaml").is_file()
    assert not (tmp_path / "home").exists()


def test_an_unknown_target_is_an_error_and_no_plan(tmp_path: Path, cloud: TestCloud) -> None:
    request = _request(tmp_path, cloud.url, targets=("urn:pulumi:ci::tidepool::x:y:Z::nobody",))
    with pytest.raises(EngineError, match="no such resource"):
        EmbeddedEngine(request, environ={}).preview()


def test_a_stack_comes_up_before_the_one_whose_workflows_make_vms_as_its_pool(
    tmp_path: Path, quick_cloud: TestCloud
) -> None:
    """`ci` lets those workflows in, and no `registry_stack` says that it is to come first."""
    request = replace(_request(tmp_path, quick_cloud.url), stack="nightly", exclude_protected=True)
    file = request.root / "stacks" / "Pulumi.nightly.yaml"
    file.write_text(file.read_text().replace("  tidepool:registry_stack: organization/tidepool/ci\n", ""))
    engine = EmbeddedEngine(request, environ={})
    made = engine.up()
    assert not made.failed, [said.message for said in made.diagnostics]
    assert not engine.destroy().failed
    (maker,) = federation.makers_as("nightly-v6e", "hai-gcp-models", [load_stack(request.root, "ci")])
    with clients(maker.project, quick_cloud.url) as google:
        accounts = google.api(Api.IAM).projects().serviceAccounts().list(name=f"projects/{maker.project}").execute()
    assert maker.email in {each["email"] for each in accounts["accounts"]}, "it is the other stack's too"
