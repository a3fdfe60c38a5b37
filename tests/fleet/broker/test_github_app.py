"""The app's calls, one after another: least rights, a refused token replaced once, a strange answer named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from infra.fleet.broker.github_app import GitHubApp, GitHubRunner
from infra.fleet.broker.refusals import Refused
from infra.fleet.github_api import Answered

ORG, REPO = "orgs/lab", "repos/lab/code"
KEY = "app/installations/i/access_tokens"
RUNNERS = {"id": 7, "name": "r", "status": "online", "busy": False}
RUNNER = GitHubRunner(id=7, name="r", online=True, busy=False)


class Client:
    """GitHub, which answers in turn. asked: each call with its token and deadline."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self.answers, self.asked, self.sent = list(answers), list[Any](), list[Any]()

    def ask(self, verb: str, path: str, *, token: str, deadline: float, body: Any, takes: Any = ()) -> Answered:
        self.asked.append((verb, path, token, deadline))
        self.sent.append(body)
        status, said = self.answers.pop(0)
        assert status < 400 or status in takes
        return Answered(status, said)

    def are_few(self) -> bool:
        return False


def app(monkeypatch: pytest.MonkeyPatch, client: Any) -> GitHubApp:
    monkeypatch.setattr(GitHubApp, "_signed", lambda _, *, fresh: f"signed-{fresh}")
    return GitHubApp(
        client=client, app="1", installation="i", key=lambda _: "", clock=lambda: datetime(2026, 11, 21, tzinfo=UTC)
    )


def token(text: str) -> tuple[int, Any]:
    return 201, {"token": text, "expires_at": "2026-11-21T01:00:00Z"}


def registers(made: GitHubApp) -> object:
    return made.register(ORG, "r", labels=("tpu",), group="g", deadline=9)


@pytest.mark.parametrize(
    ("call", "answers", "detail"),
    [
        (lambda made: made.runner(REPO, 7, deadline=9), [token("t"), (200, {})], "runner has another shape"),
        (lambda made: made.runner(REPO, 7, deadline=9), [(201, {})], "token has another shape"),
        (lambda made: made.runner(REPO, 7, deadline=9), [(201, {**token("t")[1], "expires_at": "2999-01-01T00:00:00"})],
         "token has another shape"),
        (lambda made: made.runner(REPO, 7, deadline=9), [token("ghs_a\nX-Injected: 1")], "token has another shape"),
        (lambda made: made.find(REPO, "r", deadline=9), [token("t"), (200, [])], "runners has another shape"),
        (lambda made: made.remove(REPO, RUNNER, deadline=9), [token("t"), (422, {})], "does not let its runner go"),
        (registers, [token("t"), (200, {"runner_groups": 7})], "runner groups has another shape"),
        (registers, [token("t"), (200, {"runner_groups": [], "total_count": 5})], "orgs/lab has no runner group 'g'"),
        (registers, [token("t"), (200, {"runner_groups": [{"name": "g", "id": 1}], "total_count": 1}), (201, {})],
         "registration has another shape"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_understood_is_named(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[GitHubApp], object], answers: Any, detail: str
) -> None:
    with pytest.raises(Refused) as refused:
        call(app(monkeypatch, Client(*answers)))
    assert refused.value.detail.endswith(detail)


def test_a_token_or_a_key_that_is_refused_is_replaced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(token("old"), (401, {}), (401, {}), token("new"), (200, RUNNERS))
    assert app(monkeypatch, client).runner(REPO, 7, deadline=9) == RUNNER
    path = f"{REPO}/actions/runners/7"
    assert client.asked == [
        ("POST", KEY, "signed-False", 9),
        ("GET", path, "old", 9),
        ("POST", KEY, "signed-False", 9),
        ("POST", KEY, "signed-True", 9),
        ("GET", path, "new", 9),
    ]
    least = {"repositories": ["code"], "permissions": {"administration": "write"}}
    assert client.sent == [least, None, least, least, None]


def test_a_group_is_looked_for_on_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [(200, {"runner_groups": [{"name": name, "id": number}], "total_count": 2})
             for number, name in enumerate("ag")]  # fmt: skip
    client = Client(token("t"), *pages, (201, {"encoded_jit_config": "jit", "runner": {"id": 7}}))
    registers(app(monkeypatch, client))
    assert client.sent[0] == {"permissions": {"organization_self_hosted_runners": "write"}}
    assert [path.rpartition("=")[2] for verb, path, *_ in client.asked if verb == "GET"] == ["1", "2"]
    assert client.sent[-1] == {"name": "r", "runner_group_id": 1, "labels": ["tpu"], "work_folder": "_work"}


def test_jobs_are_read_with_a_token_that_reads_them_and_does_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(token("t"), *[(200, {"workflow_runs": [], "total_count": 0})] * 9)
    assert app(monkeypatch, client).jobs("lab/code", deadline=9).waiting == ()
    assert client.sent[0] == {"repositories": ["code"], "permissions": {"actions": "read"}}
    assert {call[0] for call in client.asked[1:]} == {"GET"}


def test_a_token_is_kept_until_five_minutes_before_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(token("one"), (404, {}), (404, {}), token("two"), (404, {}))
    made = app(monkeypatch, client)
    for minute in (0, 54, 55):
        made.clock = lambda minute=minute: datetime(2026, 11, 21, 0, minute, tzinfo=UTC)
        made.runner(REPO, 7, deadline=9)
    assert [used for verb, _, used, _ in client.asked if verb == "GET"] == ["one", "one", "two"]
