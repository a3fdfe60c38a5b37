"""Commands that change a fleet hold its lease: they wait for a sweep, and the controller waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from bench.cloud.control import CloudClock
from infra.fleet.controller.lease import LeaseKind, LeaseTakenError, held
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.operations.errors import Failure
from infra.operations.leased import leased
from infra.tools.processes import one_at_a_time
from tests.model.given import parse, stack_text

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

CONFIG = parse(stack_text())
MINUTE = timedelta(minutes=1)


@pytest.fixture
def session(cloud: TestCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TIDEPOOL_HOME", str(tmp_path))
    return cast(Any, SimpleNamespace(endpoint=cloud.url, clock=CloudClock(cloud.control), say=lambda line: None))


@pytest.fixture
def records(cloud: TestCloud) -> Iterator[Records]:
    with clients(CONFIG.project, cloud.url) as google:
        body = {"name": CONFIG.bucket.name, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project=CONFIG.project, body=body), "making a bucket")
        yield Records(google=google, bucket=CONFIG.bucket.name)


def sweep(session: Any, records: Records) -> AbstractContextManager[object]:
    """What keeps commands away while the controller works."""
    return held(records, "ci", LeaseKind.CONTROLLER, session.clock, MINUTE)


def lease(records: Records) -> Any:
    return records.body(bucket_names.lease_object("ci"))


def test_while_a_command_works_no_sweep_begins_and_afterwards_one_may(session: Any, records: Records) -> None:
    with (
        leased(CONFIG, session, LeaseKind.UP),
        pytest.raises(LeaseTakenError, match="tidepool up"),
        sweep(session, records),
    ):
        pass
    with sweep(session, records):
        pass


def test_a_short_command_leaves_in_the_lease_what_was_applied_and_who_made_vms_last(
    session: Any, records: Records
) -> None:
    with leased(CONFIG, session, LeaseKind.UP):
        records.update(bucket_names.manifest_object("ci"), lambda _: {"version": 1})
    made = lease(records)
    assert made["commanded"] == made["holder"]
    assert made["applied"] == records.generation(bucket_names.manifest_object("ci"))
    with leased(CONFIG, session, LeaseKind.DESTROY):
        pass
    destroyed = lease(records)
    assert destroyed["commanded"] == destroyed["holder"] != made["holder"]
    assert destroyed["applied"] == made["applied"]
    with sweep(session, records):
        pass
    swept = lease(records)
    assert (swept["commanded"], swept["applied"]) == (destroyed["commanded"], made["applied"])


def test_a_command_that_waited_long_enough_for_a_sweep_changes_nothing(session: Any, records: Records) -> None:
    said = r"^nothing was changed: the controller \(.*\) holds the fleet .*; run the same command again then$"
    refusal = pytest.raises(Failure, match=said)
    with sweep(session, records), refusal, leased(CONFIG, session, LeaseKind.UP, patience=0):
        pytest.fail("both acted")


def test_a_command_that_fails_gives_the_lease_back(session: Any, records: Records) -> None:
    with pytest.raises(ZeroDivisionError), leased(CONFIG, session, LeaseKind.DESTROY):
        raise ZeroDivisionError
    with sweep(session, records):
        pass


def test_a_command_of_this_home_that_was_killed_is_succeeded_at_once(
    session: Any, records: Records, tmp_path: Path
) -> None:
    mark = tmp_path / "leases" / "c0ffee"
    mark.parent.mkdir()
    mark.touch()
    _held_elsewhere(session, records, "machine/7/c0ffee")
    with leased(CONFIG, session, LeaseKind.UP, patience=0):
        assert not mark.exists()
    assert list(mark.parent.iterdir()) == []


def test_a_command_that_lives_or_is_of_another_machine_is_waited_for(
    session: Any, records: Records, tmp_path: Path
) -> None:
    refusal = pytest.raises(Failure, match="nothing was changed")
    _held_elsewhere(session, records, "machine/7/c0ffee")
    with refusal, leased(CONFIG, session, LeaseKind.UP, patience=0):
        pytest.fail("both acted")
    with one_at_a_time(tmp_path / "leases" / "c0ffee"), refusal, leased(CONFIG, session, LeaseKind.UP, patience=0):
        pytest.fail("both acted")


def _held_elsewhere(session: Any, records: Records, holder: str) -> None:
    until = (session.clock() + MINUTE).isoformat()
    records.update(bucket_names.lease_object("ci"), lambda _: {"holder": holder, "kind": "up", "until": until})
