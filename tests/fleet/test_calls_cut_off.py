"""A request to Google in which somebody cancels: what is asked next gets its own answer, and not that of this one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from infra.fleet.google import Api, Clients, clients, execute
from infra.fleet.runs.cloud import GoogleTpuVms
from infra.fleet.runs.ports import CancelledError

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

ZONE = "us-central1-b"
PARENT = f"projects/my-lab/locations/{ZONE}"
LATE = 0.3


@pytest.fixture
def google(cloud: TestCloud) -> Iterator[Clients]:
    """Of a cloud with one VM, which answers late when it is asked for that one."""
    cloud.control.add_node(f"{PARENT}/nodes/one", {"acceleratorType": "v6e-1", "runtimeVersion": "v2-alpha-tpuv6e"})
    with clients("my-lab", cloud.url, hurried=True, seconds=30.0) as made:
        GoogleTpuVms(made).listed(ZONE)
        cloud.control.fail("slow", method="tpu.projects.locations.nodes.get", seconds=LATE, count=1)
        yield made


def asked_for_one(google: Clients) -> None:
    nodes = google.api(Api.TPU).projects().locations().nodes()
    execute(nodes.get(name=f"{PARENT}/nodes/one"), "looking at one", retries=0)


def test_a_list_after_a_request_in_which_somebody_cancelled_is_a_list(google: Clients) -> None:
    def cancel(*_: object) -> None:
        raise CancelledError

    before = signal.signal(signal.SIGALRM, cancel)
    try:
        signal.setitimer(signal.ITIMER_REAL, LATE / 3)
        with pytest.raises(CancelledError):
            asked_for_one(google)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(GoogleTpuVms(google).listed(ZONE)) == 1
