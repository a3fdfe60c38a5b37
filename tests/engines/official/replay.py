"""The pulumi CLI played back from recordings of version 3.260, for tests that must not need it.

`recordings/` holds what the real CLI wrote while it drove a small program (a network, an account, a pool of VMs):
engine events, previews, an exported state and messages, without debug lines and stack traces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from pulumi import automation
from pulumi.automation import events
from pulumi.automation.errors import create_command_error
from pulumi.runtime.proto import events_pb2, events_pb2_grpc
from semver import VersionInfo

RECORDINGS = Path(__file__).parent / "recordings"


def text(name: str) -> str:
    return (RECORDINGS / name).read_text()


def document(name: str) -> Any:
    return json.loads(text(name))


def event_lines(name: str) -> list[str]:
    return text(f"{name}.events.jsonl").splitlines()


def engine_events(name: str) -> Iterator[events.EngineEvent]:
    return (events.EngineEvent.from_json(json.loads(line)) for line in event_lines(name))


@dataclass(frozen=True)
class Answer:
    """What one CLI command does: prints, ends with a code, and sends a recording's events."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
    events: str = ""


Reply = Callable[[list[str]], Answer]


def says(answer: Answer) -> Reply:
    """The same answer whatever the command's further words."""
    return lambda _: answer


@dataclass
class ScriptedCli(automation.PulumiCommand):
    """A runner that answers by the first words of a command, each answer once and the last one for ever.

    calls: every command it was asked, without flags that the Automation API adds.
    environment: that of the last command.
    """

    script: dict[str, list[Reply]]
    calls: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    environment: Mapping[str, str] = field(default_factory=dict)
    command: str = "pulumi"
    version: VersionInfo | None = field(default_factory=lambda: VersionInfo(3, 260, 0))

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Callable[[str], Any] | None = None,
        on_error: Callable[[str], Any] | None = None,
    ) -> automation.CommandResult:
        self.calls.append(" ".join(args))
        self.folders.append(cwd)
        self.environment = additional_env
        answer = self._next(args)
        if answer.events:
            _stream(args, answer.events)
        result = automation.CommandResult(answer.stdout, answer.stderr, answer.code)
        if answer.code:
            raise create_command_error(result)
        return result

    def _next(self, args: list[str]) -> Answer:
        for words in (" ".join(args[:2]), args[0]):
            if words in self.script:
                answers = self.script[words]
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                return answer(args)
        raise AssertionError(f"the script has no answer to: pulumi {' '.join(args)}")

    def asked(self, words: str) -> list[str]:
        """The commands that began with these words."""
        return [call for call in self.calls if call.startswith(words)]


def _stream(args: list[str], name: str) -> None:
    """Send a recording's events where `--event-log` says, as the CLI does."""
    target = args[args.index("--event-log") + 1].removeprefix("tcp://")
    with grpc.insecure_channel(target) as channel:
        requests = (events_pb2.EventRequest(event=line) for line in event_lines(name))
        events_pb2_grpc.EventsStub(channel).StreamEvents(requests)
