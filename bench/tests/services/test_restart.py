"""What the services keep outlives the process that served it."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager

import urllib3

from bench.cloud.store import Store
from bench.cloud.testing import running_cloud


@contextmanager
def _served(path):
    with running_cloud(path, ticking=0.5) as cloud, urllib3.PoolManager() as pool:

        def ask(verb, path, body=None):
            data = body if isinstance(body, bytes) or body is None else json.dumps(body)
            answer = pool.request(verb, f"{cloud.url}/{path}", body=data, retries=False)
            assert answer.status < 300, answer.data
            return answer.data if "alt=media" in path else answer.json()

        yield cloud.url, ask


def test_payloads_keys_and_objects_survive_a_restart(tmp_path):
    home, key = tmp_path / "cloud.sqlite", "v1/projects/lab/locations/us/keyRings/r/cryptoKeys/k"
    with _served(home) as (_, ask):
        ask("POST", "v1/projects/lab/secrets?secretId=s", {"replication": {"automatic": {}}})
        ask("POST", "v1/projects/lab/secrets/s:addVersion", {"payload": {"data": base64.b64encode(b"kept").decode()}})
        ask("POST", "v1/projects/lab/locations/us/keyRings?keyRingId=r", {})
        ask("POST", "v1/projects/lab/locations/us/keyRings/r/cryptoKeys?cryptoKeyId=k", {"purpose": "ENCRYPT_DECRYPT"})
        sealed = ask("POST", f"{key}:encrypt", {"plaintext": base64.b64encode(b"sealed").decode()})["ciphertext"]
        ask("POST", "storage/v1/b?project=lab", {"name": "lab-bucket"})
        written = ask("POST", "upload/storage/v1/b/lab-bucket/o?uploadType=media&name=o", b"object")
        ask("POST", "compute/v1/projects/lab/global/networks", {"name": "net", "autoCreateSubnetworks": False})
    with _served(home) as (url, ask):
        version = ask("GET", "v1/projects/lab/secrets/s/versions/latest:access")
        assert base64.b64decode(version["payload"]["data"]) == b"kept"
        opened = ask("POST", f"{key}:decrypt", {"ciphertext": sealed})
        assert base64.b64decode(opened["plaintext"]) == b"sealed"
        assert ask("GET", "storage/v1/b/lab-bucket/o/o?alt=media") == b"object"
        again = ask("POST", "upload/storage/v1/b/lab-bucket/o?uploadType=media&name=o", b"newer")
        assert int(again["generation"]) > int(written["generation"])
        network = ask("GET", "compute/v1/projects/lab/global/networks/net")
        assert network["selfLink"] == f"{url}/compute/v1/projects/lab/global/networks/net"


def test_nobody_else_may_read_what_is_kept(tmp_path):
    with _served(tmp_path / "cloud.sqlite"):
        kept = list(tmp_path.iterdir())
        assert kept
        assert {oct(each.stat().st_mode & 0o777) for each in kept} == {"0o600"}


def test_a_destroyed_payload_is_kept_nowhere(tmp_path):
    home, secret = tmp_path / "cloud.sqlite", "v1/projects/lab/secrets/s"
    with _served(home) as (_, ask):
        ask("POST", "v1/projects/lab/secrets?secretId=s", {"replication": {"automatic": {}}})
        ask("POST", f"{secret}:addVersion", {"payload": {"data": base64.b64encode(b"burn after reading").decode()}})
        ask("POST", f"{secret}/versions/1:destroy", {})
    store = Store(home)
    (version,) = store.each("secretmanager.version")
    assert store.data(version.kind, version.name) == b""
    store.close()
