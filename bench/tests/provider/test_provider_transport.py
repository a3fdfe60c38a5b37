"""Retries, deadlines and Google's error shapes, against a scripted connection."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3

from bench.engine.provider import CancelledError, PartialError, ProviderError
from bench.providers.google import GoogleProvider
from bench.providers.google.settings import ProviderSettings
from bench.providers.google.transport import ApiError, RestApi
from bench.tests.provider.virtual_time import VirtualTime

Answer = tuple[int, Any] | Exception


@dataclass
class Script:
    """Answers in order, by verb; the last one of each repeats."""

    answers: dict[str, list[Answer]]
    seen: list[str] = field(default_factory=list)

    def urlopen(self, method: str, *_: Any, **__: Any) -> SimpleNamespace:
        self.seen.append(method)
        queue = self.answers[method]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(answer, Exception):
            raise answer
        status, content = answer
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        return SimpleNamespace(status=status, data=data)


def scripted(virtual: VirtualTime, **answers: list[Answer]) -> tuple[RestApi, Script]:
    api, script = RestApi("http://127.0.0.1:1", now=virtual.now, idle=virtual), Script(answers)
    object.__setattr__(api, "_pool", script)
    return api, script


def provider(api: RestApi) -> GoogleProvider:
    return GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))


def refused(code: int, message: str = "no", **more: Any) -> Answer:
    return code, {"error": {"code": code, "message": message, **more}}


LOST = urllib3.exceptions.ProtocolError("Connection aborted.")
NODE = {"name": "n", "state": "READY"}
VM = "gcp:tpu/v2Vm:V2Vm"
VM_INPUTS = {"name": "a", "zone": "us-west4-a", "runtimeVersion": "r", "__defaults": []}


def test_waits_grow_and_end_with_the_deadline(virtual: VirtualTime) -> None:
    api, script = scripted(virtual, GET=[refused(503)])
    with pytest.raises(ApiError, match="Error 503: no"):
        api.call("GET", "v1/x", api.deadline(100.0))
    assert virtual.waits[:4] == [0.1, 0.2, 0.4, 0.8]
    assert max(virtual.waits) == 10.0
    assert virtual.seconds <= 100.0
    assert len(script.seen) == len(virtual.waits) + 1


def test_a_cloud_that_does_not_run_is_not_waited_for_long(virtual: VirtualTime) -> None:
    nobody = urllib3.exceptions.NewConnectionError(SimpleNamespace(), "refused")  # ty: ignore[invalid-argument-type]
    api, _ = scripted(virtual, POST=[nobody, nobody, (200, {"up": "again"})])
    assert api.call("POST", "v1/x", api.deadline()) == {"up": "again"}
    api, _ = scripted(virtual, POST=[nobody])
    with pytest.raises(ApiError, match=r"nothing answers at http://127\.0\.0\.1:1"):
        api.call("POST", "v1/x", api.deadline())
    assert virtual.seconds < 40


def test_an_update_that_failed_half_way_says_what_is_there(virtual: VirtualTime) -> None:
    old = {"name": "s", "region": "r", "ipCidrRange": "10.0.0.0/24", "privateIpGoogleAccess": False}
    new = {"name": "s", "region": "r", "network": "n", "ipCidrRange": "10.0.0.0/20", "privateIpGoogleAccess": True}
    grown = (200, {"name": "s", "network": "n", "ipCidrRange": "10.0.0.0/20"})
    expanded = (200, {"name": "o", "operationType": "expand", "status": "DONE", "selfLink": "/projects/p/x"})
    google = provider(scripted(virtual, POST=[expanded, refused(403)], GET=[grown])[0])
    subnetwork, where = "gcp:compute/subnetwork:Subnetwork", "projects/p/regions/r/subnetworks/s"
    with pytest.raises(PartialError, match=r"Error updating Subnetwork .* Error 403") as raised:
        google.update(subnetwork, where, {**old, "network": "n"}, new, virtual)
    left = google.diff(subnetwork, where, {}, raised.value.outputs, new).detailed
    assert set(left) == {"privateIpGoogleAccess"}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (refused(404, "gone", errors=[{"reason": "notFound"}]), "googleapi: Error 404: gone, notFound"),
        ((403, {"error": {"message": "no", "status": "PERMISSION_DENIED"}}), "googleapi: Error 403: no"),
        ((404, b"<html>"), "googleapi: Error 404: <html>"),
        ((404, b""), "googleapi: Error 404: Not Found"),
    ],
)
def test_both_flavours_of_googles_errors_are_read(answer: Answer, text: str, virtual: VirtualTime) -> None:
    api, _ = scripted(virtual, GET=[answer])
    with pytest.raises(ApiError) as raised:
        api.call("GET", "v1/x", api.deadline())
    assert str(raised.value) == text


def test_a_create_whose_answer_was_lost_is_not_a_conflict_with_itself(virtual: VirtualTime) -> None:
    api, script = scripted(virtual, POST=[LOST, refused(409)], GET=[(200, NODE)])
    created = provider(api).create(VM, VM_INPUTS, None, virtual)
    assert created.id == "projects/p/locations/us-west4-a/nodes/a"
    assert script.seen == ["POST", "POST", "GET"]


LIMIT = "Quota limit 'TPUv5ePerProjectPerZoneForTPUAPI' has been exceeded. Limit: 80 in zone us-west4-a."
QUOTA = {"@type": "type.googleapis.com/google.rpc.QuotaFailure"}


@pytest.mark.parametrize(
    ("answers", "text", "calls"),
    [
        # 429 says that nothing was done, so the VM that is there is not ours.
        ([refused(429), refused(409)], "409", 2),
        ([refused(429, LIMIT)], r"Error 429: Quota limit .* Limit: 80 in zone us-west4-a", 1),
        ([refused(429, "There is not enough capacity left", details=[QUOTA])], "not enough capacity left", 1),
    ],
)
def test_a_create_fails_with_googles_words(answers: list[Answer], text: str, calls: int, virtual: VirtualTime) -> None:
    api, script = scripted(virtual, POST=answers)
    with pytest.raises(ProviderError, match=text):
        provider(api).create(VM, VM_INPUTS, None, virtual)
    assert len(script.seen) == calls


@pytest.mark.parametrize(
    "refusal",
    [
        refused(429, "Resource has been exhausted (e.g. check quota)."),
        refused(429, "Quota limit 'Create requests per minute' has been exceeded."),
    ],
)
def test_a_limited_rate_is_asked_again(virtual: VirtualTime, refusal: Answer) -> None:
    api, script = scripted(virtual, POST=[refusal, refusal, (200, {"name": "n"})])
    assert api.call("POST", "v2/x", api.deadline()) == {"name": "n"}
    assert len(script.seen) == 3


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (refused(429), ApiError, "Error 429: no"),  # nothing is in flight
        (LOST, CancelledError, "before this was tried again"),  # it may have been carried out
    ],
)
def test_one_ctrl_c_ends_a_wait_for_a_refused_call(
    answer: Answer, error: type[Exception], text: str, virtual: VirtualTime
) -> None:
    api, script = scripted(virtual, POST=[answer])
    virtual.impatient = True
    with pytest.raises(error, match=text):
        api.call("POST", "v2/x", api.deadline(None, virtual))
    assert len(script.seen) == 1


def test_one_ctrl_c_still_waits_for_what_google_works_on_and_a_second_does_not(virtual: VirtualTime) -> None:
    api, _ = scripted(virtual, GET=[refused(503), (200, {"done": True}), refused(503)])
    virtual.impatient = True
    assert api.call("GET", "v2/operations/1", api.deadline(None, virtual)) == {"done": True}
    virtual.cancelled = True
    with pytest.raises(CancelledError):
        api.call("GET", "v2/operations/1", api.deadline(None, virtual))
