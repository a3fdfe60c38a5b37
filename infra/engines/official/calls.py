"""Calls of the pulumi CLI for one request: in which folder, on which state, through whose locks, and how they end.

Owns that a call finds a state which the CLI can read, and that its events and failures become a record or an
`EngineError`. Does not own which calls an operation is made of (`engine`).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

from pulumi import automation

from infra.engines.bench import bench
from infra.engines.official.recorder import EventRelay, Recorder
from infra.engines.official.recovery import Recovery
from infra.engines.official.runner import CliRunner
from infra.engines.official.steps import without_traceback
from infra.engines.official.workspace import (
    Stack,
    StateLocation,
    Workspace,
    passing_copy,
    place_of,
    provider_inputs,
    workspace,
)
from infra.engines.protocol import EngineRequest
from infra.engines.standing import Say
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic

Operation = Callable[..., object]


class Calls:
    """Calls for one request. runner: the CLI; the installed one where none is given."""

    def __init__(
        self,
        request: EngineRequest,
        *,
        runner: automation.PulumiCommand | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._request = request
        self._environ = environ
        self._given_runner = runner

    @contextmanager
    def workspace(self, say: Say) -> Generator[Workspace]:
        """The workspace, once the CLI can read the state. A command of the CLI that fails in it is an EngineError."""
        for said in self._made_readable():
            say(said)
        try:
            with workspace(self._request, self._place, self._runner) as work:
                yield work
        except automation.StackNotFoundError:
            raise
        except automation.CommandError as error:
            raise EngineError(_said_by(error)) from None

    def copy_of(self, exported: Mapping[str, Any] | None) -> AbstractContextManager[Workspace]:
        """A workspace on a copy of a state that is thrown away. exported: the state; None for a stack that has none."""
        return passing_copy(self._request, self._place, self._runner, exported, self.exported)

    def exported(self, stack: str) -> Mapping[str, Any] | None:
        """A stack's state; None where it has none."""
        try:
            with self.workspace(_say_nothing) as work:
                return work.exported(stack)
        except automation.StackNotFoundError:
            return None

    def outputs(self, work: Workspace) -> Mapping[str, Any]:
        """Asked without --show-secrets, so that no secret comes into this process."""
        return json.loads(work.ask("stack", "output", "--json", "--stack", self._request.stack))

    def stack(self, work: Workspace) -> Stack:
        return Stack(self._request.stack, work)

    def recovery(self, work: Workspace, recorder: Recorder) -> Recovery:
        return Recovery(work, self._request.stack, recorder.say)

    def run(
        self, recorder: Recorder, operation: Operation, options: Mapping[str, Any], work: Workspace | None = None
    ) -> None:
        """Run an operation of the Automation API. One that failed after it began is a plan that says so.

        work: where it changes the state, so that the locks of dead processes may have to go first.
        """
        relay = EventRelay(recorder)

        def attempt() -> object:
            return operation(on_event=relay.pass_on, color="never", **options)

        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Error in event stream")  # of a CLI that was killed
                self.recovery(work, recorder).through_locks(attempt) if work else attempt()
        except automation.StackNotFoundError:
            raise
        except (automation.CommandError, RuntimeError) as error:
            if not recorder.began and not recorder.failed:
                raise EngineError(_said_by(error)) from None
            if not recorder.failed:
                recorder.say(Diagnostic(severity="error", message=_said_by(error)))
        finally:
            relay.close()

    def _made_readable(self) -> tuple[Diagnostic, ...]:
        """What was done to a state in files, which the embedded engine may have written."""
        if not self._place.in_files:
            return ()
        settings = provider_inputs(self._request)
        return bench().make_readable(self._place.backend, self._request.stack, self._place.passphrase, settings)

    @cached_property
    def _runner(self) -> automation.PulumiCommand:
        return self._given_runner or CliRunner()

    @cached_property
    def _place(self) -> StateLocation:
        return place_of(self._request, self._environ)


def _say_nothing(_: Diagnostic) -> None:
    pass


def _said_by(error: Exception) -> str:
    """The CLI's own words for why it could not start."""
    _, marker, stderr = str(error).rpartition("\n stderr: ")
    text = without_traceback(stderr if marker else str(error)).strip()
    return f"the pulumi CLI stopped: {text.removeprefix('error: ')}"
