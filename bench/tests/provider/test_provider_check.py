"""What is refused before any call, what is filled in, and what a preview knows."""

from __future__ import annotations

from typing import Any

import pytest

from bench.engine.provider import UNKNOWN
from bench.providers.google import GoogleProvider
from bench.providers.google.codec import encode
from bench.providers.google.tables import TYPES

PROVIDER = GoogleProvider("http://127.0.0.1:1", "hai-gcp-models")
VM = "gcp:tpu/v2Vm:V2Vm"
NAT = "gcp:compute/routerNat:RouterNat"
ACCOUNT = "gcp:serviceaccount/account:Account"


def test_every_mistake_is_reported_at_once_with_its_path() -> None:
    inputs = {
        "name": "tpu-ci-0",
        "acceleratorTyp": "v5litepod-4",
        "schedulingConfig": {"preemptable": True},
        "dataDisks": [{"mode": "READ_ONLY"}],
        "state": "READY",
    }
    found = GoogleProvider("http://127.0.0.1:1").check(VM, inputs).failures
    wrong = {each.path: each.reason for each in found}
    assert set(wrong) == {
        "acceleratorTyp", "schedulingConfig.preemptable", "dataDisks[0].sourceDisk", "runtimeVersion", "state", "zone",
        "project",
    }  # fmt: skip
    assert "Did you mean 'acceleratorType'?" in wrong["acceleratorTyp"]


def test_defaults_are_filled_in_and_marked_and_unknown_values_pass() -> None:
    disks = [{"sourceDisk": UNKNOWN}, UNKNOWN]
    given = {
        "name": "a",
        "zone": "z",
        "runtimeVersion": UNKNOWN,
        "labels": {"a": UNKNOWN, "b": None},
        "dataDisks": disks,
    }
    checked = PROVIDER.check(VM, {**given, "description": None, "__defaults": ["description"]})
    assert checked.failures == ()
    assert checked.inputs == {
        **given,
        "labels": {"a": UNKNOWN},
        "dataDisks": [{"sourceDisk": UNKNOWN, "mode": "READ_WRITE", "__defaults": ["mode"]}, UNKNOWN],
        "__defaults": [],
    }
    assert PROVIDER.check(VM, given) == checked


@pytest.mark.parametrize("attribution", [False, "false", True, "true", None])
def test_settings_arrive_as_values_or_as_the_text_of_a_stack_file(attribution: Any) -> None:
    configured = PROVIDER.configured({"project": "p", "addPulumiAttributionLabel": attribution})
    outputs = configured.preview_outputs(VM, {"name": "a", "labels": {"a": "b"}}, None)
    added = {} if attribution in (False, "false") else {"goog-pulumi-provisioned": "true"}
    assert (outputs["project"], outputs["pulumiLabels"]) == ("p", {"a": "b", **added})


def test_labels_are_secret_where_the_provider_adds_to_them() -> None:
    assert PROVIDER.secret_outputs(VM) == {"effectiveLabels", "pulumiLabels"}
    assert PROVIDER.secret_outputs(NAT) == frozenset()


def test_a_preview_knows_of_an_account_its_email_and_member_alone() -> None:
    foreseen = PROVIDER.preview_outputs(ACCOUNT, {"accountId": "runner"}, None)
    assert foreseen["email"] == "runner@hai-gcp-models.iam.gserviceaccount.com"
    assert foreseen["member"] == f"serviceAccount:{foreseen['email']}"
    assert not {"name", "uniqueId"} & foreseen.keys()
    assert "email" not in PROVIDER.preview_outputs(ACCOUNT, {"accountId": UNKNOWN}, None)
    assert PROVIDER.locate(ACCOUNT, {"accountId": UNKNOWN}) is None
    trigger = PROVIDER.locate("gcp:cloudbuild/trigger:Trigger", {"name": "t"})
    assert trigger == "projects/hai-gcp-models/triggers/t", "of what is in no region ids do not say so"
    bucket = PROVIDER.preview_outputs("gcp:storage/bucket:Bucket", {"name": "b-1", "location": "us"}, None)
    assert bucket["location"] == "US"
    assert not {"url", "selfLink"} & bucket.keys()


def test_an_update_keeps_the_outputs_that_it_does_not_touch() -> None:
    old = {
        "name": "a",
        "state": "READY",
        "labels": {"a": "1"},
        "pulumiLabels": {"a": "1"},
        "effectiveLabels": {"a": "1", "theirs": "x"},
        "networkConfig": {"network": "n", "subnetwork": "s"},
        "description": "old",
        "dataDisks": [{"sourceDisk": "a", "mode": "READ_ONLY"}],
    }
    given = {"name": "a", "labels": {"b": "2"}, "networkConfig": {"network": "n"}}
    new = PROVIDER.preview_outputs(VM, {**given, "dataDisks": [{"sourceDisk": "b"}, {"sourceDisk": UNKNOWN}]}, old)
    assert new["dataDisks"] == [{"sourceDisk": "b", "mode": ""}, {"sourceDisk": UNKNOWN}]
    assert new["state"] == "READY"
    assert new["networkConfig"] == {"network": "n", "subnetwork": "s"}
    assert new["effectiveLabels"] == {"theirs": "x", "b": "2"}
    assert new["description"] == ""
    assert PROVIDER.preview_outputs(VM, {"dataDisks": UNKNOWN}, old)["dataDisks"] is UNKNOWN
    link = {"network": "https://x/compute/v1/projects/p/global/networks/ci"}
    firewall = PROVIDER.preview_outputs("gcp:compute/firewall:Firewall", {"network": "ci"}, link)
    assert firewall["network"] == link["network"], "another spelling is no change"


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ({"schedulingConfig": {"spot": True}}, {"preemptible": False, "reserved": False, "spot": True}),
        ({"schedulingConfig": {"preemptible": False}}, {"preemptible": False, "reserved": False}),
        ({"schedulingConfig": {}, "networkConfig": {"network": ""}}, None),
    ],
)
def test_false_of_a_vm_is_sent_once_its_block_says_anything(said: dict[str, Any], sent: Any) -> None:
    assert encode(TYPES[VM].fields, said).get("schedulingConfig") == sent
