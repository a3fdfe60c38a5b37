"""Commands that change a fleet hold its lease: they wait for a sweep, and the controller waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from infra.cli.failures import Failure
from infra.cli.leased import leased
from infra.fleet.controller.lease import Kind, LeaseTakenError, held, wall_clock
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.model import names
from tests.model.given import parse, stack_text

if TYPE_CHECKING:
    from infra.local.cloud.testing import TestCloud

CONFIG = parse(stack_text())
MINUTE = timedelta(minutes=1)


@pytest.fixture
def session(cloud: TestCloud) -> Any:
    return cast(Any, SimpleNamespace(endpoint=cloud.url, say=lambda line: None))


@pytest.fixture
def records(cloud: TestCloud) -> Iterator[Records]:
    with clients(CONFIG.project, cloud.url) as google:
        body = {"name": CONFIG.bucket.name, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project=CONFIG.project, body=body), "making a bucket")
        yield Records(google=google, bucket=CONFIG.bucket.name)


def test_while_a_command_works_no_sweep_begins_and_afterwards_one_may(session: Any, records: Records) -> None:
    with (
        leased(CONFIG, session, Kind.UP),
        pytest.raises(LeaseTakenError, match="tidepool up"),
        held(records, "ci", Kind.CONTROLLER, wall_clock, MINUTE),
    ):
        pass
    with held(records, "ci", Kind.CONTROLLER, wall_clock, MINUTE):
        pass


def test_a_command_that_waited_long_enough_for_a_sweep_changes_nothing(session: Any, records: Records) -> None:
    refusal = pytest.raises(Failure, match="nothing was changed: the controller acts")
    sweep = held(records, "ci", Kind.CONTROLLER, wall_clock, MINUTE)
    with sweep, refusal, leased(CONFIG, session, Kind.UP, patience=0):
        pytest.fail("both acted")


def test_a_command_that_fails_gives_the_lease_back(session: Any, records: Records) -> None:
    with pytest.raises(ZeroDivisionError), leased(CONFIG, session, Kind.DESTROY):
        raise ZeroDivisionError
    with held(records, "ci", Kind.CONTROLLER, wall_clock, MINUTE):
        pass


def test_a_stack_that_was_never_up_has_nothing_to_hold(session: Any, cloud: TestCloud) -> None:
    with leased(CONFIG, session, Kind.UP), clients(CONFIG.project, cloud.url) as google:
        assert google.endpoint is not None


def test_a_lease_that_cannot_be_understood_holds_nobody_back(session: Any, records: Records) -> None:
    records.update(names.lease_object("ci"), lambda _: {"holder": "x", "until": "soon"})
    with leased(CONFIG, session, Kind.UP, patience=0):
        pass
