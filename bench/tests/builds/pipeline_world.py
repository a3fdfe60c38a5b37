"""Builds of the committed images on recorded tools: sources to fetch, a real registry, and the record's rules."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import urllib3
import yaml

from bench.builds.machine import TOOLS, BuildMachine
from bench.cloud.services.cloudbuild.substitutions import applied
from bench.registry import Registry, serve
from infra.model.images.cloudbuild import Site, build_config
from infra.model.images.github import build_jobs
from infra.model.images.pins import Pins, load_pins
from infra.model.images.places import places
from infra.model.images.record import built
from infra.model.images.record_documents import EMPTY, Build, Record
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.model.images.steps import bootstrap, build_steps
from infra.model.images.told import steps_digest, told_files
from infra.model.stack import load_stack
from infra.tools.install import ToolError
from tests.lacking import lacking
from tests.synthetic_lab import the_lab

RECIPES, MONOREPO = "marin-community/tidepool", "marin-community/marin"
PLACES = 3
"""Of those that are declared: where an image is pushed to, and two that it is copied to side by side."""
SITE = Site(
    project="hai-gcp-models",
    stack="ci",
    logs_bucket="hai-gcp-models-tidepool-ci-builds",
    service_account="tidepool-ci-builder@hai-gcp-models.iam.gserviceaccount.com",
    machine_type="E2_HIGHCPU_8",
    timeout=7200,
    disk_gb=200,
)
SEVERITY = "critical"
MANIFESTS = "application/vnd.oci.image.manifest.v1+json"


def committed_spec() -> ImageSpec:
    """The committed images; whether they hold the rules is asked elsewhere."""
    return ImageSpec.model_validate(yaml.safe_load((the_lab() / SPEC_FILE).read_text()))


def commit(number: int) -> str:
    """No two alike in the twelve digits that a tag has."""
    return f"{number:012x}".ljust(40, "0")


def start_registry(folder: Path) -> Registry:
    """A registry, or a skipped test where this machine has neither crane nor Go."""
    try:
        return serve(folder)
    except ToolError as error:
        lacking(str(error))


class Recorder:
    """`./tidepool images` as the steps call it: the record's own rules, and every place asked first."""

    def __init__(self, registry: str) -> None:
        self.record: Record = EMPTY
        self.registry = registry
        self.writes: list[str] = []
        self.world: World | None = None
        self._lock = threading.Lock()
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, text = recorder.answer(urlsplit(self.path).path, parse_qs(urlsplit(self.path).query))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has
                del format, args

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, query: Mapping[str, list[str]]) -> tuple[int, str]:
        name = query["image"][0]
        if path == "/steps" and self.world is not None:
            return self.world.tell(name, query["builder"][0], query["digest"][0], Path(query["to"][0]))
        with self._lock:
            if path == "/current":
                known = self.record.images.get(name)
                return (200, f"{known.current.digest}\n") if known else (404, "")
            build = Build.model_validate_json(Path(query["build"][0]).read_text())
            for document in ("sbom", "provenance"):
                json.loads(Path(query[document][0]).read_text())
            for place in build.places:
                if not digest_at(self.registry, place, build.digest):
                    return 409, f"{place} lacks {build.digest}"
            self.record, outcome = built(self.record, name, build)
            self.writes.append(name)
            current = self.record.images[name].current.digest
        return 200, json.dumps({"outcome": outcome, "current": current}, indent=2)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def digest_at(registry: str, place: str, reference: str) -> str | None:
    """What a tag or a digest is at a place; None where it is not there."""
    url = f"http://{registry}/v2/{place}/manifests/{reference}"
    answer = urllib3.request("HEAD", url, headers={"Accept": MANIFESTS}, retries=False)
    return answer.headers.get("Docker-Content-Digest")


def tree(folder: Path, address: tuple[str, int]) -> Path:
    """The recipes as a checkout has them, with a `tidepool` that asks the recorder."""
    folder.mkdir()
    (folder / "images").symlink_to(the_lab() / "images")
    launcher = folder / "tidepool"
    launcher.write_text(
        '#!/bin/sh\nset -eu\n. "${TIDEPOOL_TOOLS}/recorded.sh"\n[ "$1" != --help ] || exit 0\ncalled "$@"\n'
        'case $2 in\n  steps) query="steps?image=$3&builder=$BUILDER&digest=$5&to=$7" ;;\n'
        '  current) query="current?image=$3" ;;\n'
        '  record) query="record?image=$3&build=$5&sbom=$7&provenance=$9" ;;\nesac\n'
        f'exec curl -sS --fail-with-body "http://{address[0]}:{address[1]}/$query"\n'
    )
    launcher.chmod(0o755)
    return folder


@dataclass(kw_only=True)
class World:
    """One machine, with everything that builds need."""

    machine: BuildMachine
    recorder: Recorder
    spec: ImageSpec
    pins: Pins
    places: Mapping[str, tuple[str, ...]]
    monorepo: Path
    started: int = field(default=0)

    def calls(self) -> list[tuple[str, str, str]]:
        """Every call of a tool so far: step, tool, arguments."""
        lines = (line.split("\t", 2) for line in self.machine.calls_file.read_text().splitlines())
        return [(step, tool, arguments) for step, tool, arguments in lines]

    @property
    def record(self) -> Record:
        return self.recorder.record

    def push(self, number: int, files: Mapping[str, str] | None = None) -> str:
        """A commit of the monorepo, made at second 1,760,000,000 + number."""
        for name, text in (files or {}).items():
            (self.monorepo / name).write_text(text)
        self.machine.offer(MONOREPO, self.monorepo, {commit(number): 1_760_000_000 + number})
        return commit(number)

    def config(self, image: str, revision: str = "") -> dict[str, Any]:
        """The build as its queue has it: with variables filled in."""
        self.started += 1
        body = build_config(
            self.spec, self.pins, image, places=self.places, site=SITE, bootstrap=bootstrap(the_lab()),
            revisions={MONOREPO: "$COMMIT_SHA"},
        )  # fmt: skip
        values = {**body["substitutions"], "_SOURCE_REVISION": revision, "BUILD_ID": f"build-{self.started}"}
        return applied(body, values)

    def jobs(self) -> dict[str, dict[str, Any]]:
        return build_jobs(
            self.spec, self.pins, places=self.places, timeout=SITE.timeout,
            bootstrap=bootstrap(the_lab()), revisions={MONOREPO: "${{ github.sha }}"},
        )  # fmt: skip

    def tell(self, image: str, builder: str, digest: str, folder: Path) -> tuple[int, str]:
        """What `images steps` does: the recipes that were fetched are this world's own."""
        made = self.spec.family(image) if builder == "cloudbuild" else (self.spec.image(image),)
        now = steps_digest(self.spec, made, build_steps(self.spec, self.pins, made, self.places), bootstrap(the_lab()))
        if digest != now:
            return 409, f"the steps that run were declared from other recipes: {digest}, now {now}\n"
        folder.mkdir(parents=True)
        for step, text in told_files(build_steps(self.spec, self.pins, made, self.places, severity=SEVERITY)).items():
            (folder / step).write_text(text)
        return 200, ""

    def lacking(self) -> list[str]:
        """Every place that lacks a digest which the record names: what must never be."""
        return [
            f"{place}@{build.digest}"
            for image in self.record.images.values()
            for build in image.builds()
            for place in build.places
            if not digest_at(self.machine.registry, place, build.digest)
        ]

    def tags(self, image: str) -> set[str | None]:
        return {digest_at(self.machine.registry, place, "latest") for place in self.places[image]}


def world(folder: Path, registry: str, spec: ImageSpec) -> World:
    stacks = {name: load_stack(the_lab(), name) for name in ("ci", "training")}
    recorder = Recorder(registry)
    machine = BuildMachine(folder=folder / "machine", registry=registry, env={"TIDEPOOL_TOOLS": str(TOOLS)})
    recipes = tree(folder / "recipes", ("127.0.0.1", recorder.server.server_port))
    machine.offer(RECIPES, recipes, {commit(0xABC): 1_750_000_000})
    monorepo = folder / "monorepo"
    monorepo.mkdir()
    found = World(
        machine=machine, recorder=recorder, spec=spec, pins=load_pins(the_lab()), monorepo=monorepo,
        places={image.name: places(image, stacks)[:PLACES] for image in spec.images},
    )  # fmt: skip
    recorder.world = found
    found.push(1, {"uv.lock": "version = 1\n"})
    return found
