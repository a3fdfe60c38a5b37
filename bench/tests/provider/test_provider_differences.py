"""What a change of an input means: nothing, an update in place, or a replacement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.engine.provider import UNKNOWN, DiffResult
from bench.providers.google import GoogleProvider
from bench.providers.google.fields import Field, Shape
from bench.providers.google.tables import TYPES
from bench.tests.provider import provider_promises as promises

PROVIDER = GoogleProvider("http://127.0.0.1:1", "hai-gcp-models", region="us-west4", zone="us-west4-a")
VM = "gcp:tpu/v2Vm:V2Vm"
NODE = "projects/hai-gcp-models/locations/us-west4-a/nodes/tpu-ci-0"


def field_at(token: str, path: str) -> Field:
    fields: Mapping[str, Field] = TYPES[token].fields
    *parents, leaf = path.split(".")
    for parent in parents:
        fields = fields[parent.removesuffix("[]")].inner
    return fields[leaf]


def value_of(field: Field, path: str, turn: int) -> Any:
    """The turn-th value of a property: any two turns differ, and differ as what they are."""
    if field.choices:
        return field.choices[turn % len(field.choices)]
    match field.kind:
        case Shape.WHOLE:
            return 64512 + turn
        case Shape.REAL:
            return 0.25 * (turn + 1)
        case Shape.FLAG:
            return turn == 0
        case Shape.TEXTS:
            return [f"projects/p/x/{turn}"]
        case Shape.TABLE:
            return {"key": f"v{turn}"}
        case Shape.BLOCK | Shape.BLOCKS:
            return {name: value_of(inner, name, turn) for name, inner in field.inner.items() if not inner.computed}
        case _:
            return f"{86400 * (turn + 1)}s"


def nested(path: str, value: Any) -> dict[str, Any]:
    """{"a": [{"b": value}]} of `a[].b`."""
    for name in reversed(path.split(".")):
        bare = name.removesuffix("[]")
        value = {bare: [value] if name.endswith("[]") else value}
    return value


def differences(token: str, old: dict[str, Any], new: dict[str, Any]) -> DiffResult:
    return PROVIDER.diff(token, "ID", old, old, new)


REPLACES = [(token, path) for token, paths in promises.REPLACES.items() for path in paths]
IN_PLACE = [(token, path) for token, paths in promises.IN_PLACE.items() for path in paths]
FILLED = [(token, path) for token, paths in promises.FILLED_BY_THE_SERVICE.items() for path in paths]


def shown(path: str) -> str:
    return path.replace("[]", "[0]")


def touched(token: str, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    field = field_at(token, path)
    first, second = value_of(field, path, 0), value_of(field, path, 1)
    if len(field.choices) == 1:
        return {}, nested(path, first)
    if first == second:
        raise AssertionError(f"{path} has no second value")
    return nested(path, first), nested(path, second)


@pytest.mark.parametrize(("token", "path"), REPLACES)
def test_a_change_that_the_api_cannot_make_replaces(token: str, path: str) -> None:
    old, new = touched(token, path)
    found = differences(token, old, new).detailed
    assert found
    assert all(each.replaces for each in found.values()), found
    assert any(each.startswith(shown(path)) or shown(path).startswith(each) for each in found)


@pytest.mark.parametrize(("token", "path"), IN_PLACE)
def test_a_change_that_the_api_can_make_is_an_update(token: str, path: str) -> None:
    old, new = touched(token, path)
    found = differences(token, old, new).detailed
    assert found
    assert not any(each.replaces for each in found.values()), found


@pytest.mark.parametrize(("token", "path"), FILLED)
def test_what_the_service_fills_in_is_no_difference(token: str, path: str) -> None:
    field = field_at(token, path)
    old = nested(path, value_of(field, path, 0))
    new = nested(path, None)
    assert differences(token, old, new).detailed == {}


def test_the_promises_name_every_input_that_replaces() -> None:
    """A mark in the table that no promise asks for would replace VMs that nobody expects to lose."""

    def marked(fields: Mapping[str, Field], prefix: str = "") -> set[str]:
        found = set()
        for name, field in fields.items():
            path = prefix + name
            if field.inner:
                found |= marked(field.inner, f"{path}[]." if field.kind is Shape.BLOCKS else f"{path}.")
            elif field.replaces:
                found.add(path)
        return found

    also_on_interfaces = ("subnetwork", "enableExternalIps", "canIpForward", "queueCount")
    beyond = {
        VM: {f"networkConfigs[].{name}" for name in also_on_interfaces},
        "gcp:artifactregistry/repository:Repository": {
            "remoteRepositoryConfig.pythonRepository.publicRepository",
            "remoteRepositoryConfig.pythonRepository.customRepository.uri",
            "remoteRepositoryConfig.commonRepository.uri",
        },
        "gcp:compute/network:Network": {"internalIpv6Range"},
        "gcp:compute/routerNat:RouterNat": {"endpointTypes"},
    }
    for token, kind in TYPES.items():
        assert marked(kind.fields) == set(promises.REPLACES[token]) | beyond.get(token, set()), token


def test_a_network_in_another_spelling_replaces_a_vm_but_not_a_subnetwork() -> None:
    """The trap of the TPU type: its network is compared as text."""
    full, short = "projects/p/global/networks/ci", "ci"
    vm = differences(VM, {"networkConfig": {"network": full}}, {"networkConfig": {"network": short}})
    assert vm.detailed["networkConfig.network"].replaces
    url = f"https://www.googleapis.com/compute/beta/{full}"
    assert differences("gcp:compute/subnetwork:Subnetwork", {"network": url}, {"network": full}).detailed == {}


def test_a_label_of_somebody_else_is_no_difference() -> None:
    old = {"labels": {"a": "1"}, "pulumiLabels": {"a": "1"}, "effectiveLabels": {"a": "1", "theirs": "x"}}
    assert differences(VM, old, {"labels": {"a": "1"}}).detailed == {}


def test_a_lost_label_and_extra_metadata_are_updates() -> None:
    old = {"labels": {}, "pulumiLabels": {"a": ""}, "effectiveLabels": {}, "metadata": {"ssh-keys": "k", "m": "1"}}
    found = differences(VM, old, {"labels": {"a": "1"}, "metadata": {"m": "1"}}).detailed
    assert {path: each.kind for path, each in found.items()} == {"labels.a": "add", "metadata.ssh-keys": "delete"}
    assert not any(each.replaces for each in found.values())


def test_a_lost_attribution_label_is_restored() -> None:
    lost = {"labels": {}, "pulumiLabels": {"goog-pulumi-provisioned": ""}, "effectiveLabels": {}}
    assert list(differences(VM, lost, {}).detailed) == ["pulumiLabels.goog-pulumi-provisioned"]


def test_a_key_with_dots_is_quoted_in_its_path() -> None:
    old = {"metadata": {}, "pulumiLabels": {}, "effectiveLabels": {}}
    assert list(differences(VM, old, {"metadata": {"a.b": "1"}}).detailed) == ['metadata["a.b"]']


def test_one_duration_in_two_spellings_is_no_difference() -> None:
    token = "gcp:artifactregistry/repository:Repository"
    old = nested("cleanupPolicies[]", {"id": "old", "condition": {"olderThan": "2592000s"}})
    new = nested("cleanupPolicies[]", {"id": "old", "condition": {"olderThan": "30d"}})
    assert differences(token, old, new).detailed == {}
    other = nested("cleanupPolicies[]", {"id": "old", "condition": {"olderThan": "31d"}})
    assert list(differences(token, old, other).detailed) == ["cleanupPolicies[0].condition.olderThan"]


def test_a_budget_without_a_period_has_months() -> None:
    token = "gcp:billing/budget:Budget"
    months, none, years = ({"budgetFilter": {"calendarPeriod": each}} for each in ("MONTH", "", "YEAR"))
    assert differences(token, none, months).detailed == {}
    for old in (months, none):
        assert list(differences(token, old, years).detailed) == ["budgetFilter.calendarPeriod"]
    assert list(differences(token, years, months).detailed) == ["budgetFilter.calendarPeriod"]


def test_a_range_grows_in_place_and_is_replaced_when_it_moves() -> None:
    token = "gcp:compute/subnetwork:Subnetwork"
    grown = differences(token, {"ipCidrRange": "10.0.0.0/24"}, {"ipCidrRange": "10.0.0.0/20"}).detailed
    moved = differences(token, {"ipCidrRange": "10.0.0.0/24"}, {"ipCidrRange": "10.1.0.0/20"}).detailed
    assert not grown["ipCidrRange"].replaces
    assert moved["ipCidrRange"].replaces


def test_what_is_not_known_yet_counts_as_a_difference() -> None:
    old = {"serviceAccount": {"email": "a@b"}, "metadata": {"k": "v"}, "networkConfig": {"network": "n"}}
    new = {"serviceAccount": {"email": UNKNOWN}, "metadata": UNKNOWN, "networkConfig": UNKNOWN}
    found = differences(VM, old, new).detailed
    assert {path: each.replaces for path, each in found.items()} == {
        "serviceAccount.email": True,
        "metadata": False,
        "networkConfig": True,
    }


def test_a_block_that_says_nothing_but_false_always_differs() -> None:
    """A trap of the official provider: false is not sent, so the service shows no block, and its presence differs."""
    found = differences(VM, {"schedulingConfig": None}, {"schedulingConfig": {"preemptible": False}}).detailed
    assert found["schedulingConfig"].kind == "add"


def test_scheduling_that_goes_away_replaces() -> None:
    """Preemptible to on-demand is another capacity, however it is written."""
    old = {"schedulingConfig": {"preemptible": True, "reserved": False, "spot": False}}
    assert differences(VM, old, {}).detailed["schedulingConfig"].replaces
    found = differences(VM, old, {"schedulingConfig": {"spot": True}}).detailed
    assert set(found) == {"schedulingConfig.preemptible", "schedulingConfig.spot"}
    assert all(each.replaces for each in found.values())


def test_a_preempted_vm_shows_no_difference() -> None:
    old = {"name": "a", "state": "PREEMPTED", "health": "", "labels": {}, "metadata": {}}
    assert differences(VM, old, {"name": "a"}).detailed == {}


def test_a_replacement_with_the_same_name_deletes_first() -> None:
    fixed = {"name": "tpu-ci-0", "zone": "us-west4-a", "acceleratorType": "v5litepod-8", "__defaults": []}
    old = {**fixed, "acceleratorType": "v5litepod-4"}
    assert PROVIDER.diff(VM, NODE, old, old, fixed).delete_before_replace
    made_up = {**fixed, "__defaults": ["name"]}
    assert not PROVIDER.diff(VM, NODE, old, old, made_up).delete_before_replace
    renamed = {**fixed, "name": "tpu-ci-1"}
    assert not PROVIDER.diff(VM, NODE, old, old, renamed).delete_before_replace
    in_place = {**old, "description": "x"}
    assert not PROVIDER.diff(VM, NODE, old, old, in_place).delete_before_replace


_TEXT = st.text(alphabet="abc-.", min_size=1, max_size=4)
_VMS = st.fixed_dictionaries(
    {"name": _TEXT, "runtimeVersion": _TEXT},
    optional={
        "labels": st.dictionaries(_TEXT, _TEXT, max_size=3),
        "metadata": st.dictionaries(_TEXT, _TEXT, max_size=3),
        "tags": st.lists(_TEXT, max_size=3),
        "description": _TEXT,
        "schedulingConfig": st.sampled_from([{"preemptible": True}, {"spot": True}, {"reserved": True, "spot": False}]),
        "networkConfig": st.fixed_dictionaries({"network": _TEXT}, optional={"enableExternalIps": st.booleans()}),
        "dataDisks": st.lists(st.fixed_dictionaries({"sourceDisk": _TEXT}), max_size=2),
    },
)


@given(old=_VMS, new=_VMS)
@settings(deadline=None, max_examples=200, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_only_equal_vms_show_no_difference(old: dict[str, Any], new: dict[str, Any]) -> None:
    """And a difference replaces exactly when something else than the five fields that the API can change is in it."""
    before, after = (PROVIDER.check(VM, "vm", "urn", inputs, None).inputs for inputs in (old, new))
    outputs = PROVIDER.preview_outputs(VM, before, None)
    assert PROVIDER.diff(VM, "ID", before, outputs, before).detailed == {}
    found = PROVIDER.diff(VM, "ID", before, outputs, after).detailed
    mutable = ("labels", "metadata", "tags", "description", "dataDisks", "pulumiLabels")
    for path, each in found.items():
        assert each.replaces == (not path.startswith(mutable)), path


METRIC = "gcp:logging/metric:Metric"
FIREWALL = "gcp:compute/firewall:Firewall"


def test_the_order_of_a_set_is_no_difference() -> None:
    tcp, icmp = {"protocol": "tcp", "ports": ["22"]}, {"protocol": "icmp"}
    assert differences(FIREWALL, {"allows": [tcp, icmp]}, {"allows": [icmp, tcp]}).detailed == {}
    changed = differences(FIREWALL, {"allows": [tcp, icmp]}, {"allows": [icmp, {**tcp, "ports": ["2222"]}]}).detailed
    assert not any(each.replaces for each in changed.values())
    assert changed


def test_an_element_of_a_set_that_cannot_change_is_another_element() -> None:
    """A label of a metric is part of what it is; its description goes with it."""
    old = {"metricDescriptor": {"labels": [{"key": "pool", "description": "a"}, {"key": "zone"}]}}
    new = {"metricDescriptor": {"labels": [{"key": "zone"}, {"key": "pool", "description": "b"}]}}
    found = differences(METRIC, old, new).detailed
    assert found
    assert all(each.replaces for each in found.values())


def test_the_order_of_scopes_counts_but_for_the_one_that_the_service_adds() -> None:
    read, write = (f"https://www.googleapis.com/auth/logging.{each}" for each in ("read", "write"))
    pubsub = "https://www.googleapis.com/auth/pubsub"

    def scoped(*scopes: str) -> dict[str, Any]:
        return {"serviceAccount": {"scopes": list(scopes)}}

    assert differences(VM, scoped(read, pubsub, write), scoped(read, write)).detailed == {}
    assert differences(VM, scoped(read, write), scoped(write, read)).detailed


def test_a_dashboard_differs_by_what_the_program_says_alone() -> None:
    dashboard = "gcp:monitoring/dashboard:Dashboard"

    def said(text: str) -> dict[str, Any]:
        return {"dashboardJson": text}

    held = said('{"a": {"b": 1, "c": 2}, "etag": "x", "list": [1, 2]}')
    assert differences(dashboard, held, said('{"a": {"b": 1}, "list": [1, 2]}')).detailed == {}
    assert differences(dashboard, held, said('{"a": {"b": 2}}')).detailed
    assert differences(dashboard, held, said('{"list": [1]}')).detailed
    assert differences(dashboard, held, said('{"d": 1}')).detailed


@pytest.mark.parametrize(
    ("token", "old", "new"),
    [
        ("gcp:cloudscheduler/job:Job", {"attemptDeadline": ""}, {"attemptDeadline": "180s"}),
        ("gcp:cloudscheduler/job:Job", {"attemptDeadline": "180s"}, {}),
        ("gcp:storage/bucket:Bucket", {"hierarchicalNamespace": {"enabled": False}}, {}),
        (FIREWALL, {"sourceRanges": ["0.0.0.0/0"]}, {}),
        (FIREWALL, {"network": "https://x/compute/v1/projects/p/global/networks/ci"}, {"network": "ci"}),
    ],
)
def test_what_the_service_or_the_provider_fills_in_is_no_difference(
    token: str, old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert differences(token, old, new).detailed == {}


def test_a_path_in_the_program_is_not_the_bare_name_of_the_state() -> None:
    path = "projects/p/global/networks/ci"
    assert differences(FIREWALL, {"network": path}, {"network": "ci"}).detailed == {}
    assert differences(FIREWALL, {"network": "ci"}, {"network": path}).detailed
