"""An end by a service manager and a kill in the middle of `up`, and what the next run makes of it."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from infra.operations.errors import Refusal
from infra.operations.session import Session, give_clusters
from infra.operations.workspace import Workspace, workspace
from tests.cli.conftest import Checkout


def test_root_and_home_come_from_the_environment() -> None:
    assert workspace({"TIDEPOOL_ROOT": "/a"}) == Workspace(root=Path("/a"), home=Path("/a/.tidepool"))
    assert workspace({"TIDEPOOL_ROOT": "/a", "TIDEPOOL_HOME": "/b"}).home == Path("/b")
    assert workspace({}).root == Path(__file__).resolve().parents[2]


def _up_until_vms_are_being_made(checkout: Checkout, stop: signal.Signals) -> tuple[int, str, str]:
    """Start `up`, send it `stop` in the middle of creates; its exit code and what it said."""
    checkout.ok("cloud", "clock", "--compression", "120")
    with checkout.start("up", "ci") as process:
        while not checkout.json("cloud", "status")["nodes"].get("CREATING"):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(stop)
        said, problems = process.communicate(timeout=120)
    checkout.ok("cloud", "clock", "--compression", "1000")
    return process.returncode, said, problems


def test_a_stop_waits_for_what_is_under_way_and_the_next_run_goes_on(clouded: Checkout) -> None:
    good = clouded.text("ci")
    clouded.edit("ci", "        us-east1-c: 2\n", "        us-east1-c: 4\n")
    code, said, problems = _up_until_vms_are_being_made(clouded, signal.SIGTERM)
    assert (code, "stopping: waiting for what is under way, starting nothing new" in said) == (130, True)
    assert problems == "Interrupted. Whatever had begun is recorded; `./tidepool up ci` goes on from there.\n"
    made = clouded.json("cloud", "status")["nodes"]
    assert set(made) == {"READY"}
    created = [each for each in clouded.json("up", "ci")["steps"] if each["op"] == "create"]
    assert sum(each["type"].endswith(":V2Vm") for each in created) == 11 - made["READY"]
    clouded.path("ci").write_text(good)
    clouded.ok("up", "ci", "--no-drain")


def test_a_killed_run_is_settled_by_the_next_which_says_so(clouded: Checkout) -> None:
    good = clouded.text("ci")
    clouded.edit("ci", "        us-west4-a: 2\n", "        us-west4-a: 4\n")
    code, _, _ = _up_until_vms_are_being_made(clouded, signal.SIGKILL)
    assert code == -signal.SIGKILL
    said = clouded.ok("up", "ci").stdout
    in_flight = r"^warning: (\S+) \(gcp:tpu/v2Vm:V2Vm\) was being created when the last run ended"
    remarks = re.findall(in_flight, said, re.MULTILINE)
    assert remarks
    assert len(remarks) == len(set(remarks)), "each is told once, by the plan or by the run"
    assert clouded.json("cloud", "status")["nodes"] == {"READY": 11}
    assert {step["op"] for step in clouded.json("preview", "ci")["steps"]} == {"same"}
    clouded.path("ci").write_text(good)


def test_clusters_get_the_api_server_of_a_kubeconfig_before_the_plan(
    clouded: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text("clusters: [{cluster: {server: 'http://127.0.0.1:1', certificate-authority-data: Q0E=}}]")
    refused = clouded.run("up", "training", "--kube", str(config))
    assert refused.exit_code == 2
    assert "reached by https" in refused.output

    for name, value in clouded.environ.items():
        monkeypatch.setenv(name, value)
    config.write_text(config.read_text().replace("http:", "https:"))
    said: list[str] = []
    give_clusters(cast(Session, SimpleNamespace(endpoint="http://127.0.0.1:2", say=said.append)), config)
    assert said == ["the API server of every cluster is 127.0.0.1:1"]
    with pytest.raises(Refusal, match="on Google Cloud"):
        give_clusters(cast(Session, SimpleNamespace(endpoint=None, say=said.append)), config)
