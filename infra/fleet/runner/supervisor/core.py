"""What every decision does beside deciding: it says what is so, and asks for what it does not know.

`Core.host` is known from the first answer on; `blame` is why the last thing failed, and begins anew with each round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import limits, orders, report
from .effects import Effect, Failed, Host, Log, Read, RunStep, Steps, Tell, WhoAmI, WriteReport
from .orders import UnreadableError
from .state import State

A_COMMAND: Final = "a command failed, see the log"


class Core:
    """clock: seconds of the wall clock. ticks: seconds by which durations are measured, whatever the wall clock does.

    host: None where it has to be asked for.
    """

    def __init__(
        self, state: State, *, clock: Callable[[], float], ticks: Callable[[], float], host: Host | None = None
    ) -> None:
        self.state = state
        self.host = host
        self.blame = ""
        self._clock, self._ticks = clock, ticks

    # What is said

    def phase(self, name: str, reason: str = "") -> Steps[None]:
        """What the VM does from now on. It is told at once; the same again, only now and then."""
        state = self.state
        if (state.phase, state.reason) == (name, reason):
            yield from self.report_within(limits.REPORT_EVERY)
            return
        state.phase, state.reason = name, reason
        yield Log(f"phase {name}{f': {reason}' if reason else ''}")
        yield from self.event("phase", phase=name, **({"reason": reason} if reason else {}))
        yield from self.report()

    def event(self, name: str, **more: str) -> Steps[None]:
        told = {"at": report.moment(self._clock()), "event": name}
        told.update({key: report.plain(value) for key, value in more.items()})
        self.state.events = [*self.state.events, told][-limits.MOST_EVENTS :]
        yield Tell(told)

    def report(self) -> Steps[bool]:
        """Nobody waits for it and nothing fails with it."""
        self.state.reported = self._clock()
        if (yield WriteReport()) is None:
            return True
        self.state.reported = 0.0  # so that it is soon tried again
        yield Log("the report could not be written")
        return False

    def report_within(self, seconds: float) -> Steps[None]:
        """Where the last one is older."""
        if self._clock() - self.state.reported >= seconds:
            yield from self.report()

    def blames(self, reason: str) -> Steps[None]:
        """A log line that is also the reason, should what is tried fail."""
        self.blame = reason
        yield Log(reason)

    # What is asked for

    def fails(self, effect: Effect, reason: str = "") -> Steps[bool]:
        """Whether what can fail did. reason: what is blamed in place of what the machine says."""
        failed = yield effect
        if not isinstance(failed, Failed):
            return False
        if reason:
            yield from self.blames(reason)
        else:
            self.blame = failed.reason or self.blame
        return True

    def step(self, name: str, *arguments: str) -> Steps[bool]:
        """Whether a machine step was done."""
        return not (yield from self.fails(RunStep(name, arguments)))

    def knows_itself(self) -> Steps[bool]:
        if self.host is None:
            answer = yield WhoAmI()
            if isinstance(answer, Failed):
                self.blame = answer.reason
                return False
            self.host = answer
        return True

    @property
    def me(self) -> Host:
        """Whom a round is for. Nothing is decided for who is not known."""
        if self.host is None:
            raise LookupError("a decision was asked for before the host was known")
        return self.host

    def read_orders(self) -> Steps[bool]:
        """Read all that says what to do. No orders are no failure, and no pointer is none either."""
        if not (yield from self.knows_itself()) or not (yield from self.read_own_orders()):
            return False
        startup = yield Read(orders.STARTUP)
        if startup is None or isinstance(startup, Failed):
            yield from self.blames("the start-up record of the fleet bucket cannot be read")
            return False
        pointer = yield Read(orders.POINTER)
        try:
            # A failure is no document, which is what is blamed.
            self.state.common = orders.common(startup, pointer, pool=self.me.pool, region=self.me.region)
        except UnreadableError as error:
            yield from self.blames(str(error))
            return False
        return True

    def read_own_orders(self) -> Steps[bool]:
        """The VM's own alone; for a VM that has its work and waits for news."""
        document = yield Read(orders.orders_object(self.me.vm))
        try:
            self.state.own = orders.own([] if isinstance(document, Failed) else document)
        except UnreadableError as error:
            yield from self.blames(str(error))
            return False
        return True

    @property
    def wanted_image(self) -> str:
        """The one to run, empty for none."""
        own = self.state.own.image
        return "" if own == orders.NO_IMAGE else own or self.state.common.image

    @property
    def why_no_image(self) -> str:
        if self.state.own.image == orders.NO_IMAGE:
            return f"the orders name no image: none is proved for {self.me.pool}"
        return f"no image is promoted to {self.me.pool} in {self.me.region}"

    def pull(self, image: str) -> Steps[RunStep | None]:
        """The machine step that has an image, by digest alone, from Artifact Registry alone; None for any other."""
        if orders.is_image(image):
            return RunStep("steps/pull-image", (image,))
        yield from self.blames(f"refused image {image}: not a digest in Artifact Registry")
        return None
