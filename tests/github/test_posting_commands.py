"""`comment write`, `comment post` and `drift report` as a workflow calls them."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infra.cli.app import cli
from infra.fleet.github_api import Patience
from infra.github.artifact import harmless
from tests.github.lab_repository import REPO, SHA, TOKEN, Lab
from tests.github.meanings import SMALL, stack
from tests.github.workflow_sandbox import git


@dataclass(frozen=True)
class Desk:
    """A git repository with one stack in two versions, and the commands run there."""

    root: Path
    api: str

    def run(self, *arguments: str, **environ: str) -> Result:
        surroundings = {
            "TIDEPOOL_ROOT": str(self.root),
            "TIDEPOOL_HOME": str(self.root / ".tidepool"),
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_API_URL": self.api,
            "GITHUB_REPOSITORY": REPO,
        }
        return CliRunner().invoke(cli, arguments, env=surroundings | environ, prog_name="tidepool")

    def json(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        result = self.run(*arguments, "--json")
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def commit(self, text: str, name: str = "ci") -> None:
        (self.root / "stacks").mkdir(exist_ok=True)
        (self.root / "stacks" / f"Pulumi.{name}.yaml").write_text(text)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "--allow-empty", "-m", "edit")

    def write(self, code: int = 0) -> dict[str, Any]:
        return self.json("comment", "write", "--base", "HEAD^", "--head", "HEAD", "--out", self.out, code=code)

    @property
    def out(self) -> str:
        return str(self.root / "preview.json")

    def file(self, content: Any) -> str:
        path = self.root / "plan.json"
        path.write_text(json.dumps(content))
        return str(path)


@pytest.fixture
def desk(lab: Lab, tmp_path: Path) -> Desk:
    git(tmp_path, "init", "-q")
    made = Desk(tmp_path, lab.control.api)
    made.commit(stack())
    return made


def test_an_edit_is_written_and_posted_with_its_labels(desk: Desk, lab: Lab) -> None:
    desk.commit(stack(one=(SMALL, 3)))
    assert desk.write() == {"file": desk.out, "stacks": ["ci"], "labels": ["capacity-up"], "exit": 0}
    [posted] = desk.json("comment", "post", "--artifact", desk.out, "--head", SHA)["posts"]
    assert posted == {
        "pullRequest": lab.pull,
        "outcome": "created",
        "comment": posted["comment"],
        "removed": 0,
        "labels": ["capacity-up"],
    }
    [(_, body)] = lab.comments()
    assert "## ci: +1 VM, +4 chips" in body
    assert SHA[:12] in body
    assert lab.labels() == ["capacity-up"]


def test_a_plan_that_the_cli_wrote_is_shown_and_outlasts_the_comment_without_one(desk: Desk, lab: Lab) -> None:
    urn = "urn:pulumi:ci::tidepool::gcp:compute/network:Network::it"
    state = {"type": "gcp:compute/network:Network", "urn": urn, "custom": True, "inputs": {"name": "it"}}
    step = {"op": "create", "urn": urn, "newState": state}
    desk.commit(stack(one=(SMALL, 3)))
    plan = desk.file({"steps": [step], "changeSummary": {"create": 1}})
    desk.json("comment", "write", "--base", "HEAD^", "--out", desk.out, "--plan", f"ci={plan}")
    assert "1 to create" in json.loads(Path(desk.out).read_text())["markdown"]
    desk.json("comment", "post", "--artifact", desk.out, "--head", SHA, "--planned")
    desk.write()
    [told] = desk.json("comment", "post", "--artifact", desk.out, "--head", SHA)["posts"]
    assert told["outcome"] == "kept"
    [(_, body)] = [each for each in lab.comments() if "tidepool" in each[1]]
    assert "1 to create" in body


def test_a_name_that_is_no_stacks_is_told_and_does_nothing(desk: Desk) -> None:
    desk.commit(stack(), name="@octo <b> `x`")
    desk.write(code=1)
    said = harmless(json.loads(Path(desk.out).read_text())["markdown"])
    assert "is not the name of a stack" in said
    assert "@octo" not in said
    assert "<b>" not in said


def test_an_unknown_commit_or_stack_is_refused(desk: Desk) -> None:
    where = ("--out", desk.out)
    assert desk.run("comment", "write", "--base", "no-such-branch", *where).exit_code == 2
    assert desk.run("comment", "write", "--base", "--output=x", *where).exit_code == 2
    assert desk.run("comment", "write", "other", "--base", "HEAD", *where).exit_code == 2


def test_a_pull_request_that_has_moved_on_is_left_alone(desk: Desk, lab: Lab) -> None:
    desk.commit(stack(one=(SMALL, 3)))
    desk.write()
    lab.control.push_to_pull(REPO, lab.pull, "b" * 40)
    assert desk.json("comment", "post", "--artifact", desk.out, "--head", SHA)["posts"] == []
    assert lab.comments() == []


def test_a_forged_artifact_is_posted_as_words_that_do_nothing(desk: Desk, lab: Lab) -> None:
    forged = {"version": 1, "labels": [], "markdown": "@octo see [this](https://evil.example) <script>x</script> #1"}
    path = desk.file(forged)
    assert desk.run("comment", "post", "--artifact", path, "--head", SHA).exit_code == 0
    [(_, body)] = lab.comments()
    assert not any(each in body for each in ("@octo", "](", "://", "<script", "#1"))


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set"),
        ({"GITHUB_REPOSITORY": "lab"}, "OWNER/NAME"),
        ({"GITHUB_API_URL": "http://github.example"}, "not https"),
        ({"GITHUB_TOKEN": "wrong-token"}, "is not valid"),
    ],
)
def test_what_is_wrong_with_the_surroundings_is_said(desk: Desk, environ: dict[str, str], said: str) -> None:
    desk.commit(stack())
    desk.write()
    result = desk.run("comment", "post", "--artifact", desk.out, "--head", SHA, **environ)
    assert result.exit_code in (1, 2)
    assert said in result.output
    assert "wrong-token" not in result.output


def test_drift_is_reported_and_closed(desk: Desk) -> None:
    changed = {"op": "update", "urn": "urn:a", "type": "gcp:tpu/v2Vm:V2Vm", "name": "a", "diff": {"labels": {}}}
    path = desk.file({"stack": "ci", "steps": [changed], "exit": 0})
    told = desk.json("drift", "report", "ci", "--plan", path)
    assert (told["outcome"], told["differences"]) == ("created", 1)
    assert desk.json("drift", "report", "ci", "--plan", path)["outcome"] == "unchanged"
    path = desk.file({"stack": "ci", "steps": [], "exit": 0})
    assert desk.json("drift", "report", "ci", "--plan", path) == {
        "outcome": "closed",
        "issue": told["issue"],
        "differences": 0,
        "grants": 0,
        "fingerprint": None,
        "exit": 0,
    }


@contextmanager
def proxy() -> Generator[tuple[str, list[str]]]:
    """The address of a proxy that lets nothing through, and the first line of each request that it got."""
    heard: list[str] = []

    class Refuser(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            heard.append(self.rfile.readline().decode().strip())
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refuser) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", heard
        server.shutdown()


@pytest.mark.parametrize(
    ("scheme", "no_proxy", "asked"),
    [("http://", "", True), ("", "", True), ("http://", "github.invalid", False)],
)
def test_a_proxy_of_the_environment_is_heard_but_for_what_needs_none(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, scheme: str, no_proxy: str, asked: bool
) -> None:
    monkeypatch.setattr("infra.github.client.PATIENT", Patience(tries=1, answer=2.0, repeats=False))
    desk.commit(stack(one=(SMALL, 3)))
    desk.write()
    with proxy() as (bare, heard):
        address = f"{scheme}{bare}"
        for name in ("http_proxy", "https_proxy", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        posting = ("comment", "post", "--artifact", desk.out, "--head", SHA)
        there = desk.run(*posting, HTTPS_PROXY=address, HTTP_PROXY=address, NO_PROXY=no_proxy)
        assert (there.exit_code, heard) == (0, []), "what is on loopback needs no proxy"
        desk.run(*posting, "--api", "https://api.github.invalid", HTTPS_PROXY=address, NO_PROXY=no_proxy)
    assert [line.rpartition(" ")[0] for line in heard] == ["CONNECT api.github.invalid:443"] * asked
