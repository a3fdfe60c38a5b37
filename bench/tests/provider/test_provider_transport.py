"""Retries, deadlines and Google's error shapes, against a scripted connection."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3

from bench.engine.provider import CancelledError, PartialUpdateError, ProviderError
from bench.providers.google import GoogleProvider
from bench.providers.google.settings import ProviderSettings
from bench.providers.google.transport import ApiError, RestApi
from bench.tests.provider.virtual_time import VirtualTime

Answer = tuple[int, Any] | Exception


@dataclass
class Script:
    """Answers in order, by verb and the end of the path; the last one of each repeats."""

    answers: dict[str, list[Answer]]
    seen: list[tuple[str, str, Any]] = field(default_factory=list)

    def urlopen(self, method: str, target: str, *, body: bytes | None, **_: Any) -> SimpleNamespace:
        self.seen.append((method, target, json.loads(body) if body else None))
        queue = self.answers[method]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        if isinstance(answer, Exception):
            raise answer
        status, content = answer
        return SimpleNamespace(
            status=status, data=content if isinstance(content, bytes) else json.dumps(content).encode()
        )


def scripted(virtual: VirtualTime, **answers: list[Answer]) -> tuple[RestApi, Script]:
    api, script = RestApi("http://127.0.0.1:1", now=virtual.now, idle=virtual), Script(answers)
    object.__setattr__(api, "_pool", script)
    return api, script


def refused(code: int, message: str = "no") -> Answer:
    return code, {"error": {"code": code, "message": message}}


LOST = urllib3.exceptions.ProtocolError("Connection aborted.")
NODE = {"name": "n", "state": "READY"}
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
    refused_connection = urllib3.exceptions.NewConnectionError(SimpleNamespace(), "refused")  # ty: ignore[invalid-argument-type]
    api, _ = scripted(virtual, POST=[refused_connection, refused_connection, (200, {"up": "again"})])
    assert api.call("POST", "v1/x", api.deadline()) == {"up": "again"}
    api, _ = scripted(virtual, POST=[refused_connection])
    with pytest.raises(ApiError, match=r"nothing answers at http://127\.0\.0\.1:1"):
        api.call("POST", "v1/x", api.deadline())
    assert virtual.seconds < 40


def test_an_update_that_failed_half_way_says_what_is_there(virtual: VirtualTime) -> None:
    old = {"name": "s", "region": "r", "ipCidrRange": "10.0.0.0/24", "privateIpGoogleAccess": False}
    new = {"name": "s", "region": "r", "network": "n", "ipCidrRange": "10.0.0.0/20", "privateIpGoogleAccess": True}
    grown = (200, {"name": "s", "network": "n", "ipCidrRange": "10.0.0.0/20"})
    expanded = (200, {"name": "o", "operationType": "expand", "status": "DONE", "selfLink": "/projects/p/x"})
    api, _ = scripted(virtual, POST=[expanded, refused(403)], GET=[grown])
    provider = GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))
    subnetwork, where = "gcp:compute/subnetwork:Subnetwork", "projects/p/regions/r/subnetworks/s"
    with pytest.raises(PartialUpdateError, match=r"Error updating Subnetwork .* Error 403") as raised:
        provider.update(subnetwork, where, {**old, "network": "n"}, new, virtual)
    assert raised.value.outputs["ipCidrRange"] == "10.0.0.0/20"
    left = provider.diff(subnetwork, where, {}, raised.value.outputs, new).detailed
    assert set(left) == {"privateIpGoogleAccess"}


def test_both_flavours_of_googles_errors_are_read(virtual: VirtualTime) -> None:
    older = {"error": {"code": 404, "message": "gone", "errors": [{"reason": "notFound"}]}}
    for answer, text in (
        ((404, older), "googleapi: Error 404: gone, notFound"),
        ((403, {"error": {"message": "no", "status": "PERMISSION_DENIED"}}), "googleapi: Error 403: no"),
        ((404, b"<html>"), "googleapi: Error 404: <html>"),
        ((404, b""), "googleapi: Error 404: Not Found"),
    ):
        api, _ = scripted(virtual, GET=[answer])
        with pytest.raises(ApiError) as raised:
            api.call("GET", "v1/x", api.deadline())
        assert str(raised.value) == text


def test_a_create_whose_answer_was_lost_is_not_a_conflict_with_itself(virtual: VirtualTime) -> None:
    api, script = scripted(virtual, POST=[LOST, refused(409)], GET=[(200, NODE)])
    provider = GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))
    created = provider.create("gcp:tpu/v2Vm:V2Vm", VM_INPUTS, None, virtual)
    assert created.id == "projects/p/locations/us-west4-a/nodes/a"
    assert [verb for verb, _, _ in script.seen] == ["POST", "POST", "GET"]


def test_a_conflict_after_a_plain_refusal_is_somebody_elses(virtual: VirtualTime) -> None:
    """429 says that nothing was done, so the VM that is there is not ours."""
    api, _ = scripted(virtual, POST=[refused(429), refused(409)], GET=[(200, NODE)])
    provider = GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))
    with pytest.raises(ProviderError, match="409"):
        provider.create("gcp:tpu/v2Vm:V2Vm", VM_INPUTS, None, virtual)


def test_an_operation_that_is_not_seen_yet_is_asked_for_again(virtual: VirtualTime) -> None:
    api, _ = scripted(
        virtual,
        POST=[(200, {"name": "operations/1", "done": False})],
        GET=[refused(404), (200, {"name": "operations/1", "done": True, "response": {}}), (200, NODE)],
    )
    provider = GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))
    assert provider.create("gcp:tpu/v2Vm:V2Vm", VM_INPUTS, None, virtual).outputs["state"] == "READY"


def test_a_slow_operation_costs_few_calls(virtual: VirtualTime) -> None:
    """Each pause is half of the time so far, so two minutes take less than twenty polls."""
    pending = (200, {"name": "operations/1", "done": False})

    class Clocked(Script):
        def urlopen(self, method: str, target: str, *, body: bytes | None, **more: Any) -> SimpleNamespace:
            if method == "GET" and virtual.seconds > 120 and "operations" in target:
                self.answers["GET"] = [(200, {"name": "operations/1", "done": True}), (200, NODE)]
            return Script.urlopen(self, method, target, body=body, **more)

    api = RestApi("http://127.0.0.1:1", now=virtual.now, idle=virtual)
    script = Clocked({"POST": [pending], "GET": [pending]})
    object.__setattr__(api, "_pool", script)
    provider = GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))
    provider.create("gcp:tpu/v2Vm:V2Vm", VM_INPUTS, None, virtual)
    assert len(script.seen) < 45
    assert virtual.seconds < 130


def test_a_cancelled_retry_ends_at_once(virtual: VirtualTime) -> None:
    api, script = scripted(virtual, GET=[refused(503)])
    virtual.cancelled = True
    with pytest.raises(CancelledError):
        api.call("GET", "v1/x", api.deadline(None, virtual))
    assert len(script.seen) == 1


LIMIT = "Quota limit 'TPUv5ePerProjectPerZoneForTPUAPI' has been exceeded. Limit: 80 in zone us-west4-a."


def test_a_create_over_the_quota_fails_at_once_with_googles_words(virtual: VirtualTime) -> None:
    api, script = scripted(virtual, POST=[refused(429, LIMIT)])
    provider = GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))
    with pytest.raises(ProviderError, match=r"Error 429: Quota limit .* Limit: 80 in zone us-west4-a"):
        provider.create("gcp:tpu/v2Vm:V2Vm", VM_INPUTS, None, virtual)
    assert virtual.seconds == 0.0
    assert len(script.seen) == 1


def test_an_empty_reservation_fails_at_once_too(virtual: VirtualTime) -> None:
    quota = {"@type": "type.googleapis.com/google.rpc.QuotaFailure"}
    body = {"error": {"code": 429, "message": "There is not enough capacity left", "details": [quota]}}
    api, script = scripted(virtual, POST=[(429, body)])
    with pytest.raises(ApiError, match="not enough capacity left"):
        api.call("POST", "v2/x", api.deadline())
    assert len(script.seen) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        refused(429, "Resource has been exhausted (e.g. check quota)."),
        refused(429, "Quota exceeded for quota metric 'Create requests' and limit 'Create requests per minute'"),
        refused(429, "Quota limit 'Create requests per minute' has been exceeded."),
        refused(503),
    ],
)
def test_a_limited_rate_and_a_busy_service_are_asked_again(virtual: VirtualTime, refusal: Answer) -> None:
    api, script = scripted(virtual, POST=[refusal, refusal, (200, {"name": "n"})])
    assert api.call("POST", "v2/x", api.deadline()) == {"name": "n"}
    assert len(script.seen) == 3


def test_one_ctrl_c_ends_a_wait_for_a_refused_create_and_nothing_is_in_flight(virtual: VirtualTime) -> None:
    api, script = scripted(virtual, POST=[refused(429)])
    virtual.impatient = True
    provider = GoogleProvider(api.url, api=api, settings=ProviderSettings(project="p"))
    with pytest.raises(ProviderError, match="Error 429: no") as raised:
        provider.create("gcp:tpu/v2Vm:V2Vm", VM_INPUTS, None, virtual)
    assert not isinstance(raised.value, CancelledError)
    assert len(script.seen) == 1


def test_one_ctrl_c_leaves_in_flight_what_may_have_been_carried_out(virtual: VirtualTime) -> None:
    api, _ = scripted(virtual, POST=[LOST])
    virtual.impatient = True
    with pytest.raises(CancelledError, match="before this was tried again"):
        api.call("POST", "v2/x", api.deadline(None, virtual))


def test_one_ctrl_c_still_waits_for_what_google_works_on(virtual: VirtualTime) -> None:
    api, _ = scripted(virtual, GET=[refused(503), (200, {"done": True})])
    virtual.impatient = True
    assert api.call("GET", "v2/operations/1", api.deadline(None, virtual)) == {"done": True}
