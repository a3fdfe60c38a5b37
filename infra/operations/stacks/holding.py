"""How `up` keeps a fleet while engines change it: what is new serves, what goes is drained, and the lease is held.

Owns the order of these, and what is told where one of them keeps VMs from going. Between two phases the lease is given
back: the controller heals what is new meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from infra.engines.passes import HeldBackError
from infra.fleet.arriving import Leaving, just_made, stand_ins, takes_over, unserved
from infra.fleet.controller.desired import Desired
from infra.fleet.controller.lease import LeaseKind
from infra.fleet.controller.observed import Observed
from infra.fleet.google import GoogleError
from infra.fleet.transition import declare_both
from infra.model.errors import ConfigError
from infra.operations.declared.stack_file import Declared, declared
from infra.operations.errors import Failure, Interruption
from infra.operations.fleet.drained import EVERY, drained_before
from infra.operations.fleet.looks import Fleet, declared_place
from infra.operations.leased import NOTHING_CHANGED, leased
from infra.operations.ports import Tone
from infra.operations.session import Session
from infra.preview.words import vms as in_words

_Look: TypeAlias = tuple[Desired, Observed]
NOTHING_TAKEN: Final = "what is new stands, and no VM was taken away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """`infra.engines.passes.Hold` of one `up`. wanted: the stack files when its plan was shown.

    drains: whether jobs are waited for. brings: the VMs that the edit makes; no other VM is waited for.
    """

    wanted: Declared
    session: Session
    drains: bool
    brings: frozenset[str] = frozenset()

    @contextmanager
    def __call__(
        self,
        *,
        leaving: Collection[str],
        staying: Collection[str],
        begun: bool,
        returning: Collection[str] = (),
        makes_room: bool = False,
    ) -> Generator[None]:
        config, session = self.wanted.config, self.session
        state = NOTHING_TAKEN if begun else NOTHING_CHANGED
        with ExitStack() as held:
            try:
                drained = self.drains and leaving
                if begun and drained:
                    with leased(config, session, LeaseKind.UP, state=state):
                        self.insist_on_file("what is new was made", state)
                        _declare_both(self.wanted, session, {*leaving, *staying}, state)
                if drained:
                    fleet = Fleet(config=config, session=session, place=declared_place(config, session.endpoint))
                    going = Leaving(frozenset(leaving), frozenset(returning), makes_room)
                    _wait_for_new(fleet, going, self.brings, state)
                    held.enter_context(drained_before(fleet, leaving, "up", state=state))
                held.enter_context(leased(config, session, LeaseKind.UP, state=state))
                self.insist_on_file("its VMs were drained" if drained else "another acted on its fleet", state)
                if staying:
                    _declare_both(self.wanted, session, staying, state)
            except Interruption:
                raise
            except Failure as failure:
                if begun:
                    raise HeldBackError(failure.message) from None
                raise
            yield

    def insist_on_file(self, meanwhile: str, state: str = NOTHING_CHANGED) -> None:
        """Raises Failure where a stack file is another than the one whose plan was shown."""
        stack = self.wanted.config.stack
        try:
            same = declared(stack) == self.wanted
        except ConfigError:
            same = False
        if not same:
            raise Failure(f"the file of {stack} was edited while {meanwhile}; {state}, run up again")


def _declare_both(wanted: Declared, session: Session, staying: Collection[str], state: str) -> None:
    try:
        declare_both(wanted.config, session.endpoint, staying, registry=wanted.registry, siblings=wanted.siblings)
    except GoogleError as error:
        raise Failure(f"{state}: old and new VMs could not be declared together: {error}") from None


def _wait_for_new(fleet: Fleet, leaving: Leaving, brings: frozenset[str], state: str) -> None:
    """Wait until the VMs that the edit brings serve, for the stack's `boot_minutes` at most.

    An earlier `up` that was killed may have created them. Raises Failure where then nobody of a pool or for a
    repository serves but those that go.
    """
    try:
        look = _look(fleet)
        if look is None:
            return
        made = just_made(*look, leaving, fleet.place.clock()) & brings
        left, look = _wait_for(fleet, made, leaving, look)
    except GoogleError as error:
        raise Failure(f"{state}: cannot tell whether new VMs serve: {error}") from None
    if found := unserved(*look, leaving):
        raise Failure(
            f"{state}: in {', '.join(found)} only the VMs to delete serve; `./tidepool status {fleet.stack}` says "
            "why, and --no-drain goes on all the same"
        )
    if left:
        others = stand_ins(left, *look, leaving)
        who = in_words(sorted(others)) if others else "nobody"
        said = f"{in_words(sorted(left))} {'do' if len(left) > 1 else 'does'} not serve yet; of what stays, {who} "
        said += f"{'do' if len(others) > 1 else 'does'} so in their pools and repositories"
        fleet.session.say(f"warning: {said}", Tone.WARNING)


def _wait_for(fleet: Fleet, made: Collection[str], leaving: Leaving, look: _Look) -> tuple[frozenset[str], _Look]:
    """Wait until these serve; those that do not when the time is over, and what is seen then."""
    began, said = fleet.place.clock(), ""
    minutes = look[0].settings.boot
    while True:
        desired, observed = look
        new = (slot for slot in desired.slots if slot.name in made)
        left = frozenset(slot.name for slot in new if not takes_over(slot, desired, observed, leaving))
        passed = fleet.place.clock() - began
        if not left or passed >= timedelta(minutes=minutes):
            return left, look
        what = f"waiting until {in_words(sorted(left))} {'serve' if len(left) > 1 else 'serves'}"
        progress = f"{what}: {passed // timedelta(minutes=1)} of {minutes} minutes at most; --no-drain skips this"
        if progress != said:
            fleet.session.say(progress, Tone.WORKING)
        said = progress
        fleet.pause(EVERY)
        look = _look(fleet) or look


def _look(fleet: Fleet) -> _Look | None:
    """What is declared and seen now; None where nothing that can be read is declared."""
    scene = fleet.look()
    return (scene.desired, scene.observed) if scene.desired and scene.observed else None
