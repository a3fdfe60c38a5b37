"""The shell around tests on a VM, run for real: the start-up script with stand-ins, and what takes the result."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.lacking import STRICT
from tests.synthetic_lab import the_lab
from tests.workflows.shipped_scripts import SHA
from workflows import vm
from workflows.generate.tiers_parts import run_suite
from workflows.world import World, load_world

ROOT = Path(__file__).parents[2]
SHELL = ROOT / "workflows" / "shell"

CURL = r"""#!/bin/bash
url=${!#}
case $url in
*/attributes/worker-network-endpoints) echo unknown:unknown:10.0.0.2 ;;
*/attributes/tidepool-*) cat "$STAND_IN/${url##*/}" ;;
*/guest-attributes/*) cat >"$STAND_IN/said-${url##*/}" ;;
esac
"""
GIT = r"""#!/bin/bash
echo "git $*" >>"$STAND_IN/calls"
case "$*" in *rev-parse*) echo "${HEAD_IS:-$COMMIT_IS}" ;; esac
"""
DOCKER = r"""#!/bin/bash
echo "docker $*" >>"$STAND_IN/calls"
case "$*" in
*" sh -ec "*) exit "${INSTALL_ENDS:-0}" ;;
*run_suite.py*) printf '{"ok":true}' >"$WORK_IS/out/result.json"; exit "${TESTS_END:-0}" ;;
esac
"""
SETPRIV = r"""#!/bin/bash
echo "setpriv $*" >>"$STAND_IN/calls"
while [[ $1 != env ]]; do shift; done
"${@:5}"
"""
QUIET = '#!/bin/bash\necho "${0##*/} $*" >>"$STAND_IN/calls"\n'


@cache
def world() -> World:
    return load_world(the_lab())


def boot(folder: Path, **around: str) -> dict[str, str]:
    """What the VM said of itself by key, and under `calls` what it ran, line by line."""
    programs = {
        "curl": CURL,
        "git": GIT,
        "docker": DOCKER,
        "iptables": QUIET,
        "ip6tables": QUIET,
        "iptables-restore": QUIET,
        "setpriv": SETPRIV,
        "systemctl": QUIET,
        "chown": QUIET,
        "chmod": QUIET,
    }
    for name, text in programs.items():
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    told = {
        "tidepool-image": "python@sha256:1", "tidepool-limit": "30", "tidepool-command": "python\n/work/run_suite.py\n",
        "tidepool-env": f"REPOSITORY=lab/engine\nCOMMIT={SHA}\nINSTALL=pip install x && true\nINSTALL_SECONDS=20\n",
    }  # fmt: skip
    for name, text in told.items():
        (folder / name).write_text(text)
    home = folder / "run"
    script = vm.boot(world(), "vm_tests.sh", run_suite()).replace("/var/lib/tidepool-run", str(home))
    environ = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "STAND_IN": str(folder), "WORK_IS": str(home / "work"),
        "COMMIT_IS": SHA, **around,
    }  # fmt: skip
    subprocess.run(["bash"], input=script, env=environ, text=True, cwd=folder, check=False, capture_output=True)
    said = {path.name.removeprefix("said-"): path.read_text() for path in folder.glob("said-*")}
    return {**said, "calls": (folder / "calls").read_text()}


def test_isolation_is_whole_before_the_commit_is_there_and_again_before_each_container(tmp_path: Path) -> None:
    said = boot(tmp_path)
    calls = said["calls"].splitlines()
    assert calls[:2] == [
        "systemctl start docker",
        "docker network create --subnet=172.30.0.0/24 --opt=com.docker.network.bridge.name=tidepool0 tidepool",
    ], "docker puts rules of its own before all others when it makes a network"
    whole = [number for number, each in enumerate(calls) if each.endswith("-I FORWARD -j TIDEPOOL-JOBS")]
    commit = next(number for number, each in enumerate(calls) if "fetch --quiet" in each)
    runs = [number for number, each in enumerate(calls) if each.startswith("docker run")]
    assert len(whole) == 3
    assert whole[0] < commit < whole[1] < runs[0] < whole[2] < runs[1]
    assert any(f"fetch --quiet --depth=1 https://github.com/lab/engine {SHA}" in each for each in calls)
    assert (said["phase"], said["outcome"]) == ("running", "0")
    assert gzip.decompress(base64.b64decode(said["result"])) == b'{"ok":true}'


def test_both_the_installation_and_the_tests_run_in_the_container(tmp_path: Path) -> None:
    runs = [each for each in boot(tmp_path)["calls"].splitlines() if each.startswith("docker run")]
    assert len(runs) == 2
    assert all("--network tidepool --user 1000:1000" in each and "--cap-drop=ALL" in each for each in runs)
    assert runs[0].endswith("python@sha256:1 sh -ec pip install x && true")
    assert runs[1].endswith("python@sha256:1 python /work/run_suite.py")


def test_nothing_of_the_commit_is_touched_as_root(tmp_path: Path) -> None:
    calls = boot(tmp_path)["calls"].splitlines()
    git = [number for number, each in enumerate(calls) if each.startswith("git ")]
    assert len(git) == 4
    for number in git:
        assert calls[number - 1].startswith("setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs env -i ")


def test_a_result_that_is_a_link_shows_nothing_that_root_alone_may_read(tmp_path: Path) -> None:
    assert any("head -c 4000000" in each for each in boot(tmp_path)["calls"].splitlines() if each.startswith("setpriv"))


def test_every_vm_for_a_run_is_isolated_by_the_script_of_the_runners() -> None:
    """One text, and where a run has the slice's own network only its hosts reach it."""
    script = (ROOT / "infra" / "fleet" / "runner" / "isolation.sh").read_text()
    for file in ("vm_tests.sh", "vm_boot.sh"):
        text = vm.boot(world(), file, run_suite())
        assert script in text
        assert text.index("\nisolate\n") < text.index("docker pull")


def test_tests_that_fail_say_so_and_their_result_comes_all_the_same(tmp_path: Path) -> None:
    said = boot(tmp_path, TESTS_END="1")
    assert said["outcome"] == "1"
    assert "result" in said


@pytest.mark.parametrize(("around", "outcome"), [({"INSTALL_ENDS": "9"}, "71"), ({"HEAD_IS": "b" * 40}, "70")])
def test_what_cannot_be_installed_or_is_another_commit_is_not_tested(
    tmp_path: Path, around: dict[str, str], outcome: str
) -> None:
    said = boot(tmp_path, **around)
    assert said["outcome"] == outcome
    assert "phase" not in said
    assert "/work/run_suite.py" not in said["calls"]


def test_a_vm_that_was_started_again_does_not_begin_again(tmp_path: Path) -> None:
    boot(tmp_path)
    (tmp_path / "calls").write_text("")
    said = boot(tmp_path)
    assert said["outcome"] == "75"
    assert said["calls"] == ""


def taken(folder: Path, attributes: object, outcome: str = "success") -> dict[str, Any]:
    """The result that the job takes from these guest attributes."""
    (folder / "bin").mkdir()
    gcloud = folder / "bin" / "gcloud"
    gcloud.write_text("#!/bin/bash\ncat <<'END'\n" + json.dumps(attributes) + "\nEND\n")
    gcloud.chmod(0o755)
    environ = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder), "NAME": "vm", "ZONE": "z",
        "SUITE": "tpu", "COMMIT": SHA, "RUN": "7-1", "OUTCOME": outcome, "MADE": "0",
    }  # fmt: skip
    script = (SHELL / "vm_result.sh").read_text()
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "results" / "tpu.json").read_text())


def attribute(text: bytes) -> list[dict[str, str]]:
    value = base64.b64encode(gzip.compress(text)).decode()
    return [{"namespace": "tidepool", "key": "result", "value": value}]


needs_jq = pytest.mark.skipif(not shutil.which("jq") and not STRICT, reason="no jq here; GitHub's runners have it")


@needs_jq
def test_a_result_says_what_the_vm_measured_and_what_the_job_knows_better(tmp_path: Path) -> None:
    lie = {
        "ok": True,
        "commit": "b" * 40,
        "suite": "other",
        "run": "1-1",
        "seconds": 12.5,
        "vm_seconds": 0,
        "tests": {},
    }
    found = taken(tmp_path, attribute(json.dumps(lie).encode()), outcome="failure")
    assert (found["ok"], found["commit"], found["suite"], found["run"]) == (False, SHA, "tpu", "7-1")
    assert found["seconds"] == 12.5
    assert found["vm_seconds"] > 1_000_000


@needs_jq
@pytest.mark.parametrize("attributes", [[], {}, attribute(b"[1, 2]"), [{"key": "result", "value": "no base64!"}]])
def test_a_vm_that_said_nothing_of_use_still_has_cost_something(tmp_path: Path, attributes: object) -> None:
    found = taken(tmp_path, attributes, outcome="failure")
    assert (found["ok"], found["tests"]) == (False, {})
    assert found["vm_seconds"] > 0
