"""What jobs of workflows do with results: kept in a bucket of the local cloud, told to a GitHub that writes it down."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from infra.fleet.google import Api, clients, execute
from infra.fleet.records import Records
from infra.model.catalogue import CapacityKind, Generation, price
from infra.operations.result_jobs import main
from infra.operations.result_place import bucket_store
from infra.results.suite_run import SuiteRun
from tests.github.conftest import lab as lab
from tests.github.lab_repository import REPO as REPO_OF_LAB
from tests.github.lab_repository import SHA, TOKEN, Lab
from tests.workflows.sandbox.hub import Hub, serving

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

ROOT = Path(__file__).parents[2]
BUCKET, REPO = "lab-results", "lab/engine"
PREFIX = f"repositories/{REPO}/"
COMMIT, HEAD, TREE = "a" * 40, "b" * 40, "c" * 40
NIGHT: dict[str, Any] = {
    "id": 7, "run_attempt": 1, "path": ".github/workflows/tpu-nightly.yaml", "event": "schedule", "head_sha": COMMIT,
    "head_branch": "main", "head_repository": {"full_name": REPO}, "html_url": "https://github.example/runs/7",
}  # fmt: skip
FORKS = NIGHT | {
    "id": 9, "path": ".github/workflows/tests.yaml", "event": "pull_request", "head_sha": HEAD,
    "head_repository": {"full_name": "eve/engine"},
}  # fmt: skip
TPU: dict[str, Any] = {
    "name": "tpu", "hardware": "v6e-1", "files": ["tpu.json"], "labels": ["tpu-tests"],
    "vm": {"accelerator": "v6e-1", "zone": "us-central1-b", "capacity": "preemptible", "pool": "nightly-v6e"},
}  # fmt: skip
OPEN = {"number": 3, "state": "open", "head": {"ref": "main", "sha": HEAD}, "base": {"ref": "main", "sha": COMMIT}}


def result(outcome: str = "passed", *, run: str = "7-1", seconds: float = 60, **more: Any) -> dict[str, Any]:
    """As workflows/scripts/run_suite.py writes it."""
    tests = {"t.a": {"seconds": seconds, "outcome": outcome}}
    ok = outcome != "failed"
    return {
        "version": 1,
        "suite": "tpu",
        "run": run,
        "ok": ok,
        "seconds": seconds,
        "coverage": 80.0,
        "tests": tests,
    } | more


@dataclass
class Desk:
    """A job's machine. log: what it said."""

    folder: Path
    hub: Hub
    cloud: TestCloud
    log: list[str] = field(default_factory=list)

    def do(self, what: str, run: dict[str, Any], *suites: dict[str, Any], **told: str) -> int:
        self.hub.answers["/engine/actions/runs/" + str(run["id"])] = {"run_started_at": self.now(), **run}
        of = {"workflow": FORKS["path"]} if run["event"] == "pull_request" else {}
        named = [of | each for each in suites or (TPU,)]
        request: dict[str, Any] = {"project": "my-lab", "bucket": BUCKET, "main": "main", "suites": named}
        request |= {"usd_per_month": told.pop("USD")} if "USD" in told else {}
        environ = {
            "REQUEST": json.dumps(request), "TESTED_RUN": str(run["id"]), "GITHUB_API_URL": self.hub.url,
            "GITHUB_REPOSITORY": REPO, "GITHUB_TOKEN": "t", "GOOGLE_ENDPOINT": self.cloud.url,
            "RESULTS": str(self.folder / "results"), "REPORT": str(self.folder / "report"),
            "GITHUB_OUTPUT": str(self.folder / "output"), "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
        }  # fmt: skip
        return main(what, environ | told, self.log.append)

    @staticmethod
    def now() -> str:
        return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"

    def left(self, name: str, body: dict[str, Any]) -> None:
        (self.folder / "results").mkdir(exist_ok=True)
        (self.folder / "results" / name).write_text(json.dumps(body))

    def kept(self, suite: str = "tpu") -> list[SuiteRun]:
        with clients("my-lab", self.cloud.url) as google:
            return bucket_store(Records(google=google, bucket=BUCKET), repository=REPO).runs(suite)

    def badges(self) -> list[str]:
        with clients("my-lab", self.cloud.url) as google:
            return sorted(Records(google=google, bucket=BUCKET).below(f"{PREFIX}badges/"))

    def output(self) -> str:
        return (self.folder / "output").read_text()


def at(lab: Lab, permissions: dict[str, str] | None = None) -> dict[str, str]:
    """That tells of a local GitHub, which keeps what is posted. permissions: of the token, the lab's where none are."""
    if permissions:
        lab.control.add_token("tells", "github-actions[bot]", app=True, permissions=permissions)
    token = "tells" if permissions else TOKEN
    return {"GITHUB_API_URL": lab.control.api, "GITHUB_REPOSITORY": REPO_OF_LAB, "GITHUB_TOKEN": token}


@pytest.fixture
def desk(tmp_path: Path, cloud: TestCloud) -> Iterator[Desk]:
    with clients("my-lab", cloud.url) as google:
        body = {"name": BUCKET, "location": "us-central1", "versioning": {"enabled": True}}
        execute(google.api(Api.STORAGE).buckets().insert(project="my-lab", body=body), "making a bucket")
    files = {"tree": [{"path": "src/a.py", "sha": "1" * 40, "type": "blob"}], "truncated": False}
    answers = {
        "/user": {"login": "github-actions[bot]"}, f"/{REPO}": {"default_branch": "main"},
        f"/git/commits/{COMMIT}": {"sha": COMMIT, "tree": {"sha": TREE}},
        f"/git/commits/{HEAD}": {"sha": HEAD, "tree": {"sha": TREE}},
        "/git/ref/heads/main": {"object": {"sha": HEAD}},
        "/commits": [{"sha": HEAD, "parents": [{"sha": COMMIT}]}, {"sha": COMMIT, "parents": []}],
        f"/git/trees/{COMMIT}": files, f"/git/trees/{HEAD}": files, f"/commits/{HEAD}/pulls": [OPEN],
    }  # fmt: skip
    with serving(Hub(answers=answers)) as hub:
        yield Desk(tmp_path, hub, cloud)


def test_a_night_that_fails_is_kept_with_its_vm_and_has_one_issue_with_its_labels(desk: Desk, lab: Lab) -> None:
    desk.left("tpu.json", result("failed", vm_seconds=600))
    assert desk.do("keep", NIGHT) == 0, desk.log
    (run,) = desk.kept()
    assert (run.commit, run.tree, run.branch, run.pull, run.ended) == (COMMIT, TREE, "main", None, "failed")
    assert run.vm is not None
    assert (run.vm.seconds, run.vm.zone, run.link) == (
        600,
        "us-central1-b",
        f"https://github.com/{REPO}/actions/runs/7/attempts/1",
    )
    assert "t.a" in (desk.folder / "summary").read_text()
    assert not [each for each in desk.hub.asked if not each.startswith("GET ")], "it has no right to write"
    assert desk.do("tell", NIGHT, **at(lab)) == 0, desk.log
    (issue,) = (each for each in lab.repository().get_issues() if each.pull_request is None)
    assert {each.name for each in issue.labels} == {"ci-failure", "tidepool-results", "tpu-tests"}
    assert issue.title.startswith("Suite tpu on v6e-1: 1 broken")


def test_what_a_fork_says_is_kept_under_the_pull_request_that_github_names(desk: Desk, lab: Lab) -> None:
    desk.left("tpu.json", result(run="9-1", commit=COMMIT, branch="main"))
    suite = TPU | {"vm": None, "inputs": ["src/**"]}
    assert desk.do("keep", FORKS, suite) == 0, desk.log
    (run,) = desk.kept()
    assert (run.commit, run.pull, run.inputs, run.vm) == (HEAD, 3, "", None)
    text = json.loads((desk.folder / "report" / "tpu.json").read_text())
    assert (text["pull"], text["commit"], text["on_main"]) == (3, HEAD, False)
    text |= {"pull": lab.pull, "commit": SHA}
    (desk.folder / "report" / "tpu.json").write_text(json.dumps(text))
    told = at(lab, permissions={"statuses": "write", "pull_requests": "write", "issues": "write"})
    assert desk.do("tell", FORKS, suite, **told) == 0, desk.log
    assert len(lab.comments()) == 1
    assert [each for each in lab.repository().get_issues() if each.pull_request is None] == []
    commit = lab.repository()._requester.requestJsonAndCheck("GET", f"/repos/{REPO_OF_LAB}/commits/{SHA}/statuses")[1]
    assert [(each["context"], each["state"]) for each in commit] == [("tidepool/results", "success")]


def test_a_run_of_a_tag_called_main_is_not_kept_as_mains(desk: Desk) -> None:
    desk.hub.answers["/commits"] = [
        {"sha": HEAD, "parents": [{"sha": TREE}, {"sha": COMMIT}]},
        {"sha": COMMIT, "parents": []},
        {"sha": TREE, "parents": []},
    ]
    desk.left("tpu.json", result())
    assert desk.do("keep", NIGHT) == 0, desk.log
    assert [run.branch for run in desk.kept()] == [""]
    assert desk.badges() == []
    assert f"{COMMIT} is not a commit of main" in desk.log[0]


@pytest.mark.parametrize("other", [{"path": ".github/workflows/evil.yaml"}, {"event": "push"}], ids=["file", "push"])
def test_a_run_of_another_file_or_of_another_repository_is_not_kept(desk: Desk, other: dict[str, Any]) -> None:
    desk.left("tpu.json", result())
    assert desk.do("keep", FORKS | other) == 1
    assert "kept" in desk.log[-1]
    assert desk.kept() == []


TAKEN: dict[str, Any] = {
    "ok": False, "missing": "taken-back: Google took the VM back (PREEMPTED), so there is no result", "tests": {},
    "seconds": 0, "coverage": None, "vm_seconds": 90,
}  # fmt: skip
TWO = TPU | {"files": ["tpu-1.json", "tpu-2.json"], "inputs": ["src/**"]}


def test_a_shard_that_was_taken_back_is_missing_with_its_reason_and_breaks_nothing(desk: Desk, lab: Lab) -> None:
    desk.left("tpu-1.json", result(run="7x1-1", vm_seconds=60))
    desk.left("tpu-2.json", result(run="7x2-1") | TAKEN)
    assert desk.do("keep", NIGHT, TWO) == 0, desk.log
    (run,) = desk.kept()
    assert (run.ended, len(run.tests)) == ("incomplete", 1)
    assert run.missing == ("tpu-2: taken-back: Google took the VM back (PREEMPTED), so there is no result",)
    assert run.vm is not None
    assert run.vm.seconds == 150, "what was taken back is paid too"
    told = (desk.folder / "report" / "report.md").read_text()
    assert "| missing | `tpu-2` |" in told
    assert "broken" not in told
    assert "no result" in (desk.folder / "report" / "tpu.svg").read_text()
    assert desk.do("tell", NIGHT, **at(lab)) == 0, desk.log
    assert [each for each in lab.repository().get_issues() if each.pull_request is None] == []
    assert desk.log[-1] == "tpu: issue left as it is: a part of the suite has no result"


def test_a_result_of_a_fork_that_is_too_large_to_keep_stops_neither_the_page_nor_mains_next_night(desk: Desk) -> None:
    name = "n" * 200
    large = {f"{at} {name}": {"outcome": "passed", "seconds": 1} for at in range(45_000)}
    desk.left("tpu.json", result(run="9-1", tests=large))
    assert desk.do("keep", FORKS, TPU | {"vm": None}) == 0, desk.log
    (run,) = desk.kept()
    assert (run.ended, run.pull, run.tests) == ("failed", 3, ())
    assert "Fix: split the suite" in run.missing[0]
    desk.left("tpu.json", result())
    assert desk.do("keep", NIGHT) == 0, desk.log
    assert [each.run for each in desk.kept()] == ["9-1", "7-1"]


def test_a_result_that_cannot_be_kept_keeps_no_other_suite_from_it(desk: Desk) -> None:
    first = TPU | {"name": "first", "files": ["first.json"], "inputs": ["nowhere/**"]}
    desk.left("first.json", result())
    desk.left("tpu.json", result(run="7x2-1"))
    assert desk.do("keep", NIGHT, first, TPU) == 1
    assert [line for line in desk.log if line.startswith("::error::first: no file of the commit is an input")]
    assert [(run.run, run.reused) for run in desk.kept()] == [("7-1", "")]
    assert (desk.kept("first"), (desk.folder / "report" / "first.json").exists()) == ([], False)


def test_a_link_in_place_of_a_result_is_not_followed(desk: Desk) -> None:
    (desk.folder / "secret.json").write_text(json.dumps(result()))
    (desk.folder / "results").mkdir()
    (desk.folder / "results" / "tpu.json").symlink_to(desk.folder / "secret.json")
    assert desk.do("keep", NIGHT) == 0
    assert desk.kept() == []


def test_a_pass_stands_for_an_unchanged_tree_and_says_so(desk: Desk) -> None:
    suite = TPU | {"inputs": ["src/**"]}
    desk.left("tpu.json", result())
    assert desk.do("keep", NIGHT, suite) == 0, desk.log
    (desk.folder / "results" / "tpu.json").unlink()
    after = NIGHT | {"id": 8}
    assert desk.do("reuse", after, suite) == 0, desk.log
    assert "reused=|tpu|" in desk.output()
    assert desk.log[-1] == "tpu: nothing to run; its inputs are those of run 7-1, which passed"
    assert desk.do("keep", after, suite) == 0, desk.log
    assert [(run.run, run.reused) for run in desk.kept()] == [("7-1", ""), ("8-1", "7-1")]
    assert "7-1" in (desk.folder / "report" / "report.md").read_text()


@pytest.mark.parametrize("why", ["changed", "flaky", "silent", "undeclared"])
def test_a_suite_runs_where_no_pass_stands_for_it(desk: Desk, why: str) -> None:
    suite = TPU | {"inputs": [] if why == "undeclared" else ["src/**"]}
    desk.left("tpu.json", result("flaky" if why == "flaky" else "passed"))
    assert desk.do("keep", NIGHT, suite) == 0, desk.log
    if why == "changed":
        files = {"tree": [{"path": "src/a.py", "sha": "2" * 40, "type": "blob"}], "truncated": False}
        desk.hub.answers[f"/git/trees/{COMMIT}"] = files
    desk.hub.broken = why == "silent"
    assert desk.do("reuse", NIGHT | {"id": 8}, suite) == 0
    assert desk.output().splitlines()[-1] == "reused="
    assert ("::warning::every suite runs" in desk.log[-1]) is (why == "silent")


@pytest.mark.parametrize(("usd", "said"), [("0.05", "failure"), ("10", "success")])
def test_the_budget_is_over_once_the_vms_of_a_month_cost_more(desk: Desk, usd: str, said: str) -> None:
    """One hour of a preemptible v6e-1 an hour, and a run of the year before, which is not counted."""
    long_ago = f"{datetime.now(UTC) - timedelta(days=300):%Y-%m-%dT%H:%M:%SZ}"
    desk.left("tpu.json", result(vm_seconds=36_000))
    assert desk.do("keep", NIGHT | {"id": 6, "run_started_at": long_ago}) == 0, desk.log
    desk.left("tpu.json", result(vm_seconds=600))
    assert desk.do("keep", NIGHT, USD=usd) == 0, desk.log
    assert desk.output().splitlines()[-1] == f"budget={said}"
    assert f"VMs of tests cost $0.09 in 30 days, of ${usd}" in desk.log


def test_what_is_told_is_of_the_job_that_keeps_alone(desk: Desk) -> None:
    (desk.folder / "report").mkdir()
    (desk.folder / "report" / "tpu.json").write_text('{"suite": "tpu"}')
    assert desk.do("tell", NIGHT) == 1
    assert "tpu.json is not what the job that keeps results writes" in desk.log[-1]


LOADED = """
import importlib.metadata, sys
started = set(sys.modules)  # a virtual environment that pip made loads a hook of setuptools at each start
import infra.operations.result_jobs
known = importlib.metadata.packages_distributions()
tops = {name.partition(".")[0] for name in set(sys.modules) - started} - {"google"}  # a name that many packages share
print(*sorted({dist.lower() for top in tops for dist in known.get(top, ())}))
"""


def test_jobs_need_no_more_than_their_two_locks() -> None:
    """Nothing of what the tool adds: engines, commands and charts."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {re.sub(r"[._]", "-", name) for name in done.stdout.split()}
    locks = [(ROOT / f"requirements-{name}.lock").read_text() for name in ("service", "results")]
    pinned = {name for lock in locks for name in re.findall(r"^([a-z0-9][a-z0-9._-]*)==", lock, re.MULTILINE)}
    assert {"numpy", "pydantic"} <= loaded <= pinned


def test_shards_are_one_run_whose_vms_are_paid_where_they_were_obtained(desk: Desk) -> None:
    suite = TPU | {"files": ["tpu-1.json", "tpu-2.json", "tpu-3.json", "tpu-4.json"]}
    away = {"accelerator": "v6e-1", "zone": "europe-west4-a", "capacity": "on-demand"}
    desk.left("tpu-1.json", result(run="7x1-1", seconds=30, vm_seconds=100))
    desk.left(
        "tpu-2.json", result(run="7x2-1", tests={"t.b": {"seconds": 50, "outcome": "passed"}}, vm_seconds=3600, vm=away)
    )
    desk.left("tpu-3.json", result(run="7x3-1", seconds=20, vm_seconds=50, vm="nonsense"))
    assert desk.do("keep", NIGHT, suite, USD="1") == 0, desk.log
    (run,) = desk.kept()
    assert (run.ended, run.seconds, run.coverage, len(run.tests)) == ("failed", 110, None, 2)
    assert run.missing == ("tpu-4: it left no result, and nobody said why",)
    assert [(each.zone, each.capacity, each.seconds) for each in run.vms] == [
        ("europe-west4-a", "on-demand", 3600), ("us-central1-b", "preemptible", 150),
    ]  # fmt: skip
    listed = price(Generation.parse("v6e"), "europe-west4-a", CapacityKind.ON_DEMAND)
    assert listed is not None
    cost = float(listed.usd_per_chip_hour) + 150 * 0.544 / 3600
    assert f"VMs of tests cost ${cost:.2f} in 30 days, of $1" in desk.log
    assert desk.output().splitlines()[-1] == "budget=failure"


def test_badges_of_the_main_branch_have_names_in_the_bucket_that_never_change(desk: Desk) -> None:
    desk.left("tpu.json", result("failed"))
    assert desk.do("keep", NIGHT | {"id": 8}) == 0, desk.log
    assert f"badge: https://storage.cloud.google.com/{BUCKET}/{PREFIX}badges/tpu/v6e-1.svg" in desk.log
    desk.left("tpu.json", result())
    late = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    assert desk.do("keep", NIGHT | {"run_started_at": late}) == 0, desk.log
    assert desk.do("keep", NIGHT | {"id": 9, "event": "workflow_dispatch"}, COMMIT=HEAD, PULL="3") == 0, desk.log
    with clients("my-lab", desk.cloud.url) as google:
        objects = google.api(Api.STORAGE).objects()
        named = {name: f"{PREFIX}badges/tpu/{name}" for name in ("v6e-1.svg", "v6e-1-coverage.svg")}
        facts = {name: objects.get(bucket=BUCKET, object=each).execute() for name, each in named.items()}
        texts = {name: objects.get_media(bucket=BUCKET, object=each).execute() for name, each in named.items()}
    assert {each["contentType"] for each in facts.values()} == {"image/svg+xml"}
    assert b"failing" in texts["v6e-1.svg"], "a late report of an older run, and a pull request, change nothing"
    assert b"80 %" in texts["v6e-1-coverage.svg"]
