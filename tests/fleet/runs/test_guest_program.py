"""What the program of a VM for one run asks of its machine: a stranger's command is kept apart, a lab's own is not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from infra.fleet.runs import guest
from infra.fleet.runs.vm import guest_program

TOLD: dict[str, Any] = {
    "prefix": "runs/work/p/vm/", "bucket": "b", "project": "p", "command": ["test", "all"], "env": {"A": "1"},
    "secrets": {}, "image": "eu-docker.pkg.dev/p/r/i@sha256:0", "contained": True, "repository": "", "commit": "",
    "tree": "runs/work/p/vm/tree.tar.gz", "carried": {}, "install": "", "results": [], "disks": [],
    "limit": 60, "install_seconds": 60,
}  # fmt: skip


class Machine:
    """Writes down what is run on it, in place of running it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.ran: list[list[str]] = []
        named = {"HOME": folder, "LOG": folder / "log", "WORK": folder / "work", "DISKS": folder / "disks"}
        for name, path in named.items():
            monkeypatch.setattr(guest, name, path)
        monkeypatch.setattr(guest, "TREE", folder / "work" / "source")
        monkeypatch.setattr(guest, "run", self._run)
        monkeypatch.setattr(guest, "metadata", lambda path: "0" if path.endswith("number") else "")
        monkeypatch.setattr(guest, "token", lambda: "a-token")
        monkeypatch.setattr(guest, "asked", lambda *_, **__: b"")

    def _run(self, words: Sequence[str], **_: object) -> int:
        self.ran.append(list(words))
        return 0

    @property
    def said(self) -> list[str]:
        return [" ".join(words) for words in self.ran]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    return Machine(monkeypatch, tmp_path)


def test_a_strangers_command_runs_apart_from_everything(machine: Machine) -> None:
    run = guest.HostRun(TOLD)
    run.prepare()
    run.command(["test"], 60)
    network, isolated, fetched = (
        next(number for number, line in enumerate(machine.said) if wanted in line)
        for wanted in ("docker network create", "bash -s 1000", "tar -C")
    )
    assert network < isolated < fetched, "docker's rules come first, and nothing of the tree before isolation"
    assert machine.said[-2].startswith("bash -s 1000"), "isolated again before each command"
    assert machine.ran[fetched][:2] == ["setpriv", "--reuid=1000"], "unpacked by the user that is to run it"
    words = machine.ran[-1]
    assert {"--cap-drop=ALL", "--network=tidepool", "--user=1000:1000", "--security-opt=no-new-privileges"} <= set(
        words
    )
    assert not {"--privileged", "--network=host"} & set(words)
    assert all("a-token" not in line for line in machine.said)


def test_a_labs_own_command_has_the_hosts_network_and_its_image_as_it_is(machine: Machine) -> None:
    guest.HostRun({**TOLD, "contained": False, "tree": ""}).command(["train"], 60)
    words = machine.ran[-1]
    assert "--network=host" in words
    assert not any(word.startswith(("--user", "--workdir", "--volume")) for word in words)


def test_a_disk_of_the_pool_is_mounted_to_be_read_and_nobody_writes_it(machine: Machine) -> None:
    """As weights of models, which every run reads and no run may change for the next."""
    run = guest.HostRun({**TOLD, "disks": ["weights-of-models-2026"]})
    run.prepare()
    run.command(["test"], 60)
    (mounting,) = (words for words in machine.ran if words[0] == "mount")
    place = f"{guest.DISKS}/weights-of-models-2026"
    assert mounting == ["mount", "--read-only", "--options=nodev,nosuid,noexec", "LABEL=weights-of-model", place]
    assert f"--volume={place}:/disks/weights-of-models-2026:ro" in machine.ran[-1]
    assert "--env=TIDEPOOL_DISKS=/disks" in machine.ran[-1]
    guest.HostRun(TOLD).command(["test"], 60)
    assert not any("disks" in word for word in machine.ran[-1])


def test_a_value_of_several_lines_is_never_cut_in_silence(machine: Machine) -> None:
    with pytest.raises(guest.NotBegunError, match="KEY: a value of several lines"):
        guest.HostRun({**TOLD, "env": {"KEY": "one\ntwo", "A": "1"}}).command(["test"], 60)
    assert not any("docker run" in line for line in machine.said)


def test_a_secret_that_cannot_be_read_lets_nothing_begin(machine: Machine) -> None:
    with pytest.raises(guest.NotBegunError, match="the secret key could not be read"):
        guest.HostRun({**TOLD, "secrets": {"KEY": "key"}}).command(["test"], 60)


def test_the_program_needs_nothing_but_the_standard_library() -> None:
    """The oldest Python of the TPU runtimes is 3.10 (infra/fleet/runner)."""
    tree = ast.parse(guest_program(), feature_version=(3, 10))
    froms = {str(node.module).partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    plain = {
        each.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names
    }
    assert froms | plain <= sys.stdlib_module_names
    assert guest_program().startswith("#!/usr/bin/env python3\n")
