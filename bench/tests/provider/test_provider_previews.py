"""What a preview knows, and what a body says of what is false."""

from __future__ import annotations

from bench.providers.google import GoogleProvider
from bench.providers.google.codec import encode
from bench.providers.google.tables import TYPES

PROJECT = "hai-gcp-models"
VM = "gcp:tpu/v2Vm:V2Vm"


def test_a_preview_knows_of_an_account_its_email_and_member_alone(provider: GoogleProvider) -> None:
    account = "gcp:serviceaccount/account:Account"
    inputs = provider.check(account, "it", "urn:it", {"accountId": "runner"}, None).inputs
    foreseen = provider.preview_outputs(account, inputs, None)
    assert foreseen["email"] == f"runner@{PROJECT}.iam.gserviceaccount.com"
    assert foreseen["member"] == f"serviceAccount:{foreseen['email']}"
    assert not {"name", "uniqueId"} & foreseen.keys()


def test_a_preview_knows_no_output_that_the_service_gives(provider: GoogleProvider) -> None:
    bucket = provider.check("gcp:storage/bucket:Bucket", "b", "urn:b", {"name": "b-1", "location": "us"}, None).inputs
    foreseen = provider.preview_outputs("gcp:storage/bucket:Bucket", bucket, None)
    assert foreseen["location"] == "US"
    assert not {"url", "selfLink", "project"} & foreseen.keys()


def test_false_of_a_vm_is_sent_once_its_block_says_anything() -> None:
    fields = TYPES[VM].fields
    assert encode(fields, {"schedulingConfig": {"spot": True}}) == {
        "schedulingConfig": {"preemptible": False, "reserved": False, "spot": True}
    }
    assert encode(fields, {"schedulingConfig": {"preemptible": False}}) == {
        "schedulingConfig": {"preemptible": False, "reserved": False}
    }
    assert encode(fields, {"schedulingConfig": {}, "networkConfig": {"network": ""}}) == {}
