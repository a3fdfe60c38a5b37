"""What one repository or organisation does not answer concerns the pools that are registered there, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.controller.act import Actor
from infra.fleet.controller.github import GitHubError
from infra.fleet.controller.observed import KNOWN, Observed, RunnerSeen, unknown
from tests.fleet.controller.given_fleet import (
    doing,
    first,
    fleet,
    labels,
    node,
    seen,
    served,
    slot,
    sweeps,
)

if TYPE_CHECKING:
    pass

HEARD, SILENT = "repos/a-lab/code", "repos/a-lab/other"
OTHER = replace(slot(0, pool="other"), serves=("a-lab/other",))
FLEET = fleet(slots=(slot(0), slot(1), OTHER))
ONE_IS_SILENT = {HEARD: KNOWN, SILENT: unknown("404")}


def listed(**given: Any) -> Observed:
    """A VM for each slot, of which only those of the first pool have a runner that anybody lists."""
    usual: dict[str, Any] = {
        "nodes": (
            *(node(each.name) for each in FLEET.slots[:2]),
            node(OTHER.name, labels=labels(pool="other")),
        ),
        "scopes": ONE_IS_SILENT,
        "runners": served(FLEET, but=(OTHER.name,)),
    }
    return seen(FLEET, **{**usual, **given})


def test_a_pool_is_healed_while_the_repository_of_another_cannot_be_asked() -> None:
    without = served(FLEET, but=(OTHER.name, FLEET.slots[0].name))
    decisions = sweeps(FLEET, listed(runners=without), 12)
    assert [did for each in decisions for did in doing(each)] == [("Restart", FLEET.slots[0].name)]
    assert all("github " + SILENT in {found.subject for found in each.findings} for each in decisions)


def test_an_orphan_goes_though_the_repository_of_another_pool_cannot_be_asked() -> None:
    mine, others = node("tpu-ci-us-west4-a-9"), node("other-us-west4-a-9", labels=labels(pool="other"))
    two = (*listed().nodes, mine, others)
    gone = [did for each in sweeps(FLEET, listed(nodes=two), 8) for did in doing(each)]
    assert ("Delete", mine.name) in gone
    assert ("Delete", others.name) not in gone


class Broker:
    """One list for all scopes, which fails as a whole where one of them does."""

    def __init__(self, *silent: str) -> None:
        self.silent, self.asked = silent, list[str]()

    def sources(self, scopes: Any) -> dict[str, tuple[str, ...]]:
        return {"broker": tuple(scopes)}

    def runners(self, source: str) -> tuple[RunnerSeen, ...]:
        self.asked.append(source)
        if source in self.silent or (source == "broker" and self.silent):
            raise GitHubError(f"{source}: github-refused")
        scopes = (HEARD, SILENT) if source == "broker" else (source,)
        return tuple(RunnerSeen(id=1, name="x", scope=scope, online=True, busy=False) for scope in scopes)


def test_a_delete_waits_for_the_repository_of_its_own_vm_alone() -> None:
    github: Any = Broker(SILENT)
    nothing: Any = None
    memory = first(FLEET, listed()).memory
    actor = Actor(google=nothing, records=nothing, github=github, desired=FLEET, seen=listed(), memory=memory)
    github.runner = lambda scope, name: None
    assert not actor._has_a_job(node(FLEET.slots[0].name))
    with pytest.raises(GitHubError, match="github-refused"):
        actor._has_a_job(node(OTHER.name, labels=labels(pool="other")))
    assert github.asked == ["broker", HEARD, SILENT]
