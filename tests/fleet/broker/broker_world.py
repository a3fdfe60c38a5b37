"""A broker at a real port, beside a local cloud whose clock only the test moves."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import socket
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from bench.cloud.control import Control
from bench.cloud.testing import TestCloud, running_cloud
from infra.fleet.broker.refusals import Reason
from infra.fleet.broker.serve import server_config, service
from infra.fleet.broker.service import Service
from infra.fleet.broker.settings import BrokerSettings
from infra.fleet.controller.by_broker import BrokerApi
from infra.fleet.google import Api, Clients, clients, execute
from infra.fleet.records import Records
from infra.model import bucket_names

PROJECT, BUCKET, STACK = "a-lab", "a-lab-tidepool-ci", "ci"
REPO, OTHER_REPO = "lab/monorepo", "lab/engine"
VM, SECOND, ROAMING, FORK, SHARED = (
    "tpu-ci-us-west4-a-0",
    "tpu-ci-us-west4-a-1",
    "tpu-ci-us-east1-c-0",
    "fork-0",
    "two-1",
)
MEMBER_ACCOUNT, FORK_ACCOUNT, SHARED_ACCOUNT = (
    f"{name}@a-lab.iam.gserviceaccount.com" for name in ("ci", "fork", "two")
)
CONTROLLER = "tidepool-ci-controller@a-lab.iam.gserviceaccount.com"
ADMIN = "a-person"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def reason(self) -> str:
        return self.body["reason"]


class Host:
    """One server for all worlds: starting and ending one takes longer than most tests."""

    def __init__(self) -> None:
        self.application: Any = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        config = server_config(self._serve, host="127.0.0.1", port=0)
        config.load()
        self.server = uvicorn.Server(config)
        threading.Thread(target=asyncio.run, args=[self._run()], daemon=True).start()
        while not self.server.started:
            time.sleep(0.001)

    async def _run(self) -> None:
        # Signals are the main thread's.
        await self.server._serve([self._listener])

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        await self.application(scope, receive, send)


@dataclass(kw_only=True)
class World:
    cloud: TestCloud
    hub: Control
    google: Clients
    settings: BrokerSettings
    app: dict[str, Any]
    host: Host
    lines: list[dict[str, Any]] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)

    # The world around

    @property
    def records(self) -> Records:
        return Records(google=self.google, bucket=BUCKET)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.cloud.wall.seconds, tz=UTC)

    def wait(self, seconds: float) -> None:
        self.cloud.wall.advance(seconds)

    def add_vm(self, vm: str, *, zone: str = "us-west4-a", pool: str = "tpu-ci", account: str = MEMBER_ACCOUNT) -> None:
        node = {
            "acceleratorType": "v5litepod-4",
            "runtimeVersion": "v2-alpha-tpuv5-lite",
            "labels": {"tidepool-managed": "true", "tidepool-stack": STACK, "tidepool-pool": pool},
            "serviceAccount": {"email": account},
            "schedulingConfig": {"preemptible": True},
        }
        self.cloud.control.add_node(f"projects/{PROJECT}/locations/{zone}/nodes/{vm}", node)

    def store_key(self, pem: str) -> None:
        payload = {"payload": {"data": base64.b64encode(pem.encode()).decode()}}
        versions = self.google.api(Api.SECRETS).projects().secrets()
        execute(versions.addVersion(parent=f"projects/{PROJECT}/secrets/app-key", body=payload), "storing a key")

    def write(self, name: str, body: Mapping[str, Any]) -> None:
        self.records.update(name, lambda _: body)

    def binding(self, vm: str = VM) -> Mapping[str, Any]:
        record = self.records.read(bucket_names.binding_object(STACK, vm))
        assert record is not None
        return record.body

    def runners(self, scope: str = f"repos/{REPO}") -> list[dict[str, Any]]:
        parts = urlsplit(self.hub.api)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        connection.request("GET", f"{parts.path}/{scope}/actions/runners", headers={"authorization": f"token {ADMIN}"})
        found = json.loads(connection.getresponse().read())["runners"]
        connection.close()
        return found

    def calls(self, method: str) -> int:
        """How often the local cloud or GitHub was asked this."""
        return sum(entry["method"] == method for entry in self.cloud.control.log(limit=20_000))

    # The broker

    def start(self, **changes: Any) -> Service:
        """Another broker takes the place of the one that serves. changes: of its settings."""
        made = service(replace(self.settings, **changes), self.lines.append, clock=self.now)
        self.services.append(made)
        self.host.application = made
        return made

    def token(self, vm: str = VM, audience: str | None = None, **more: Any) -> str:
        """What the VM's metadata server gives. Each is another one: a second goes by."""
        self.wait(1)
        return self.cloud.control.identity_token(vm, audience or self.settings.audience, **more)

    def api(self) -> BrokerApi:
        """What the controller itself calls with."""
        return BrokerApi(
            stack=STACK,
            address=lambda: self.settings.audience,
            token=lambda audience: self.cloud.control.account_token(CONTROLLER, audience),
        )

    def errand(self, path: str, *, verb: str = "GET", token: str | None = None) -> Reply:
        """What the controller asks for, as the controller where no token is given."""
        given = self.cloud.control.account_token(CONTROLLER, self.settings.audience) if token is None else token
        return self.send(b"", token=given, verb=verb, path=path)

    def ask(self, vm: str = VM, pool: str = "tpu-ci", *, token: str | None = None, stack: str = STACK) -> Reply:
        body = json.dumps({"stack": stack, "vm": vm, "pool": pool}).encode()
        return self.send(body, token=self.token(vm) if token is None else token)

    def send(self, body: bytes, *, token: str = "x.y.z", verb: str = "POST", **headers: str) -> Reply:
        path = headers.pop("path", "/v1/registrations")
        sent = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        parts = urlsplit(self.host.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        connection.request(verb, path, body, sent)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        told = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, told, json.loads(content or b"null"))


def refused(world: World, reply: Reply, reason: Reason) -> None:
    """The reason, its status and its words; told in the audit; and GitHub has no runner."""
    assert (reply.status, reply.body) == (reason.status, {"reason": reason.word, "message": reason.told})
    assert [line["reason"] for line in world.lines][-1:] == [reason.word]
    assert world.runners() == []


def slot(vm: str, *, pool: str = "tpu-ci", account: str = MEMBER_ACCOUNT, **more: Any) -> dict[str, Any]:
    """As much of a slot of the manifest as the broker reads."""
    return {
        "name": vm,
        "zone": "us-west4-a",
        "pool": pool,
        "index": int(vm.rpartition("-")[2]),
        "trust": "member",
        "serves": [REPO],
        "runner_labels": ["tpu", "self-hosted", pool],
        "service_account": account,
        **more,
    }


def manifest() -> dict[str, Any]:
    slots = [
        slot(VM),
        slot(SECOND),
        slot(ROAMING, zone="us-east1-c", fallbacks=[{"zone": "europe-west4-b"}]),
        slot(FORK, pool="fork", account=FORK_ACCOUNT, trust="fork"),
        slot(SHARED, pool="two", account=SHARED_ACCOUNT, serves=[REPO, OTHER_REPO]),
    ]
    return {"version": 1, "stack": STACK, "project": PROJECT, "slots": slots}


@contextmanager
def a_world(host: Host) -> Generator[World]:
    with running_cloud() as cloud, clients(PROJECT, cloud.url) as google:
        hub = Control(cloud.url)
        hub.add_token(ADMIN, "octo")
        hub.add_repository(REPO)
        hub.add_repository(OTHER_REPO)
        permissions = {"administration": "write", "organization_self_hosted_runners": "write", "actions": "read"}
        app = hub.add_app("tidepool", account="lab", permissions=permissions)
        settings = BrokerSettings(
            stack=STACK,
            audience=host.url,
            project=PROJECT,
            bucket=BUCKET,
            app=str(app["id"]),
            installation=str(app["installation"]),
            key_secret=f"projects/{PROJECT}/secrets/app-key/versions/latest",
            groups={},
            github_api=hub.api,
            google_endpoint=cloud.url,
            keys_url=f"{cloud.url}/oauth2/v3/certs",
        )
        world = World(cloud=cloud, hub=hub, google=google, settings=settings, app=app, host=host)
        body = {"name": BUCKET, "location": "us", "versioning": {"enabled": True}}
        execute(google.api(Api.STORAGE).buckets().insert(project=PROJECT, body=body), "making a bucket")
        secrets = google.api(Api.SECRETS).projects().secrets()
        body = {"replication": {"automatic": {}}}
        execute(secrets.create(parent=f"projects/{PROJECT}", secretId="app-key", body=body), "making a secret")
        world.store_key(app["key"])
        world.write(bucket_names.manifest_object(STACK), manifest())
        world.add_vm(VM)
        world.start()
        try:
            yield world
        finally:
            host.application = None
            for each in world.services:
                each.close()
