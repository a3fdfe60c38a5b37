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
from typing import IO, Self

from pulumi import automation
from pulumi.automation.errors import create_command_error

from infra.model.errors import EngineError

Line = Callable[[str], object]

FIXED_ENVIRONMENT = {"PULUMI_AUTOMATION_API": "true", "PULUMI_SKIP_UPDATE_CHECK": "true"}


class CliRunner(automation.PulumiCommand):
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
            raise EngineError(f"the pulumi CLI on PATH cannot be used: {error}") from None

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
        with (
            _Interrupts() as interrupts,
            subprocess.Popen(
                [self.command, "--non-interactive", *args],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env={**os.environ, **additional_env, **FIXED_ENVIRONMENT},
                encoding="utf-8",
                start_new_session=True,
            ) as process,
        ):
            interrupts.reach(process)
            output = _StreamReader(process.stdout, on_output)
            errors = _StreamReader(process.stderr, on_error)
            process.wait()
            result = automation.CommandResult(
                output.text(), errors.text() + _ending(process.returncode), process.returncode
            )
        if interrupts.pressed:
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


class _StreamReader:
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


class _Interrupts:
    """Hands Ctrl-C on to the CLI while it runs, in place of raising KeyboardInterrupt in the middle of anything.

    Only the main thread gets signals; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._before)

    def reach(self, process: subprocess.Popen[str]) -> None:
        """From now on a press reaches this process, and one that came before does so at once."""
        self._process = process
        if self.pressed:
            process.send_signal(signal.SIGINT)

    def _press(self, *_: object) -> None:
        self.pressed = True
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
