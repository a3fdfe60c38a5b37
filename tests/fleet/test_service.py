"""The fleet service as its image has it: the rooms that are copied there, and no package beyond its lock."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from bench.cloud.control import Control
from bench.cloud.testing import TestCloud
from bench.cloud.tokens import new_key, signed
from infra.fleet.broker import settings
from infra.fleet.controller.lookout import LOOK_SECONDS
from infra.fleet.google import Api, clients, execute
from infra.fleet.place import BROKER, TOKEN
from infra.fleet.records import Records
from infra.fleet.service import main
from infra.fleet.sweep_log import JOB, logged_sweeps
from infra.model import bucket_names
from infra.model.fleet import slots
from infra.model.node import node_spec
from tests.fleet.declared_records import declare
from tests.fleet.test_identity_token import Metadata
from tests.model.given import parse, pool, stack_text

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "a-lab/code"
IGNORE = ROOT / "images/controller/Dockerfile.dockerignore"
LOCK = ROOT / "requirements-service.lock"

ONLY = """\
import re, runpy, sys
from importlib.abc import MetaPathFinder
from importlib.metadata import packages_distributions

locked = {{line.partition("==")[0] for line in open({lock!r}) if re.match(r"[a-z0-9]", line)}}
owners = packages_distributions()


class Only(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        found = {{re.sub(r"[-_.]+", "-", each).lower() for each in owners.get(name.partition(".")[0], ())}}
        if found and not found & locked:
            raise ModuleNotFoundError(f"the image has no {{name}}", name=name)


sys.meta_path.insert(0, Only())
sys.path.insert(0, {rooms!r})
sys.argv = ["service", *sys.argv[1:]]
runpy.run_module("infra.fleet.service", run_name="__main__", alter_sys=True)
"""
"""Runs the service where the packages of a lock alone can be imported."""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image has of this project, and a script that starts the service there."""
    folder = tmp_path_factory.mktemp("image")
    for pattern in re.findall(r"(?m)^!(infra/.*)$", IGNORE.read_text()):
        for path in ROOT.glob(pattern.replace("/**", "/**/*")):
            if path.is_file() and "__pycache__" not in path.parts:
                target = folder / "rooms" / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    (folder / "start.py").write_text(ONLY.format(lock=str(LOCK), rooms=str(folder / "rooms")))
    return folder


def start(image: Path, *arguments: str, environ: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", image / "start.py", *arguments],
        cwd=image, env={"PATH": os.environ["PATH"], **environ}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ran(image: Path, *arguments: str, environ: Mapping[str, str]) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, the lines of stdout, and stderr."""
    with start(image, *arguments, environ=environ) as process:
        said, complained = process.communicate(timeout=60)
    return process.returncode, [json.loads(line) for line in said.splitlines()], complained


@pytest.fixture
def fleet(cloud: TestCloud) -> dict[str, str]:
    """The environment of a service whose fleet of two VMs stands in the local cloud, as its manifest says."""
    config = parse(stack_text(pools=pool(zones="{us-west4-a: 2}", serves=f"[{REPOSITORY}]")))
    github = Control(cloud.url)
    github.add_repository(REPOSITORY)
    github.add_token("of-ada", "ada")
    for slot in slots(config):
        path = f"projects/{config.project}/locations/{slot.zone}/nodes/{slot.name}"
        cloud.control.add_node(path, node_spec(config, slot).to_api())
    with clients(config.project, cloud.url) as google:
        body = {"name": config.bucket.name}
        execute(google.api(Api.STORAGE).buckets().insert(project=config.project, body=body), "making the bucket")
        declare(google, config)
    return {
        settings.PROJECT: config.project,
        settings.BUCKET: config.bucket.name,
        settings.GOOGLE_ENDPOINT: cloud.url,
        settings.GITHUB_API: github.api,
        TOKEN: "of-ada",
    }


@pytest.mark.parametrize(
    "arguments",
    [("controller", "ci"), ("reconcile", "ci", "--cloud", "google", "--yes", "--log", "json")],
    ids=["today's arguments", "those that stacks declare"],
)
def test_the_controller_sweeps_once_by_the_manifest_and_says_so_in_lines(
    image: Path, fleet: dict[str, str], cloud: TestCloud, arguments: tuple[str, ...]
) -> None:
    code, lines, complained = ran(image, *arguments, environ=fleet)
    assert complained == ""
    assert [line for line in lines if line["severity"] == "ERROR"] == []
    assert code == 0
    (told,) = (line for line in lines if line["event"] == "pool")
    assert (told["desired"], told["ready"], told["online"], told["queue"]) == (2, 2, 0, 0)
    with clients(fleet[settings.PROJECT], cloud.url) as google:
        records = Records(google=google, bucket=fleet[settings.BUCKET])
        ordered = [line["subject"] for line in lines if line["event"] == "action"]
        assert len(ordered) == 2
        assert all(records.read(bucket_names.orders_object(vm)) for vm in ordered)
        assert records.read(bucket_names.sweep_object("ci"))


def test_in_a_job_of_cloud_run_it_looks_until_the_next_one_and_sweeps_where_a_vm_is_lost(
    fleet: dict[str, str], cloud: TestCloud
) -> None:
    lines: list[dict[str, Any]] = []
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        cloud.control.advance(seconds)
        if len(waited) == 3:
            cloud.control.preempt(cloud.control.nodes()[0]["name"])

    environ = {**fleet, JOB: "tidepool-ci-controller"}
    logged_sweeps("ci", environ, lambda line: lines.append(json.loads(line)), pause)
    assert [line["event"] for line in lines].count("sweep") >= 2
    assert "recreate" in [line["do"] for line in lines if line["event"] == "action"]
    assert waited[:3] == [LOOK_SECONDS] * 3


class MetadataAndBroker(Metadata):
    """Google's metadata server, and a broker that knows no runner and no job. answers: once it is set."""

    answers: threading.Event

    def do_GET(self) -> None:  # noqa: N802 - the library's name
        if not self.path.startswith("/v1/"):
            super().do_GET()
            return
        self.asked.append(f"{self.path.partition('?')[0]} {self.headers['Authorization']}")
        self.answers.wait(30)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"scopes": [], "jobs": [], "running": []}).encode())


@pytest.fixture
def cloud_run(fleet: dict[str, str], tmp_path: Path) -> Iterator[tuple[type[MetadataAndBroker], dict[str, str]]]:
    """What answers a job of Cloud Run, and the job's environment, which has no token of GitHub's."""

    class Mine(MetadataAndBroker):
        asked: list[str] = []  # noqa: RUF012 - of one test
        answers = threading.Event()
        token = signed(new_key(), {"aud": "the broker", "exp": 4_000_000_000, "iat": 1_700_000_000}, kid="k")

    with ThreadingHTTPServer(("127.0.0.1", 0), Mine) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        host = f"127.0.0.1:{server.server_port}"
        metadata = {"GCE_METADATA_HOST": host, "GCE_METADATA_IP": host, "CLOUDSDK_CONFIG": str(tmp_path)}
        yield Mine, {**fleet, **metadata, BROKER: f"http://{host}", TOKEN: ""}
        Mine.answers.set()
        server.shutdown()


def test_the_controller_asks_the_broker_as_the_account_that_it_runs_as(
    image: Path, cloud_run: tuple[type[MetadataAndBroker], dict[str, str]]
) -> None:
    mine, environ = cloud_run
    mine.answers.set()
    code, lines, complained = ran(image, "controller", "ci", environ=environ)
    assert complained == ""
    assert code == 0
    assert [line["online"] for line in lines if line["event"] == "pool"] == [0]
    assert {each for each in mine.asked if each.startswith("/v1/")} == {
        f"/v1/runners Bearer {mine.token}",
        f"/v1/queue Bearer {mine.token}",
    }


def test_a_sweep_that_sigterm_ends_says_so_and_gives_its_lease_back(
    image: Path, cloud_run: tuple[type[MetadataAndBroker], dict[str, str]]
) -> None:
    mine, environ = cloud_run
    with start(image, "controller", "ci", environ=environ) as process:
        until = monotonic() + 60
        while not any(each.startswith("/v1/") for each in mine.asked) and monotonic() < until:
            sleep(0.02)
        process.send_signal(signal.SIGTERM)
        mine.answers.set()
        said, complained = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert complained.startswith("Interrupted in a sweep: what it had asked of Google and GitHub goes on there")
    again = ran(image, "controller", "ci", environ=environ)
    assert again[0] == 0, str(again)


@pytest.mark.parametrize(
    "arguments",
    [("broker", "ci"), ("broker", "serve", "ci", "--cloud", "google", "--host", "127.0.0.1", "--json")],
    ids=["today's arguments", "those that stacks declare"],
)
def test_the_broker_answers_tells_its_decision_and_ends_with_sigterm(
    image: Path, fleet: dict[str, str], arguments: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {
        **fleet,
        settings.AUDIENCE: "https://broker.example.com",
        settings.APP: "12",
        settings.INSTALLATION: "34",
        settings.KEY_SECRET: f"projects/{fleet[settings.PROJECT]}/secrets/app-key/versions/latest",
        "PORT": str(port),
    }
    with start(image, *arguments, environ=environ) as process:
        status = _asked(f"http://127.0.0.1:{port}/v1/registrations", process)
        process.send_signal(signal.SIGTERM)
        said, complained = process.communicate(timeout=60)
    assert status == 401
    assert (process.returncode, complained) == (0, "")
    assert [json.loads(line)["outcome"] for line in said.splitlines()] == ["refused"]


def _asked(url: str, process: subprocess.Popen[str]) -> int:
    """The status of an answer to a request without a token, once somebody listens."""
    request = urllib.request.Request(url, data=b"{}", headers={"Content-Type": "application/json"})
    until = monotonic() + 60
    while monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except urllib.error.URLError:
            sleep(0.02)
    return 0


# What is wrong


def test_everything_that_the_environment_lacks_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["controller", "ci"], {}) == 2
    said = capsys.readouterr().err
    assert settings.PROJECT in said
    assert settings.BUCKET in said


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", "٣"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        main(["broker", "ci"], {"PORT": port})
    assert "is not a port; write a number from 1 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["up", "ci"],
        ["reconcile", "ci"],
        ["reconcile", "ci", "--cloud", "local", "--yes", "--log", "json"],
        ["broker", "serve", "ci"],
    ],
)
def test_other_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments, {})
    assert refused.value.code == 2
