"""Runs in a bucket of the local cloud: over HTTP, by the same client as Google's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from infra.cli.app import cli
from infra.fleet.google import Api, Clients, GoogleError, clients, execute
from infra.fleet.records import Records
from infra.model.bucket_names import RESULT_INDEX as INDEX
from infra.operations.result_place import ResultBucket, bucket_store
from infra.results.store import Folder, ResultStore
from infra.results.suite_run import ResultsError
from tests.results.result_runs import made, nights
from tests.results.test_result_commands import desk as desk
from tests.results.test_result_commands import publish, run

if TYPE_CHECKING:
    from bench.cloud.testing import TestCloud

BUCKET = "lab-results"


@pytest.fixture
def google(cloud: TestCloud) -> Iterator[Clients]:
    with clients("my-lab", cloud.url) as made_clients:
        body = {"name": BUCKET, "location": "us-central1", "versioning": {"enabled": True}}
        execute(made_clients.api(Api.STORAGE).buckets().insert(project="my-lab", body=body), "making a bucket")
        yield made_clients


@pytest.fixture
def store(google: Clients) -> ResultStore:
    return ResultStore(ResultBucket(Records(google=google, bucket=BUCKET)))


def test_a_bucket_keeps_what_a_folder_keeps_byte_for_byte(store: ResultStore, tmp_path: Path) -> None:
    folder = ResultStore(Folder(tmp_path))
    runs = nights([1, 2, 3])
    assert [store.keep(each) for each in reversed(runs)] == [folder.keep(each) for each in runs] == [True] * 3
    assert not store.keep(runs[0])
    names = sorted((*store.objects.names("runs/"), INDEX))
    assert names == sorted((*folder.objects.names("runs/"), INDEX))
    assert [store.objects.read(name) for name in names] == [folder.objects.read(name) for name in names]
    assert store.runs("tpu") == runs
    with pytest.raises(ResultsError, match=f"gs://{BUCKET} with another content"):
        store.keep(made(1, 90))


def test_a_read_that_is_refused_is_told_and_those_behind_it_are_not_sent(
    store: ResultStore, cloud: TestCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in nights([1, 2]):
        store.keep(each)
    cloud.control.fail("error", method="storage.objects.get", code=403)
    with pytest.raises(GoogleError, match="403"):
        store.runs("tpu")
    cloud.control.mend()
    assert len(store.runs("tpu")) == 2, "its connections work on"


def test_repositories_share_a_bucket_and_neither_names_nor_an_index(store: ResultStore, google: Clients) -> None:
    records = Records(google=google, bucket=BUCKET)
    mine, theirs = (bucket_store(records, repository=name) for name in ("Lab/Engine", "eve/engine"))
    shared = "https://github.com/lab/engine/actions/runs/1"
    before = [
        made(1, run="1-1", link=shared),
        made(2, run="2-1", link="https://github.com/lab/engine-2/actions/runs/2"),
    ]
    for each in before:
        store.keep(each)
    stands = {name: records.content(name) for name in records.below("")}
    assert mine.keep(made(3, run="3-1", link="https://eve.example/"))
    assert theirs.keep(made(3, 7, run="3-1"))
    assert [(each.run, each.seconds, each.link) for each in mine.runs("tpu")] == [
        ("1-1", 100, "https://github.com/Lab/Engine/actions/runs/1/attempts/1"),
        ("3-1", 100, "https://github.com/Lab/Engine/actions/runs/3/attempts/1"),
    ], "what the version before kept of this repository is read, and links are derived"
    assert [(each.run, each.seconds) for each in theirs.runs("tpu")] == [("3-1", 7)]
    now = set(records.below(""))
    assert {name: records.content(name) for name in stands} == stands, "and nothing is written there"
    assert {name.rpartition("/runs/")[0] for name in now - stands.keys() if "/runs/" in name} == {
        "repositories/lab/engine", "repositories/eve/engine",
    }  # fmt: skip
    assert mine.rebuild() == theirs.rebuild() == 1
    assert store.rebuild() == 2


def test_the_page_has_the_suites_of_every_repository(
    desk: Path, cloud: TestCloud, google: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.operations.session.reached", lambda *_: cloud.url)
    monkeypatch.setenv("TIDEPOOL_RESULTS", f"gs://{BUCKET}")
    monkeypatch.setattr("infra.operations.results._kept_repositories", lambda _: ["eve/engine", "lab/engine"])
    for name in ("lab/engine", "eve/engine"):
        monkeypatch.setenv("GITHUB_REPOSITORY", name)
        publish(desk, 1)
    monkeypatch.delenv("GITHUB_REPOSITORY")
    page = Path(run("open", "--no-browser", "--out", str(desk.parent / "page.html"))["page"]).read_text()
    assert "lab/engine tpu" in page
    assert "eve/engine tpu" in page
    done = CliRunner().invoke(cli, ["results", "report", "tpu", "--json"])
    assert "Fix: add --repository eve/engine" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    ("store", "next_step"),
    [("gs://no-such", "--store names another place"), (f"gs://{BUCKET}", "`./tidepool up nightly` makes it")],
)
@pytest.mark.parametrize("command", [("report", "tpu"), ("rebuild",), ("open", "--no-browser")])
def test_a_bucket_that_is_not_there_is_named_with_what_makes_it(
    desk: Path, cloud: TestCloud, monkeypatch: pytest.MonkeyPatch, store: str, next_step: str, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr("infra.operations.session.reached", lambda *_: cloud.url)
    done = CliRunner().invoke(cli, ["results", *command, "--store", store, "--json"])
    assert done.exit_code == 1
    error = json.loads(done.stdout)["error"]
    assert f"{store} is not there" in error
    assert next_step in error
