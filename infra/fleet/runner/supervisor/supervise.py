"""One job after another: clean, look at the orders, have the image, ask for a registration, run, and again.

Takes no job where anything is wrong, says what, and goes on trying. Listens to nobody: all that it does, it asks for.
`begin` comes first; then, by what the state waits for, `serve`, or `look` as often as `look_every` says, and of a
container `hear` each line and `ended`. After a rest `serve` comes again.
"""

from __future__ import annotations

import re
from typing import Final

from . import limits
from .container import SSH_ENTRY, arguments
from .effects import DropSlice, Failed, FetchBundle, Log, PrepareJob, RunContainer, StartOver, Steps
from .jobs import Jobs
from .state import Waits

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class Supervisor(Jobs):
    """What follows, by what the state waits for."""

    @property
    def look_every(self) -> int:
        return limits.GATHER_EVERY if self.host is not None and self.host.worker else limits.LOOK_EVERY

    def begin(self, bundle: str) -> Steps[None]:
        """What a process does first, whatever the one before it left behind."""
        state = self.state
        yield Log(f"the supervisor begins, bundle {bundle}")
        yield from self._give_room()
        state.bundle, state.runner, state.job, state.waits = bundle, "", "", Waits.NOTHING
        if (yield from self.knows_itself()):
            yield from self.close_round()

    def serve(self) -> Steps[None]:
        """One round, as far as it goes without waiting."""
        state = self.state
        if state.looks:
            yield from self._goes_on_gathering()
            return
        self.blame, state.waits = "", Waits.NOTHING
        if not (yield from self.read_orders()):
            yield from self._give_room()
            yield from self._pause("registering")
            return
        if state.obeyed is None:
            # What stood there first was for the VM before this one of its name, or for a boot that is over.
            state.obeyed = state.own.restart
        if (yield from self._obeyed()):
            return
        if self.me.worker:
            yield from self._attend()
        elif state.own.drain:
            yield from self.phase("draining", "drained by order")
            self._rest(None)
        elif not (yield from self._clean()) or not (yield from self._fit(self.wanted_image)):
            yield from self._unfit()
        elif not (yield from self._imaged(self.wanted_image)):
            yield from self._pause("pulling")
        elif self.me.several:
            yield from self._gather()
        else:
            yield from self._take_a_job()

    # Orders

    def _obeyed(self) -> Steps[bool]:
        """Whether a restart or another bundle was ordered: both boot, which makes sure of everything again."""
        state = self.state
        wanted = state.own.bundle
        if self._restart_wanted:
            state.obeyed = state.own.restart
            yield from self.event("restart", number=str(state.own.restart))
            yield from self._stop()
            yield from self.phase("booting", f"restarted by order {state.own.restart}")
            yield from self._hand_over(state.bundle)
            return True
        # A bundle that nobody orders is none: what the start-up record named at boot stays.
        if wanted in ("", state.bundle):
            return False
        if wanted == state.refused:
            # It was tried and did not start. This one takes no job either: nobody asked for it.
            yield from self.phase("unfit", f"bundle {wanted[:12]} did not start: {state.refusal}")
            self._rest(None)
        elif not _SHA256.fullmatch(wanted):
            yield from self.blames("the ordered bundle is not a SHA-256")
            yield from self._pause("booting")
        elif isinstance(failed := (yield FetchBundle(wanted)), Failed):
            yield from self.blames(f"the ordered bundle {wanted[:12]} {failed.reason}")
            yield from self._pause("booting")
        else:
            yield from self.phase("booting", f"bundle {wanted[:12]} by order")
            yield from self._hand_over(wanted)
        return True

    def _hand_over(self, bundle: str) -> Steps[None]:
        self.state.waits = Waits.HANDED_OVER
        yield StartOver(bundle)

    @property
    def _restart_wanted(self) -> bool:
        return self.state.own.restart > (self.state.obeyed or 0)

    @property
    def _is_wanted_elsewhere(self) -> bool:
        state, own = self.state, self.state.own
        return own.drain or self.wanted_image != state.image or own.bundle not in ("", state.bundle)

    # While something runs or rests

    def ended(self, status: int) -> Steps[None]:
        """The container is gone."""
        self.state.waits = Waits.NOTHING
        if self.state.joined:
            yield from self._left(status)
        else:
            yield from self._served(status)

    def look(self) -> Steps[None]:
        """Whether there is news, by which a rest or a container ends early."""
        if self.state.waits is Waits.CONTAINER:
            yield from self._meanwhile()
        elif self.state.waits is Waits.REST:
            if (yield from self._has_new_orders()):
                self.state.waits = Waits.NOTHING
            else:
                yield from self.report_within(limits.REPORT_EVERY)

    def _has_new_orders(self) -> Steps[bool]:
        if not (yield from self.knows_itself()) or not (yield from self.read_own_orders()):
            return False
        return self.state.own.text != self.state.under

    def _meanwhile(self) -> Steps[None]:
        """A job is waited for; a restart is not, since whoever orders one has seen no runner online for long."""
        state = self.state
        yield from self.report_within(limits.REPORT_EVERY)
        if state.joined and (yield from self.read_round()) and state.round != state.joined:
            yield from self._stop("the round is over: the container is stopped")
            return
        if state.job_over is not None and self._ticks() - state.job_over >= limits.LONGEST_END:
            yield from self._stop("the job is over and its runner goes on: the container is stopped")
            return
        if not (yield from self.read_own_orders()):
            return
        if self._restart_wanted:
            yield from self._stop("restart ordered: the container is stopped")
        elif state.joined or state.phase != "idle":
            return
        elif self._is_wanted_elsewhere:
            yield from self._stop("the orders are others now: the runner, which has no job, is stopped")
        elif not (yield from self.all_answer()):
            yield from self._stop("a host of the slice does not answer: the runner, which has no job, is stopped")

    # Slices of several hosts

    def _gather(self) -> Steps[None]:
        """Wait a while for every other host to join a round for the image and to answer."""
        if not (yield from self.open_round(self.state.image)):
            yield from self._pause("registering")
            return
        self.host_unfit = False
        yield from self._look_at_hosts()

    def _look_at_hosts(self) -> Steps[None]:
        state = self.state
        if (yield from self.all_joined()):
            state.looks = 0
            yield from self._take_a_job()
        elif self.host_unfit:
            # A slice is as fit as each of its hosts.
            state.looks = 0
            yield from self.blames(self.missing)
            yield from self._unfit()
        else:
            state.looks += 1
            yield from self.phase("registering", self.missing)
            self._rest(limits.GATHER_EVERY)

    def _goes_on_gathering(self) -> Steps[None]:
        """Others were waited for; after a while, and where the orders change, this host looks at itself again."""
        state = self.state
        if state.looks >= limits.MOST_LOOKS or state.own.text != state.under:
            state.looks, state.waits = 0, Waits.NOTHING
            yield from self.blames(self.missing)
        else:
            state.waits = Waits.NOTHING
            yield from self._look_at_hosts()

    def _attend(self) -> Steps[None]:
        """A host that registers nothing: clean, with the image, in each round that worker 0 opens until that ends.
        Other orders than a restart are obeyed between two rounds.
        """
        state = self.state
        if not (yield from self.read_round()):
            yield from self._pause("registering")
            return
        image = state.round_image or self.wanted_image
        if not (yield from self._clean()) or not (yield from self._fit(image)):
            yield from self._unable("unfit")
        elif not (yield from self.is_ours(image)) or not (yield from self._imaged(image)):
            yield from self._unable("pulling")
        elif not state.round:
            yield from self.phase("idle", f"host {self.me.worker} of its slice waits for worker 0")
            self._rest(limits.GATHER_EVERY)
        else:
            yield from self._join()

    def _join(self) -> Steps[None]:
        state = self.state
        image = state.round_image
        state.dirty = True
        key = yield from self.make_host_key()
        job = (yield PrepareJob()) if key else Failed(self.blame)
        if isinstance(job, Failed) or not (yield from self.tell_worker_0("joined", host_key=key)):
            self.blame = job.reason if isinstance(job, Failed) else self.blame
            yield from self._pause("registering")
            return
        yield from self.phase("idle", f"host {self.me.worker} of its slice is there for worker 0's job")
        self._begin_container()
        state.joined = state.round
        yield RunContainer(arguments(self.me, job, image, SSH_ENTRY))

    def _left(self, status: int) -> Steps[None]:
        state = self.state
        state.joined, state.delay = "", limits.FIRST_DELAY
        yield DropSlice()
        if not state.stopped:
            heard = f": {state.heard}" if state.heard else ""
            yield from self.blames(f"the container for worker 0's job ended, status {status}{heard}")
            yield from self._unable("unfit")

    def _unable(self, phase: str) -> Steps[None]:
        """Because of what is blamed, which worker 0 is told."""
        if not (yield from self.tell_worker_0(phase, self.blame)):
            yield Log("worker 0 could not be told")
        if phase == "unfit":
            yield from self._unfit()
        else:
            yield from self._pause(phase)
