"""One call of a command: what its shared options say, what is asked of a person, where its answer goes, how it ends."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, Protocol

import click

from infra.cli.echo import echo, machines, works_on
from infra.cli.failures import FAILED
from infra.cli.options import Form
from infra.cli.render import console as consoles
from infra.model.clock import machine_clock  # noqa: TID251 - no local cloud was started here, so none is ahead
from infra.operations.errors import Failure, Refusal
from infra.operations.ports import DEFAULT_PARALLEL, CloudName, EngineName
from infra.operations.workspace import workspace
from infra.preview.toned import Shown, Tone, toned

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console
    from rich.text import Text

    from infra.operations.session import CloudSession, Session


class Tellable(Protocol):
    """What an operation found, that says itself how it looks to programs."""

    def to_json(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class ConsoleTeller:
    """`infra.operations.ports.Teller` for people. quiet: they hear of what is wrong alone."""

    console: Console
    quiet: bool = False

    def say(self, line: str, tone: Tone = Tone.PLAIN) -> None:
        if not self.quiet or tone in {Tone.WARNING, Tone.PROBLEM}:
            consoles.say(self.console, consoles.drawn(toned((line, tone))))

    def works_on(self, cloud: CloudName, said: str) -> None:
        """Says it once, however many stacks a command is about."""
        if works_on(cloud):
            self.say(said, Tone.QUIET)


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """What the shared options of a command say (`infra.cli.options`); an option that it lacks has its default.

    within: the stack of --stack, None where the name of a pool or VM is to say it. detail: a `plan_lines.Detail`, as
    text. aside: stdout has the answer alone, also where it is not JSON.
    """

    stack: str = ""
    within: str | None = None
    engine: EngineName | None = None
    cloud: CloudName | None = None
    targets: tuple[str, ...] = ()
    detail: str | None = None
    parallel: int = DEFAULT_PARALLEL
    refresh: bool = False
    yes: bool = False
    as_json: bool = False
    form: Form = Form.TEXT
    aside: bool = False

    @cached_property
    def console(self) -> Console:
        """Where text for people goes: stderr, where stdout carries something for programs."""
        return consoles.people(as_json=self.as_json or self.aside or self.form is not Form.TEXT)

    @property
    def teller(self) -> ConsoleTeller:
        return ConsoleTeller(self.console, self.quiet)

    @property
    def same(self) -> str:
        """The options by which another command is about the same: engine, cloud and targets."""
        given = (("engine", self.engine), ("cloud", self.cloud), *(("target", each) for each in self.targets))
        return "".join(f" --{name} {shlex.quote(value)}" for name, value in given if value)

    @property
    def quiet(self) -> bool:
        return self.detail == "quiet"

    def session(self) -> Session:
        """Engine and cloud, chosen and told."""
        from infra.operations.session import open_session  # loads engines, which explain and comment need not

        asked = {name: getattr(self, name) for name in ("engine", "cloud", "teller", "parallel", "targets", "refresh")}
        return open_session(self.stack, **asked)

    def cloud_session(self) -> CloudSession:
        """The cloud alone, chosen and told."""
        from infra.operations.session import open_cloud  # as above

        return open_cloud(self.cloud, self.teller)

    def now(self) -> datetime:
        """The time of the chosen cloud, for a command that asks it nothing else."""
        if not (workspace().home / "cloud").exists():
            return machine_clock()
        from infra.operations.session import clock_without_cloud  # as above

        return clock_without_cloud(self.cloud)()

    def say(self, *shown: Shown | Text, tone: Tone = Tone.PLAIN) -> None:
        """Tell people, in lines and tables; tone: of lines that have none of their own."""
        said = (consoles.drawn(toned((each, tone))) if isinstance(each, str) else each for each in shown)
        consoles.say(self.console, *said)

    def ask(self, what: str) -> None:
        """Ask before `what`; Refusal without a terminal, Failure on a no."""
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise Refusal(f"{what} needs a yes, and there is no terminal to ask on; add --yes")
        if not click.confirm(f"{what}. Go on?", err=True):
            raise Failure("answered no; nothing was changed")

    def ask_before_google(self, what: str, cloud: CloudName) -> None:
        """Ask before `what` where it reaches the real Google Cloud; the local cloud needs no question."""
        if cloud is CloudName.GOOGLE:
            self.ask(f"{what} on Google Cloud")

    def tell(self, body: Mapping[str, Any] | Tellable, **more: Any) -> None:
        """Print the object of --json with more of it behind, where it was asked for; it is made only then."""
        if self.as_json or self.form is Form.JSON:
            machines({**(body if isinstance(body, Mapping) else body.to_json()), **more})

    def end(self, body: Mapping[str, Any] | Tellable, *lines: str, failed: bool = False, **more: Any) -> int:
        """Print the object of --json with the exit code, or on stdout the lines for people; gives the exit code."""
        code = FAILED if failed else 0
        self.tell(body, **more, exit=code)
        for line in () if self.as_json else lines:
            echo(line)
        return code


def called(command: Callable[..., int | None], *, aside: bool = False) -> Callable[..., None]:
    """Hand a command its shared options as one `Invocation`; what it returns is its exit code, None for 0."""
    shared = {field.name for field in fields(Invocation)}

    @wraps(command)
    def run(**given: Any) -> None:
        call = Invocation(**{name: value for name, value in given.items() if name in shared}, aside=aside)
        code = command(call, **{name: value for name, value in given.items() if name not in shared})
        click.get_current_context().exit(code or 0)

    return run


called_aside = partial(called, aside=True)
"""Of a command whose stdout carries the answer alone, with and without --json."""
