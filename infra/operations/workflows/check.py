"""Everything that is wrong with workflow files, each with what mends it.

Owns which judges are asked. A finding's words are its judge's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from infra.model.clock import machine_clock  # noqa: TID251 - a migration of the world is overdue, whatever a local cloud says
from infra.model.demand import FILE as DEMAND_FILE
from infra.model.demand import WRITE, Demands, load_demands
from infra.model.errors import ConfigError, Problem
from infra.model.fit import misfits
from infra.model.stack import read_sibling
from infra.model.stack_text import stack_names
from infra.model.unclaimed import Misfit
from infra.operations.workflows.pin import wrong_pins
from infra.operations.workflows.scene import (
    GeneratedHere,
    for_checkout,
    has_legacy,
    read_files,
    scene,
    spec_of,
    standing_here,
    standing_there,
)
from infra.operations.workspace import workspace
from workflows import coverage
from workflows.checks import Known, TestCase, check, pools_of
from workflows.collected import load_collected
from workflows.composite import FOLDER
from workflows.coverage import missing
from workflows.legacy import names, overdue
from workflows.legacy.text import suffixed_file
from workflows.placement import crowded
from workflows.read import WorkflowFile, read
from workflows.spec import Spec
from workflows.spec.rules import SHARED_FILES
from workflows.standing import FileState, Off, compare
from workflows.triggering import listed, triggers
from workflows.world import TABLE, World

_RUNNERS = "runner-has-labels"
_DEMANDS = "plans and the policy still read it: what it asks is judged below, beside what is asked now"


@dataclass(frozen=True, slots=True)
class WorkflowTrouble:
    """One finding. kind: file, source, pin, fault, fleet, tests, kept or legacy. stops: whether it fails the check."""

    kind: str
    subject: str
    state: str
    why: tuple[str, ...]
    mend: str
    stops: bool = True


@dataclass(frozen=True, slots=True)
class Checked:
    """files: how many are generated."""

    troubles: tuple[WorkflowTrouble, ...]
    files: int = 0

    @property
    def stops(self) -> int:
        """How many troubles the check fails by."""
        return sum(each.stops for each in self.troubles)


def check_here() -> Checked:
    """Everything that is generated here, against what stands here."""
    try:
        here = scene()
    except ConfigError as error:
        return _unmade(error)
    files = compare(here.outputs.texts, standing_here(here.root), write=WRITE)
    troubles = [
        *_of_files(each for each in files if not here.outputs.hides(each.path)),
        *_sources(here),
        *_pin(here),
        *_fleet(here.root, here.outputs.demands),
    ]
    for spec, made in here.outputs.made:
        troubles += [*(_of_spec(spec, here) if spec else ()), *_faults([file.whole() for file in made], here, spec)]
    return _checked(troubles, len(here.outputs.texts))


def check_checkout(target: Path, name: str | None) -> Checked:
    """What stands in a consumer's checkout against its specification."""
    try:
        here = scene()
    except ConfigError as error:
        return _unmade(error)
    spec = spec_of(here.root, here.world, name)
    stands = standing_there(target)
    legacy = spec.declared.legacy
    files, wanted = for_checkout(spec, here.world, legacy=legacy is not None and has_legacy(stands))
    whole = [file.whole() for file in files]
    known = {f"{FOLDER}/{file}" for file in (*(kept.file for kept in spec.declared.kept), *SHARED_FILES)}
    if legacy is not None:
        known |= {f"{FOLDER}/{suffixed_file(old.file)}" for old in legacy.workflows}
    write = f"{WRITE} --spec {spec.name} --target {target}"
    troubles = [*_of_files(compare(wanted, stands, write=write, known=known)), *_kept(spec, stands)]
    if legacy is not None:
        troubles += [_problem("legacy", each) for each in overdue(stands, legacy, machine_clock().date())]
    troubles += [
        *_pin(here),
        *_fleet(here.root, here.outputs.demands),
        *_of_spec(spec, here),
        *_faults(whole, here, spec),
        *_missing(spec, target),
        *_by_hand(whole, stands, spec, here),
    ]
    return _checked(troubles, len(wanted))


def _of_files(files: Iterable[Off]) -> Iterator[WorkflowTrouble]:
    for each in files:
        more = (_DEMANDS,) if each.path == DEMAND_FILE and each.state is FileState.STALE else ()
        yield WorkflowTrouble("file", each.path, each.state.value, (*each.why, *more), each.mend)


def _sources(here: GeneratedHere) -> Iterator[WorkflowTrouble]:
    for _, problems in sorted(here.outputs.problems.items()):
        for each in problems:
            found = _problem("source", each)
            yield replace(found, state="cannot be generated", mend=f"{each.fix}; then {WRITE}")


def _pin(here: GeneratedHere) -> Iterator[WorkflowTrouble]:
    """What is the matter with the commits at which workflow files call our actions."""
    for each in wrong_pins(here):
        yield WorkflowTrouble("pin", f"{TABLE} own", each.state.value, (each.why,), each.mend, each.stops)


def _fleet(root: Path, made: Demands | None) -> Iterator[WorkflowTrouble]:
    """What does not fit the fleet, in the words of `explain` and of the rules. made: what workflows ask now."""
    for each in fitting(root, made):
        yield WorkflowTrouble("fleet", each.subject, each.kind.value, (each.reason,), each.fix, each.stops)


def _unmade(error: ConfigError) -> Checked:
    """Where nothing can be generated: what keeps the files from being made, and then the jobs that find no runner.

    The error itself where every job finds one.
    """
    fleet = tuple(_fleet(workspace().root, None))
    if not any(each.stops for each in fleet):
        raise error
    return _checked([*(_problem("source", each) for each in error.problems), *fleet])


def _of_spec(spec: Spec, here: GeneratedHere) -> Iterator[WorkflowTrouble]:
    """Pools that are too small for their suites; tests that run nowhere or twice."""
    for each in crowded(spec, here.world):
        yield replace(_problem("fleet", each), state="pool-has-room", stops=False)
    collected = load_collected(here.root, spec.name)
    for line in coverage.of_spec(spec, collected).findings() if collected else ():
        subject, _, said = line.partition(": ")
        why, _, mend = said.partition("; ")
        yield WorkflowTrouble("tests", subject, "coverage", (why,), mend)


def _faults(files: Sequence[WorkflowFile], here: GeneratedHere, spec: Spec | None) -> Iterator[WorkflowTrouble]:
    """What the semantic rules find in generated files; of their runners where nothing was said by what they ask."""
    known = _known(spec, here.world, here.root)
    for each in check(files, known):
        if each.rule == _RUNNERS and here.outputs.demands is not None:
            continue
        job = f" job {each.job}" if each.job else ""
        yield WorkflowTrouble("fault", f"{each.file}:{each.line}{job}", each.rule, (each.reason,), each.fix)


def _missing(spec: Spec, target: Path) -> Iterator[WorkflowTrouble]:
    """What the specification names and the checkout has not."""
    try:
        there = read_files(target)
    except ConfigError as error:
        yield from (_problem("source", each) for each in error.problems)
        return
    for each in missing(spec, there) if there else ():
        yield replace(_problem("source", each), state="not there")


def _by_hand(
    files: Sequence[WorkflowFile], stands: Mapping[str, str], spec: Spec, here: GeneratedHere
) -> Iterator[WorkflowTrouble]:
    """What the rules find in files by hand that stay: to know of, since nobody here writes them."""
    by_hand = []
    for kept in spec.declared.kept:
        path = f"{FOLDER}/{kept.file}"
        with suppress(ConfigError):  # one that cannot be read is told as a kept file
            by_hand += [read(stands[path], path)] if path in stands else []
    paths = {each.source for each in by_hand}
    for each in check([*files, *by_hand], _known(spec, here.world, here.root)) if by_hand else ():
        if each.file in paths:
            job = f" job {each.job}" if each.job else ""
            yield WorkflowTrouble(
                "kept", f"{each.file}:{each.line}{job}", each.rule, (each.reason,), each.fix, stops=False
            )


def _known(spec: Spec | None, world: World, root: Path) -> Known:
    pools = pools_of(world.stacks.values())
    if spec is None:
        return Known(repository=world.images.recipes, pools=pools)
    collected = load_collected(root, spec.name)
    tests = tuple(TestCase(test.path, test.markers) for test in collected.tests) if collected else ()
    accepted = coverage.gaps(spec)
    return Known(
        repository=spec.declared.repository,
        pools=pools,
        workflows=frozenset(kept.name for kept in spec.declared.kept) | names(spec.declared.legacy),
        tests=tuple(test for test in tests if not any(gap.markers.take(test.markers) for gap in accepted)),
    )


def _kept(spec: Spec, stands: Mapping[str, str]) -> Iterator[WorkflowTrouble]:
    """Whether workflows by hand are as the specification says, since others rely on it.

    A checkout with none of them is no repository yet, and nothing is said of it.
    """
    if not any(f"{FOLDER}/{kept.file}" in stands for kept in spec.declared.kept):
        return
    for index, kept in enumerate(spec.declared.kept):
        path, line = f"{FOLDER}/{kept.file}", spec.line("kept", index)
        if path not in stands:
            yield WorkflowTrouble(
                "kept", path, "not there", (f"{line} says that it is kept",), f"the file, or no {line}"
            )
            continue
        try:
            file = read(stands[path], path)
        except ConfigError as error:
            yield from (_problem("kept", each) for each in error.problems)
            continue
        events = tuple(triggers(file.data.get("on")))
        found = {label for job in file.data.get("jobs", {}).values() for label in listed(job.get("runs-on"))}
        for what, said, is_so in (
            ("name", {kept.name}, {str(file.data.get("name"))}),
            ("triggers", set(kept.triggers), set(events)),
            ("runs_on", set(kept.runs_on), {label for label in found if "${{" not in label} or set(kept.runs_on)),
        ):
            if said != is_so:
                why = f"{line} says {what} {_said(said)}, and it has {_said(is_so)}"
                yield WorkflowTrouble("kept", path, "differs", (why,), f"{what}: {_said(is_so)} at {line}")


def _said(values: Iterable[str]) -> str:
    return ", ".join(sorted(values)) or "nothing"


def _problem(kind: str, problem: Problem) -> WorkflowTrouble:
    said = f"{problem.value}: {problem.rule}" if problem.value else problem.rule
    return WorkflowTrouble(kind, problem.subject, "not right", (said,), problem.fix)


def _checked(troubles: Iterable[WorkflowTrouble], files: int = 0) -> Checked:
    return Checked(tuple(dict.fromkeys(troubles)), files)


def fitting(root: Path, made: Demands | None) -> tuple[Misfit, ...]:
    """Every misfit of a checkout, sorted. made: `Outputs.demands`. ConfigError where the committed list is none."""
    files = {name: (root / "stacks" / f"Pulumi.{name}.yaml").read_bytes() for name in stack_names(root)}
    stacks = [stack for name, text in files.items() if (stack := read_sibling(text, stack=name)) is not None]
    known = (each for each in (load_demands(root), made) if each is not None)
    return tuple(sorted({misfit for demands in known for misfit in misfits(stacks, demands)}))
