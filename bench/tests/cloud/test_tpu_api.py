"""Cloud TPU's nodes as a client sees them: made, read, changed, stopped, deleted, and refused."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cloud.services.listings import sealed
from bench.tests.cloud.cloud_clients import NODE, ZONE, Direct, Row, compared

NODES, VM = f"v2/{ZONE}/nodes", f"v2/{ZONE}/nodes/vm-0"
EVERYWHERE, OPERATIONS = "v2/projects/lab/locations/-/nodes", f"v2/{ZONE}/operations"
NAMED = "projects/lab/global/networks"
URL = "https://www.googleapis.com/compute/beta/projects/lab"
BIG: dict[str, Any] = {**NODE, "acceleratorType": "v5litepod-32"}
ACCOUNT: Row = ("POST", "v1/projects/lab/serviceAccounts", {"accountId": "workers"}, 200)
WHOLE: dict[str, Any] = {
    "description": "one of two", "labels": {"tidepool-pool": "tpu-ci", "empty": ""},
    "metadata": {"startup-script": "#!/bin/sh\nexit 0\n"}, "tags": ["tpu"],
    "networkConfig": {"network": "projects/lab/global/networks/default", "queueCount": 1},
    "serviceAccount": {"email": "workers@lab.iam.gserviceaccount.com", "scope": ["cloud-platform"]},
    "shieldedInstanceConfig": {"enableSecureBoot": True}, "cidrBlock": "10.0.0.0/29",
    "dataDisks": [{"sourceDisk": "projects/lab/zones/us-west4-a/disks/d", "mode": "READ_ONLY"}],
}  # fmt: skip
EDIT: Any = {"labels": {"change_me": "2", "keep_me": "ignored"}, "metadata": {"k": "v"}, "description": "ignored"}


def make(name: str = "vm-0", status: int = 200, **more: Any) -> Row:
    return ("POST", f"{NODES}?nodeId={name}", {**NODE, **more}, status)


def advance(seconds: float) -> Row:
    return ("POST", "_tidepool/advance", {"seconds": seconds}, 200)


READ: Row = ("GET", VM, None, 200)
REFUSED: list[dict[str, Any]] = [
    {"acceleratorType": "v5litepod-5"}, {"acceleratorType": "v4-8"}, {"acceleratorType": None},
    {"acceleratorType": None, "acceleratorConfig": {"type": "V4", "topology": "3x3x3"}},
    {"runtimeVersion": "tpu-ubuntu"}, {"runtimeVersion": None}, {"labels": {"Upper": "x"}},
    {"labels": {"k": "v" * 64}},
    {"serviceAccount": {"email": "gone@lab.iam.gserviceaccount.com"}},
    *({"networkConfig": {"network": f"{at}gone"}} for at in ("", "global/networks/", f"{NAMED}/",
      f"{URL}/global/networks/")),
    {"networkConfigs": [{"network": "gone"}]},
    {"networkConfig": {"subnetwork": f"{URL}/regions/us-west4/subnetworks/gone"}},
]  # fmt: skip
TAKEN: list[dict[str, Any]] = [
    *({"networkConfig": {"network": f"{at}default", "subnetwork": "default"}} for at in ("", "global/networks/",
      f"{NAMED}/")),
    {"networkConfig": {"network": "projects/host/global/networks/shared"}},
    {"serviceAccount": {"email": "pool@elsewhere.iam.gserviceaccount.com"}},
]  # fmt: skip
CALLS: dict[str, list[Row]] = {
    "a node": [
        ACCOUNT, make(**WHOLE), READ, ("GET", OPERATIONS, None, 200), ("GET", f"v2alpha1/{ZONE}/nodes/vm-0", None, 200),
        make(status=409), make("by-config", acceleratorType=None, acceleratorConfig={
            "type": "V5LITE_POD", "topology": "2x4"}), ("GET", f"{NODES}/by-config", None, 200),
    ],
    "hosts": [
        make("inside", **BIG), make("outside", **BIG, networkConfigs=[{"enableExternalIps": True}]),
        ("GET", f"{NODES}/inside", None, 200), ("GET", f"{NODES}/outside", None, 200),
        ("POST", f"{NODES}/inside:stop", {}, 400),
    ],
    "lists": [
        *(("POST", f"v2/projects/{place}/nodes?nodeId=a", NODE, 200) for place in (
            "lab/locations/us-west4-a", "lab/locations/us-east1-c", "other/locations/us-west4-a")),
        make("b"), ("GET", NODES, None, 200), ("GET", f"{EVERYWHERE}?pageSize=2", None, 200),
        ("GET", f"{EVERYWHERE}?pageSize=2&pageToken={sealed(f'{ZONE}/nodes/a')}", None, 200),
        ("GET", OPERATIONS, None, 200),
    ],
    "changes": [
        make(labels={"keep_me": "1", "change_me": "1", "drop_me": "1"}),
        ("PATCH", f"{VM}?updateMask=labels.change_me,labels.drop_me,metadata", EDIT, 200), READ,
        *(("PATCH", f"{VM}?updateMask={wrong}", EDIT, 400) for wrong in (
            "acceleratorType", "labels,schedulingConfig", "", "name")),
        ("PATCH", f"{VM}?updateMask=labels", {}, 200), READ,
    ],
    "a life": [
        ("POST", "_tidepool/set_compression", {"factor": 1}, 200), make(), READ, advance(180), READ,
        *(row for verb in ("stop", "start") for row in (
            ("POST", f"{VM}:{verb}", {}, 200), READ, advance(120), READ, ("POST", f"{VM}:{verb}", {}, 400))),
        ("DELETE", VM, None, 200), READ, ("PATCH", f"{VM}?updateMask=labels", {}, 400), ("DELETE", VM, None, 200),
        advance(120), ("GET", OPERATIONS, None, 200), ("GET", VM, None, 404), ("DELETE", VM, None, 404), make(), READ,
        advance(60), ("DELETE", VM, None, 200), advance(60), ("GET", f"{NODES}", None, 200),
        ("GET", OPERATIONS, None, 200),
    ],
    "refusals": [
        *(make(status=400, **change) for change in REFUSED),
        *(make(name, 400) for name in ("", "Upper", "1st", "ends-", "a" * 64, "under_score")),
        *((verb, "v2/projects/lab/locations/us-moon1-a/nodes?nodeId=vm-0", body, 400) for verb, body in (
            ("GET", None), ("POST", NODE))),
        ("GET", NODES, None, 200), *(make(f"vm-{number}", **change) for number, change in enumerate(TAKEN)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_tpus_answer_each_call(calls: str, update_goldens: bool) -> None:
    compared(Direct().check(CALLS[calls]), f"tpu {calls}", update_goldens)
