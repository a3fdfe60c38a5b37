"""One plan, told by the embedded engine, by the pulumi CLI's events and by its preview in a file: one comment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pulumi
import pulumi_gcp as gcp
import pytest

from bench.cloud.testing import TestCloud
from bench.engine.backend import Backend
from bench.engine.engine import Engine
from bench.providers.google import GoogleProvider
from infra.engines.official import plan_from_preview_json
from infra.engines.official.recorder import Recorder
from infra.model.plan import Plan
from infra.preview.comment import Preview, comment
from tests.engines.official.replay import engine_events, text

OLD, NEW = "tpu-ubuntu2204-base", "v2-alpha-tpuv5-lite"


def _runners(count: int, *, owner: str = "a", runtime: str = OLD) -> Callable[[], None]:
    """The program whose previews by the pulumi CLI are recorded."""

    def declare() -> None:
        pool = pulumi.ComponentResource("tidepool:runners:Pool", "tpu-ci")
        below = pulumi.ResourceOptions(parent=pool)
        account = gcp.serviceaccount.Account("tpu-ci-vm", account_id="tpu-ci-vm", opts=below)
        gcp.compute.Network("runners", name="runners", auto_create_subnetworks=False)
        for index in range(count):
            name = f"tpu-ci-us-west4-a-{index}"
            gcp.tpu.V2Vm(
                name,
                name=name,
                zone="us-west4-a",
                accelerator_type="v5litepod-4",
                runtime_version=runtime,
                labels={"owner": owner, "tidepool-pool": "tpu-ci"},
                metadata={"startup-script": "#!/bin/sh\n", "token": pulumi.Output.secret("hunter2")},
                service_account=gcp.tpu.V2VmServiceAccountArgs(email=account.email),
                opts=pulumi.ResourceOptions(parent=pool, delete_before_replace=True),
            )

    return declare


STANDING = {
    "preview-create": None,
    "preview-change": _runners(2),
    "preview-replace": _runners(3),
    "preview-delete": _runners(3),
}
WANTED = {
    "preview-create": _runners(2),
    "preview-change": _runners(3, owner="b"),
    "preview-replace": _runners(3, runtime=NEW),
    "preview-delete": _runners(1),
}


def _embedded(folder: Path, url: str, program: Callable[[], None]) -> Engine:
    return Engine(
        backend=Backend(folder),
        project="tidepool",
        stack="ci",
        config={"gcp:project": "hai-gcp-models"},
        program=program,
        providers={"gcp": GoogleProvider(url, "hai-gcp-models")},
        passphrase=lambda: "correct horse",
        cloud="local",
    )


def _told_by_events(name: str) -> Plan:
    recorder = Recorder(None, planning=True)
    for event in engine_events(name):
        recorder.take(event)
    return Plan(stack="ci", engine="pulumi", cloud="google", steps=recorder.steps(), diagnostics=recorder.diagnostics())


def _comment(plan: Plan) -> str:
    return comment(Preview(stack="ci", plan=plan))


@pytest.mark.parametrize("name", WANTED)
def test_three_sources_make_one_comment(name: str, tmp_path: Path, ticking_cloud: TestCloud) -> None:
    before = STANDING[name]
    if before:
        assert not _embedded(tmp_path, ticking_cloud.url, before).up().failed
    told = _comment(_embedded(tmp_path, ticking_cloud.url, WANTED[name]).preview())
    assert told == _comment(_told_by_events(name))
    assert told == _comment(plan_from_preview_json(text(f"{name}.json"), stack="ci", cloud="google"))
    assert "hunter2" not in told


def test_a_program_that_raises_is_told_alike_from_events_and_from_a_file() -> None:
    told = _comment(_told_by_events("preview-boom"))
    assert told == _comment(plan_from_preview_json(text("preview-boom.json"), stack="ci", cloud="google"))
    assert told.startswith("## ci: the preview failed\n")
    assert "ValueError: boom" in told
    assert "pulumi-resource-gcp" not in told, "remarks on the machine are nobody's business"
