"""The commands of the local cloud, on one that a command has started."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import urllib3

from bench.cloud import daemon
from tests.cli.conftest import Checkout


def test_start_leaves_a_running_cloud_as_it_is(clouded: Checkout) -> None:
    first = clouded.json("cloud", "start")
    assert clouded.json("cloud", "start") == first


def test_status_tells_people_the_same(clouded: Checkout) -> None:
    found = clouded.json("cloud", "status")
    said = clouded.ok("cloud", "status").stdout
    assert f"url       {found['url']}\npid       {found['pid']}\n" in said
    assert "TPU VMs   none\n" in said


def test_a_cloud_of_another_version_is_told_of(clouded: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "code", lambda: "newer")
    told = clouded.run("preview", "nightly")
    assert "was started by another version of Tidepool" in " ".join(told.output.split())


def test_faults_come_and_go(clouded: Checkout) -> None:
    said = clouded.ok("cloud", "fail", "error", "--zone", "us-west4-a", "--code", "429", "--count", "3").stdout
    assert said == "  1 error       zone=us-west4-a code=429 count=3\n"
    (fault,) = clouded.json("cloud", "fail")["faults"]
    assert clouded.json("cloud", "fail", "--mend", str(fault["id"]))["faults"] == []
    clouded.ok("cloud", "fail", "slow", "--late", "5s", "--for", "10m")
    assert clouded.ok("cloud", "fail", "--mend-all").stdout == "nothing goes wrong on purpose\n"


def test_a_mistyped_fault_or_zone_is_met_with_the_nearest_one(clouded: Checkout) -> None:
    kind = clouded.run("cloud", "fail", "stokout")
    assert (kind.exit_code, "Did you mean 'stockout'?" in kind.stderr) == (2, True)
    zone = clouded.run("cloud", "fail", "error", "--zone", "us-west4a")
    assert zone.exit_code == 2
    assert zone.stderr.startswith("error: us-west4a is not a zone or region. Did you mean 'us-west4-a'? ")
    assert clouded.json("cloud", "fail")["faults"] == []
    for pattern in ("us-west4-*", "us-west4", "global"):
        clouded.ok("cloud", "fail", "error", "--zone", pattern)
    clouded.ok("cloud", "fail", "--mend-all")


def test_faults_of_operations_lists_and_rates_are_listed_and_lifted(clouded: Checkout) -> None:
    hang = ("hang", "--method", "*.delete", "--late", "2h", "--count", "1")
    number = str(clouded.json("cloud", "fail", *hang)["faults"][0]["id"])
    clouded.ok("cloud", "fail", "missing", "--probability", "0.5", "--seed", "7")
    clouded.ok("cloud", "fail", "unreachable", "--zone", "us-west4-a", "--for", "10m")
    said = clouded.ok("cloud", "fail", "rate", "--per-minute", "0").stdout.splitlines()
    assert [line.partition("until")[0].split()[1:] for line in said] == [
        ["hang", "method=*.delete", "seconds=7200.0", "count=1"],
        ["missing", "probability=0.5", "seed=7"],
        ["unreachable", "zone=us-west4-a"],
        ["rate", "per_minute=0"],
    ]
    kinds = [each["kind"] for each in clouded.json("cloud", "fail", "--mend", number)["faults"]]
    assert kinds == ["missing", "unreachable", "rate"]
    refused = clouded.run("cloud", "fail", "lag")
    assert (refused.exit_code != 0, "lag needs seconds" in refused.output) == (True, True)
    assert clouded.json("cloud", "fail", "--mend-all")["faults"] == []


def test_a_limit_of_a_region_is_declared_and_lifted(clouded: Checkout) -> None:
    said = clouded.ok("cloud", "limit", "us-west4", "v5e", "64").stdout
    assert said.endswith("us-west4 v5e preemptible: 0 of 64 chips held\n")
    assert clouded.json("cloud", "limit", "us-west4", "v5e", "--lift")["limits"] == []


def test_a_fault_of_guests_says_when_it_strikes(clouded: Checkout) -> None:
    said = clouded.ok("cloud", "fail", "unfit", "--name", "tpu-ci-us-west4-a-0", "--count", "1").stdout
    assert said.endswith(
        "unfit strikes a guest before its next registration: when its job ends, or its VM is restarted or made again\n"
    )
    assert clouded.ok("cloud", "fail", "--mend-all").stdout == "nothing goes wrong on purpose\n"


def test_the_clock_moves_forward_only(clouded: Checkout) -> None:
    before = clouded.json("cloud", "clock")
    after = clouded.json("cloud", "clock", "--advance", "24h")
    assert after["seconds"] - before["seconds"] >= 86400
    assert datetime.fromisoformat(after["time"]) > datetime.fromisoformat(before["time"])
    for bad in ("-1h", "3x", "h", ""):
        assert clouded.run("cloud", "clock", f"--advance={bad}").exit_code == 2


def test_operations_can_take_their_real_time(clouded: Checkout) -> None:
    assert clouded.json("cloud", "clock", "--compression", "1")["compression"] == 1
    assert "divided by 1000" in clouded.ok("cloud", "clock", "--compression", "1000").stdout


def test_limits_come_and_go(clouded: Checkout) -> None:
    said = clouded.ok("cloud", "limit", "us-west4-a", "v5e", "8").stdout
    assert said == "hai-gcp-models us-west4-a v5e preemptible: 0 of 8 chips held\n"
    reserved = ("--capacity", "reserved", "--name", "lab", "--held-elsewhere", "16", "--project", "lab")
    clouded.ok("cloud", "limit", "us-central2-b", "v4", "64", *reserved)
    (limit,) = (each for each in clouded.json("cloud", "limit")["limits"] if each["capacity"] == "reserved")
    assert (limit["project"], limit["name"], limit["held_elsewhere"]) == ("lab", "lab", 16)
    clouded.ok("cloud", "limit", "us-west4-a", "v5e", "--lift")
    assert len(clouded.json("cloud", "limit")["limits"]) == 1
    assert clouded.run("cloud", "limit", "us-west4-a", "v5e").exit_code == 2


def test_an_unknown_vm_is_told(clouded: Checkout) -> None:
    for command in ("preempt", "maintain"):
        result = clouded.run("cloud", command, "nobody")
        assert result.exit_code == 2
        assert "nobody" in result.stderr


def test_the_log_shows_requests_and_refusals(clouded: Checkout) -> None:
    before = clouded.json("cloud", "log", "--failed")["entries"]
    assert clouded.run("manifest", "show", "ci").exit_code == 1
    found = clouded.json("cloud", "log")["entries"]
    assert {"storage.objects.get", "storage.buckets.get"} <= {each["method"] for each in found if each["status"] == 404}
    failed = clouded.json("cloud", "log", "--failed")["entries"]
    its_own = {each["method"] for each in failed if each not in before}
    assert its_own == {"storage.buckets.get"}, "a record that is not there is no failure"
    assert "404 GET    /storage/v1/b/" in clouded.ok("cloud", "log", "--failed").stdout


def test_state_outlives_a_stop(clouded: Checkout) -> None:
    clouded.ok("cloud", "limit", "us-west4-a", "v5e", "8")
    assert clouded.json("cloud", "stop") == {"stopped": True}
    assert clouded.json("cloud", "stop") == {"stopped": False}
    assert clouded.json("cloud", "status") == {"running": False, "url": None, "pid": None, "nodes": {}}
    result = clouded.run("cloud", "preempt", "x")
    assert result.exit_code == 1
    assert "start it with `./tidepool cloud start`" in result.stderr
    with clouded.start("cloud", "start") as process:
        process.communicate(timeout=60)
    assert any(limit["chips"] == 8 for limit in clouded.json("cloud", "limit")["limits"])


def _trigger(checkout: Checkout, name: str, **more: Any) -> None:
    body = {
        "name": name,
        "github": {"owner": "stanford-crfm", "name": "levanter", "push": {"branch": "^main$"}},
        "build": {"steps": [{"name": "x"}]},
        **more,
    }
    url = checkout.json("cloud", "status")["url"]
    answer = urllib3.request("POST", f"{url}/v1/projects/lab/triggers", json=body, retries=False)
    assert answer.status == 200, answer.data


def test_a_push_tells_which_builds_it_started_and_why_not_the_others(clouded: Checkout) -> None:
    assert "no trigger" in clouded.ok("cloud", "push", "stanford-crfm/levanter", "--changed", "a").stdout
    _trigger(clouded, "base", includedFiles=["images/levanter-base/**"])
    _trigger(clouded, "tpu-ci", includedFiles=["images/tpu-ci/**"])
    files = ("--changed", "README.md", "images/levanter-base/Dockerfile")
    done = clouded.json("cloud", "push", "stanford-crfm/levanter", *files)
    assert done["changed"] == ["README.md", "images/levanter-base/Dockerfile"]
    assert [each["status"] for each in done["builds"]] == ["QUEUED"]
    said = clouded.ok("cloud", "push", "stanford-crfm/levanter", *files, "--commit", "f" * 40).stdout
    assert said.startswith("stanford-crfm/levanter branch main is at ffffffffffff\n  base: build ")
    assert "  tpu-ci: no build; no changed file passes its filters\n" in said
    assert said.endswith("\nnext: ./tidepool cloud builds run\n")


def test_a_push_that_cannot_be_is_refused(clouded: Checkout) -> None:
    assert "OWNER/NAME" in clouded.run("cloud", "push", "levanter", "--changed", "a").stderr
    assert clouded.run("cloud", "push", "a/b", "--branch", "x", "--tag", "y").exit_code == 2
    assert "forty" in clouded.run("cloud", "push", "a/b", "--commit", "main").stderr


def test_nodes_and_runners_behind_everybodys_back_are_checked(clouded: Checkout) -> None:
    place = ("--zone", "us-west4-a")
    assert clouded.ok("cloud", "guests").stdout == "no VM has a guest\n"
    made = clouded.json("cloud", "node", "add", "stray", *place, "--managed", "ci/tpu-ci", "--capacity", "spot")
    assert made["labels"] == {"tidepool-managed": "true", "tidepool-stack": "ci", "tidepool-pool": "tpu-ci"}
    assert made["schedulingConfig"] == {"spot": True}
    assert clouded.run("cloud", "node", "add", "stray", *place).stderr.endswith("nodes/stray' already exists\n")
    assert clouded.ok("cloud", "guests").stdout == "no VM has a guest\n", "nobody started it with a fleet's metadata"
    clouded.ok("cloud", "node", "add", "a-stranger", *place)
    assert clouded.ok("cloud", "node", "list").stdout.splitlines() == [
        "VM          zone        accelerator  state  of",
        "a-stranger  us-west4-a  v5litepod-4  READY  not managed",
        "stray       us-west4-a  v5litepod-4  READY  ci/tpu-ci",
    ]
    clouded.ok("cloud", "node", "remove", "a-stranger")
    assert clouded.ok("cloud", "node", "remove", "stray").stdout == "stray is gone\n"
    assert clouded.json("cloud", "node", "list") == {"nodes": []}
    for wrong in (("--managed", "ci"), ("--accelerator", "v5litepod-3")):
        assert clouded.run("cloud", "node", "add", "stray", *place, *wrong).exit_code == 2
    for absent in (("node", "remove", "stray"), ("runner", "lose", "stray"), ("job", "end", "7")):
        result = clouded.run("cloud", *absent)
        assert (result.exit_code, absent[-1] in result.stderr) == (1, True), result.output
