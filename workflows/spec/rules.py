"""Rules between values of a specification, and between it and the fleet. Each yields every Problem it finds.

Owns what must hold of several values. Does not own what a single value may be (values). Whether the whole of the
workflows fits the fleet, from labels to waiting, is judged over all of them together (`infra.model.fit`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain

from infra.model.errors import Problem
from infra.model.images.spec import Builder
from infra.model.refusals import Subject
from infra.model.yamlfile import YamlPath
from workflows.spec import tier_rules
from workflows.spec.judged import SpecInWorld
from workflows.spec.model import Declared, LegacyRuns, Priority
from workflows.spec.tiers import TpuTier
from workflows.world import World

Rule = Callable[[SpecInWorld], Iterator[Problem]]
SHARED_FILES = ("stale.yml",)
"""Shared by all repositories of the organisation: never a file of one specification."""


def broken(declared: Declared, world: World, subject: Subject) -> tuple[Problem, ...]:
    """Every rule that does not hold."""
    judged = SpecInWorld(declared, world, subject)
    return tuple(chain.from_iterable(rule(judged) for rule in RULES))


def _sections(declared: Declared) -> Iterator[tuple[YamlPath, str, str]]:
    """Every workflow file with its place, kept ones too: (path, file, name)."""
    for part, file, name in declared.tiers.files() if declared.tiers else ():
        yield ("tiers", part), file, name
    if kept := declared.results:
        yield ("results",), kept.file, kept.name
    for section in ("tests", "images", "runs", "publish", "kept"):
        for index, each in enumerate(getattr(declared, section)):
            yield (section, index), each.file, each.name


def files_and_names_stand_once(judged: SpecInWorld) -> Iterator[Problem]:
    files = Counter(file for _, file, _ in _sections(judged.declared))
    names = Counter(name for _, _, name in _sections(judged.declared))
    for path, file, name in _sections(judged.declared):
        if files[file] > 1:
            yield judged.problem((*path, "file"), file, "another entry makes this file", "another file")
        if file in SHARED_FILES:
            yield judged.problem((*path, "file"), file, "the file is shared by all specifications", "another file")
        if names[name] > 1:
            rule = "another workflow has this name, and others follow it by its name"
            yield judged.problem((*path, "name"), name, rule, "another name")


def the_stack_lets_workflows_in(judged: SpecInWorld) -> Iterator[Problem]:
    stack = judged.world.stacks.get(judged.declared.stack)
    if stack is None:
        there = ", ".join(sorted(judged.world.stacks))
        yield judged.problem(("stack",), judged.declared.stack, "no stack has this name", f"one of {there}")
    elif stack.github is None:
        rule = "the stack lets no workflow of GitHub in"
        yield judged.problem(
            ("stack",), judged.declared.stack, rule, f"tidepool:github in stacks/Pulumi.{judged.declared.stack}.yaml"
        )


def suites_have_jobs_of_their_own(judged: SpecInWorld) -> Iterator[Problem]:
    for index, tests in enumerate(judged.declared.tests):
        jobs = Counter(suite.job for suite in tests.suites)
        for place, suite in enumerate(tests.suites):
            if jobs[suite.job] > 1:
                path = ("tests", index, "suites", place, "job")
                yield judged.problem(path, suite.job, "another job of the file has this id", "another id")


def suites_say_what_their_runners_do_not(judged: SpecInWorld) -> Iterator[Problem]:
    for path, suite in judged.suites():
        if suite.leave_free is not None and (suite.where.hosted or suite.priority is Priority.FIRST):
            rule = "this has no effect on GitHub's runners, nor in a suite that goes first"
            yield judged.problem((*path, "leave_free"), str(suite.leave_free), rule, "remove the line")
        if not suite.where.hosted and suite.python:
            rule = "the runner image says which Python a pool has"
            yield judged.problem((*path, "python"), ", ".join(suite.python), rule, "remove the line")
        if not suite.where.hosted and suite.node:
            rule = "the runner image says which Node a pool has"
            yield judged.problem((*path, "node"), suite.node, rule, "remove the line")
        if not suite.where.hosted and not suite.jax and not any("tpu" in each for each in suite.chosen):
            rule = "no library that drives the TPU: neither a jax version nor the package's extra"
            yield judged.problem(path, suite.package, rule, "extras: [tpu]")
        if suite.where.hosted and not suite.python:
            yield judged.problem(path, "", "the suite runs on GitHub's runners and names no Python", 'python: ["3.11"]')


def groups_have_images_of_one_builder(judged: SpecInWorld) -> Iterator[Problem]:
    known = {
        image.name: image
        for image in judged.world.images.images
        if image.context.repository == judged.declared.repository
    }
    for index, images in enumerate(judged.declared.images):
        grouped: set[str] = set()
        for place, group in enumerate(images.groups):
            path = ("images", index, "groups", place, "images")
            for at, name in enumerate(group.images):
                if name not in known:
                    rule = f"not an image of images/images.yaml that is built from {judged.declared.repository}"
                    yield judged.problem((*path, at), name, rule, f"one of {', '.join(sorted(known))}")
                if name in grouped:
                    yield judged.problem((*path, at), name, "the image is in two groups", "the name once")
                grouped.add(name)
            builders = {known[name].builder for name in group.images if name in known}
            if len(builders) > 1:
                said = ", ".join(group.images)
                yield judged.problem(path, said, "images of the group are built by two builders", "two groups")
        for name in sorted(known.keys() - grouped):
            yield judged.problem(
                ("images", index, "groups"), "", f"no group builds the image {name}", f"images: [{name}]"
            )


def runs_have_what_they_name(judged: SpecInWorld) -> Iterator[Problem]:
    for index, run in enumerate(judged.declared.runs):
        path = ("runs", index)
        images = sorted(image.name for image in judged.world.images.images if image.builder is Builder.GITHUB)
        if run.image not in images:
            rule = "not an image of images/images.yaml that goes to GitHub's registry"
            yield judged.problem((*path, "image"), run.image, rule, f"one of {', '.join(images)}")
        elif run.name not in judged.world.images.image(run.image).used_by.workflows:
            rule = f"images/images.yaml does not name this run in used_by.workflows of {run.image}"
            yield judged.problem((*path, "image"), run.image, rule, f"workflows: [{run.name}] there")
        shape = judged.world.pool(run.vm)
        if shape is None:
            there = ", ".join(each.pool.name for each in judged.world.pools())
            yield judged.problem((*path, "vm"), run.vm, "no stack has this pool", f"one of {there}")
        else:
            offered, wanted = shape.pool.accelerator, run.accelerator
            if offered.generation != wanted.generation or offered.chips < wanted.chips:
                rule = f"the pool is too small for {wanted.name}: {run.vm} has {offered.name}"
                yield judged.problem((*path, "vm"), run.vm, rule, f"a pool of {wanted.name} or larger")


def runs_may_make_their_vms(judged: SpecInWorld) -> Iterator[Problem]:
    """Else Google gives the file no token, or the VM, once made, may not read its secret."""
    declared = judged.declared
    stack = judged.world.stacks.get(declared.stack)
    makers = stack.github.run_makers if stack and stack.github else ()
    named = {(each.pool, file) for each in makers if each.repository == declared.repository for file in each.workflows}
    making: list[tuple[YamlPath, str, str]] = [
        (("runs", index, "file"), run.vm, run.file) for index, run in enumerate(declared.runs)
    ]
    if tiers := declared.tiers:
        files = {TpuTier.NIGHTLY: ("nightly", "file"), TpuTier.ASKED: ("asked", "run_file")}
        for suite in tiers.on_tpu:
            for tier in suite.tiers:
                part, key = files[tier]
                making.append((("tiers", part, key), suite.pool(tier), getattr(getattr(tiers, part), key)))
    for path, pool, file in making:
        if judged.world.pool(pool) is not None and (pool, file) not in named:
            rule = f"the stack lets this workflow make VMs as {pool} alone"
            entry = f"{file} with pool: {pool}"
            fix = f"{entry} below tidepool:github run_makers in stacks/Pulumi.{declared.stack}.yaml"
            yield judged.problem(path, file, rule, fix)
    for index, run in enumerate(declared.runs):
        path = ("runs", index)
        shape = judged.world.pool(run.vm)
        if shape is None:
            continue
        for variable, name in run.secrets.items():
            reader = f"pool/{run.vm}"
            if not any(each.name == name and reader in each.readers for each in shape.stack.secrets):
                rule = f"the stack of {reader} does not let the VM read the secret"
                fix = f"tidepool:secrets in stacks/Pulumi.{shape.stack.stack}.yaml: {name}, readers: [{reader}]"
                yield judged.problem((*path, "secrets", variable), name, rule, fix)


def who_follows_follows_what_is_there(judged: SpecInWorld) -> Iterator[Problem]:
    names = sorted(name for _, _, name in _sections(judged.declared))
    for index, publish in enumerate(judged.declared.publish):
        if publish.follows not in names:
            rule = "no workflow of this name to follow"
            yield judged.problem(("publish", index, "follows"), publish.follows, rule, f"one of {', '.join(names)}")
    started = {run.file for run in judged.declared.runs}
    for index, images in enumerate(judged.declared.images):
        for place, file in enumerate(images.starts):
            if file not in started:
                rule = "no run of this specification has this file"
                fix = f"one of {', '.join(sorted(started))}" if started else "remove the line"
                yield judged.problem(("images", index, "starts", place), file, rule, fix)


def images_follow_tests_that_exist(judged: SpecInWorld) -> Iterator[Problem]:
    names = sorted(name for _, _, name in _sections(judged.declared))
    for index, images in enumerate(judged.declared.images):
        for group in images.groups:
            for image in (each for each in judged.world.images.images if each.name in group.images):
                if image.when.after and image.when.after not in names:
                    rule = f"{image.name} is built after {image.when.after}, which is not a workflow of this repository"
                    yield judged.problem(("images", index), image.when.after, rule, f"one of {', '.join(names)}")


def gaps_are_of_packages_that_are_tested(judged: SpecInWorld) -> Iterator[Problem]:
    packages = sorted({suite.package for _, suite in judged.suites()})
    for index, gap in enumerate(judged.declared.accepted_gaps):
        if gap.package not in packages:
            fix = f"one of {', '.join(packages)}" if packages else "remove the entry"
            yield judged.problem(("accepted_gaps", index, "package"), gap.package, "the package has no suites", fix)


def old_workflows_give_way_to_generated_ones(judged: SpecInWorld) -> Iterator[Problem]:
    old = judged.declared.legacy.workflows if judged.declared.legacy else ()
    files, names = Counter(each.file for each in old), Counter(each.name for each in old)
    kept = {each.file for each in judged.declared.kept}
    new = sorted({file for _, file, _ in _sections(judged.declared)} - kept)
    for index, each in enumerate(old):
        path = ("legacy", "workflows", index)
        if files[each.file] > 1:
            yield judged.problem((*path, "file"), each.file, "the old file is listed twice", "another file")
        if names[each.name] > 1:
            yield judged.problem((*path, "name"), each.name, "the old name is listed twice", "another name")
        if each.file in kept:
            rule = "the workflow is both kept and replaced"
            yield judged.problem((*path, "file"), each.file, rule, "one of the two sections")
        if each.replaced_by not in new:
            rule = "no generated workflow of this name"
            yield judged.problem((*path, "replaced_by"), each.replaced_by, rule, ", ".join(new))
    if judged.declared.legacy and not any(each.runs is LegacyRuns.BESIDE for each in old):
        rule = "no old workflow runs beside a new one, so there is nothing to compare"
        yield judged.problem(("legacy", "workflows"), "", rule, "runs: beside, or no section `legacy`")


RULES: tuple[Rule, ...] = (
    files_and_names_stand_once,
    the_stack_lets_workflows_in,
    suites_have_jobs_of_their_own,
    suites_say_what_their_runners_do_not,
    groups_have_images_of_one_builder,
    runs_have_what_they_name,
    runs_may_make_their_vms,
    tier_rules.jobs_may_keep_their_results,
    tier_rules.suites_of_tiers_are_told_apart,
    tier_rules.kept_suites_are_told_apart,
    who_follows_follows_what_is_there,
    images_follow_tests_that_exist,
    gaps_are_of_packages_that_are_tested,
    old_workflows_give_way_to_generated_ones,
)
