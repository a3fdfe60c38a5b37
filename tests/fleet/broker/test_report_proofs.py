"""Reports that other VMs of the pool wrote, copied or kept are not believed; the broker's records say who is who."""

from __future__ import annotations

import json
from typing import Any

import pytest
from googleapiclient.http import MediaInMemoryUpload

from infra.fleet import proofs
from infra.fleet.controller.decide import decide
from infra.fleet.controller.keys import NodeKey
from infra.fleet.controller.memory import EMPTY, Memory
from infra.fleet.controller.observe import Observer
from infra.fleet.google import Api, execute
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.runner.supervisor.report import sealed
from infra.model import bucket_names
from tests.fleet.broker.broker_world import BUCKET, PROJECT, SECOND, VM, World
from tests.fleet.broker.test_sweep_by_broker import desired

ZONE = "us-west4-a"


def make(world: World, vm: str) -> None:
    world.cloud.control.remove_node(vm)
    world.wait(60)
    world.add_vm(vm)


@pytest.fixture
def pair(world: World) -> World:
    """Two VMs of one pool, each registered once, as one is before a job can run on it."""
    world.add_vm(SECOND)
    for vm in (VM, SECOND):
        make(world, vm)
        assert world.ask(vm).status == 200
    return world


def said(world: World, phase: str = "unfit", **more: str) -> bytes:
    return json.dumps({"version": 1, "at": world.now().isoformat(), "phase": phase, **more}).encode()


def signed(world: World, vm: str, report: bytes, **token: Any) -> bytes:
    """A report with the proof that a VM can give it."""
    return sealed(report.decode(), world.token(vm, proofs.audience(report), **token)).encode()


def write(world: World, vm: str, content: bytes) -> None:
    objects = world.google.api(Api.STORAGE).objects()
    media = MediaInMemoryUpload(content, mimetype="application/json")
    request = objects.insert(bucket=BUCKET, name=bucket_names.report_object("tpu-ci", vm), media_body=media)
    execute(request, "writing a report")


def heard(world: World, memory: Memory = EMPTY) -> tuple[dict[str, ReportSeen], Memory]:
    """The reports that a sweep believes, and what it remembers."""
    observer = Observer(project=PROJECT, bucket=BUCKET, endpoint=world.cloud.url, github=world.api())
    observed = observer.observe(desired(), memory)
    assert observed.reports_source.known, observed.reports_source
    return dict(observed.reports), decide(desired(), observed, memory, world.now()).memory


def test_a_vm_that_signs_its_report_is_believed(pair: World) -> None:
    write(pair, VM, signed(pair, VM, said(pair, reason="the TPU stays busy")))
    reports, memory = heard(pair)
    assert (reports[VM].phase, reports[VM].reason, reports[VM].proved) == (Phase.UNFIT, "the TPU stays busy", ZONE)
    assert memory.nodes[NodeKey(ZONE, VM)].proved
    assert not memory.nodes[NodeKey(ZONE, SECOND)].proved


def test_a_report_that_a_sibling_signs_is_not_believed(pair: World) -> None:
    """A job that broke out has its VM's account, which may write the reports of the whole pool."""
    write(pair, VM, signed(pair, SECOND, said(pair)))
    assert VM not in heard(pair)[0]


def test_a_report_that_is_written_again_later_is_a_copy(pair: World) -> None:
    old = signed(pair, VM, said(pair))
    write(pair, VM, old)
    assert VM in heard(pair)[0]
    pair.wait(11 * 60)
    assert VM in heard(pair)[0], "that it lies there for long is no matter"
    write(pair, VM, old)
    assert VM not in heard(pair)[0]


@pytest.mark.parametrize(
    "content", [b'{"phase":"unfit","proof":"x.y.z"}', b'{"phase":"unfit","proof":""}', b',"proof":"a"}', b'"proof":"']
)
def test_a_proof_that_is_none_hides_no_other_report(pair: World, content: bytes) -> None:
    write(pair, SECOND, content)
    write(pair, VM, signed(pair, VM, said(pair)))
    assert heard(pair)[0].keys() == {VM}


def test_a_vm_that_has_proved_a_report_is_not_believed_without_proof_until_it_is_made_again(pair: World) -> None:
    """VMs whose bundle is older than proofs have none."""
    write(pair, VM, said(pair))
    reports, memory = heard(pair)
    assert (reports[VM].phase, reports[VM].proved) == (Phase.UNFIT, "")
    write(pair, VM, signed(pair, VM, said(pair, "idle")))
    memory = heard(pair, memory)[1]
    write(pair, VM, said(pair))
    reports, memory = heard(pair, memory)
    assert VM not in reports
    make(pair, VM)
    write(pair, VM, said(pair, "booting"))
    assert heard(pair, memory)[0][VM].phase is Phase.BOOTING


def test_without_googles_keys_reports_are_unknown_and_not_refused(pair: World) -> None:
    write(pair, VM, signed(pair, VM, said(pair)))
    pair.cloud.control.fail("error", method="*certs*", code=503)
    observer = Observer(project=PROJECT, bucket=BUCKET, endpoint=pair.cloud.url, github=None)
    assert "reading Google's keys failed" in observer.observe(desired(), EMPTY).reports_source.reason
