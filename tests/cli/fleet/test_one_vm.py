"""`logs VM` and `ssh VM`: what a VM wrote, masked, and the way in with what must be allowed first."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from infra.fleet.google import Api, Clients, clients
from infra.operations.fleet import way_in
from infra.operations.fleet.way_in import FirewallTarget, WayIn, lacking, tunnels_reach
from tests.cli.conftest import Checkout

PROJECT, ZONE = "hai-gcp-models", "us-west4-a"
VM = f"tpu-ci-{ZONE}-0"
TOKEN = f"ghp_{'a1' * 20}"
NETWORK = "p/global/networks/tidepool-ci"
ACCOUNT = "tpu-ci@p.iam.gserviceaccount.com"
MACHINE = FirewallTarget(network=NETWORK, tags=frozenset({"tidepool-ci"}), account=ACCOUNT)
ALLOW: dict[str, Any] = {
    "name": "ssh",
    "direction": "INGRESS",
    "network": f"https://www.googleapis.com/compute/v1/projects/{NETWORK}",
    "sourceRanges": ["35.235.240.0/20"],
    "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
}
DENY = {key: value for key, value in ALLOW.items() if key != "allowed"} | {
    "name": "shut",
    "denied": [{"IPProtocol": "all"}],
}


@pytest.mark.parametrize(
    ("change", "lets"),
    [
        ({}, True),
        ({"allowed": [{"IPProtocol": "all"}]}, True),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["20-30"]}]}, True),
        ({"sourceRanges": ["0.0.0.0/0"]}, True),
        ({"sourceRanges": ["35.235.240.0/21", "35.235.248.0/21"]}, True),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["1024-65535"]}]}, False),
        ({"allowed": [{"IPProtocol": "udp"}]}, False),
        ({"sourceRanges": ["35.235.240.0/24", "::/0"]}, False),
        ({"sourceRanges": [], "sourceTags": ["tidepool-ci"]}, False),
        ({"network": "projects/p/global/networks/default"}, False),
        ({"network": "projects/another-p/global/networks/tidepool-ci"}, False),
        ({"direction": "EGRESS"}, False),
        ({"disabled": True}, False),
        ({"targetTags": ["bastion"]}, False),
        ({"targetTags": ["bastion", "tidepool-ci"]}, True),
        ({"targetServiceAccounts": ["others@p.iam.gserviceaccount.com"]}, False),
        ({"targetServiceAccounts": [ACCOUNT]}, True),
    ],
)
def test_a_rule_counts_only_where_it_lets_all_of_the_tunnels_reach_this_vm(change: dict[str, Any], lets: bool) -> None:
    assert tunnels_reach([ALLOW | change], MACHINE) == (lets, None)


@pytest.mark.parametrize(
    ("deny", "allow", "denied"),
    [
        ({"priority": 900}, {}, True),
        ({"priority": 1000}, {}, True),
        ({"priority": 1001}, {}, False),
        ({"priority": 900}, {"priority": 899}, False),
        ({"priority": 900, "sourceRanges": ["35.235.241.0/24"]}, {}, True),
        ({"priority": 900, "sourceRanges": ["10.0.0.0/8"]}, {}, False),
        ({"priority": 900, "denied": [{"IPProtocol": "tcp", "ports": ["80"]}]}, {}, False),
        ({"priority": 900, "targetTags": ["bastion"]}, {}, False),
        ({"priority": 900, "targetServiceAccounts": [ACCOUNT]}, {}, True),
        ({"priority": 900, "disabled": True}, {}, False),
    ],
)
def test_a_rule_that_denies_wins_where_it_comes_first(
    deny: dict[str, Any], allow: dict[str, Any], denied: bool
) -> None:
    reached, by = tunnels_reach([ALLOW | allow, DENY | deny], MACHINE)
    assert (reached, by and by["name"]) == ((False, "shut") if denied else (True, None))


@pytest.mark.parametrize(
    ("options", "allowed", "installed", "code"),
    [
        ((), True, True, None),
        ((), True, False, 1),
        ((), False, True, 1),
        (("--json",), True, False, 0),
        (("--json",), False, True, 1),
        (("--print",), True, False, 0),
        (("--print",), False, False, 1),
    ],
)
def test_ssh_runs_gcloud_where_nothing_lacks_and_else_ends_with_what_does(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], allowed: bool, installed: bool, code: int | None
) -> None:
    lacks = () if allowed else lacking("p", ())
    way = WayIn(vm=VM, stack="ci", zone=ZONE, command=("gcloud", "ssh", VM), lacks=lacks)
    ran = []

    def run(program: str, words: tuple[str, ...]) -> None:
        ran.append((program, words))
        raise SystemExit(99)

    monkeypatch.setattr(way_in, "way_in", lambda *_, **__: way)
    monkeypatch.setattr("shutil.which", lambda _: "/bin/gcloud" if installed else None)
    monkeypatch.setattr("os.execvp", run)
    result = CliRunner().invoke(cli, ["ssh", VM, *options])
    assert result.exit_code == (99 if code is None else code), result.output
    assert ran == ([("gcloud", ("gcloud", "ssh", VM))] if code is None else [])
    assert ("gcloud is not installed" in result.output) is (not installed and not options)


# On the local cloud, by Google's own REST APIs


@pytest.fixture
def google(upped: Checkout) -> Generator[Clients]:
    with clients(PROJECT, upped.json("cloud", "status")["url"]) as opened:
        yield opened


def test_ssh_asks_for_the_node_the_rules_and_the_roles_and_names_each_lack_with_its_command(
    upped: Checkout, google: Clients
) -> None:
    def made(rule: dict[str, Any]) -> None:
        rule = rule | {"network": f"projects/{PROJECT}/global/networks/tidepool-ci"}
        google.api(Api.COMPUTE).firewalls().insert(project=PROJECT, body=rule).execute()

    upped.ok("cloud", "clock", "--advance", "2m")
    without = upped.run("ssh", VM, "--worker", "2", "--print")
    assert (without.exit_code, without.stdout) == (
        1,
        f"gcloud compute tpus tpu-vm ssh {VM} --zone={ZONE} --project={PROJECT} --worker=2 --tunnel-through-iap\n",
    )
    said = " ".join(without.stderr.split())
    assert (
        "no firewall rule of tidepool-ci lets Google's tunnels (35.235.240.0/20) reach port 22; allow it with" in said
    )
    assert (
        f"gcloud compute firewall-rules create tidepool-ci-ssh --project={PROJECT} --network=tidepool-ci "
        "--direction=INGRESS --allow=tcp:22 --source-ranges=35.235.240.0/20 --target-tags=tidepool-ci\n"
    ) in without.stderr
    made(ALLOW | {"name": "to-tags", "targetTags": ["tidepool-ci"]})
    assert upped.json("ssh", VM)["lacks"] == []
    account = google.api(Api.TPU).projects().locations().nodes().get(name=_node(VM)).execute()["serviceAccount"]
    made(DENY | {"name": "shut-all", "priority": 700, "targetServiceAccounts": [account["email"]]})
    (denied,) = _lacks(upped)
    assert denied["what"].startswith(
        "firewall rule shut-all of tidepool-ci (DENY, priority 700) keeps Google's tunnels"
    )
    assert denied["allow"].endswith("--target-tags=tidepool-ci --priority=699")
    made(ALLOW | {"name": "tidepool-ci-ssh", "disabled": True})
    assert _lacks(upped)[0]["allow"] == (
        f"gcloud compute firewall-rules update tidepool-ci-ssh --project={PROJECT} --no-disabled "
        "--allow=tcp:22 --source-ranges=35.235.240.0/20 --target-tags=tidepool-ci --priority=699"
    )
    made(DENY | {"name": "shut-first", "priority": 0})
    assert _lacks(upped)[0]["allow"].endswith("firewall-rules update shut-first --project=hai-gcp-models --disabled")


def _lacks(upped: Checkout) -> list[dict[str, Any]]:
    return json.loads(upped.run("ssh", VM, "--json").stdout)["lacks"]


def _node(vm: str) -> str:
    return f"projects/{PROJECT}/locations/{ZONE}/nodes/{vm}"


def test_what_cloud_logging_has_of_a_vm_is_told_with_its_supervisors_lines_in_order_and_masked(
    upped: Checkout, google: Clients
) -> None:
    def written(vm: str, **payload: Any) -> None:
        resource = {"type": "tpu_worker", "labels": {"node_id": vm, "zone": ZONE, "project_id": PROJECT}}
        log = f"projects/{PROJECT}/logs/serial"
        entry = {"logName": log, "resource": resource, **payload}
        google.api(Api.LOGS).entries().write(body={"entries": [entry]}).execute()

    upped.ok("cloud", "clock", "--advance", "2m")
    before = upped.json("logs", VM)
    assert {each["source"] for each in before["lines"]} == {"supervisor"}
    assert "guests of the local cloud are simulated" in before["notes"][-1]
    written(VM, jsonPayload={"message": f"fetch {TOKEN}"})
    written(VM, textPayload="boot\nready", timestamp="2026-01-01T00:00:00Z")
    written("tpu-ci-us-east1-c-0", textPayload="of another")
    lines = upped.json("logs", VM)["lines"]
    assert [(each["source"], each["text"]) for each in lines[:2]] == [("console", "boot"), ("console", "ready")]
    assert (lines[-1]["source"], lines[-1]["text"]) == ("console", "fetch [secret]")
    assert [each for each in lines if each["source"] == "supervisor"] == before["lines"]
    assert upped.ok("logs", VM, "--tail", "1").stdout.endswith("console     fetch [secret]\n")
