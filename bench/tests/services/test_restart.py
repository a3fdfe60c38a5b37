"""What the services keep outlives the process that served it, and is for its owner alone."""

from __future__ import annotations

from pathlib import Path

from bench.cloud.store import Store
from bench.tests.cloud.cloud_clients import Direct

SECRET, KEY = "/v1/projects/lab/secrets/s", "/v1/projects/lab/locations/us/keyRings/r/cryptoKeys/k"
OBJECT = "/upload/storage/v1/b/lab-bucket/o?uploadType=media&name=o"


def test_payloads_keys_and_objects_survive_a_restart_and_a_destroyed_payload_does_not(tmp_path: Path) -> None:
    home = tmp_path / "cloud.sqlite"
    first = Direct(store=Store(home))
    for path, body in (
        ("/v1/projects/lab/secrets?secretId=s", {"replication": {"automatic": {}}}),
        (f"{SECRET}:addVersion", {"payload": {"data": "a2VwdA=="}}),
        (f"{SECRET}:addVersion", {"payload": {"data": "YnVybg=="}}),
        (f"{SECRET}/versions/2:destroy", {}),
        ("/v1/projects/lab/locations/us/keyRings?keyRingId=r", {}),
        ("/v1/projects/lab/locations/us/keyRings/r/cryptoKeys?cryptoKeyId=k", {"purpose": "ENCRYPT_DECRYPT"}),
        ("/storage/v1/b?project=lab", {"name": "lab-bucket"}),
    ):
        assert first.ask("POST", path, body)[0] == 200
    sealed = first.ask("POST", f"{KEY}:encrypt", {"plaintext": "c2VhbGVk"})[1]["ciphertext"]
    written = first.ask("POST", OBJECT, "object")[1]
    assert {oct(each.stat().st_mode & 0o777) for each in tmp_path.iterdir()} == {"0o600"}
    first.store.close()
    second = Direct(store=Store(home))
    assert second.ask("GET", f"{SECRET}/versions/1:access")[1]["payload"]["data"] == "a2VwdA=="
    assert second.store.data("secretmanager.version", "projects/lab/secrets/s/versions/00000002") == b""
    assert second.ask("POST", f"{KEY}:decrypt", {"ciphertext": sealed})[1]["plaintext"] == "c2VhbGVk"
    assert second.ask("POST", f"{KEY}:decrypt", {"ciphertext": f"AA{sealed[2:]}"})[0] == 400
    assert second.ask("GET", "/storage/v1/b/lab-bucket/o/o?alt=media")[1] == "object"
    assert int(second.ask("POST", OBJECT, "newer")[1]["generation"]) > int(written["generation"])
    second.store.close()
