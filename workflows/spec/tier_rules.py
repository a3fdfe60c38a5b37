"""Rules of what is kept of tests: who may keep results, and how suites are told apart in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infra.model.errors import Problem
from infra.model.yamlfile import YamlPath
from workflows.spec.judged import SpecInWorld
from workflows.spec.tiers import SUITE, TpuTier


def jobs_may_keep_their_results(judged: SpecInWorld) -> Iterator[Problem]:
    """Else Google gives their files no token, or there is no place for what they keep."""
    declared, stack = judged.declared, judged.world.stacks.get(judged.declared.stack)
    tiers, kept = declared.tiers, declared.results
    if (tiers is None and kept is None) or stack is None or stack.github is None:
        return
    if len([each for each in judged.world.stacks.values() if each.results]) != 1:
        rule = "results of tests have no place, or more than one"
        path = ("results",) if kept else ("tiers", "results")
        yield judged.problem(path, "", rule, "tidepool:results in one stack")
    keeping: list[tuple[YamlPath, str]] = [(("results", "file"), kept.file)] if kept else []
    if tiers:
        keeping += [
            (("tiers", "results", "file"), tiers.results.file),
            (("tiers", "nightly", "file"), tiers.nightly.file),
            (("tiers", "asked", "run_file"), tiers.asked.run_file),
        ]
    writers = stack.github.result_writers
    named = {file for each in writers if each.repository == declared.repository for file in each.workflows}
    for path, file in keeping:
        if file not in named:
            rule = "the stack lets this workflow keep no results"
            fix = f"{file} below tidepool:github result_writers in stacks/Pulumi.{declared.stack}.yaml"
            yield judged.problem(path, file, rule, fix)


def kept_suites_are_told_apart(judged: SpecInWorld) -> Iterator[Problem]:
    """Suites of packages are kept by package and job, of which each has its own place."""
    if judged.declared.results is None:
        return
    if not judged.declared.tests:
        yield judged.problem(("results",), "", "there are no tests whose results could be kept", "remove the section")
    names = Counter(suite.kept_as for _, suite in judged.suites())
    for path, suite in judged.suites():
        if names[suite.kept_as] > 1:
            rule = f"another suite of the package is kept as {suite.kept_as} too"
            yield judged.problem((*path, "job"), suite.job, rule, "another id")
        if not SUITE.fullmatch(suite.kept_as):
            rule = f"{suite.kept_as} is no name of a suite in the results: at most 60 characters, a letter first"
            yield judged.problem((*path, "job"), suite.job, rule, "a shorter id")


def suites_of_tiers_are_told_apart(judged: SpecInWorld) -> Iterator[Problem]:
    """Their names are those of their results, and each shard has a module at least."""
    tiers = judged.declared.tiers
    if tiers is None:
        return
    cpu = [
        (("every_pull_request", "suites", at), each.job, each)
        for at, each in enumerate(tiers.every_pull_request.suites)
    ]
    tpu = [(("on_tpu", at), each.suite, each) for at, each in enumerate(tiers.on_tpu)]
    names = Counter(name for _, name, _ in (*cpu, *tpu))
    for path, name, suite in (*cpu, *tpu):
        if names[name] > 1:
            yield judged.problem(("tiers", *path), name, "another suite of the tiers has this name", "another name")
        if suite.shards > len(set(suite.modules)):
            rule = f"there are {len(set(suite.modules))} modules, and a shard would be empty"
            yield judged.problem(
                ("tiers", *path, "shards"), str(suite.shards), rule, f"shards: {len(set(suite.modules))}"
            )
    for tier in TpuTier:
        if not tiers.of(tier):
            yield judged.problem(("tiers", "on_tpu"), "", f"no suite runs in the tier {tier}", f"tiers: [{tier}]")
