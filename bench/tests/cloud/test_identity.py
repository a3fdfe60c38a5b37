"""Identity tokens of the local cloud, as Google's own library reads them."""

from __future__ import annotations

import json
import urllib.request
from datetime import UTC, datetime
from typing import Any

import pytest
import urllib3
from google.auth.transport import urllib3 as transport
from google.oauth2 import id_token

from bench.cloud.control import ControlError
from bench.cloud.identity import MAX_AGE
from bench.cloud.testing import TestCloud

PLACE = "projects/a-lab/locations/us-west4-a/nodes"
ACCOUNT = "ci@a-lab.iam.gserviceaccount.com"
NODE: dict[str, Any] = {
    "acceleratorType": "v5litepod-4",
    "runtimeVersion": "v2-alpha-tpuv5-lite",
    "serviceAccount": {"email": ACCOUNT},
    "schedulingConfig": {"preemptible": True},
}


def read(cloud: TestCloud, token: str, audience: str = "https://broker.example.com") -> Any:
    with urllib3.PoolManager() as pool:
        request = transport.Request(pool)
        return id_token.verify_token(token, request, audience=audience, certs_url=f"{cloud.url}/oauth2/v3/certs")


def at_the_machines_time(cloud: TestCloud) -> None:
    cloud.wall.advance(max(datetime.now(UTC).timestamp() - cloud.wall.seconds, 0))


def test_googles_own_library_believes_a_token_and_its_instance(cloud: TestCloud) -> None:
    at_the_machines_time(cloud)
    cloud.control.add_node(f"{PLACE}/a", NODE)
    claims = read(cloud, cloud.control.identity_token("a", "https://broker.example.com"))
    assert (claims["iss"], claims["email"], claims["email_verified"]) == ("https://accounts.google.com", ACCOUNT, True)
    assert claims["azp"] == claims["sub"]
    instance = claims["google"]["compute_engine"]
    assert (instance["project_id"], instance["zone"]) == ("a-lab", "us-west4-a")
    assert instance["instance_id"].isdigit()


def test_after_a_rotation_old_and_new_tokens_hold_until_the_old_key_goes(cloud: TestCloud) -> None:
    at_the_machines_time(cloud)
    cloud.control.add_node(f"{PLACE}/a", NODE)
    old = cloud.control.identity_token("a", "https://broker.example.com")
    cloud.control.rotate_identity_keys()
    new = cloud.control.identity_token("a", "https://broker.example.com")
    assert read(cloud, old)["email"] == read(cloud, new)["email"]
    cloud.control.rotate_identity_keys(retire=True)
    with pytest.raises(Exception, match=r"(?i)key|certificate"):
        read(cloud, old)


def test_the_keys_say_how_long_they_may_be_kept(cloud: TestCloud) -> None:
    with urllib.request.urlopen(f"{cloud.url}/oauth2/v3/certs") as answer:
        assert answer.headers["cache-control"] == f"public, max-age={MAX_AGE}"
        [key] = json.load(answer)["keys"]
    assert {name: key[name] for name in ("kty", "alg", "use", "e")} == {
        "kty": "RSA", "alg": "RS256", "use": "sig", "e": "AQAB",
    }  # fmt: skip


def test_a_vm_that_is_not_there_or_not_ready_has_no_metadata_server(cloud: TestCloud) -> None:
    with pytest.raises(ControlError, match="was not found"):
        cloud.control.identity_token("a", "https://broker.example.com")
    cloud.control.add_node(f"{PLACE}/a", NODE)
    cloud.control.preempt("a")
    with pytest.raises(ControlError, match="no metadata server"):
        cloud.control.identity_token("a", "https://broker.example.com")
