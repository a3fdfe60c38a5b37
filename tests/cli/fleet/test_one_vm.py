"""`logs VM` and `ssh VM`: what a VM wrote, masked, and the way in with what must be allowed first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from infra.fleet import google as googles
from infra.fleet.google import GoogleError
from infra.fleet.status.timeline import timeline
from infra.operations.fleet import vm_logs, way_in
from tests.cli.conftest import Checkout
from tests.fleet.controller.given_fleet import HOME, START, fleet
from tests.fleet.status.given_scene import scene

VM = "tpu-ci-us-west4-a-0"
TOKEN = f"ghp_{'a1' * 20}"
NETWORK = "projects/p/global/networks/tidepool-ci"
RULE: dict[str, Any] = {
    "direction": "INGRESS",
    "network": f"https://www.googleapis.com/compute/v1/{NETWORK}",
    "sourceRanges": ["35.235.240.0/20"],
    "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
}


class Answers:
    """A client of one API whose every call is answered alike; `asked` has the last one's arguments."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, {}

    def __getattr__(self, _: str) -> Any:
        def call(**given: Any) -> Answers:
            self.asked |= given
            return self

        return call


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> dict[googles.Api, Answers]:
    """A fleet at Google with one VM: what each API answers."""
    apis = {
        googles.Api.COMPUTE: Answers({"items": []}),
        googles.Api.PROJECTS: Answers({"permissions": list(way_in._ROLES)}),
        googles.Api.LOGS: Answers({"entries": []}),
    }

    class Clients(SimpleNamespace):
        def __enter__(self) -> Clients:
            return self

        def __exit__(self, *_: object) -> None: ...

    def execute(request: Answers, doing: str) -> Any:
        if isinstance(request.answer, Exception):
            raise GoogleError(doing, str(request.answer), status=403)
        return request.answer

    desired = fleet(1)
    seen = scene(desired)
    declared = SimpleNamespace(project="p", pools=[SimpleNamespace(name="tpu-ci")])
    there = SimpleNamespace(stack="ci", config=declared, place=SimpleNamespace(endpoint=None), look=lambda: seen)
    told = timeline(VM, seen, None, None)
    for module in (vm_logs, way_in):
        monkeypatch.setattr(module, "clients", lambda project, _: Clients(project=project, api=apis.__getitem__))
        monkeypatch.setattr(module, "execute", execute)
        monkeypatch.setattr(module, "stack_of", lambda *_: "ci")
        monkeypatch.setattr(module, "open_fleet", lambda *_: there)
    monkeypatch.setattr(vm_logs, "vm_timeline", lambda *_: told)
    return apis


def test_without_a_rule_and_roles_the_way_in_names_each_lack_with_its_command(
    google: dict[googles.Api, Answers],
) -> None:
    google[googles.Api.PROJECTS].answer = {"permissions": ["tpu.nodes.get"]}
    way = way_in.way_in(VM, worker=2)
    assert way.line == (
        f"gcloud compute tpus tpu-vm ssh {VM} --zone={HOME} --project=p --worker=2 --tunnel-through-iap"
    )
    rule, tunnels, login = way.lacks
    assert rule.allow == (
        "gcloud compute firewall-rules create tidepool-ci-ssh --project=p --network=tidepool-ci --direction=INGRESS "
        "--allow=tcp:22 --source-ranges=35.235.240.0/20 --target-tags=tidepool-ci"
    )
    assert tunnels.what == "you may not iap.tunnelInstances.accessViaIAP in p"
    assert tunnels.allow.endswith("--role=roles/iap.tunnelResourceAccessor")
    assert login.allow.endswith("--role=roles/compute.osLogin")


def test_where_all_is_allowed_nothing_lacks_and_what_cannot_be_asked_is_said(
    google: dict[googles.Api, Answers],
) -> None:
    google[googles.Api.COMPUTE].answer = {"items": [RULE]}
    assert way_in.way_in(VM).lacks == ()
    google[googles.Api.COMPUTE].answer = PermissionError("denied")
    way = way_in.way_in(VM)
    assert (way.lacks, way.notes) == ((), ("listing firewall rules failed: denied",))


@pytest.mark.parametrize(
    ("change", "lets"),
    [
        ({}, True),
        ({"allowed": [{"IPProtocol": "all"}]}, True),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["20-30"]}]}, True),
        ({"sourceRanges": ["0.0.0.0/0"]}, True),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["1024-65535"]}]}, False),
        ({"allowed": [{"IPProtocol": "udp"}]}, False),
        ({"sourceRanges": ["35.235.240.0/24", "::/0"]}, False),
        ({"network": "projects/p/global/networks/default"}, False),
        ({"direction": "EGRESS"}, False),
        ({"disabled": True}, False),
        ({"targetTags": ["bastion"]}, False),
        ({"targetTags": ["bastion", "tidepool-ci"]}, True),
    ],
)
def test_a_rule_counts_only_where_it_lets_all_of_the_tunnels_in(change: dict[str, Any], lets: bool) -> None:
    assert way_in.lets_tunnels_in(RULE | change, NETWORK) is lets


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
    google: dict[googles.Api, Answers], monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...], allowed: bool, installed: bool, code: int | None,
) -> None:  # fmt: skip
    google[googles.Api.COMPUTE].answer = {"items": [RULE] if allowed else []}
    ran = []

    def run(program: str, words: tuple[str, ...]) -> None:
        ran.append((program, words[4:6]))
        raise SystemExit(99)

    monkeypatch.setattr("shutil.which", lambda _: "/bin/gcloud" if installed else None)
    monkeypatch.setattr("os.execvp", run)
    result = CliRunner().invoke(cli, ["ssh", VM, *options])
    assert result.exit_code == (99 if code is None else code), result.output
    assert ran == ([("gcloud", ("ssh", VM))] if code is None else [])
    assert ("gcloud is not installed" in result.output) is (not installed and not options)


def test_what_google_keeps_of_a_vm_is_told_in_order_and_masked(google: dict[googles.Api, Answers]) -> None:
    later = {"timestamp": "2026-11-21T12:00:09Z", "jsonPayload": {"message": f"fetch {TOKEN}"}}
    google[googles.Api.LOGS].answer = {
        "entries": [later, {"timestamp": START.isoformat(), "textPayload": "boot\nready"}]
    }
    log = vm_logs.vm_log(VM, tail=3)
    assert [each.text for each in log.lines] == ["boot", "ready", "fetch [secret]"]
    assert f'resource.labels.node_id="{VM}"' in google[googles.Api.LOGS].asked["body"]["filter"]
    google[googles.Api.LOGS].answer = PermissionError("denied")
    assert any("roles/logging.viewer" in note for note in vm_logs.vm_log(VM).notes)


def test_a_guest_of_the_local_cloud_has_its_supervisors_log_and_no_way_in(upped: Checkout) -> None:
    upped.ok("cloud", "clock", "--advance", "2m")
    log = upped.json("logs", VM)
    assert {each["source"] for each in log["lines"]} == {"supervisor"}
    assert log["lines"][-1]["text"] == "idle"
    said = upped.ok("logs", VM, "--tail", "1")
    assert said.stdout.endswith("supervisor  idle\n")
    assert len(said.stdout.splitlines()) == 1
    assert "no console" in said.stderr
    refused = upped.run("ssh", VM)
    assert refused.exit_code == 1
    assert f"{VM} is a simulated guest of the local cloud" in " ".join(refused.output.split())
    assert upped.run("ssh", "tpu-ci-us-west4-a-77").exit_code == 1
    assert upped.run("logs", "nobody").exit_code == 2
