"""From a request to a cluster's API to its reply: who asks, which cluster and kind, faults, the verb, the answer.

Owns paths below `/kubernetes/projects/P/locations/L/clusters/C`, where a cluster is what `https://ENDPOINT` is of a
real one. Any bearer token will do, as Google's access tokens are not known here, and none is refused. The faults are
those of the local cloud: their `method` is `kubernetes.` and a verb, `project` and `zone` the cluster's, `name` the
object's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl, unquote

from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError, JsonObject
from bench.cloud.faults import FaultTarget
from bench.cloud.kubernetes import clusters, discovery, verbs
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.status import StatusError
from bench.cloud.kubernetes.verbs import KubernetesCall
from bench.cloud.kubernetes.watching import Watch
from bench.cloud.requestlog import LoggedRequest
from bench.cloud.wire import HttpRequest, Reply

_PATH: Final = re.compile(r"/kubernetes/(projects/([^/]+)/locations/([^/]+)/clusters/[^/]+)(/.*)?")
_JSON: Final = {"content-type": "application/json"}
_SINGLE: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_MANY: Final = {"GET": "list", "POST": "create"}
VERBS: Final[Mapping[str, Callable[[KubernetesCall], JsonObject]]] = {
    "get": KubernetesCall.live, "list": verbs.listed, "create": verbs.create, "update": verbs.update,
    "patch": verbs.patch, "delete": verbs.delete,
}  # fmt: skip


class _DryRun(Exception):  # noqa: N818 - undoes what was written
    pass


class KubernetesApi:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def reply(self, request: HttpRequest) -> Reply:
        """Answer one request below `clusters.BASE`, whatever it is."""
        return self._cloud.log.answered(
            request, lambda: self._cloud.now, lambda entry: self._answered(request, entry), _refused
        )

    def _answered(self, request: HttpRequest, entry: LoggedRequest) -> Reply:
        match = _PATH.fullmatch(request.path)
        if match is None:
            raise _nowhere()
        cluster, project, location, rest = match.groups(default="")
        with self._cloud.request():
            if not clusters.is_served(self._cloud, cluster):
                raise StatusError(503, f"the cluster {cluster} does not run here")
            if not request.headers.get("authorization", "").lower().startswith("bearer "):
                raise StatusError(401, "Unauthorized")
            keyspace = Keyspace(self._cloud, cluster)
            parts = [unquote(part) for part in rest.split("/") if part]
            if request.verb == "GET" and (found := discovery.answer(keyspace, parts)) is not None:
                return Reply(200, _text(found), _JSON)
            call = self._call(request, keyspace, parts)
            verb = (_SINGLE if call.name else _MANY).get(request.verb)
            if verb is None:
                raise StatusError(405, "the server does not allow this method on the requested resource")
            entry.method = f"kubernetes.{verb}"
            target = FaultTarget(method=entry.method, project=project, zone=location, name=call.name)
            error, slow, lost = self._cloud.faults.of_request(target, self._cloud.now)
        if error:
            raise StatusError(error.code, error.message or "the server is currently unable to handle the request")
        return replace(self._done(call, verb), delay=slow, broken=lost)

    def _call(self, request: HttpRequest, keyspace: Keyspace, parts: list[str]) -> KubernetesCall:
        """The request, understood. Raises 404 for a kind that is not served."""
        group, version, namespace, rest = "", "", "", []
        match parts:
            case ["api", version, *rest]:
                pass
            case ["apis", group, version, *rest]:
                pass
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural, name, subresource, *_ = *rest, "", "", ""
        served = (
            kind for kind in keyspace.kinds() if (kind.group, kind.version, kind.plural) == (group, version, plural)
        )
        kind = next(served, None)
        if kind is None or (subresource and (kind.kind, subresource) != ("Pod", "log")):
            raise _nowhere()
        query = dict(parse_qsl(request.query))
        return KubernetesCall(self._cloud, keyspace, kind, namespace, name, subresource, query, request)

    def _done(self, call: KubernetesCall, verb: str) -> Reply:
        if call.subresource:
            return Reply(200, verbs.log(call), {"content-type": "text/plain"})
        if verb == "list" and call.query.get("watch") in ("true", "1"):
            return Reply(200, b"", _JSON, stream=Watch(call))
        answer: JsonObject = {}
        with suppress(_DryRun), self._cloud.store.transaction():
            answer = VERBS[verb](call)
            if call.query.get("dryRun") == "All":
                raise _DryRun
        return Reply(201 if verb == "create" else 200, _text(answer), _JSON)


def _nowhere() -> StatusError:
    return StatusError(404, "the server could not find the requested resource")


def _refused(refusal: ApiError) -> Reply:
    told = refusal if isinstance(refusal, StatusError) else StatusError(refusal.code, refusal.message)
    return Reply(told.code, _text(told.to_json()), _JSON)


def _text(body: JsonObject) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
