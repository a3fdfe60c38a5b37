"""A state from which everything was removed: one `up` imports it again, and leaves the cloud as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.embedded import EmbeddedEngine
from infra.engines.import_ids import IMPORT_IDS, REPEATABLE
from infra.engines.protocol import CloudName, EngineRequest
from infra.model import urns
from infra.model.plan import Op, Plan
from tests.synthetic_lab import lend

pytestmark = pytest.mark.usefixtures("cheap_keys")

STACKS = ("ci", "nightly", "training")
AGAIN = frozenset(("iam.projects.serviceAccounts.create", "serviceusage.services.enable", "storage.objects.insert"))
"""Calls that change nothing when they are repeated, as those that add a grant to a policy are."""
ENVIRON = {"PULUMI_CONFIG_PASSPHRASE": "words"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, quick_cloud: TestCloud) -> tuple[Path, TestCloud]:
    """The three stacks, all of them up."""
    root = lend(tmp_path_factory.mktemp("lab"))
    for stack in STACKS:
        run = engine(root, quick_cloud, stack).up()
        assert not run.failed, problems(run)
    return root, quick_cloud


def engine(root: Path, cloud: TestCloud, stack: str, *targets: str, **more: Any) -> EmbeddedEngine:
    request = EngineRequest(
        root=root, home=root / "home", stack=stack, cloud=CloudName.LOCAL, cloud_url=cloud.url, targets=targets
    )
    return EmbeddedEngine(replace(request, **more), environ=ENVIRON)


def problems(run: Plan) -> list[str]:
    failed = [f"{step.name}: {step.error}" for step in run.steps if step.error]
    return failed + [said.message for said in run.diagnostics if said.severity == "error"]


def resources(root: Path, cloud: TestCloud, stack: str) -> dict[str, Any]:
    """Every resource of the state: its id, its inputs but for those whose changes are ignored, and its protection."""
    exported = engine(root, cloud, stack)._engine().export()["deployment"]["resources"]
    return {each["urn"]: (each.get("id"), inputs(each), each.get("protect")) for each in exported}


def inputs(resource: dict[str, Any]) -> dict[str, Any]:
    ignored = {each.partition(".")[0] for each in resource.get("ignoreChanges", ())}
    return {key: masked(value) for key, value in resource.get("inputs", {}).items() if key not in ignored}


def masked(value: Any) -> Any:
    """Without ciphertext, which differs each time."""
    if isinstance(value, dict):
        return "[secret]" if "ciphertext" in value else {key: masked(each) for key, each in value.items()}
    return [masked(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("stack", STACKS)
def test_all_that_was_forgotten_is_in_the_state_again_after_one_up(lab: tuple[Path, TestCloud], stack: str) -> None:
    root, cloud = lab
    before, (last, *_) = resources(*lab, stack), cloud.control.log(limit=1)
    assert engine(root, cloud, stack, "**").forget().steps
    assert len(resources(*lab, stack)) < len(before) / 4
    plan = engine(root, cloud, stack).preview()
    assert not plan.failed, problems(plan)
    shared = {urn for urn, (_, given, _) in before.items() if given.get("createIgnoreAlreadyExists")}
    importable = {step.op for step in plan.steps if step.type in IMPORT_IDS and step.urn not in shared}
    assert importable == {Op.ADOPT}
    assert {step.op for step in plan.steps if step.urn in shared} <= {Op.CREATE}
    run = engine(root, cloud, stack).up(planned=plan)
    assert not run.failed, problems(run)
    after = resources(*lab, stack)
    assert {urn: each for urn, each in after.items() if before.get(urn) != each} == {}
    assert after.keys() == before.keys()
    calls = cloud.control.log(limit=100_000, after=last["number"])
    wrote = {call["method"] for call in calls if call["verb"] != "GET" and not call["method"].endswith("IamPolicy")}
    assert wrote - {""} <= AGAIN, "the cloud is as it was"


def test_adopt_takes_in_all_that_the_state_lacks_and_changes_nothing(lab: tuple[Path, TestCloud]) -> None:
    root, cloud = lab
    before = resources(*lab, "ci")
    engine(root, cloud, "ci", "**").forget()
    run = engine(root, cloud, "ci").adopt()
    assert not run.failed, problems(run)
    assert {step.op for step in run.steps if step.type in IMPORT_IDS} == {Op.ADOPT}
    left = before.keys() - resources(*lab, "ci").keys()
    missing = {urns.type_of(urn) for urn in left if not before[urn][1].get("createIgnoreAlreadyExists")}
    assert missing <= REPEATABLE
    assert not engine(root, cloud, "ci").up().failed
    assert resources(*lab, "ci") == before
    assert engine(root, cloud, "ci").adopt().steps == ()
