"""From a stack's name to an engine at work: choose engine and cloud, start the local cloud, make the engine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from infra.engines.bench import bench
from infra.engines.choose import Choice, ChoiceError, CloudChoice, choose, choose_cloud, make_engine, observe
from infra.engines.protocol import CloudName, Engine, EngineName, EngineRequest
from infra.model.clock import Clock, machine_clock  # noqa: TID251 - a session gives its cloud's clock
from infra.model.stack_text import require_stack
from infra.operations.declared.targets import patterns
from infra.operations.errors import Interruption, Refusal
from infra.operations.ports import DEFAULT_PARALLEL, SILENT, Teller, Tone
from infra.operations.workspace import Workspace, workspace

if TYPE_CHECKING:
    from infra.fleet.images.oci import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSession:
    """One operation's cloud. endpoint: root URL of the local cloud, None on Google."""

    choice: CloudChoice
    teller: Teller = SILENT
    endpoint: str | None = None

    @property
    def cloud(self) -> CloudName:
        return self.choice.cloud

    @property
    def clock(self) -> Clock:
        """The cloud's time, by which an operation decides, and which its records and its output show."""
        return clock_of(self.cloud, self.endpoint)

    def say(self, line: str, tone: Tone = Tone.PLAIN) -> None:
        self.teller.say(line, tone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(CloudSession):
    """One operation's place, choice of engine and cloud, and request."""

    place: Workspace
    choice: Choice
    request: EngineRequest

    def engine(
        self,
        *,
        targets: tuple[str, ...] = (),
        excludes: tuple[str, ...] = (),
        continue_on_error: bool = False,
        exclude_protected: bool = False,
    ) -> Engine:
        """The engine for one operation. targets: URNs that alone may change, where not those of the session."""
        request = replace(
            self.request,
            targets=targets or self.request.targets,
            excludes=excludes,
            continue_on_error=continue_on_error,
            exclude_protected=exclude_protected,
        )
        return make_engine(self.choice.engine, request)


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
    engine: EngineName | None = None,
    cloud: CloudName | None = None,
    teller: Teller = SILENT,
    parallel: int = DEFAULT_PARALLEL,
    targets: tuple[str, ...] = (),
    refresh: bool = False,
    starts_cloud: bool = True,
) -> Session:
    """Choose engine and cloud, say which and why, and see that the local cloud runs where it is the one.

    targets: names of what alone may change, as `declared.targets` has them. starts_cloud: False for what asks no cloud,
    so that none is started for it. ConfigError for an unknown stack, Refusal for what cannot be had on this machine.
    """
    place = workspace()
    require_stack(place.root, stack)
    try:
        choice = choose(observe(), engine, cloud)
    except ChoiceError as error:
        raise Refusal(str(error)) from None
    teller.works_on(choice.cloud, str(choice))
    endpoint = reached(choice.cloud, teller) if starts_cloud else None
    request = EngineRequest(
        root=place.root,
        home=place.home,
        stack=stack,
        cloud=choice.cloud,
        targets=patterns(place.root, stack, targets),
        refresh=refresh,
        parallel=parallel,
        cloud_url=endpoint,
        now=clock_of(choice.cloud, endpoint)(),
    )
    return Session(place=place, choice=choice, request=request, teller=teller, endpoint=request.cloud_url)


def open_cloud(cloud: CloudName | None = None, teller: Teller = SILENT) -> CloudSession:
    """Choose the cloud for what needs no engine, say which and why, and see that the local one runs where it is it."""
    choice = cloud_without_engine(cloud)
    teller.works_on(choice.cloud, str(choice))
    return CloudSession(choice=choice, teller=teller, endpoint=reached(choice.cloud, teller))


def cloud_without_engine(cloud: CloudName | None) -> CloudChoice:
    """The cloud for what needs neither engine nor state: Google where there are credentials for it."""
    try:
        return choose_cloud(observe(), cloud)
    except ChoiceError as error:
        raise Refusal(str(error)) from None


def clock_without_cloud(cloud: CloudName | None = None) -> Clock:
    """The clock of the chosen cloud, for an operation that asks the cloud nothing else: it starts no local cloud."""
    return clock_of(cloud_without_engine(cloud).cloud, None)


def clock_of(cloud: CloudName, endpoint: str | None) -> Clock:
    """The clock of a cloud. endpoint: root URL of the local one, None where it need not run."""
    if cloud is CloudName.GOOGLE:
        return machine_clock
    return bench().clock(endpoint)


def reached(cloud: CloudName, teller: Teller) -> str | None:
    """Root URL of the local cloud of this home, started where it is not running; None on Google."""
    return None if cloud is CloudName.GOOGLE else bench().cloud_url(teller.say)


def registry_beside(endpoint: str, teller: Teller) -> Reader:
    """The registry beside the local cloud, which stands for all that are not Artifact Registry."""
    return bench().registry(endpoint, teller.say)


def give_clusters(session: Session, kube: Path) -> None:
    """Let the local cloud's clusters have the API server of a kubeconfig. Refusal on Google Cloud."""
    if session.endpoint is None:
        raise Refusal(f"--kube {kube} is for clusters of the local cloud: on Google Cloud, GKE has its own API servers")
    session.say(f"the API server of every cluster is {bench().use_api_server(kube)}")
