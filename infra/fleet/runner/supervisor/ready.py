"""Whether a VM may take a job, each check with its reason, and how long it waits where it may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import limits
from .core import A_COMMAND
from .effects import DropSpare, Failed, FreeDisk, Host, KeepSpare, Log, ReadSkew, Steps
from .rounds import Rounds
from .state import State, Waits

_A_CHECK: Final = "a check failed, see the log"


class Ready(Rounds):
    """luck: from 0 to 1, by which pauses differ. imageless: whether it serves without an image, as a guest of the local
    cloud does, so that a fleet comes alive before its first build; a VM never does.
    """

    def __init__(
        self,
        state: State,
        *,
        clock: Callable[[], float],
        ticks: Callable[[], float],
        luck: Callable[[], float],
        host: Host | None = None,
        imageless: bool = False,
    ) -> None:
        super().__init__(state, clock=clock, ticks=ticks, host=host)
        self._luck, self._imageless = luck, imageless

    def _give_room(self) -> Steps[None]:
        if self.state.dirty:
            yield from self.step("machine/wipe-job")
        yield DropSpare()

    def _toward(self, phase: str) -> Steps[None]:
        """The phase that is next, unless it is that one already and has its reason."""
        if self.state.phase != phase:
            yield from self.phase(phase)

    def _clean(self) -> Steps[bool]:
        if not self.state.dirty:
            return True
        # Who was unfit is so until it is clean, and does not say otherwise meanwhile.
        if self.state.phase != "unfit":
            yield from self._toward("cleaning")
        if not (yield from self.step("machine/wipe-job")) or not (yield from self.step("machine/clean-tpu")):
            return False
        self.state.dirty = False
        return True

    def _fit(self, image: str) -> Steps[bool]:
        """Disk, clock and isolation. The TPU is looked at where it is cleaned."""
        if not (yield from self._has_disk(image)) or not (yield from self._clock_is_right()):
            return False
        # Set, and not looked at: a rule may be there and another before it, or its chain may be empty.
        if (yield from self.step("steps/isolate-jobs")):
            return True
        yield from self.blames("jobs cannot be kept from the metadata server")
        return False

    def _has_disk(self, image: str) -> Steps[bool]:
        free = yield FreeDisk()
        if not isinstance(free, Failed) and free < limits.LEAST_DISK_MB and image:
            yield Log(f"only {free} MB of disk are free: images other than the assigned one go")
            yield from self.step("machine/drop-images", image)
            free = yield FreeDisk()
        if isinstance(free, Failed):
            self.blame = free.reason
            return False
        if free < limits.LEAST_DISK_MB:
            yield from self.blames(f"the disk is full: {free} MB are free and a job needs {limits.LEAST_DISK_MB}")
            return False
        yield KeepSpare()
        return True

    def _clock_is_right(self) -> Steps[bool]:
        skew = yield ReadSkew()
        if isinstance(skew, Failed):
            self.blame = skew.reason
        elif skew is None:
            who = "neither the metadata server nor the bucket"
            yield from self.blames(f"the clock cannot be checked: {who} says what time it is")
        elif abs(skew) > limits.MOST_SKEW:
            yield from self.blames(f"the clock is off by {skew} s")
        else:
            return True
        return False

    def _imaged(self, image: str) -> Steps[bool]:
        """The one to run is there."""
        state = self.state
        if not image:
            state.image = ""
            if not self._imageless:
                yield from self.blames(self.why_no_image)
            return self._imageless
        if image != state.image:
            yield from self._toward("pulling")
        step = yield from self.pull(image)
        if step is None or (yield from self.fails(step)):
            return False
        state.image = image
        return True

    # Waiting

    def _unfit(self) -> Steps[None]:
        yield from self.phase("unfit", self.blame or _A_CHECK)
        self.state.dirty = True
        self._rest(limits.UNFIT_FOR)

    def _pause(self, phase: str, again: int | None = None) -> Steps[None]:
        """Because of what is blamed; longer each time, unless the broker says for how long."""
        state = self.state
        seconds = state.delay + int(self._luck() * state.delay)
        yield from self.phase(phase, self.blame or A_COMMAND)
        state.delay = min(state.delay * 2, limits.LONGEST_WAIT)
        self._rest(seconds if again is None else min(again, limits.LONGEST_ASKED))

    def _rest(self, seconds: int | None) -> None:
        """No longer than until there are other orders; None for as long as there are none."""
        state = self.state
        state.waits, state.under = Waits.REST, state.own.text
        state.until = None if seconds is None else self._clock() + seconds
