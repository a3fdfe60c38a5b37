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
from dataclasses import replace
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote

from bench.cloud.cloud import Cloud
from bench.cloud.errors import ApiError
from bench.cloud.faults import FaultTarget
from bench.cloud.kubernetes import clusters, deletes, discovery, pods, verbs
from bench.cloud.kubernetes.keyspace import Keyspace
from bench.cloud.kubernetes.status import StatusError
from bench.cloud.kubernetes.verbs import KubernetesCall
from bench.cloud.kubernetes.watching import Watch
from bench.cloud.requestlog import LoggedRequest
from bench.cloud.wire import HttpRequest, Reply

JsonObject = dict[str, Any]
Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

_PATH: Final = re.compile(r"/kubernetes/(projects/([^/]+)/locations/([^/]+)/clusters/[^/]+)(/.*)?")
_JSON: Final = {"content-type": "application/json"}
_HEALTH: Final = ("healthz", "livez", "readyz")
_SINGLE: Final[Mapping[str, Verb]] = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_MANY: Final[Mapping[str, Verb]] = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


class _DryRunEnd(Exception):  # noqa: N818 - it carries an answer past the writes that are undone
    def __init__(self, answer: JsonObject) -> None:
        super().__init__()
        self.answer = answer


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
            raise StatusError(404, "the server could not find the requested resource")
        cluster, project, location, rest = match.groups(default="")
        with self._cloud.request():
            if not clusters.is_served(self._cloud, cluster):
                raise StatusError(503, f"the cluster {cluster} does not run here")
            if not request.headers.get("authorization", "").lower().startswith("bearer "):
                raise StatusError(401, "Unauthorized")
            keyspace = Keyspace(self._cloud, cluster)
            parts = [unquote(part) for part in rest.split("/") if part]
            if request.verb == "GET" and parts and parts[0] in _HEALTH:
                return Reply(200, b"ok", {"content-type": "text/plain"})
            if request.verb == "GET" and (found := discovery.answer(keyspace, parts)) is not None:
                return Reply(200, _text(found), _JSON)
            call = self._call(request, keyspace, parts)
            verb = _verb(request, call)
            entry.method = f"kubernetes.{verb}"
            target = FaultTarget(method=entry.method, project=project, zone=location, name=call.name)
            error, slow, lost = self._cloud.faults.of_request(target, self._cloud.now)
        if error:
            raise StatusError(error.code, error.message or "the server is currently unable to handle the request")
        return replace(self._done(call, verb), delay=slow, broken=lost)

    def _call(self, request: HttpRequest, keyspace: Keyspace, parts: list[str]) -> KubernetesCall:
        """The request, understood. Raises 404 for a kind that is not served."""
        head = parts[0] if parts else ""
        group, version, rest = ("", *_split(parts[1:])) if head == "api" else (*_pair(parts[1:]), parts[3:])
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
        kind = keyspace.kind_at(group, version, rest[0]) if rest and head in ("api", "apis") else None
        if kind is None or len(rest) > 3:
            raise StatusError(404, "the server could not find the requested resource")
        name, subresource = _pair(rest[1:])
        if (
            subresource
            and not (subresource == "status" and kind.status)
            and (kind.kind, subresource) not in pods.SERVED
        ):
            raise StatusError(
                404, f"the server could not find the requested resource ({subresource} of {kind.resource})"
            )
        return KubernetesCall(
            cloud=self._cloud,
            keyspace=keyspace,
            kind=kind,
            namespace=namespace,
            name=name,
            subresource=subresource,
            query=dict(parse_qsl(request.query, keep_blank_values=True)),
            data=request.data,
            content_type=request.headers.get("content-type", "").partition(";")[0].strip(),
            agent=request.headers.get("user-agent", ""),
        )

    def _done(self, call: KubernetesCall, verb: Verb) -> Reply:
        if (call.kind.kind, call.subresource) in pods.SERVED:
            with self._cloud.store.transaction():
                return pods.SERVED[call.kind.kind, call.subresource](call)
        if verb == "watch":
            return Reply(200, b"", _JSON, stream=Watch(call))
        with self._cloud.store.transaction():
            answer = self._tried(call, VERBS[verb]) if call.dry else VERBS[verb](call)
        told = {"warning": ", ".join(f'299 - "{_quoted(each)}"' for each in call.warnings)} if call.warnings else {}
        return Reply(201 if verb == "create" else 200, _text(answer), {**_JSON, **told})

    def _tried(self, call: KubernetesCall, act: Callable[[KubernetesCall], JsonObject]) -> JsonObject:
        """What a write would answer, with nothing written."""
        try:
            with self._cloud.store.attempt():
                _end_dry(act(call))
        except _DryRunEnd as end:
            return end.answer
        raise AssertionError("a dry run always ends so")


def _end_dry(answer: JsonObject) -> None:
    raise _DryRunEnd(answer)


VERBS: Final[Mapping[str, Callable[[KubernetesCall], JsonObject]]] = {
    "get": verbs.get, "list": verbs.listed, "create": verbs.create, "update": verbs.update, "patch": verbs.patch,
    "delete": deletes.delete, "deletecollection": deletes.delete_all,
}  # fmt: skip


def _verb(request: HttpRequest, call: KubernetesCall) -> Verb:
    """Raises 405."""
    watching = call.query.get("watch") in ("true", "1")
    found = (_SINGLE if call.name else _MANY).get(request.verb)
    if (call.kind.kind, call.subresource) in pods.SERVED:
        return "get" if request.verb == "GET" else "create"
    if found is None:
        raise StatusError(405, "the server does not allow this method on the requested resource")
    return "watch" if watching and found == "list" else found


def _pair(parts: list[str]) -> tuple[str, str]:
    return (parts[0] if parts else ""), (parts[1] if len(parts) > 1 else "")


def _split(parts: list[str]) -> tuple[str, list[str]]:
    return (parts[0] if parts else ""), parts[1:]


def _refused(refusal: ApiError) -> Reply:
    told = refusal if isinstance(refusal, StatusError) else StatusError(refusal.code, refusal.message)
    return Reply(told.code, _text(told.to_json()), _JSON)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _text(body: JsonObject) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
