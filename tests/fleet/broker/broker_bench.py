"""What a broker does in a second: `python -m tests.fleet.broker.broker_bench [VMS]`. Prints figures, judges nothing.

The broker, the local cloud with its GitHub, and the callers are three processes on the cores of the machine; what is
measured is all of them together. Refusals of forged tokens ask nobody but the broker.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from bench.cloud import daemon
from bench.cloud.github.control import GitHubControl
from bench.operations.github import keep_served, local_app
from infra.fleet.broker.decide import APART
from infra.fleet.broker.serve import serve
from infra.fleet.broker.settings import BrokerSettings
from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.model import bucket_names
from infra.model.clock import machine_clock
from tests.fleet.broker.broker_world import BUCKET, MEMBER_ACCOUNT, PROJECT, REPO, STACK, slot

CALLERS, REFUSALS = 16, 2000
PORT = 8399


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        url = daemon.ensure_running(home).url
        hub = GitHubControl(url)
        settings = prepared(url, hub, [f"tpu-ci-{index}" for index in range(count)])
        broker = multiprocessing.get_context("spawn").Process(target=served, args=[settings], daemon=True)
        broker.start()
        try:
            measure(hub, settings, broker.pid or 0, count)
        finally:
            broker.kill()
            daemon.stop(home)


def prepared(url: str, hub: GitHubControl, vms: Sequence[str]) -> BrokerSettings:
    keep_served(hub, [REPO], ())
    app = local_app(url, PROJECT, slug="bench", account=REPO.partition("/")[0])
    with clients(PROJECT, url) as google:
        body = {"name": BUCKET, "location": "us"}
        execute(google.api(Api.STORAGE).buckets().insert(project=PROJECT, body=body), "making a bucket")
        manifest = {"version": 1, "stack": STACK, "slots": [slot(vm) for vm in vms]}
        Records(google=google, bucket=BUCKET).update(bucket_names.manifest_object(STACK), lambda _: manifest)
    for vm in vms:
        node = {
            "acceleratorType": "v5litepod-4",
            "runtimeVersion": "v2-alpha-tpuv5-lite",
            "labels": {"tidepool-stack": STACK, "tidepool-pool": "tpu-ci"},
            "serviceAccount": {"email": MEMBER_ACCOUNT},
        }
        hub.add_node(f"projects/{PROJECT}/locations/us-west4-a/nodes/{vm}", node)
    return BrokerSettings(
        stack=STACK,
        audience=f"http://127.0.0.1:{PORT}",
        project=PROJECT,
        bucket=BUCKET,
        app=str(app.id),
        installation=str(app.installation),
        key_secret=app.key_secret,
        groups={},
        github_api=app.api,
        google_endpoint=url,
        keys_url=f"{url}/oauth2/v3/certs",
    )


def served(settings: BrokerSettings) -> None:
    serve(settings, lambda _: None, host="127.0.0.1", port=PORT, clock=machine_clock)


def measure(hub: GitHubControl, settings: BrokerSettings, broker: int, count: int) -> None:
    tokens = [hub.identity_token(f"tpu-ci-{index}", settings.audience) for index in range(count)]
    until_it_answers()
    warm = memory(broker)
    grants = timed([(token, f"tpu-ci-{index}") for index, token in enumerate(tokens)])
    tell("first registrations granted", grants)
    tell("used tokens refused", timed([(token, f"tpu-ci-{index}") for index, token in enumerate(tokens)]))
    # No VM may come again sooner.
    time.sleep(APART.total_seconds() + 1)
    again = [hub.identity_token(f"tpu-ci-{index}", settings.audience) for index in range(count)]
    tell("later registrations granted", timed([(token, f"tpu-ci-{index}") for index, token in enumerate(again)]))
    forged = tokens[0][:-8] + "AAAAAAAA"
    tell("forged tokens refused", timed([(forged, "tpu-ci-0")] * REFUSALS))
    sys.stdout.write(f"memory of the broker: {warm} MB at its start, {memory(broker)} MB after all of this\n")


def timed(asked: Sequence[tuple[str, str]]) -> tuple[float, list[float], dict[int, int]]:
    began = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as pool:
        answers = list(pool.map(lambda one: ask(*one), asked))
    statuses = [status for status, _ in answers]
    counted = {status: statuses.count(status) for status in sorted(set(statuses))}
    return time.perf_counter() - began, sorted(seconds for _, seconds in answers), counted


def ask(token: str, vm: str) -> tuple[int, float]:
    """A caller is a VM: each has a connection of its own."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    body = json.dumps({"stack": STACK, "vm": vm, "pool": "tpu-ci"})
    connection.request("POST", "/v1/registrations", body, headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status, time.perf_counter() - began


def tell(what: str, measured: tuple[float, list[float], dict[int, int]]) -> None:
    seconds, each, statuses = measured
    median, slow = each[len(each) // 2] * 1000, each[len(each) * 99 // 100] * 1000
    rate = len(each) / seconds
    sys.stdout.write(
        f"{what}: {rate:.0f} a second, median {median:.0f} ms, p99 {slow:.0f} ms, {len(each)} by {CALLERS} callers, "
        f"statuses {statuses}\n"
    )


def until_it_answers() -> None:
    parts = urlsplit(f"http://127.0.0.1:{PORT}")
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            connection.close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the broker does not answer")


def memory(process: int) -> int:
    """Resident megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
