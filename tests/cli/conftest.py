"""A checkout of its own for commands to work on: the committed stack files, a home, a local cloud when one starts."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.cloud import daemon
from infra.cli.app import cli
from tests.synthetic_lab import lend

ROOT = Path(__file__).resolve().parents[2]
BARE = {"PATH": "", "PULUMI_BACKEND_URL": "", "NO_COLOR": "1", "COLUMNS": "80", "TERM": "dumb"}
"""A machine without the pulumi CLI, so that auto means the embedded engine."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A copy of the stack files, and the commands run on it in this process."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / ".tidepool"

    @property
    def environ(self) -> dict[str, str]:
        folders = {"TIDEPOOL_ROOT": self.root, "TIDEPOOL_HOME": self.home, "HOME": self.root}
        return BARE | {name: str(folder) for name, folder in folders.items()}

    def run(self, *arguments: str, **environ: str) -> Result:
        """environ: in place of what is usual."""
        return CliRunner().invoke(cli, arguments, env=self.environ | environ, prog_name="tidepool")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The command as a process of its own, as the launcher starts it."""
        return subprocess.Popen(
            [sys.executable, "-m", "infra.cli", *arguments],
            cwd=ROOT,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begun_at_terminal(self, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
        """The command as a person runs it, on a colour terminal of 80 columns: its process, and what is drawn."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environ = self.environ | {"TERM": "xterm-256color"}
        del environ["NO_COLOR"], environ["COLUMNS"]
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.cli", *arguments],
            cwd=ROOT,
            env=environ,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        return process, master

    def at_terminal(self, *arguments: str, typed: str = "") -> tuple[int, str]:
        """As `begun_at_terminal`, to its end: exit code, and all that was drawn."""
        process, master = self.begun_at_terminal(*arguments)
        os.write(master, typed.encode())
        drawn = b"".join(iter(lambda: read(master), b""))
        os.close(master)
        return process.wait(timeout=60), drawn.decode()

    def drawn(self, columns: int, *arguments: str) -> list[str]:
        """The lines of both streams on a terminal of so many columns, without colour; its process is this one."""
        result = self.run(*arguments, COLUMNS=str(columns), FORCE_COLOR="1")
        assert result.exit_code == 0, result.output
        return [re.sub("\x1b[^m]*m", "", line) for line in result.output.splitlines()]

    def ok(self, *arguments: str) -> Result:
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result

    def json(self, *arguments: str) -> dict[str, Any]:
        return json.loads(self.ok(*arguments, "--json").stdout)

    def text(self, stack: str) -> str:
        return self.path(stack).read_text()

    def path(self, stack: str) -> Path:
        return self.root / "stacks" / f"Pulumi.{stack}.yaml"

    def edit(self, stack: str, before: str, after: str) -> None:
        """Replace text that stands exactly once in a stack file."""
        text = self.text(stack)
        assert text.count(before) == 1, f"{before!r} stands {text.count(before)} times"
        self.path(stack).write_text(text.replace(before, after))


def read(terminal: int) -> bytes:
    """What comes next; nothing once the other side is closed, which Linux tells as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def git(root: Path, *arguments: str) -> str:
    """What git says in a folder, to a person who signs nothing."""
    who = ("-c", "user.name=lab", "-c", "user.email=lab@lab.org", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", "-C", root, *who, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Generator[Checkout]:
    """One for a whole module; its local cloud is ended afterwards."""
    root = lend(tmp_path_factory.mktemp("checkout"))
    yield Checkout(root)
    daemon.stop(root / ".tidepool")


@pytest.fixture(scope="module")
def clouded(checkout: Checkout) -> Checkout:
    """The checkout with its cloud running."""
    handle = checkout.json("cloud", "start")
    os.kill(handle["pid"], 0)
    assert checkout.json("cloud", "status")["url"] == handle["url"]
    return checkout


@pytest.fixture(scope="module")
def upped(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The checkout with its cloud running, and the ci stack as `up ci` leaves it, which is done once a run."""
    shutil.copytree(_home_after_up(tmp_path_factory), checkout.home)
    checkout.ok("cloud", "start")
    return checkout


def _home_after_up(folders: pytest.TempPathFactory) -> Path:
    """The home in which `up ci` was run; made by the first worker that asks for it."""
    own = folders.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    made, done = Checkout(shared / "upped"), shared / "upped.done"
    with (shared / "upped.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(made.root, ignore_errors=True)
            made.root.mkdir()
            lend(made.root)
            made.ok("up", "ci")
            made.ok("cloud", "stop")
            # The cloud closes its database after it has said that it ended; what it removes then must not be copied.
            deadline = time.monotonic() + 30
            while list(made.home.glob("cloud/cloud.sqlite-*")):
                assert time.monotonic() < deadline, "the cloud does not close its database"
                time.sleep(0.05)
            done.touch()
    return made.home
