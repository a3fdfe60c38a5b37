"""Grants are additive: what others granted stays, whoever is faster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.engine.provider import ProviderError
from bench.providers.google import GoogleProvider
from bench.tests.provider.conftest import PROJECT

GRANT = "gcp:projects/iAMMember:IAMMember"
NAT = "gcp:compute/routerNat:RouterNat"


def grant(who: str, role: str = "roles/tpu.viewer") -> dict[str, Any]:
    return {"project": PROJECT, "role": role, "member": f"user:{who}@example.com"}


def policy(provider: GoogleProvider) -> dict[str, list[str]]:
    api = provider._api
    answer = api.call("POST", f"v1/projects/{PROJECT}:getIamPolicy", api.deadline(), body={})
    return {binding["role"]: sorted(binding["members"]) for binding in answer.get("bindings", [])}


def test_many_grants_at_once_lose_none(provider: GoogleProvider, virtual: Any) -> None:
    grants = [grant(f"u{index}") for index in range(20)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda inputs: provider.create(GRANT, inputs, None, virtual), grants))
    assert policy(provider)["roles/tpu.viewer"] == sorted(each["member"] for each in grants)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: provider.delete(GRANT, each.id, each.outputs, virtual), made[1:]))
    assert policy(provider)["roles/tpu.viewer"] == ["user:u0@example.com"]


def test_a_lost_race_is_run_again(provider: GoogleProvider, virtual: Any, cloud: TestCloud) -> None:
    cloud.control.fail("error", method="*.setIamPolicy", code=409, message="There were concurrent changes", count=2)
    provider.create(GRANT, grant("ada"), None, virtual)
    assert policy(provider)["roles/tpu.viewer"] == ["user:ada@example.com"]


def test_nats_of_one_router_do_not_overwrite_one_another(provider: GoogleProvider, virtual: Any) -> None:
    network = f"projects/{PROJECT}/global/networks/ci"
    provider.create("gcp:compute/network:Network", {"name": "ci", "autoCreateSubnetworks": False}, None, virtual)
    router = {"name": "ci", "region": "us-west4", "network": network}
    provider.create("gcp:compute/router:Router", router, None, virtual)
    inputs = {
        "region": "us-west4",
        "router": "ci",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
    }
    names = [f"nat-{index}" for index in range(4)]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda name: provider.create(NAT, {**inputs, "name": name}, None, virtual), names))
    assert [each.outputs["name"] for each in made] == names
    with pytest.raises(ProviderError, match="has a NAT 'nat-1' already"):
        provider.create(NAT, {**inputs, "name": "nat-1"}, None, virtual)
    provider.delete(NAT, made[0].id, made[0].outputs, virtual)
    assert [provider.read(NAT, each.id, each.outputs) is not None for each in made] == [False, True, True, True]
