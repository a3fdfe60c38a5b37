"""From a command line to an engine at work: read the stack file, choose, start the local cloud, make the engine.

Owns that order: an invalid stack file is told before anything is started or changed.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import click
from rich.console import Console
from rich.text import Text

from infra.cli.failures import Failure, Interruption, Refusal
from infra.cli.render.console import say
from infra.cli.where import works_on
from infra.cli.workspace import Workspace, workspace
from infra.engines.choose import Choice, ChoiceError, CloudChoice, choose, choose_cloud, observe
from infra.engines.make import make_engine
from infra.engines.protocol import CloudName, Engine, EngineName, Request
from infra.local.cloud import daemon
from infra.model.demand import Demands, load_demands
from infra.model.errors import ConfigError, Problem
from infra.model.phases import Bound, limits
from infra.model.schema import StackConfig
from infra.model.stack import load_stack, siblings, stack_names

_OTHER_CODE: Final = (
    "the local cloud (process {pid}) was started by another version of Tidepool: ./tidepool cloud stop ends it, and "
    "the next command starts it anew with all that it holds"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSession:
    """One command's cloud. url: root of the local cloud, None on Google."""

    choice: CloudChoice
    console: Console
    url: str | None = None

    @property
    def endpoint(self) -> str | None:
        """Root URL of the local cloud, None on Google."""
        return self.url

    def say(self, line: str | Text) -> None:
        say(self.console, line)

    def ask(self, what: str, *, yes: bool) -> None:
        """Ask before `what`, as `ask` does."""
        ask(what, yes=yes)

    def ask_before_google(self, what: str, *, yes: bool) -> None:
        """Ask before `what` where it reaches the real Google Cloud; the local cloud needs no question."""
        if self.choice.cloud is CloudName.GOOGLE:
            ask(f"{what} on Google Cloud", yes=yes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(CloudSession):
    """One command's place, choice of engine and cloud, and request."""

    place: Workspace
    choice: Choice
    request: Request

    @property
    def endpoint(self) -> str | None:
        return self.request.cloud_url

    def engine(
        self,
        *,
        targets: tuple[str, ...] = (),
        excludes: tuple[str, ...] = (),
        continue_on_error: bool = False,
        exclude_protected: bool = False,
    ) -> Engine:
        """The engine for one operation. targets: URNs that alone may change, where not those of the command."""
        request = replace(
            self.request,
            targets=targets or self.request.targets,
            excludes=excludes,
            continue_on_error=continue_on_error,
            exclude_protected=exclude_protected,
        )
        return make_engine(self.choice.engine, request)


def ask(what: str, *, yes: bool) -> None:
    """Ask before `what`; Refusal without a terminal, Failure on a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refusal(f"{what} is asked about first, and there is no terminal to ask on; add --yes")
    if not click.confirm(f"{what}. Go on?", err=True):
        raise Failure("answered no; nothing was changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A valid stack file, and what other stack files say that concerns it.

    registry: the stack whose registries it uses, None where they are its own. bounds: every limit on its VMs. siblings:
    the other stacks. demands: what workflows ask of them all, None where no file says it.
    """

    config: StackConfig
    registry: StackConfig | None
    bounds: tuple[Bound, ...]
    siblings: tuple[StackConfig, ...] = ()
    demands: Demands | None = None


def declared(stack: str) -> Declared:
    """What the stack files say; ConfigError with every problem of them."""
    root = workspace().root
    config = load_stack(root, stack)
    others = siblings(root, stack)
    elsewhere = config.registry_stack
    return Declared(
        config=config,
        registry=load_stack(root, elsewhere.rpartition("/")[2]) if elsewhere else None,
        bounds=limits(config, others),
        siblings=others,
        demands=load_demands(root),
    )


def require_stack(place: Workspace, stack: str) -> None:
    """ConfigError naming the known stacks where `stack` has no file; the file itself is not judged."""
    known = stack_names(place.root)
    if stack not in known:
        fix = f"one of {', '.join(known)}" if known else f"a file stacks/Pulumi.{stack}.yaml"
        raise ConfigError([Problem(f"stacks/Pulumi.{stack}.yaml", "", f"there is no stack named {stack}", fix)])


@contextmanager
def interruptible(stack: str, verb: str) -> Generator[None]:
    """Turn Ctrl-C in an operation into what has become of it; engines end cleanly before they pass it on."""
    try:
        yield
    except KeyboardInterrupt:
        again = f"`./tidepool {verb} {stack}` goes on from there"
        raise Interruption(f"Interrupted. Whatever had begun is recorded; {again}.") from None


def open_session(
    stack: str,
    *,
    engine: EngineName | None,
    cloud: CloudName | None,
    console: Console,
    parallel: int | None = None,
    targets: tuple[str, ...] = (),
    refresh: bool = False,
    starts_cloud: bool = True,
) -> Session:
    """Choose engine and cloud, say which and why, and see that the local cloud runs where it is the one.

    starts_cloud: False for what asks no cloud, so that none is started for it.
    """
    place = workspace()
    require_stack(place, stack)
    try:
        choice = choose(observe(), engine, cloud)
    except ChoiceError as error:
        raise Refusal(str(error)) from None
    _tell(choice, console)
    request = Request(
        root=place.root, home=place.home, stack=stack, cloud=choice.cloud, targets=targets, refresh=refresh
    )
    if parallel is not None:
        request = replace(request, parallel=parallel)
    if choice.cloud is CloudName.LOCAL and starts_cloud:
        request = replace(request, cloud_url=local_cloud(place, console))
    return Session(place=place, choice=choice, request=request, console=console)


def open_cloud(cloud: CloudName | None, console: Console) -> CloudSession:
    """Choose the cloud for what needs no engine, say which and why, and see that the local one runs where it is it."""
    choice = cloud_without_engine(cloud)
    _tell(choice, console)
    url = local_cloud(workspace(), console) if choice.cloud is CloudName.LOCAL else None
    return CloudSession(choice=choice, console=console, url=url)


def cloud_without_engine(cloud: CloudName | None) -> CloudChoice:
    """The cloud for what needs neither engine nor state: Google where there are credentials for it."""
    try:
        choice = choose_cloud(observe(), cloud)
    except ChoiceError as error:
        raise Refusal(str(error)) from None
    return choice


def _tell(choice: CloudChoice, console: Console) -> None:
    """Say it once, however many stacks a command is about."""
    if works_on(choice.cloud):
        say(console, Text(str(choice), style="dim"))


def local_cloud(place: Workspace, console: Console) -> str:
    """Root URL of the local cloud of this home, started where it is not running."""
    place.make_home()
    try:
        if found := daemon.running(place.home):
            if not found.current:
                say(console, Text(_OTHER_CODE.format(pid=found.pid), style="yellow"))
            return found.url
        started = daemon.ensure_running(place.home)
    except daemon.DaemonError as error:
        raise Failure(str(error)) from None
    say(console, Text(f"started the local cloud at {started.url} (pid {started.pid})", style="dim"))
    return started.url
