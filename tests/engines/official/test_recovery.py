"""A killed run of the CLI is settled before the next one, by what the CLI was recorded to say."""

from __future__ import annotations

import copy
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from infra.engines.official.recovery import Recovery
from infra.engines.official.workspace import Workspace
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic
from tests.engines.official.replay import Answer, Reply, ScriptedCli, document, says, text

DONE = says(Answer())


class State:
    """The CLI's view of a killed stack, and of a cloud that has all VMs in flight but those in `lacking`."""

    def __init__(self, *, lacking: tuple[str, ...] = (), lock: str = "") -> None:
        self.exported = copy.deepcopy(document("killed.json"))
        self.lacking = lacking
        self.lock = lock
        self.imported: list[dict[str, Any]] = []
        self.cli = ScriptedCli(
            {
                "stack export": [self._export],
                "stack import": [self._guarded(self._take)],
                "import --file": [self._guarded(self._import)],
                "cancel --yes": [self._cancel],
            }
        )

    @property
    def names(self) -> list[str]:
        return [entry["urn"].rsplit("::", 1)[-1] for entry in self.exported["deployment"]["resources"]]

    @property
    def in_flight(self) -> list[dict[str, Any]]:
        return self.exported["deployment"].get("pending_operations", [])

    def _export(self, _: list[str]) -> Answer:
        return Answer(stdout=json.dumps(self.exported))

    def _cancel(self, _: list[str]) -> Answer:
        self.lock = ""
        return Answer()

    def _guarded(self, reply: Reply) -> Reply:
        return lambda args: Answer(stderr=self.lock, code=1) if self.lock else reply(args)

    def _take(self, args: list[str]) -> Answer:
        self.exported = json.loads(Path(args[args.index("--file") + 1]).read_text())
        return Answer()

    def _import(self, args: list[str]) -> Answer:
        """Adopt in order and stop at the first that the cloud lacks, as a CLI with one worker does."""
        content = json.loads(Path(args[args.index("--file") + 1]).read_text())
        self.imported.append(content)
        for entry in content["resources"]:
            if entry["name"] in self.lacking:
                said = text("import-missing.stdout.txt").replace("tpu-ci-us-west4-a-4", entry["name"])
                return Answer(stdout=said, code=1)
            (resource,) = [o["resource"] for o in self.in_flight if o["resource"]["urn"].endswith(entry["name"])]
            self.exported["deployment"]["resources"].append({**resource, "id": entry["id"]})
        return Answer()


def settled(state: State) -> list[str]:
    said: list[Diagnostic] = []
    work = Workspace(work_dir="/nowhere", pulumi_command=state.cli)
    Recovery(work, "ci", said.append).settle(work.exported("ci"))
    return [each.message for each in said]


def test_what_the_cloud_has_is_adopted_and_what_it_lacks_is_forgotten() -> None:
    state = State(lacking=("tpu-ci-us-west4-a-4",))
    said = settled(state)
    assert "an earlier run was killed" in said[0]
    assert said[-1].endswith("since they do not exist in the cloud: tpu-ci-us-west4-a-4")


@pytest.mark.parametrize("count", range(5))
def test_any_number_of_missing_ones_is_found(count: int) -> None:
    lacking = tuple(f"tpu-ci-us-west4-a-{index}" for index in range(1, 1 + count))
    state = State(lacking=lacking)
    settled(state)
    assert not set(lacking) & set(state.names)
    assert len([name for name in state.names if name.startswith("tpu-ci-us")]) == 5 - count
    assert state.in_flight == []


def test_an_import_that_fails_for_another_reason_is_told_and_forgets_nothing() -> None:
    state = State()
    state.cli.script["import --file"] = [says(Answer(stdout="error: googleapi: Error 403: denied", code=1))]
    with pytest.raises(EngineError, match="403"):
        settled(state)
    assert len(state.in_flight) == 4


def dead_lock() -> str:
    """The recorded message with this host and a process that cannot exist."""
    return text("locked.stderr.txt").replace("workstation", socket.gethostname()).replace("22812", str(2**22 + 1))


def test_the_lock_of_a_dead_process_of_this_host_is_told_and_removed() -> None:
    state = State(lock=dead_lock())
    said = settled(state)
    assert len(state.cli.asked("cancel")) == 1
    assert any("lab@" in line and "(pid 4194305) since 20" in line for line in said)
    assert state.in_flight == []


def test_a_lock_of_another_host_is_never_broken() -> None:
    state = State(lock=text("locked.stderr.txt"))
    with pytest.raises(EngineError, match="lab@workstation"):
        settled(state)
    assert state.cli.asked("cancel") == []
    assert len(state.in_flight) == 4


def test_a_lock_that_comes_back_is_not_fought() -> None:
    state = State(lock=dead_lock())
    state.cli.script["cancel --yes"] = [DONE]
    with pytest.raises(EngineError, match="locked again"):
        settled(state)
    assert len(state.cli.asked("cancel")) == 1
