"""The one way in which this project starts the pulumi CLI.

Owns the process: its group, its interruption, and the words in which a failed command is said. Everything else,
tests too, goes through `Runner.run`, the seam that `pulumi.automation` calls a pulumi command. Does not own what is
asked.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO

from pulumi import automation
from pulumi.automation.errors import create_command_error

from infra.engines.protocol import EngineError

Line = Callable[[str], object]

FIXED_ENVIRONMENT = {"PULUMI_AUTOMATION_API": "true", "PULUMI_SKIP_UPDATE_CHECK": "true"}


class Runner(automation.PulumiCommand):
    """The pulumi CLI on PATH, never asking questions.

    The CLI gets a process group of its own, so that Ctrl-C reaches it once, from here: a second signal would make it
    forget the creates in flight.
    """

    def __init__(self) -> None:
        try:
            super().__init__()
        except FileNotFoundError:
            raise EngineError(
                "the pulumi CLI is not on PATH; get it from https://www.pulumi.com/docs/install/ or use --engine local"
            ) from None
        except automation.InvalidVersionError as error:
            raise EngineError(f"the pulumi CLI on PATH does not fit: {error}") from None

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Line | None = None,
        on_error: Line | None = None,
    ) -> automation.CommandResult:
        """Run one command to its end. Raises CommandError where it fails.

        On Ctrl-C the CLI is told once, what it has in flight is awaited, and KeyboardInterrupt is raised again.
        """
        process = subprocess.Popen(
            [self.command, "--non-interactive", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **additional_env, **FIXED_ENVIRONMENT},
            encoding="utf-8",
            start_new_session=True,
        )
        with process:
            output = _Reader(process.stdout, on_output)
            errors = _Reader(process.stderr, on_error)
            interrupted = _wait(process)
            result = automation.CommandResult(
                output.text(), errors.text() + _ending(process.returncode), process.returncode
            )
        if interrupted:
            raise KeyboardInterrupt
        if result.code != 0:
            raise create_command_error(result)
        return result


def _ending(code: int) -> str:
    """What is to be said of a CLI that a signal has ended, since it could say nothing itself."""
    if code >= 0:
        return ""
    name = signal.Signals(-code).name
    return f"error: the pulumi CLI was ended by {name}; run the same command again, which settles what was in flight"


class _Reader:
    """Drains one stream of the CLI, so that it never blocks on a full pipe."""

    def __init__(self, stream: IO[str] | None, each: Line | None) -> None:
        self._lines: list[str] = []
        self._stream = stream
        self._each = each
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def text(self) -> str:
        self._thread.join()
        return "\n".join(self._lines)

    def _drain(self) -> None:
        for line in self._stream or ():
            self._lines.append(line.rstrip())
            if self._each:
                self._each(line.rstrip())


def _wait(process: subprocess.Popen[str]) -> bool:
    """Wait for the end; True where Ctrl-C came meanwhile. A second Ctrl-C is handed on and ends creates in flight."""
    interrupted = False
    while True:
        try:
            process.wait()
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
        else:
            return interrupted
