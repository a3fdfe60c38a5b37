"""The controller's memory: it survives its document, stays bounded, and refuses what it cannot read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.fleet.controller import memory as memories
from infra.fleet.controller.keys import (
    BackoffKey,
    FindingKey,
    NodeKey,
    OrphanKey,
    RunnerKey,
    SourceKind,
    SourceName,
    suspect_key,
)
from infra.fleet.controller.memory import EMPTY, Backoff, UnreadableMemoryError
from infra.fleet.controller.observed import Trouble
from infra.fleet.status.timeline import remembered_as
from infra.fleet.versions import PartKind, VersionPart
from infra.model.catalogue import CapacityKind
from tests.fleet.controller.given_fleet import HOME, START, SWEEP


def test_a_memory_that_an_older_controller_wrote_is_read_by_what_it_names_and_written_as_it_was() -> None:
    content = Path(__file__).with_name("memory_of_before.json").read_bytes()
    document, memory = json.loads(content), memories.read(content)
    rollout, vm = memory.rollouts["tpu-ci"], "tpu-ci-us-west4-a-0"
    assert json.loads(memory.encoded("a")) == document | {"written_by": "a"}
    assert memory.nodes.keys() == {NodeKey("us-central1-a", vm)}
    assert {OrphanKey(NodeKey("us-west4-a", "stray"), "2026-11-02T01:00:00Z")} < memory.suspects.keys()
    assert FindingKey.unknown(SourceName(SourceKind.ZONE, "us-central1-a")) in memory.reported
    assert memory.backoff.keys() == {BackoffKey("europe-west4-b", "v5litepod-4", CapacityKind.PREEMPTIBLE)}
    assert (rollout.returning[vm].before.digest, rollout.returning[vm].before.bundle) == ("sha256:e1", "b1")
    assert rollout.bad_parts == {VersionPart(PartKind.BUNDLE, "b1"), VersionPart(PartKind.IMAGE, "sha256:e1")}
    assert [remembered_as(event) for event in memory.events] == [each["what"] for each in document["events"]]


def content(document: Any) -> bytes:
    return json.dumps(document).encode()


AT = "2026-11-21T12:00:00Z"
EVENT = {"at": AT, "subject": "vm", "what": ""}
ROLLOUT = {"stable": {}, "target": {}, "since": AT}
WAIT = {"failures": 1, "last": AT, "until": AT}


@pytest.mark.parametrize(
    ("kept", "places"),
    [
        ({"nodes": []}, ["nodes"]),
        ({"sweeps": "many", "last": "2026-11-21T12:00:00"}, ["last", "sweeps"]),
        ({"vms": {"vm": {"seen": "once"}, "vm-1": {"seen": AT}}}, ["vms.vm.seen"]),
        ({"fuse": {"since": "once"}}, ["fuse.since", "fuse.since"]),
        ({"events": [{**EVENT, "kind": "of-tomorrow"}, EVENT, {**EVENT, "verb": "of-tomorrow"}]},
         ["events.0.kind", "events.2.verb"]),
        ({"rollouts": {"tpu-ci": {**ROLLOUT, "stage": "of-tomorrow"}, "tpu-v4": ROLLOUT}}, ["rollouts.tpu-ci.stage"]),
        ({"backoff": {"z/a/spot": {**WAIT, "trouble": "of-tomorrow"}}}, ["backoff.z/a/spot.trouble"]),
        ({"scopes": {"ci": {"orgs/a": {"until": AT}, "orgs/b": {"until": "once"}}}}, ["scopes.ci.orgs/b.until"]),
    ],
)  # fmt: skip
def test_entries_of_a_later_controller_are_forgotten_and_the_others_kept(kept: Any, places: list[str]) -> None:
    memory, skipped = memories.salvaged(content({"version": 2, "sweeps": 9, "pools": {"tpu-ci": AT}, **kept}))
    assert sorted(place.partition(": ")[0] for place in skipped) == places
    assert memory.sweeps == 0, "what it lacks may have been: as of a new one, nothing follows from that"
    assert memory.pools == {"tpu-ci": START}
    left = {"vms": {"vm-1"}, "rollouts": {"tpu-v4"}, "scopes": set()}
    assert {key: set(getattr(memory, key)) for key in left if key in kept} == {k: left[k] for k in left if k in kept}
    assert [event.subject for event in memory.events] == (["vm"] if "events" in kept else [])


@pytest.mark.parametrize("version", [3, 7, "1", None, []])
def test_a_memory_of_a_version_further_away_is_refused(version: Any) -> None:
    with pytest.raises(UnreadableMemoryError, match=r"^it has version .*, and this controller reads 1 and 2$"):
        memories.read(content({"version": version}))
    assert memories.read(content({"version": 0})) == memories.read(content({})) == EMPTY
    assert memories.read(content({"version": 2})) == memories.read(content({"version": 1})) == EMPTY


def test_keys_are_read_as_they_are_written() -> None:
    node = NodeKey("us-west4-a", "tpu-ci/0")
    assert NodeKey.parse(str(node)) == node
    for key in (OrphanKey(node, "2026-11-21T10:00:00Z"), RunnerKey("repos/a-lab/code", 7)):
        assert suspect_key(str(key)) == key
    backoff = BackoffKey("us-west4-a", "v5litepod-4", CapacityKind.SPOT)
    assert BackoffKey.parse(str(backoff)) == backoff
    finding = FindingKey.unknown(SourceName(SourceKind.GITHUB, "repos/a-lab/code"))
    assert (FindingKey.parse(str(finding)), str(finding)) == (finding, "unknown github repos/a-lab/code")
    assert str(SourceName(SourceKind.REQUESTS)) == "wishes"


def test_waits_that_people_end_are_over_and_how_often_it_failed_stays() -> None:
    key = BackoffKey(HOME, "v5litepod-4", CapacityKind.SPOT)
    wait = Backoff(failures=3, trouble=Trouble.QUOTA, last=START, until=START + SWEEP, since=START, text="no more")
    memory = replace(EMPTY, sweeps=9, backoff={key: wait})
    assert memory.without_waits() == replace(memory, backoff={key: replace(wait, until=START)})
