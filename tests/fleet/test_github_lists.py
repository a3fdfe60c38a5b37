"""GitHub's lists are read to their end, and jobs that wait are found wherever they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bench.cloud.control import Control
from bench.cloud.testing import TestCloud
from infra.fleet.controller.github import GitHubError, RunnerApi
from infra.fleet.github_lists import MOST_RUNS, READERS, ListError, jobs, pages, whole

REPO = "lab/code"


def listed(key: str, items: Sequence[Any], *, total: int | None = None) -> Callable[[str], Any]:
    def ask(path: str) -> Any:
        query = parse_qs(urlsplit(path).query)
        size, page = int(query["per_page"][0]), int(query["page"][0])
        count = len(items) if total is None else total
        return {"total_count": count, key: items[(page - 1) * size : page * size]}

    return ask


def runners(*numbers: int) -> list[dict[str, int]]:
    return [{"id": number} for number in numbers]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 200, 250])
def test_a_list_is_read_page_by_page(count: int) -> None:
    asked: list[str] = []
    ask = listed("jobs", range(count))
    assert list(pages(lambda path: (asked.append(path), ask(path))[1], "x", "jobs")) == list(range(count))
    assert len(asked) == max(1, ceil(count / 100)), "no page more"
    found = whole(listed("runners", runners(*range(count))), "x", "runners", dict[str, Any])
    assert sorted(each["id"] for each in found) == list(range(count))


@pytest.mark.parametrize("total", [121, 201, 1000])
def test_a_list_that_ends_before_its_own_count_is_no_list(total: int) -> None:
    with pytest.raises(ListError, match=rf"listing x: it ended at \d+ of {total}"):
        whole(listed("runners", runners(*range(120)), total=total), "x", "runners", dict[str, Any])


@pytest.mark.parametrize("comes", [True, False], ids=["and another comes", "and none comes"])
def test_no_runner_of_a_long_list_is_hidden_by_those_that_end_while_its_parts_are_read(comes: bool) -> None:
    """Of 10,050 runners, one more than a group of GitHub's has, one in three answers ends one near the front."""
    there, turn, calls = list(range(10_050)), Lock(), Counter[str]()

    def ask(path: str) -> Any:
        with turn:
            calls[path] += 1
            answer = listed("runners", runners(*there))(path)
            if calls.total() % 3 == 0:
                del there[calls.total()]
                there.extend([max(there) + 1000] if comes else [])
            return answer

    found = {each["id"] for each in whole(ask, "x", "runners", dict[str, Any])}
    assert {each for each in there if each < 10_050} <= found
    assert calls.total() <= 101 + READERS, "each page once, and the first and the last of each part twice"


@pytest.mark.parametrize("body", [None, [], {}, {"total_count": 1}, {"jobs": [], "total_count": "many"}, {"jobs": 7}])
def test_an_answer_of_another_shape_is_no_list(body: Any) -> None:
    with pytest.raises(ListError, match="another shape"):
        list(pages(lambda _: body, "x", "jobs"))


def test_of_too_many_runs_those_that_wait_longest_are_looked_into() -> None:
    looked: list[int] = []

    def ask(path: str) -> Any:
        if path.startswith(f"repos/{REPO}/actions/runs?status=queued"):
            runs = [{"id": 200 - each, "created_at": f"2026-11-21T08:{each:02}:00Z"} for each in range(60)]
            return listed("workflow_runs", runs[::-1])(path)
        if "/jobs" not in path:
            return listed("workflow_runs", [{"id": 7, "created_at": "2026-11-20T08:00:00Z"}])(path)
        looked.append(int(path.split("/")[5]))
        return listed("jobs", [])(path)

    assert jobs(ask, REPO).waiting == ()
    assert looked == [200 - each for each in range(MOST_RUNS)]


OTHER_SHAPE = f"listing the jobs of {REPO}: one of them has another shape"


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({}, OTHER_SHAPE),
        (7, OTHER_SHAPE),
        ({"status": "queued"}, OTHER_SHAPE),
        ({"status": "queued", "created_at": "soon", "labels": []}, OTHER_SHAPE),
        (
            {"status": "queued", "created_at": "2026-11-21T08:00:00", "labels": [], "name": "a"},
            f"a job of {REPO} says no time zone",
        ),
    ],
)
def test_a_job_of_another_shape_is_said_so(job: Any, said: str) -> None:
    def ask(path: str) -> Any:
        if "/jobs" in path:
            return listed("jobs", [job])(path)
        return listed("workflow_runs", [{"id": 7, "created_at": "2026-11-20T08:00:00Z"}])(path)

    with pytest.raises(ListError) as error:
        jobs(ask, REPO)
    assert str(error.value) == said


def test_jobs_that_wait_are_told_with_labels_and_since_when(cloud: TestCloud) -> None:
    hub = Control(cloud.url)
    hub.add_repository(REPO)
    hub.add_repository("lab/other")
    hub.add_token("a-person", "ada")
    hub.queue_job("lab/other", ["tpu-ci", "self-hosted"], name="second")
    cloud.wall.advance(60)
    first = hub.queue_job(REPO, ["tpu-ci"], name="third")
    api = RunnerApi(api=hub.api, token=lambda _: "a-person")
    waiting = api.queued([REPO, "lab/other"])
    assert [(job.name, job.repository, job.labels) for job in waiting] == [
        ("second", "lab/other", ("tpu-ci", "self-hosted")),
        ("third", REPO, ("tpu-ci",)),
    ]
    assert (waiting[1].since - waiting[0].since).total_seconds() == 60
    assert first["status"] == "queued"
    with pytest.raises(GitHubError, match="404"):
        api.queued(["lab/nowhere"])


def test_a_job_that_runs_is_told_with_its_runner_and_its_page() -> None:
    run = {"id": 7, "created_at": "2026-11-20T08:00:00Z"}
    body = {"status": "in_progress", "name": "tests", "runner_name": "vm-1", "html_url": "https://github.com/x"}
    nobodys = {"status": "in_progress", "name": "hosted", "runner_name": None}

    def ask(path: str) -> Any:
        one = listed("jobs", [body, nobodys]) if "/jobs" in path else listed("workflow_runs", [run])
        return one(path)

    (found,) = jobs(ask, REPO).running
    assert (found.repository, found.name, found.runner, found.url) == (REPO, "tests", "vm-1", "https://github.com/x")


def test_names_that_a_stranger_chose_steer_no_terminal(cloud: TestCloud) -> None:
    hub = Control(cloud.url)
    hub.add_repository(REPO)
    hub.add_token("a-person", "ada")
    hub.queue_job(REPO, ["tpu-ci", "\x1b[2J"], name="\x1b]0;x\x07\u202ejob")
    (job,) = RunnerApi(api=hub.api, token=lambda _: "a-person").queued([REPO])
    assert (job.name, job.labels) == ("\\u001b]0;x\\u0007\\u202ejob", ("tpu-ci", "\\u001b[2J"))
