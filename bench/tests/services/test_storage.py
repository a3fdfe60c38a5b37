"""Cloud Storage: who may write when, by any order of writers and by real connections; and pages of listings."""

from __future__ import annotations

import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from bench.cloud.testing import TestCloud
from bench.tests.cloud.cloud_clients import Direct, ask

UPLOAD = "upload/storage/v1/b/records/o?uploadType=media&name="


def bucket(versioned: bool) -> Direct:
    direct = Direct()
    direct.ask("POST", "/storage/v1/b?project=p", {"name": "records", "versioning": {"enabled": versioned}})
    return direct


class Writers(RuleBasedStateMachine):
    """Several writers of one object, each with the generation it read last: compare-and-swap must hold throughout.

    Also while the clock stands still, so nothing but the generation tells two writes apart.
    """

    seen = Bundle("seen")

    @initialize(versioned=st.booleans(), target=seen)
    def begin(self, versioned: bool) -> int:
        self.direct, self.current, self.last, self.content = bucket(versioned), 0, 0, 0
        return 0

    @rule(target=seen, known=st.none() | seen)
    def write(self, known: int | None) -> int:
        condition = "" if known is None else f"&ifGenerationMatch={known}"
        status, made = self.direct.ask("POST", f"/{UPLOAD}record{condition}", self.content + 1)
        assert status == (200 if known in (None, self.current) else 412)
        if status == 200:
            assert int(made["generation"]) > self.last, "above all before it, deletions included"
            self.current = self.last = int(made["generation"])
            self.content += 1
        return self.current

    @rule(known=seen)
    def delete(self, known: int) -> None:
        status, _ = self.direct.ask("DELETE", f"/storage/v1/b/records/o/record?ifGenerationMatch={known}")
        assert status == ((204 if known == self.current else 412) if self.current else 404)
        self.current = 0 if status == 204 else self.current

    @rule()
    def look(self) -> None:
        found = self.direct.ask("GET", "/storage/v1/b/records/o/record?alt=media")
        assert found == (200, self.content) if self.current else found[0] == 404


TestWriters: Any = Writers.TestCase
TestWriters.settings = settings(deadline=None, max_examples=25, stateful_step_count=20)


def test_racing_writers_over_real_connections_have_one_winner(cloud: TestCloud) -> None:
    """Eight threads send the same precondition at once, five rounds."""
    ask(cloud.url, "POST", "/storage/v1/b?project=p", {"name": "records"})
    generation = "0"
    with urllib3.PoolManager(maxsize=8) as pool, ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            url = f"{cloud.url}/{UPLOAD}race&ifGenerationMatch={generation}"
            answers = list(threads.map(lambda url: pool.request("POST", url, body=b"x", retries=False), [url] * 8))
            assert sorted(answer.status for answer in answers) == [200, *[412] * 7]
            generation = next(answer.json()["generation"] for answer in answers if answer.status == 200)


@settings(deadline=None, max_examples=30)
@given(
    names=st.sets(st.text(st.sampled_from("ab/#é"), min_size=1, max_size=5), min_size=1, max_size=8),
    size=st.integers(1, 4),
    more=st.sampled_from(["", "&delimiter=/", "&versions=true", "&versions=true&delimiter=/"]),
)
def test_pages_of_a_listing_join_to_the_whole(names: set[str], size: int, more: str) -> None:
    direct = bucket(versioned=True)
    for name in sorted(names) * 2:
        assert direct.ask("POST", "/storage/v1/b/records/o", {"name": name})[0] == 200
    path = f"/storage/v1/b/records/o?{more}"
    whole, token = direct.ask("GET", path)[1], ""
    items: list[Any] = []
    prefixes: list[str] = []
    while True:
        page = direct.ask("GET", f"{path}&maxResults={size}&pageToken={token}")[1]
        assert 0 < len(page.get("items", [])) + len(page.get("prefixes", [])) <= size
        items, prefixes = items + page.get("items", []), prefixes + page.get("prefixes", [])
        token = page.get("nextPageToken")
        if not token:
            break
    assert (items, prefixes) == (whole.get("items", []), whole.get("prefixes", []))
    if "delimiter" not in more:
        assert [each["name"] for each in items] == [name for name in sorted(names) for _ in range(2 if more else 1)]


def test_part_of_an_object_is_read_by_range(cloud: TestCloud) -> None:
    ask(cloud.url, "POST", "/storage/v1/b?project=p", {"name": "records"})
    made = ask(cloud.url, "POST", f"/{UPLOAD}a", 123456789)[1]
    for asked, expected in (("bytes=2-4", b"345"), ("bytes=7-", b"89"), ("bytes=8-99", b"9")):
        request = urllib.request.Request(made["mediaLink"], headers={"Range": asked})
        with urllib.request.urlopen(request) as answer:
            assert (answer.status, answer.read()) == (206, expected)
