"""Rules of the tiers of a serving engine's tests: who may keep their results, and how their suites are told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infra.model.errors import Problem
from workflows.spec.judged import SpecInWorld
from workflows.spec.tiers import TpuTier


def jobs_may_keep_their_results(judged: SpecInWorld) -> Iterator[Problem]:
    """Else Google gives their files no token, or there is no place for what they keep."""
    tiers, stack = judged.declared.tiers, judged.world.stacks.get(judged.declared.stack)
    if tiers is None or stack is None or stack.github is None:
        return
    if len([each for each in judged.world.stacks.values() if each.results]) != 1:
        rule = "results of tests have no place, or more than one"
        yield judged.problem(("tiers", "results"), "", rule, "tidepool:results in one stack")
    writers = stack.github.result_writers
    named = {file for each in writers if each.repository == judged.declared.repository for file in each.workflows}
    parts = (("results", "file"), ("nightly", "file"), ("asked", "run_file"))
    for part, key in parts:
        file = getattr(getattr(tiers, part), key)
        if file not in named:
            rule = "the stack lets this workflow keep no results"
            fix = f"{file} below tidepool:github result_writers in stacks/Pulumi.{judged.declared.stack}.yaml"
            yield judged.problem(("tiers", part, key), file, rule, fix)


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
