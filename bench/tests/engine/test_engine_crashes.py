"""A run that dies at any moment loses nothing and doubles nothing: the next one finds out and goes on.

The seeded tests end a run after the n-th journal line or in the n-th request, before or after it takes effect, by an
exception that nothing catches; from that moment on nothing is written any more, as after a kill. Processes that die are
of tests/engines/test_adoption_property.py.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from pulumi import ResourceOptions

from bench.engine import journal
from bench.engine.backend import StackFiles
from bench.tests.engine.fake import Group, Net, Vm
from bench.tests.engine.world import World, ops, problems, verify
from infra.model.errors import EngineError

VMS = 98
RESOURCES = VMS + 2


class Killed(BaseException):
    """Nothing catches it but the test."""


class Killer:
    """Ends a run at a chosen moment, and lets nothing be written or asked after it."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dead, self.lines, self.last = False, 0, 0
        self.world = world
        write, append = StackFiles.write, journal.Journal._append

        def guarded_write(files: StackFiles, chunks) -> None:
            self.check()
            write(files, chunks)

        def guarded_append(self_: journal.Journal, record) -> None:
            self.check()
            append(self_, record)
            self.lines += 1
            if self.lines == self.last:
                self.die()

        monkeypatch.setattr(StackFiles, "write", guarded_write)
        monkeypatch.setattr(journal.Journal, "_append", guarded_append)

    def check(self) -> None:
        if self.dead:
            raise Killed

    def die(self) -> None:
        self.dead = True
        raise Killed

    def after_line(self, n: int) -> None:
        self.lines, self.last = 0, n

    def at_request(self, n: int, *, took_effect: bool) -> None:
        count = 0

        def counted(verb: str, id_: str) -> None:
            nonlocal count
            self.check()
            count += 1
            if count >= n:
                self.die()

        if took_effect:
            self.world.cloud.after = counted
            self.world.cloud.before = lambda verb, id_: self.check()
        else:
            self.world.cloud.before = counted

    def revive(self) -> None:
        self.dead, self.last = False, 0
        self.world.cloud.before = self.world.cloud.after = lambda verb, id_: None


def fleet(size: str = "small", vms: int = VMS):
    def program() -> None:
        net = Net("net", fixed="n")
        other = Net("other", fixed="o", labels={"size": size})
        group = Group("group", opts=ResourceOptions(depends_on=[other]))
        for index in range(vms):
            Vm(f"vm{index}", net=net.link, size=size, opts=ResourceOptions(parent=group))

    return program


def declared(size: str = "small", vms: int = VMS) -> dict[str, str]:
    return {"net/n": "small", "net/o": "small"} | {f"vm/vm{index}": size for index in range(vms)}


def standing(world: World) -> dict[str, str]:
    return {id_: thing["size"] for id_, thing in world.cloud.things.items()}


def check_exact(world: World, expected: dict[str, str]) -> None:
    assert standing(world) == expected
    latest = world.checkpoint
    verify(latest)
    ids = [entry["id"] for entry in latest.get("resources", ()) if entry["type"].startswith("fake:")]
    assert sorted(ids) == sorted(expected)
    assert "pending_operations" not in latest
    assert not list(world.files.journals.iterdir())
    assert not ops(world.preview()), "the state and the program differ"


LINES = 2 * RESOURCES + 5
CREATION = (None, fleet(), declared())
CHANGE = (fleet(vms=10), fleet("big", vms=6), declared("big", vms=6))
DESTROY = (fleet(vms=10), lambda: None, {})
POINTS = [
    *((CREATION, "line", n) for n in (2, 3, *sorted(random.Random(1).sample(range(4, LINES), 3)), LINES)),
    *((CREATION, when, n) for when in ("before", "after") for n in (1, 60, RESOURCES)),
    *((CHANGE, when, n) for when in ("before", "after") for n in (1, 4, 9, 15)),
    *((DESTROY, "after", n) for n in (3, 8, 12)),
]


@pytest.mark.parametrize(("life", "when", "n"), POINTS, ids=[f"{when}-{n}" for _, when, n in POINTS])
def test_a_crash_loses_nothing_and_doubles_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, life: tuple, when: str, n: int
) -> None:
    """After the n-th journal line, or in the n-th request, before or after it takes effect; twice."""
    before, program, expected = life
    if before is not None:
        world.run(before, previewed=True)
    killer = Killer(world, monkeypatch)
    world.program = program
    for _ in range(2):
        if when == "line":
            killer.after_line(n)
        else:
            killer.at_request(n, took_effect=when == "after")
        with suppress(Killed):
            world.up(previewed=True)
        killer.revive()
        verify(world.engine().export()["deployment"])
    plan = world.up(previewed=True)
    assert not plan.failed, problems(plan)
    check_exact(world, expected)
    created = world.cloud.verbs("create")
    assert when != "line" or len(created) == len(set(created)), "something was made twice"


@pytest.fixture
def unknown_id(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which a create was cut off after it took effect, of a type whose ids only the API chooses."""
    killer = Killer(world, monkeypatch)
    killer.at_request(1, took_effect=True)
    world.program = lambda: Net("net", fixed="n")
    with pytest.raises(Killed):
        world.up(previewed=True)
    killer.revive()
    monkeypatch.setattr("bench.tests.engine.fake.FakeProvider.locate", lambda self, token, inputs: None)
    return world


@pytest.mark.parametrize("operation", ["preview", "up", "destroy"])
def test_a_create_whose_id_only_the_api_knows_is_not_doubled(unknown_id: World, operation: str) -> None:
    for _ in range(2):
        with pytest.raises(EngineError, match=r"delete it there if it exists, then run `\./tidepool refresh ci`"):
            getattr(unknown_id, operation)()
    assert unknown_id.cloud.verbs("create") == ["create net/n"]


def test_a_create_whose_id_only_the_api_knows_is_forgotten_by_a_refresh(
    unknown_id: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown_id.cloud.things.clear()
    said = [one.message for one in unknown_id.refresh().diagnostics]
    assert said == [
        "net (fake:index:Net) was being created when the last run ended: forgotten, since its id is not known"
    ]
    monkeypatch.undo()
    assert ops(unknown_id.up()) == {"net": "create"}
    assert set(unknown_id.cloud.things) == {"net/n"}
