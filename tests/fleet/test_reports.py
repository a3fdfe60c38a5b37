"""Reports of VMs as their readers get them, whatever somebody on a VM wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from infra.fleet.controller.observe import Observer
from infra.fleet.controller.observed import Observed
from infra.fleet.controller.vm_records import WantedReport
from infra.fleet.draining import said
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.fleet.reports import AHEAD, MOST_BYTES, Phase, read_report, report_seen
from infra.model import bucket_names

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

BUCKET = "a-lab-tidepool-ci"
HONEST, HOSTILE = "tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1"
GOOD = {"at": "2026-11-21T08:00:00Z", "phase": "unfit", "reason": "the TPU stays busy", "obeyed": 2}
WRITTEN = {
    "no JSON": b"\xff{",
    "a list": b"[]",
    "deep": b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    "endless": b'{"at": "' + b"x" * MOST_BYTES + b'"}',
    "infinite": b'{"at": "2026-11-21T08:00:00Z", "phase": "idle", "obeyed": Infinity}',
    "enormous": b'{"at": "2026-11-21T08:00:00Z", "phase": "idle", "obeyed": 1e999}',
    "before all time": b'{"at": "0001-01-01T00:00:00+14:00", "phase": "idle"}',
    "after all time": b'{"at": "9999-12-31T23:59:59-14:00", "phase": "idle"}',
    "other types": b'{"at": [], "phase": {}, "reason": [], "image": {}, "obeyed": "many"}',
    "objects for texts": b'{"at": "2026-11-21T08:00:00Z", "phase": "idle", "reason": {}, "image": {}, "bundle": []}',
}


@pytest.fixture
def records(cloud: TestCloud) -> Iterator[Records]:
    with clients("a-lab", cloud.url) as google:
        body = {"name": BUCKET, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project="a-lab", body=body), "making a bucket")
        yield Records(google=google, bucket=BUCKET)


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_whatever_one_vm_writes_the_reports_of_others_are_read(
    cloud: TestCloud, records: Records, written: bytes
) -> None:
    records.put_once(bucket_names.report_object("tpu-ci", HONEST), json.dumps(GOOD).encode(), "application/json")
    records.put_once(bucket_names.report_object("tpu-ci", HOSTILE), written, "application/json")
    observer = Observer(project="a-lab", bucket=BUCKET, endpoint=cloud.url, github=None)
    seen, _ = observer._reports(
        [WantedReport("tpu-ci", HOSTILE), WantedReport("tpu-ci", HONEST)], observer._proofs("ci")
    )
    assert (seen[HONEST].phase, seen[HONEST].reason, seen[HONEST].obeyed) == (Phase.UNFIT, GOOD["reason"], 2)
    if HOSTILE in seen:
        assert (seen[HOSTILE].image, seen[HOSTILE].bundle, seen[HOSTILE].obeyed, seen[HOSTILE].reason) == (
            None,
            None,
            0,
            "",
        )
    heard = said(records, {HOSTILE: "tpu-ci", HONEST: "tpu-ci", "nobody": "tpu-ci"}, Observed(zones={}))
    assert heard[HONEST] == seen[HONEST]
    assert heard.keys() == {HONEST, HOSTILE}, "what is there and cannot be read was written by somebody"


@pytest.mark.parametrize("said_at", ["2099-01-01T00:00:00Z", None, "2001-01-01T00:00:00Z"])
def test_a_report_is_of_the_time_at_which_it_was_written_and_never_from_the_future(
    cloud: TestCloud, records: Records, said_at: str | None
) -> None:
    """Else one that says 2099 would make every VM unfit that comes to have its name."""
    now = datetime.fromtimestamp(cloud.wall.seconds, tz=UTC)
    soon = (now + AHEAD - timedelta(seconds=1)).isoformat()
    body = {**GOOD, "at": said_at or soon}
    records.put_once(bucket_names.report_object("tpu-ci", HOSTILE), json.dumps(body).encode(), "application/json")
    report = read_report(records, "tpu-ci", HOSTILE)
    if said_at and said_at > now.isoformat():
        assert report is None
        return
    assert report is not None
    seen = report_seen("tpu-ci", HOSTILE, report)
    assert seen is not None
    assert abs(seen.at - now) < timedelta(seconds=1)
    assert not seen.is_of(now + timedelta(minutes=1)), "a VM that is made later has not said it"


def test_nothing_in_a_report_works_on_a_terminal(records: Records) -> None:
    body = {**GOOD, "reason": "\x1b[2Jgone\r\n", "events": [{"event": "\x1b]0;x\x07", "at": "\u202e"}]}
    records.put_once(bucket_names.report_object("tpu-ci", HOSTILE), json.dumps(body).encode(), "application/json")
    report = read_report(records, "tpu-ci", HOSTILE)
    assert report is not None
    assert report["reason"] == "?[2Jgone??"
    assert report["events"] == [{"event": "?]0;x?", "at": "?"}]
