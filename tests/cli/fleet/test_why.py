"""`why NAME` finds what a name is, and says why that is as it is, on a local cloud."""

from __future__ import annotations

import json
import os
import re

import pytest

from bench.cloud.control import Control
from tests.cli.conftest import Checkout

VM, POOL, ZONE = "tpu-ci-us-west4-a-1", "tpu-ci", "us-west4-a"
REPOSITORY = "marin-community/marin"


@pytest.fixture(scope="module")
def lab(upped: Checkout) -> Checkout:
    """The ci stack, whose VM cannot be made again, with a drained pool for which two jobs wait; and nightly's runs."""
    upped.ok("cloud", "clock", "--advance", "2m")
    upped.ok("reconcile", "ci")
    upped.ok("cloud", "fail", "stockout", "--zone", ZONE)
    upped.ok("cloud", "preempt", VM)
    upped.ok("reconcile", "ci")
    upped.ok("cloud", "clock", "--advance", "3m")
    upped.ok("reconcile", "ci")
    upped.ok("drain", "tpu-v4", "--by", "ada")
    github = Control(upped.json("cloud", "status")["url"])
    for _ in range(2):
        github.queue_job(REPOSITORY, ["TPU", "tpu-v4"])
    upped.ok("up", "nightly")
    upped.ok("jobs", "submit", "probe", "--", "/bin/true")
    return upped


def shown(lab: Checkout, name: str) -> list[str]:
    return [" ".join(line.split()) for line in lab.ok("why", name).output.splitlines()]


def test_a_pool_says_how_many_are_missing_and_since_when_there_is_no_capacity(lab: Checkout) -> None:
    told = lab.json("why", POOL)
    assert (told["kind"], told["stack"], told["pool"]) == ("pool", "ci", POOL)
    assert (told["declared"], told["standing"], told["serving"]) == (6, 5, 5)
    (missing,) = told["missing"]
    assert (missing["vm"], missing["cause"], missing["zone"]) == (VM, "stockout", ZONE)
    assert missing["since"] < told["at"] < missing["next"]
    lines = shown(lab, POOL)
    assert "6 declared, 5 standing, 5 serving, 1 missing" in lines
    assert f"{VM} stockout: {ZONE}/v5litepod-4/preemptible, once" in lines
    assert any(re.fullmatch(r"since \d\d:\d\d, \d+ .*; next \d\d:\d\d, in .*", line) for line in lines)


def test_a_job_of_a_workflow_says_for_which_pool_it_waits_and_behind_how_many(lab: Checkout) -> None:
    told = lab.json("why", "Tests")
    assert (told["kind"], told["running"]) == ("job", [])
    assert [(pool["pool"], pool["free"], pool["ahead"]) for job in told["waiting"] for pool in job["pools"]] == [
        ("tpu-v4", 0, 0),
        ("tpu-v4", 0, 1),
    ]
    said = shown(lab, "Tests")
    assert "Tests job: 2 waiting, 0 running" in said


def test_a_run_says_how_it_ended_by_its_number_and_by_its_vm(lab: Checkout) -> None:
    ran = lab.run("run-on", "v6e-1", "--no-tree", "--json", "--", "true", PATH=os.environ["PATH"])
    assert ran.exit_code == 0, ran.output
    done = json.loads(ran.stdout)
    for name in (done["run"], done["vm"]):
        told = lab.json("why", name)
        assert (told["kind"], told["run"], told["stack"]) == ("run", done["run"], "nightly")
        (vm,) = told["vms"]
        assert (vm["vm"], vm["reason"], vm["node"], vm["vmSeconds"]) == (done["vm"], "done", "gone", done["vmSeconds"])
        assert vm["usd"] >= 0
    assert f"{done['run']} run of nightly: done" in shown(lab, done["run"])
    unknown = " ".join(lab.run("why", "run/0000000000").output.split())
    assert "there is no run named 0000000000. a run is its number" in unknown


def test_a_name_that_is_several_things_is_refused_with_all_of_them(lab: Checkout) -> None:
    lab.ok("jobs", "submit", "research", "--", "/bin/true")
    lab.ok("cloud", "node", "add", "research", "--zone", ZONE)
    refused = lab.run("why", "research")
    assert refused.exit_code == 2
    assert "research is several things: say which with training/research or vm/research" in refused.output
    assert lab.json("why", "vm/research")["vm"] == "research"
    assert lab.json("why", "training/research")["name"] == "research"


def test_a_mistyped_name_gets_its_nearest_whatever_that_is(lab: Checkout) -> None:
    for wrong, right in (("tpu-cj", POOL), ("us-west4-b", ZONE), ("zone/us-west4-b", ZONE)):
        refused = lab.run("why", wrong)
        assert refused.exit_code == 2
        assert f"Did you mean '{right}'?" in refused.output
    assert "ci is a stack: `./tidepool status ci` says how its pools stand" in lab.run("why", "ci").output
    lost = VM.replace("west", "wset")
    for said in (lab.ok("why", lost).output, lab.run("logs", lost).output):
        assert f"no VM of this name is there. Did you mean '{VM}'?" in " ".join(said.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_at_a_terminal_no_line_of_what_is_printed_is_longer_than_it(lab: Checkout, columns: int) -> None:
    (entry,) = lab.json("history", "ci")["entries"]
    runs = [each["key"] for stack in lab.json("cost", "nightly")["stacks"] for each in stack["runs"]]
    site = str(lab.root / "site")
    (lab.root / "before.yaml").write_text(lab.text("ci").replace("us-west4-a: 2", "us-west4-a: 1"))
    for words in (
        *(("why", name) for name in (POOL, ZONE, "tpu-v4", "Tests", VM, "probe", *runs)),
        ("status",),
        ("history", "ci"),
        ("history", "ci", entry["id"]),
        ("diff", "ci"),
        ("explain", "ci", "--base", str(lab.root / "before.yaml")),
        ("preview", "ci"),
        ("validate",),
        ("report", "--out", site),
        ("rollout", "status", "--stack", "ci"),
        ("cost", "nightly"),
        ("calendar", "nightly"),
        ("images", "list"),
        ("jobs", "list"),
        ("adopt", "ci"),
    ):
        lines = lab.drawn(columns, *words)
        assert lines, words
        longest = max(lines, key=len)
        assert len(longest) <= columns, (words, longest)


@pytest.mark.parametrize("columns", [80, 120])
def test_what_is_copied_elsewhere_is_printed_whole_at_any_width(lab: Checkout, columns: int) -> None:
    """Lines of a log and scripts of a shell: a terminal folds them, and nothing is lost of them."""
    still = "tpu-ci-us-east1-c-0"
    for words in (("logs", still), ("completion", "bash"), ("manifest", "show", "ci"), ("output", "ci", "pools")):
        assert set(lab.ok(*words).stdout.splitlines()) <= set(lab.drawn(columns, *words)), words


def test_a_pool_that_is_declared_and_not_applied_is_said_so_and_hides_no_zone(lab: Checkout) -> None:
    whole = lab.text("ci")
    lab.edit("ci", "    - name: tpu-v4\n", "    - name: tpu-next\n")
    refused = lab.run("why", "tpu-next")
    assert refused.exit_code == 1
    assert "ci: pool tpu-next is declared and not published; `./tidepool up ci` makes it" in refused.output
    lab.path("ci").write_text(whole)
    lab.edit("ci", "us-central2-b: 1\n", "us-central2-b: 0\n")
    lab.ok("up", "ci")
    empty = lab.run("why", "tpu-v4")
    assert empty.exit_code == 1
    assert "ci: pool tpu-v4 has no VM to ask about: its stack file says 0 in every zone" in empty.output
    lab.path("ci").write_text(whole)
    lab.ok("up", "ci")
    told = lab.json("why", "us-central2-b")
    assert [each["stack"] for each in told["stacks"]] == ["ci"]
    assert told["problems"] == ["training: not deployed. Run `./tidepool up training`"]
