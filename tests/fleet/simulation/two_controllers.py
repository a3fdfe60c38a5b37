"""Two controllers at once: each runs in a thread, one at a time, and at every call a draw says whose turn it is.

Owns the turns. What a controller does in its own is `fleet_life`'s.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True, kw_only=True)
class Duet:
    """begins: the first one's call before which the second one begins, `pause` seconds later.

    ahead: by how many seconds the second one's clock is. turns: how often a call is the other's turn; 0 lets the second
        one finish first.
    """

    begins: int
    ahead: float
    pause: float
    turns: float
    seed: float
    _dice: Random = field(init=False)
    _mine: tuple[threading.Semaphore, threading.Semaphore] = field(init=False)
    _over: list[bool] = field(init=False)
    _other: threading.Thread | None = None
    _error: BaseException | None = None

    def __post_init__(self) -> None:
        self._dice = Random(f"turns {self.seed}")
        self._mine = threading.Semaphore(0), threading.Semaphore(0)
        self._over = [False, False]

    def before_first(self, call: int, passes: Callable[[float], None], second: Callable[[], None]) -> None:
        """Before each call of the first controller. passes: lets time pass. second: the other's whole sweep."""
        if call == self.begins:
            passes(self.pause)
            self._other = threading.Thread(target=self._second, args=[second], daemon=True)
            self._other.start()
            self._hand_over(0)
        elif self._other is not None:
            self._maybe(0)

    def before_second(self, _: int) -> None:
        self._maybe(1)

    def ends(self) -> None:
        """The first controller is done; what is left is the second one's. Raises what that raised."""
        self._over[0] = True
        if self._other is not None:
            self._mine[1].release()
            self._other.join()
        if self._error is not None:
            raise self._error

    def _second(self, sweep: Callable[[], None]) -> None:
        self._mine[1].acquire()
        try:
            sweep()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the first one's thread tells
            self._error = error
        self._over[1] = True
        self._mine[0].release()

    def _maybe(self, who: int) -> None:
        if self._dice.random() < self.turns:
            self._hand_over(who)

    def _hand_over(self, who: int) -> None:
        if not self._over[1 - who]:
            self._mine[1 - who].release()
            self._mine[who].acquire()
