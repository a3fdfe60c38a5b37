"""Registrations take turns: few are under way at once, and none waits for ever."""

from __future__ import annotations

import asyncio

from bench.engine.program import PORTION, TURNS, RegistrationPace
from bench.tests.engine.fake import Vm
from bench.tests.engine.world import World


def begun_after(turns: int, count: int, name: str = "register resource") -> int:
    """How many of `count` calls, none of which ends, have begun after some turns of the event loop."""
    begun: list[int] = []

    async def program() -> None:
        pace, never = RegistrationPace(), asyncio.get_running_loop().create_future()

        async def call() -> None:
            begun.append(1)
            await never

        calls = [asyncio.ensure_future(pace.do_rpc(name, call)()) for _ in range(count)]
        for _ in range(turns):
            await asyncio.sleep(0)
        never.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def counted() -> int:
        running = asyncio.ensure_future(program())
        for _ in range(turns):
            await asyncio.sleep(0)
        found = len(begun)
        await running
        return found

    return asyncio.run(counted())


def test_a_large_program_has_one_portion_of_registrations_under_way_at_first() -> None:
    assert begun_after(TURNS // 2, 5 * PORTION) == PORTION


def test_resources_that_wait_for_later_ones_all_come_to_be(world: World) -> None:
    def program() -> None:
        first = Vm("first")
        for index in range(2 * PORTION):
            Vm(f"waits-{index}", note=first.link.apply(lambda _, index=index: Vm(f"late-{index}").link))

    world.run(program)
    assert len(world.cloud.things) == 4 * PORTION + 1
