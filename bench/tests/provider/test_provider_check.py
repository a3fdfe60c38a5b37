"""What is refused before any call, and what is filled in."""

from __future__ import annotations

from typing import Any

import pytest

from bench.engine.provider import UNKNOWN, ProviderError
from bench.providers.google import GoogleProvider

PROVIDER = GoogleProvider("http://127.0.0.1:1", "hai-gcp-models", region="us-west4", zone="us-west4-a")
VM = "gcp:tpu/v2Vm:V2Vm"
NAT = "gcp:compute/routerNat:RouterNat"


def failures(token: str, inputs: dict[str, Any], provider: GoogleProvider = PROVIDER) -> dict[str, str]:
    return {each.path: each.reason for each in provider.check(token, "it", "urn:it", inputs, None).failures}


def test_every_mistake_is_reported_at_once_with_its_path() -> None:
    wrong = failures(
        VM,
        {
            "name": "tpu-ci-0",
            "acceleratorTyp": "v5litepod-4",
            "schedulingConfig": {"preemptable": True},
            "dataDisks": [{"mode": "READ"}],
            "labels": ["a"],
            "networkConfig": {"queueCount": 1.5},
        },
    )
    assert set(wrong) == {
        "acceleratorTyp",
        "schedulingConfig.preemptable",
        "dataDisks[0].mode",
        "dataDisks[0].sourceDisk",
        "labels",
        "networkConfig.queueCount",
        "runtimeVersion",
    }
    assert "Did you mean 'acceleratorType'?" in wrong["acceleratorTyp"]
    assert "READ_WRITE, READ_ONLY" in wrong["dataDisks[0].mode"]


def test_an_output_is_no_input() -> None:
    assert "state" in failures(VM, {"runtimeVersion": "r", "state": "READY"})


def test_inputs_that_exclude_each_other_are_refused() -> None:
    config = {"type": "V5LITE_POD", "topology": "2x2"}
    both = {"runtimeVersion": "r", "acceleratorType": "v5litepod-4", "acceleratorConfig": config}
    assert "only one of acceleratorType, acceleratorConfig can be specified" in failures(VM, both)[""]


@pytest.mark.parametrize(
    ("token", "inputs", "path"),
    [
        ("gcp:compute/network:Network", {"name": "CI"}, "name"),
        (
            "gcp:compute/network:Network",
            {"name": "ci", "deleteDefaultRoutesOnCreate": True},
            "deleteDefaultRoutesOnCreate",
        ),
        ("gcp:compute/subnetwork:Subnetwork", {"network": "n", "ipCidrRange": "10.0.0.1"}, "ipCidrRange"),
        ("gcp:compute/router:Router", {"bgp": {"asn": 1}}, "bgp.asn"),
        ("gcp:serviceaccount/account:Account", {"accountId": "five5"}, "accountId"),
        ("gcp:serviceaccount/account:Account", {"accountId": "runner", "description": "x" * 257}, "description"),
        (
            "gcp:serviceaccount/iAMMember:IAMMember",
            {"serviceAccountId": "runner@p", "role": "roles/viewer", "member": "user:a@b"},
            "serviceAccountId",
        ),
        ("gcp:projects/iAMMember:IAMMember", {"project": "p", "role": "roles/viewer", "member": "ada"}, "member"),
        (
            "gcp:projects/iAMMember:IAMMember",
            {"project": "p", "role": "roles/viewer", "member": "deleted:user:a@b"},
            "member",
        ),
        ("gcp:projects/service:Service", {"service": "tpu"}, "service"),
        ("gcp:storage/bucket:Bucket", {"location": "us", "labels": {"Owner": "x"}}, "labels"),
        ("gcp:kms/cryptoKey:CryptoKey", {"keyRing": "r", "rotationPeriod": "3600s"}, "rotationPeriod"),
        (NAT, {"router": "r", "sourceSubnetworkIpRangesToNat": "ALL"}, "sourceSubnetworkIpRangesToNat"),
    ],
)
def test_a_value_of_the_wrong_form_is_refused_before_any_call(token: str, inputs: dict[str, Any], path: str) -> None:
    assert set(failures(token, inputs)) == {path}


def test_a_resource_without_a_project_or_zone_is_refused() -> None:
    bare = GoogleProvider("http://127.0.0.1:1")
    assert set(failures(VM, {"name": "a", "runtimeVersion": "r"}, bare)) == {"project", "zone"}


def test_defaults_are_filled_in_and_marked() -> None:
    given = {"router": "r", "name": "nat", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}
    checked = PROVIDER.check(NAT, "nat", "urn", given, None).inputs
    assert checked["tcpEstablishedIdleTimeoutSec"] == 1200
    assert checked["__defaults"] == [
        "icmpIdleTimeoutSec",
        "tcpEstablishedIdleTimeoutSec",
        "tcpTimeWaitTimeoutSec",
        "tcpTransitoryIdleTimeoutSec",
        "type",
        "udpIdleTimeoutSec",
    ]


def test_checking_twice_changes_nothing() -> None:
    given = {"name": "a", "runtimeVersion": "r", "dataDisks": [{"sourceDisk": "d"}], "labels": {"a": "b"}}
    once = PROVIDER.check(VM, "a", "urn", given, None).inputs
    plain = {key: value for key, value in once.items() if key != "__defaults"}
    assert PROVIDER.check(VM, "a", "urn", given, once).inputs == once
    assert PROVIDER.diff(VM, "ID", once, plain, once).detailed.keys() <= {"pulumiLabels.a"}


def test_numbers_and_flags_that_arrive_as_text_become_what_they_are() -> None:
    given = {
        "router": "r",
        "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
        "minPortsPerVm": "64",
        "maxPortsPerVm": 128.0,
        "enableDynamicPortAllocation": "true",
    }
    checked = PROVIDER.check(NAT, "nat", "urn", given, None).inputs
    assert (checked["minPortsPerVm"], checked["maxPortsPerVm"]) == (64, 128)
    assert checked["enableDynamicPortAllocation"] is True


def test_unknown_values_pass_every_check() -> None:
    given = {"name": "a", "runtimeVersion": UNKNOWN, "labels": {"a": UNKNOWN}, "dataDisks": [UNKNOWN], "tags": UNKNOWN}
    checked = PROVIDER.check(VM, "a", "urn", given, None)
    assert checked.failures == ()
    assert checked.inputs["runtimeVersion"] is UNKNOWN


def test_a_made_name_is_the_same_in_every_run_and_kept_once_made() -> None:
    network = "gcp:compute/network:Network"
    first = PROVIDER.check(network, "Main", "urn:a", {}, None).inputs
    again = PROVIDER.check(network, "Main", "urn:a", {}, None).inputs
    other = PROVIDER.check(network, "Main", "urn:b", {}, None).inputs
    kept = PROVIDER.check(network, "Main", "urn:b", {}, first).inputs
    assert first["name"] == again["name"] == kept["name"] != other["name"]
    assert first["name"].startswith("main-")
    assert "name" in first["__defaults"]


def test_an_unknown_setting_of_the_provider_is_refused_by_name() -> None:
    with pytest.raises(ProviderError, match="gcp:pool"):
        PROVIDER.configured({"pool": "x"})


def test_settings_arrive_as_values_or_as_the_text_of_a_stack_file() -> None:
    for config in (
        {"project": "p", "defaultLabels": {"team": "ci"}, "addPulumiAttributionLabel": False},
        {"project": "p", "defaultLabels": '{"team": "ci"}', "addPulumiAttributionLabel": "false"},
    ):
        configured = PROVIDER.configured(config)
        outputs = configured.preview_outputs(VM, {"name": "a", "labels": {"a": "b"}}, None)
        assert outputs["project"] == "p"
        assert outputs["pulumiLabels"] == {"team": "ci", "a": "b"}


def test_labels_are_secret_where_the_provider_adds_to_them() -> None:
    assert PROVIDER.secret_outputs(VM) == {"effectiveLabels", "pulumiLabels"}
    assert PROVIDER.secret_outputs(NAT) == frozenset()


def test_an_id_of_another_form_is_refused_with_the_right_one() -> None:
    with pytest.raises(ProviderError, match="which has the form projects/"):
        PROVIDER.read(VM, "zones/us-west4-a/instances/tpu-ci-0", {})


def test_an_unknown_function_is_refused_by_name() -> None:
    with pytest.raises(ProviderError, match="gcp:compute/getNetwork:getNetwork"):
        PROVIDER.invoke("gcp:compute/getNetwork:getNetwork", {})


def test_types_that_are_not_served_are_not_claimed() -> None:
    assert VM in PROVIDER.types()
    assert "gcp:container/attachedCluster:AttachedCluster" not in PROVIDER.types()


def test_what_follows_from_inputs_is_known_in_a_preview() -> None:
    account = "gcp:serviceaccount/account:Account"
    outputs = PROVIDER.preview_outputs(account, {"accountId": "runner"}, None)
    assert outputs["member"] == "serviceAccount:runner@hai-gcp-models.iam.gserviceaccount.com"
    unknown = PROVIDER.preview_outputs(account, {"accountId": UNKNOWN}, None)
    assert "email" not in unknown
    assert PROVIDER.locate(account, {"accountId": UNKNOWN}) is None


def test_an_update_keeps_the_outputs_that_it_does_not_touch() -> None:
    old = {
        "name": "a",
        "state": "READY",
        "labels": {"a": "1"},
        "pulumiLabels": {"a": "1"},
        "effectiveLabels": {"a": "1", "theirs": "x"},
        "networkConfig": {"network": "n", "subnetwork": "s"},
        "description": "old",
    }
    new = PROVIDER.preview_outputs(VM, {"name": "a", "labels": {"b": "2"}, "networkConfig": {"network": "n"}}, old)
    assert new["state"] == "READY"
    assert new["networkConfig"] == {"network": "n", "subnetwork": "s"}
    assert new["effectiveLabels"] == {"theirs": "x", "b": "2"}
    assert new["description"] == ""
