"""Looking at everything at once: one source that fails, is late or answers nonsense is unknown, and ends no sweep."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import urllib3

from infra.fleet.controller.github import GitHubError, RunnerApi
from infra.fleet.controller.memory import EMPTY
from infra.fleet.controller.observe import DEADLINE, Observer
from infra.fleet.controller.observed import KNOWN
from infra.fleet.controller.tpu_api import nodes as list_nodes
from infra.fleet.controller.vm_records import order, to_be_asked
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.fleet.reports import Phase, ReportSeen
from infra.fleet.versions import AssignedVersion, PoolVersion, Rollout
from infra.model import bucket_names
from tests.fleet.controller.given_fleet import HOME, START, first, fleet, nodes, seen, slot

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

BUCKET = "a-lab-tidepool-ci"
WISH = {"subject": "tpu-ci", "by": "ada", "minutes": 5}


class Late(Future[Any]):
    """It is never done; whoever waits for it waits as long as it may."""

    def __init__(self, passes: list[float]) -> None:
        super().__init__()
        self.passes = passes

    def result(self, timeout: float | None = None) -> Any:
        assert timeout is not None
        self.passes.append(timeout)
        raise TimeoutError


def test_sources_that_are_all_late_cost_one_deadline_and_not_one_each() -> None:
    waited: list[float] = []
    observer = Observer(project="a-lab", bucket=BUCKET, endpoint=None, github=None, clock=lambda: 100.0 + sum(waited))
    for _ in range(6):
        source, answer = observer._result(Late(waited), until=120.0)
        assert (source.reason, answer) == (f"no answer within {DEADLINE:g} s", None)
    assert waited == [20.0, 0.0, 0.0, 0.0, 0.0, 0.0]


@pytest.fixture
def observer(cloud: TestCloud) -> Observer:
    with clients("a-lab", cloud.url) as google:
        body = {"name": BUCKET, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project="a-lab", body=body), "making a bucket")
    return Observer(project="a-lab", bucket=BUCKET, endpoint=cloud.url, github=None)


@pytest.mark.parametrize(
    ("name", "written", "source"),
    [
        (bucket_names.pointer_object(), {"images": ["tpu-ci"]}, "pointer"),
        (bucket_names.pointer_object(), {"images": {"tpu-ci": "an image"}}, "pointer"),
        (bucket_names.requests_object("ci"), {"drains": "all"}, "wishes"),
        (bucket_names.requests_object("ci"), {"drains": [{**WISH, "since": "2026-11-21T10:00:00"}]}, "wishes"),
        (bucket_names.requests_object("ci"), {"drains": [{**WISH, "since": None}]}, "wishes"),
        (bucket_names.requests_object("ci"), [], "wishes"),
    ],
)
def test_a_record_of_another_shape_is_unknown_and_hides_nothing_else(
    observer: Observer, name: str, written: Any, source: str
) -> None:
    with clients("a-lab", observer.endpoint) as google:
        Records(google=google, bucket=BUCKET).put_once(name, json.dumps(written).encode(), "application/json")
    seen = observer.observe(fleet(1), EMPTY)
    by_name = {str(each): found for each, found in seen.sources.items()}
    assert by_name[source].reason
    assert by_name[f"zone {HOME}"] == KNOWN
    assert {each for each, found in by_name.items() if not found.known} == {source, "github"}


def stands(cloud: TestCloud, vm: str, **labels: str) -> None:
    """A READY VM of stack ci in the home zone."""
    body = {
        "acceleratorType": "v5litepod-4",
        "runtimeVersion": "v2-alpha-tpuv5-lite",
        "labels": {"tidepool-managed": "true", "tidepool-stack": "ci"} | labels,
    }
    cloud.control.add_node(f"projects/a-lab/locations/{HOME}/nodes/{vm}", body)


def test_what_an_orphan_says_is_read_and_nobody_elses_who_is_not_declared(observer: Observer, cloud: TestCloud) -> None:
    orphan, sibling = f"old-pool-{HOME}-0", f"night-{HOME}-0"
    with clients("a-lab", observer.endpoint) as google:
        records = Records(google=google, bucket=BUCKET)
        for vm, stack in ((orphan, "ci"), (sibling, "night")):
            stands(cloud, vm, **{"tidepool-pool": "old-pool", "tidepool-stack": stack})
            said = {"at": "2026-11-21T08:00:00Z", "phase": "busy", "job": "tests"}
            records.put_once(bucket_names.report_object("old-pool", vm), json.dumps(said).encode(), "application/json")
    assert {vm: report.job for vm, report in observer.observe(fleet(1), EMPTY).reports.items()} == {orphan: "tests"}


def test_a_vm_with_a_bundle_that_a_sibling_proved_a_report_with_is_not_believed_without_proof() -> None:
    desired, listed = fleet(3), nodes(fleet(3))
    proved, same, older = (slot.name for slot in desired.slots)
    report = ReportSeen(vm=proved, pool="tpu-ci", phase=Phase.IDLE, at=START, proved=HOME)
    memory = first(desired, seen(desired, reports={proved: report})).memory
    told = {vm: AssignedVersion("i", bundle) for vm, bundle in ((proved, "new"), (same, "new"), (older, "old"))}
    vms = {vm: replace(each, assigned=told[vm]) for vm, each in memory.vms.items()}
    asked = to_be_asked(desired, replace(memory, vms=vms), (), listed)
    assert {vm.name: vm.proves for vm in asked} == {proved: True, same: True, older: False}
    none = {vm: replace(each, assigned=AssignedVersion("i")) for vm, each in memory.vms.items()}
    asked = to_be_asked(desired, replace(memory, vms=none), (), listed)
    assert {vm.name for vm in asked if vm.proves} == {proved}


class Pages:
    """The TPU API's lists, page by page."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = answers

    def api(self, _: Api) -> Pages:
        return self

    projects = locations = nodes = lambda self: self

    def list(self, **_: Any) -> Pages:
        return self

    def list_next(self, before: Pages, _: dict[str, Any]) -> Pages | None:
        return Pages(*before.answers[1:]) if before.answers[1:] else None

    def execute(self, num_retries: int) -> dict[str, Any]:
        assert num_retries
        return self.answers[0]


def listed(*answers: dict[str, Any]) -> list[Any]:
    google: Any = Pages(*answers)
    return [node.name for node in list_nodes(google, "a-lab", HOME)]


def test_a_zone_that_is_said_to_be_unreachable_is_not_empty() -> None:
    with pytest.raises(Exception, match="us-west4-a-x did not answer"):
        listed({"nodes": [{"name": "a"}]}, {"unreachable": ["us-west4-a-x"]})


@pytest.mark.parametrize(
    ("status", "step"), [(301, "renamed or moved"), (401, "GITHUB_TOKEN"), (403, "may not"), (404, "may not see")]
)
def test_a_refusal_of_github_says_what_to_do(monkeypatch: pytest.MonkeyPatch, status: int, step: str) -> None:
    github = RunnerApi(api="https://github.test", token=lambda _: "t")
    answer = urllib3.HTTPResponse(body=b"{}", status=status)
    monkeypatch.setattr(urllib3.PoolManager, "request", lambda *_, **__: answer)
    with pytest.raises(GitHubError, match=f"GET repos/a-lab/code/actions/runners: {status}: .*{step}"):
        github.runners("repos/a-lab/code")


def test_orders_are_read_of_a_few_vms_of_each_pool_of_which_no_rollout_is_remembered(observer: Observer) -> None:
    desired = fleet(slots=(*(slot(index) for index in range(20)), slot(0, pool="known")))
    with clients("a-lab", observer.endpoint) as google:
        records = Records(google=google, bucket=BUCKET)
        for vm, said in (
            (0, b'{"image": "r@sha256:a"}'),
            (1, b'{"image": null}'),
            (2, b"[]"),
            (3, b'{"image": "none"}'),
        ):
            records.put_once(bucket_names.orders_object(desired.slots[vm].name), said, "application/json")
        order(records, "known-us-west4-a-0", image="r@sha256:b")
        order(records, desired.slots[19].name, image="r@sha256:b")
    known = Rollout(stable=PoolVersion(), target=PoolVersion(), since=START)
    seen = observer.observe(desired, replace(EMPTY, rollouts={"known": known}))
    assert (seen.told_source, seen.told) == (
        KNOWN,
        {desired.slots[0].name: AssignedVersion("r@sha256:a"), desired.slots[3].name: AssignedVersion("")},
    )


@pytest.mark.parametrize(
    ("written", "scopes"), [(None, None), ({"scopes": ["orgs/lab"]}, {"orgs/lab"}), ({"scopes": 5}, None)]
)
def test_where_the_broker_registered_runners_is_known_by_its_record_alone(
    observer: Observer, written: Any, scopes: set[str] | None
) -> None:
    with clients("a-lab", observer.endpoint) as google:
        if written:
            Records(google=google, bucket=BUCKET).update(bucket_names.scopes_object("ci"), lambda _: written)
    assert observer._registered("ci") == scopes
