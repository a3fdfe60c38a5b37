"""The way to a cluster: from inside a pod, and by a kubeconfig."""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kubernetes.config.kube_config import KubeConfigMerger

from bench.providers.kubernetes.reach import ClusterApi
from infra.jobs.kube import Kube, KubeError, KubePlace, kubeconfig_place, place_of, pod_place
from infra.jobs.kubeconfig import kubeconfig_files, merged
from infra.model.errors import ConfigError
from tests.jobs.cluster import running_cluster


def kubeconfig(
    folder: Path, user: dict[str, Any], server: str = "http://127.0.0.1:1", **context: Any
) -> dict[str, str]:
    path = folder / "config"
    body = {
        "current-context": "lab",
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u", **context}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(body))
    return {"KUBECONFIG": str(path), "PATH": "/usr/bin:/bin"}


def token_of(environ: dict[str, str]) -> str:
    place = kubeconfig_place(environ)
    assert place is not None
    assert place.token is not None
    return place.token()


def test_a_pod_finds_its_own_cluster_and_namespace(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert pod_place(tmp_path, environ) is None, "a service host alone does not make a pod"
    authority = Path(__import__("ssl").get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt")
    for name, text in (("token", "t1\n"), ("namespace", "team-a"), ("ca.crt", authority.read_text())):
        (tmp_path / name).write_text(text)
    place = pod_place(tmp_path, environ)
    assert place is not None
    assert place.token is not None
    assert (place.server, place.namespace, place.token()) == ("https://10.0.0.1:443", "team-a", "t1")
    (tmp_path / "token").write_text("t2")
    assert place.token() == "t2", "a pod's token is renewed while it runs"
    assert pod_place(tmp_path, {}) is None


def test_a_plugin_gives_the_token(tmp_path: Path) -> None:
    answer = {"status": {"token": "fresh"}}
    program = "import os, json; json.loads(os.environ['KUBERNETES_EXEC_INFO']); print(os.environ['LAB'])"
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": ["-S", "-c", program],
        "env": [{"name": "LAB", "value": json.dumps(answer)}],
    }  # fmt: skip
    assert token_of(kubeconfig(tmp_path, {"exec": plugin})) == "fresh"


@pytest.mark.parametrize(("expires", "asked"), [("2000-01-01T00:00:00Z", 2), ("2999-01-01T00:00:00Z", 1), (None, 1)])
def test_a_plugins_token_is_kept_until_it_expires(tmp_path: Path, expires: str | None, asked: int) -> None:
    calls: list[str] = []

    def plugin(server: str, _: object) -> dict[str, str | None]:
        calls.append(server)
        return {"token": f"t{len(calls)}", "expirationTimestamp": expires}

    environ = kubeconfig(tmp_path, {"exec": {"command": "x"}})
    place = place_of(yaml.safe_load((tmp_path / "config").read_text()), "lab", Path(environ["KUBECONFIG"]), plugin)
    assert place.token is not None
    assert [place.token(), place.token()] == ["t1", f"t{asked}"]
    assert calls == ["http://127.0.0.1:1"] * asked


def test_a_plugin_that_is_missing_is_named_with_how_to_install_it(tmp_path: Path) -> None:
    plugin = {"apiVersion": "v1", "command": "gke-gcloud-auth-plugin-x", "installHint": "install the component"}
    with pytest.raises(KubeError, match="install the component"):
        token_of(kubeconfig(tmp_path, {"exec": plugin}))


def test_a_plugin_that_fails_says_nothing_secret(tmp_path: Path) -> None:
    program = "import sys; print('token: abc', file=sys.stderr); sys.exit(1)"
    plugin = {"apiVersion": "v1", "command": sys.executable, "args": ["-S", "-c", program]}
    with pytest.raises(KubeError) as error:
        token_of(kubeconfig(tmp_path, {"exec": plugin}))
    assert "abc" not in str(error.value)


def test_several_kubeconfigs_are_merged_and_the_first_that_says_a_thing_wins(tmp_path: Path) -> None:
    """As kubectl does; of clusters, users and contexts the client library for Python says the same."""
    first, second = tmp_path / "one" / "config", tmp_path / "two" / "config"
    shared = {"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}], "users": []}
    for path, body in (
        (first, {"contexts": [{"name": "mine", "context": {"cluster": "far", "user": "far"}}], **shared}),
        (
            second,
            {
                "current-context": "theirs",
                "clusters": [
                    {"name": "c", "cluster": {"server": "http://127.0.0.1:8"}},
                    {"name": "far", "cluster": {"server": "http://127.0.0.1:7"}},
                ],
                "users": [{"name": "far", "user": {"tokenFile": "token"}}],
                "contexts": [{"name": "theirs", "context": {"cluster": "c", "namespace": "team-b"}}],
            },
        ),
    ):
        path.parent.mkdir()
        path.write_text(yaml.safe_dump(body))
    (second.parent / "token").write_text("beside its own file")
    environ = {"KUBECONFIG": os.pathsep.join(("", str(first), str(tmp_path / "nowhere"), str(second)))}
    theirs, mine = kubeconfig_place(environ), kubeconfig_place(environ, "mine")
    assert theirs is not None
    assert (theirs.server, theirs.namespace) == ("http://127.0.0.1:9", "team-b"), "the first file says who c is"
    assert mine is not None
    assert mine.token is not None
    assert (mine.server, mine.token()) == ("http://127.0.0.1:7", "beside its own file")

    official = KubeConfigMerger(environ["KUBECONFIG"]).config
    ours = merged(kubeconfig_files(environ))
    for kind in ("clusters", "users", "contexts"):
        assert [each["name"] for each in ours[kind]] == [each["name"] for each in official[kind]]


def test_a_kubeconfig_without_what_it_names_is_refused(tmp_path: Path) -> None:
    environ = kubeconfig(tmp_path, {})
    with pytest.raises(KubeError, match="contexts has no 'other'"):
        kubeconfig_place(environ, "other")


def test_without_a_kubeconfig_there_is_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kubeconfig_place({}) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("{ no: [", "not YAML"),
        ("- a", "mapping"),
        ("\0", "not YAML"),
        ("users: {u: 1}", "users is not a list"),
        ("contexts: [{context: {}}]", "contexts is not a list of entries with a name"),
    ],
)
def test_a_file_that_is_named_and_is_no_kubeconfig_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        kubeconfig_place({"KUBECONFIG": str(path)})


def test_a_client_key_is_left_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "lab")])
    begins = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    data = {
        "client-certificate-data": certificate.public_bytes(serialization.Encoding.PEM),
        "client-key-data": key.private_bytes(serialization.Encoding.PEM, *form),
    }
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    user = {name: base64.b64encode(value).decode() for name, value in data.items()}
    place = kubeconfig_place(kubeconfig(tmp_path, user, server="https://127.0.0.1:1"))
    assert place is not None
    assert place.tls is not None
    assert ClusterApi((tmp_path / "config").read_text()).server == "https://127.0.0.1:1"
    assert list(spare.iterdir()) == []


def test_every_call_carries_the_token_of_now() -> None:
    tokens = iter(("one", "two"))
    with running_cluster(token=lambda: next(tokens)) as cluster:
        kube = Kube(cluster.place)
        kube.find("/api/v1/nodes/a")
        kube.find("/api/v1/nodes/b")
        assert [headers["authorization"] for *_, headers in cluster.calls] == ["Bearer one", "Bearer two"]


def test_a_cluster_that_does_not_answer_is_named() -> None:
    with pytest.raises(KubeError, match=r"GET /version at http://127.0.0.1:9 failed: no answer"):
        Kube(KubePlace(server="http://127.0.0.1:9")).get("/version")


def test_deleting_what_is_gone_is_done() -> None:
    with running_cluster() as cluster:
        Kube(cluster.place).delete("/apis/x/v1/namespaces/a/things/b")
        assert [(method, url.partition("?")[2]) for method, url, *_ in cluster.calls] == [
            ("DELETE", "propagationPolicy=Foreground")
        ]
