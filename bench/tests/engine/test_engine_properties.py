"""What holds for every program and every edit of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pulumi import ResourceOptions

from bench.tests.engine.fake import Group, Net, Vm
from bench.tests.engine.world import World, ops, problems, verify


@dataclass(frozen=True)
class Wanted:
    """One resource of a random program. `net`, `after`: places of earlier ones it depends on, by an input or not."""

    name: str
    size: str
    label: str
    net: int | None
    after: tuple[int, ...]
    first: bool | None

    @property
    def fixed(self) -> bool:
        return self.name in ("r0", "r1", "r2")

    @property
    def grouped(self) -> bool:
        return self.name in ("r0", "r3", "r4")


NAMES = [f"r{index}" for index in range(7)]
RESOURCES = st.builds(
    Wanted,
    name=st.sampled_from(NAMES),
    size=st.sampled_from(["s", "m"]),
    label=st.sampled_from(["x", "y"]),
    net=st.none() | st.integers(0, 6),
    after=st.lists(st.integers(0, 6), max_size=2).map(tuple),
    first=st.none() | st.booleans(),
)
PROGRAMS = st.lists(RESOURCES, max_size=7, unique_by=lambda wanted: wanted.name)


def declare(program: list[Wanted]):
    def run() -> None:
        made: list[Vm | Net] = []
        group = Group("group")
        for wanted in program:
            on = [made[place] for place in wanted.after if place < len(made)]
            opts = ResourceOptions(
                depends_on=on, parent=group if wanted.grouped else None, delete_before_replace=wanted.first
            )
            props: dict = {"size": wanted.size, "labels": {"x": wanted.label}}
            if wanted.net is not None and wanted.net < len(made):
                props["net"] = made[wanted.net].link
            if wanted.fixed:
                opts.delete_before_replace = None  # a fixed name cannot be made again while it is taken
                made.append(Vm(wanted.name, opts=opts, **props))
            else:
                made.append(Net(wanted.name, opts=opts, **props))

    return run


def name_of(id_: str) -> str:
    """The name in the program of what has this id."""
    return id_.split("/")[1].split("-")[0]


@settings(max_examples=15, deadline=None, phases=[Phase.generate])
@given(programs=st.lists(PROGRAMS, min_size=1, max_size=4), parallel=st.sampled_from([1, 4]))
def test_any_edit_of_any_program_converges(programs: list[list[Wanted]], parallel: int) -> None:
    with TemporaryDirectory() as folder:
        world = World(Path(folder))
        for program in programs:
            world.program = declare(program)
            foreseen = world.preview()
            before = dict(world.cloud.things)
            refers = {id_: thing.get("net", "") for id_, thing in before.items()}
            world.cloud.requests.clear()
            plan = world.up(previewed=True, parallel=parallel)
            assert not plan.failed, problems(plan)
            # An unknown input counts as a change, so a preview may foretell more than comes, and never less.
            assert ops(plan).keys() <= ops(foreseen).keys()
            assert set(map(name_of, world.cloud.things)) == {one.name for one in program}
            assert len(world.cloud.things) == len(program)
            verify(world.checkpoint)
            requests = world.cloud.requests
            for index, (verb, id_) in enumerate(requests):
                if verb == "delete":
                    # A copy that is replaced already goes after the program, whatever it referred to.
                    replaced = {name_of(one) for done, one in requests[:index] if done == "create"}
                    held = {
                        one
                        for one, link in refers.items()
                        if link == f"https://fake/{id_}" and name_of(one) not in replaced
                    }
                    later = {one for done, one in requests[index + 1 :] if done == "delete"}
                    assert not held & later, f"{id_} went before what referred to it"
            assert set(ops(world.up(previewed=True), same=True).values()) <= {"same"}
        assert not world.destroy().failed
        assert not world.cloud.things
