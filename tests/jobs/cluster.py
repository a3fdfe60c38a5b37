"""A Kubernetes API on loopback that keeps what it is given: no controller and no schema; tests set what stands."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from infra.jobs.kube import KubePlace


@dataclass
class Cluster:
    """objects: by path. texts: answers that are no objects. unserved, refused: by how a path starts."""

    place: KubePlace
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    unserved: tuple[str, ...] = ()
    refused: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[str, str, dict[str, Any], dict[str, str]]] = field(default_factory=list)

    def answer(self, method: str, url: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        parts = urlsplit(url)
        path, query = parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.calls.append((method, url, body, headers))
        if code := next((code for prefix, code in self.refused.items() if path.startswith(prefix)), None):
            return code, {"kind": "Status", "reason": "Refused", "message": f"no {method}"}
        if path.startswith(self.unserved or ("-",)):
            return 404, {"kind": "Status", "reason": "NotFound", "message": "not served"}
        if path in self.texts:
            return 200, self.texts[path]
        return getattr(self, f"_{method.lower()}")(path, query, body)

    def _get(self, path: str, query: dict[str, str], __: dict[str, Any]) -> tuple[int, Any]:
        if path in self.objects:
            return 200, self.objects[path]
        if "/namespaces/" in path and path.count("/") % 2 == (1 if path.startswith("/api/") else 0):
            items = [each for at, each in self.objects.items() if at.rpartition("/")[0] == path]
            name, _, value = query.get("labelSelector", "").partition("=")
            labels = [each["metadata"].get("labels", {}) for each in items]
            kept = [
                e
                for e, told in zip(items, labels, strict=True)
                if not name or (name in told and value in ("", told[name]))
            ]
            return 200, {"kind": "List", "items": kept}
        if whole := [each for at, each in self.objects.items() if at.rpartition("/")[0] == path]:
            return 200, {"kind": "List", "items": whole}
        return 404, {"kind": "Status", "reason": "NotFound", "message": f"{path} not found"}

    def _post(self, path: str, _: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        at = f"{path}/{body['metadata']['name']}"
        if at in self.objects:
            return 409, {"kind": "Status", "reason": "AlreadyExists", "message": "it is there"}
        body["metadata"] |= {
            "uid": f"uid-{len(self.calls)}",
            "creationTimestamp": f"2026-11-01T00:00:{len(self.calls):02d}Z",
        }
        self.objects[at] = body
        return 201, body

    def _patch(self, path: str, _: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        merge(self.objects[path], body)
        return 200, self.objects[path]

    def _delete(self, path: str, _: dict[str, str], __: dict[str, Any]) -> tuple[int, Any]:
        if self.objects.pop(path, None) is None:
            return 404, {"kind": "Status", "reason": "NotFound", "message": "none"}
        return 200, {"kind": "Status"}


def merge(into: dict[str, Any], patch: dict[str, Any]) -> None:
    """RFC 7386."""
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        elif value is None:
            into.pop(key, None)
        else:
            into[key] = value


@contextmanager
def running_cluster(**place: Any) -> Generator[Cluster]:
    cluster: Cluster

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            code, body = cluster.answer(self.command, self.path, json.loads(sent) if sent else {}, headers)
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - http.server's

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        cluster = Cluster(KubePlace(server=f"http://127.0.0.1:{server.server_port}", said="a test's cluster", **place))
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield cluster
        finally:
            server.shutdown()
            thread.join()
