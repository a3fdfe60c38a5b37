"""How many registrations of a program are under way in the SDK at once.

Owns their turn. Left alone, the SDK prepares all of them side by side, so that every request of a large stack is in
memory before the first is answered. Does not own how many resources are worked on (`Options.parallel`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from pulumi.runtime.rpc_manager import RPCManager

PORTION = 64
"""Registrations that begin together."""
TURNS = 64
"""Turns of the event loop between two portions: about what the SDK takes to prepare and answer one resource."""


class Pace(RPCManager):
    """Lets registrations begin in portions, in the order of the program.

    The next portion waits for turns of the event loop, never for an earlier portion to end: whatever a registration
    waits for, even for one that is declared after it, comes to its turn too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._free = PORTION
        self._waiting: deque[asyncio.Future[None]] = deque()

    def do_rpc(self, name: str, rpc_function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The SDK's own, after a wait where it registers a resource."""
        if name != "register resource":
            return super().do_rpc(name, rpc_function)
        turn = self._turn()

        async def in_turn(*args: Any, **kwargs: Any) -> Any:
            if turn is not None:
                await turn
            return await rpc_function(*args, **kwargs)

        return super().do_rpc(name, in_turn)

    def _turn(self) -> asyncio.Future[None] | None:
        """What the next registration waits for; None where it may begin."""
        if self._free:
            self._free -= 1
            return None
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            # Among the SDK's calls, so that it waits for this one before it waits for any of all outputs: each time
            # it does so costs as much as the program has outputs.
            self.rpcs.append(asyncio.ensure_future(self._pace()))
        return turn

    async def _pace(self) -> None:
        while self._waiting:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            for _ in range(min(PORTION, len(self._waiting))):
                turn = self._waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
        self._free = PORTION
