"""The ASGI application: the Google APIs at the root, GitHub below `/github/`, clusters below `/kubernetes/`, the
control surface below `/_tidepool/`.

Owns sockets' side of things: reading bodies, sending replies, waiting where a fault says so, and streams, which are
read again after every other request. Requests are handled one after another in the event loop's thread, so handlers
need no locks.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from email.utils import formatdate
from functools import partial
from typing import Any, Final

from bench.cloud import github, identity, kubernetes, services, surface
from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError
from bench.cloud.gateway import Gateway
from bench.cloud.github import hub
from bench.cloud.kubernetes import clusters
from bench.cloud.kubernetes.api import KubernetesApi
from bench.cloud.requestlog import defect_of
from bench.cloud.wire import HttpRequest, Reply, Stream, refused

assert services.__all__, "handlers register themselves when their package is imported"
assert github.__all__, "so do routes"
assert kubernetes.__all__, "so do commands"


class Application:
    """`strict_answers`: see `Gateway`."""

    def __init__(self, cloud: Cloud, *, strict_answers: bool = False) -> None:
        self._clock = cloud.clock
        self._wakes: set[asyncio.Event] = set()
        # The first beginning of a path that fits says who answers.
        self._answers: tuple[tuple[str, Callable[[HttpRequest], Reply]], ...] = (
            (hub.BASE, hub.Hub(cloud).reply),
            (clusters.BASE, KubernetesApi(cloud).reply),
            (surface.BASE, partial(surface.reply, cloud)),
            (identity.CERTS, partial(identity.certs, cloud)),
            ("", Gateway(cloud, strict_answers=strict_answers).reply),
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"{scope['type']} is not served")
        request = await _request(scope, receive)
        if request is None:
            return
        reply = _stranger(request, scope["server"][1]) or self._reply(request)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.stream is None:
            await _send(reply, self._headers(reply), send)
            for wake in self._wakes:
                wake.set()
        else:
            await self._stream(reply, reply.stream, receive, send)

    async def _stream(self, reply: Reply, stream: Stream, receive: Any, send: Any) -> None:
        """What comes of a stream until its time is over or the client has gone."""
        await send({"type": "http.response.start", "status": reply.status, "headers": self._headers(reply)})
        loop, wake, gone = asyncio.get_running_loop(), asyncio.Event(), asyncio.ensure_future(receive())
        deadline = loop.time() + stream.seconds
        self._wakes.add(wake)
        try:
            while not gone.done() and (left := deadline - loop.time()) > 0:
                wake.clear()
                await send({"type": "http.response.body", "body": stream.read(), "more_body": True})
                waking = asyncio.ensure_future(wake.wait())
                await asyncio.wait([gone, waking], timeout=left, return_when=asyncio.FIRST_COMPLETED)
                waking.cancel()
        finally:
            self._wakes.discard(wake)
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})

    def _headers(self, reply: Reply) -> list[tuple[bytes, bytes]]:
        """Those of a reply, and when it was made, by the cloud's clock."""
        dated = {"date": formatdate(self._clock.read(), usegmt=True), **reply.headers}
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in dated.items()]

    def _reply(self, request: HttpRequest) -> Reply:
        """A defect of the control surface is told as the gateway and the hub tell theirs."""
        try:
            return next(reply(request) for begin, reply in self._answers if request.path.startswith(begin))
        except Exception as defect:  # noqa: BLE001 - a client reads JSON, whatever fails
            return refused(defect_of(request, defect), surface.SERVICE)


_HERE: Final = re.compile(r"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]):([0-9]{1,5})", re.IGNORECASE)
"""Host, as a program of this machine sends it: one of its own addresses, and the port."""


def _stranger(request: HttpRequest, port: int) -> Reply | None:
    """The refusal of what a page in a browser of this machine sends, None for programs.

    A page may send requests here, and read the answers too once its own name leads here (DNS rebinding). The browser
    says that name as Host, and the page's origin; programs of this machine call it by its address and say no origin.
    """
    origin = request.headers.get("origin")
    here = _HERE.fullmatch(request.root.partition("://")[2])
    if here is None or int(here[1]) != port:
        said = "The Host of this request is not an address of this machine; the local cloud serves nothing else."
    elif origin is not None and origin != request.root:
        said = "This request comes from a page of another origin, which the local cloud does not serve."
    else:
        return None
    return refused(ApiError(403, said), surface.SERVICE)


async def _request(scope: Any, receive: Any) -> HttpRequest | None:
    """None where the client was gone before it had sent all: what came of it is no request."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    parts = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    host = headers.get("host") or "{}:{}".format(*scope["server"])
    return HttpRequest(
        verb=scope["method"],
        path=scope["raw_path"].decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        data=b"".join(parts),
        root=f"{scope['scheme']}://{host}",
    )


async def _send(reply: Reply, headers: list[tuple[bytes, bytes]], send: Any) -> None:
    headers.append((b"content-length", str(len(reply.data)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.broken:
        # An answer that stays incomplete makes the server close the connection.
        await send({"type": "http.response.body", "body": reply.data[: len(reply.data) // 2], "more_body": True})
    else:
        await send({"type": "http.response.body", "body": reply.data})
