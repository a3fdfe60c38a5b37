"""GitHub's REST API as a job needs it to get on: writes down what it is asked, and answers with what is given."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


@dataclass
class Hub:
    """asked, sent: each call and its body. answers: by the end of the path, without the query.

    Lists are empty and other things have number 1 otherwise.
    """

    url: str = ""
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    broken: bool = False

    def answer(self, path: str) -> Any:
        return next((said for end, said in self.answers.items() if path.endswith(end)), {"number": 1, "id": 1})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hub: Hub


class _Handler(BaseHTTPRequestHandler):
    def _told(self) -> None:
        hub = cast("_Server", self.server).hub
        path = self.path.partition("?")[0]
        hub.sent.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        hub.asked.append(f"{self.command} {path}")
        body = json.dumps({"message": "broken"} if hub.broken else hub.answer(path)).encode()
        self.send_response(422 if hub.broken else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _told  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the standard library
        del format, args


@contextmanager
def serving(hub: Hub) -> Generator[Hub]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.hub = hub
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
