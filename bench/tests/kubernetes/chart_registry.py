"""The registries of the program's charts, on loopback: what the official plugin's Helm pulls from in the live tier.

The real charts run programs, which simulated nodes cannot. Each stand-in has its chart's name and version, and one
ConfigMap with the values that it was given; definitions of its kinds are in the cluster before. Programs come here by
HTTPS_PROXY and believe a certificate of this test run; other hosts are refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import ssl
import tarfile
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import yaml
from cryptography.x509.oid import ExtendedKeyUsageOID

from bench.tests.kubernetes.real_control_plane import self_signed
from infra.model.addons import Addon

_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.cncf.helm.config.v1+json"
_CHART: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_TEMPLATE: Final = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-told}
data:
  values: {{ .Values | toJson | quote }}
"""


@contextmanager
def chart_registry(folder: Path, addons: Iterable[Addon]) -> Generator[dict[str, str]]:
    """Serve these charts; the variables by which programs come here."""
    answers = {path: answer for addon in addons for path, answer in _answers(addon).items()}
    hosts = sorted({path.partition("/")[0] for path in answers})
    authority, tls = folder / "charts.pem", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(self_signed(authority, ExtendedKeyUsageOID.SERVER_AUTH, hosts))
    handler = type("Handler", (_Registry,), {"answers": answers, "tls": tls})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            yield {"HTTPS_PROXY": url, "NO_PROXY": "127.0.0.1,localhost", "SSL_CERT_FILE": str(authority)}
        finally:
            server.shutdown()
            serving.join()


class _Registry(BaseHTTPRequestHandler):
    """A proxy that ends each tunnel itself. answers: type and content by host and path."""

    protocol_version = "HTTP/1.1"
    answers: ClassVar[dict[str, tuple[str, bytes]]] = {}
    tls: ClassVar[ssl.SSLContext]
    host = ""

    def do_CONNECT(self) -> None:
        self.host = self.path.partition(":")[0]
        if not any(path.startswith(f"{self.host}/") for path in self.answers):
            self.send_error(403, "only charts are here")
            return
        self.send_response(200)
        self.end_headers()
        self.connection = self.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def do_GET(self) -> None:
        kind, content = self.answers.get(f"{self.host}{urlsplit(self.path).path}", ("", b""))
        self.send_response(200 if kind else 404)
        self.send_header("content-type", kind or "text/plain")
        self.send_header("content-length", str(len(content)))
        self.send_header("docker-content-digest", _digest(content))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)
        self.wfile.flush()

    do_HEAD = do_GET  # noqa: N815 - http.server's

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's
        """Nothing: what is lacking is told by who asked."""


def _answers(addon: Addon) -> dict[str, tuple[str, bytes]]:
    name = addon.chart.rpartition("/")[2]
    told = {"apiVersion": "v2", "name": name, "version": addon.version}
    content = _packed({f"{name}/Chart.yaml": yaml.safe_dump(told), f"{name}/templates/told.yaml": _TEMPLATE})
    if addon.repository:
        file = f"{addon.repository}/{name}-{addon.version}.tgz"
        entry = told | {"urls": [file], "digest": hashlib.sha256(content).hexdigest()}
        index = yaml.safe_dump({"apiVersion": "v1", "entries": {name: [entry]}}).encode()
        return {
            f"{addon.repository.removeprefix('https://')}/index.yaml": ("text/yaml", index),
            file.removeprefix("https://"): ("application/gzip", content),
        }
    host, _, repository = addon.chart.removeprefix("oci://").partition("/")
    config = json.dumps(told).encode()
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [_descriptor(_CHART, content)],
        }
    ).encode()
    below = f"{host}/v2/{repository}"
    return {
        f"{host}/v2/": ("application/json", b"{}"),
        **{f"{below}/manifests/{each}": (_MANIFEST, manifest) for each in (addon.version, _digest(manifest))},
        **{f"{below}/blobs/{_digest(each)}": ("application/octet-stream", each) for each in (config, content)},
    }


def _descriptor(kind: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": _digest(content), "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _packed(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()
