"""A checkout, a home and a local cloud for one engine, and copies of them: what was brought up once serves many rows.

An `up` of a whole stack takes Google's plugin minutes, since it waits after each account; a copy takes a second.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.cloud import daemon
from bench.cloud.control import Control
from bench.embedded import EmbeddedEngine
from infra.engines import CloudName, Engine, EngineName, EngineRequest
from infra.engines.official import OfficialEngine
from infra.tools.processes import runs

ROOT = Path(__file__).resolve().parents[3]
MAKERS: Mapping[EngineName, Callable[[EngineRequest], Engine]] = {
    EngineName.LOCAL: EmbeddedEngine,
    EngineName.PULUMI: OfficialEngine,
}
_OF_A_RUN = shutil.ignore_patterns("cloud.json", "cloud.log", "*.lock", "work")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One stack, one engine that works on it, and a running local cloud of its own below `folder`."""

    engine: EngineName
    stack: str
    folder: Path
    url: str

    @property
    def root(self) -> Path:
        return self.folder / "checkout"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def control(self) -> Control:
        return Control(self.url)

    @property
    def request(self) -> EngineRequest:
        return EngineRequest(
            root=self.root, home=self.home, stack=self.stack, cloud=CloudName.LOCAL, cloud_url=self.url, parallel=16
        )

    def make(self, engine: EngineName | None = None, **options: Any) -> Engine:
        """This world's engine, or the other one on the same state. options: those of `EngineRequest`."""
        return MAKERS[engine or self.engine](replace(self.request, **options))

    @property
    def stack_file(self) -> Path:
        return self.root / "stacks" / f"Pulumi.{self.stack}.yaml"

    def edit(self, *edits: tuple[str, str]) -> None:
        """Replace texts of the stack file, each of which stands there exactly once."""
        path = self.stack_file
        text = path.read_text()
        for before, after in edits:
            assert text.count(before) == 1, f"{before!r} stands {text.count(before)} times in {path.name}"
            text = text.replace(before, after)
        path.write_text(text)

    def checkpoint(self) -> dict[str, Any]:
        """The state as its file has it; both engines write the same form."""
        path = self.home / "state" / "local" / ".pulumi" / "stacks" / "tidepool" / f"{self.stack}.json"
        return json.loads(path.read_text())["checkpoint"]["latest"]

    def nodes(self) -> dict[str, dict[str, Any]]:
        return {node["name"].rpartition("/")[2]: node for node in self.control.nodes()}


def tidepool(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the tool on a world's checkout and home."""
    environ = {**os.environ, "TIDEPOOL_ROOT": str(world.root), "TIDEPOOL_HOME": str(world.home), "COLUMNS": "300"}
    command = [sys.executable, "-m", "infra.cli", *words]
    return subprocess.run(command, cwd=ROOT, env=environ, text=True, capture_output=True, check=False)


Files = Callable[[Path], None]
"""Writes a checkout's stack files below a folder."""


def begun(folder: Path, engine: EngineName, stack: str, files: Files) -> World:
    """A world with an empty cloud and no state."""
    root, home = folder / "checkout", folder / "home"
    (root / "stacks").mkdir(parents=True)
    home.mkdir()
    shutil.copy(ROOT / "Pulumi.yaml", root)
    # The program takes the folder above its own, wherever a link leads, for the checkout.
    for name in ("images", "infra"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("LICENSE", "requirements-service.lock", ".venv"):
        (root / name).symlink_to(ROOT / name)
    files(root)
    return World(engine=engine, stack=stack, folder=folder, url=daemon.ensure_running(home).url)


def copied(world: World, folder: Path, stack: str) -> World:
    """A running copy of a world that stands still."""
    shutil.copytree(world.root, folder / "checkout", symlinks=True)
    shutil.copytree(world.home, folder / "home", ignore=_OF_A_RUN)
    running = daemon.ensure_running(folder / "home")
    return World(engine=world.engine, stack=stack, folder=folder, url=running.url)


def stopped(world: World) -> None:
    """End a world's cloud and wait for its process: until then its files are not at rest, and a copy would tear."""
    running = daemon.running(world.home)
    daemon.stop(world.home)
    while running is not None and runs(running.pid):
        time.sleep(0.02)


Pair = tuple[World, World]
"""The official engine's world, then the embedded one's."""


class Yard:
    """The worlds of one test session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[World] = []
        self._numbers = iter(range(1_000_000))

    def pair(self, stack: str, files: Files) -> Pair:
        """Empty worlds."""
        folder = self._folder / f"{next(self._numbers)}-{stack}"
        theirs = begun(folder / "official", EngineName.PULUMI, stack, files)
        ours = begun(folder / "embedded", EngineName.LOCAL, stack, files)
        self._running += (theirs, ours)
        return theirs, ours

    def copy(self, pair: Pair, stack: str) -> Pair:
        folder = self._folder / f"{next(self._numbers)}-{stack}"
        theirs, ours = (copied(world, folder / world.engine.value, stack) for world in pair)
        self._running += (theirs, ours)
        return theirs, ours

    def end(self) -> None:
        for world in self._running:
            stopped(world)
        self._running.clear()
