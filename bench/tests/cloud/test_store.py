"""What is stored: all or nothing, once a name, page by page."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cloud.cloud import ApiCall, Cloud
from bench.cloud.errors import ApiError
from bench.cloud.services.listings import page
from bench.cloud.store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    yield made
    made.close()


def test_a_resource_is_made_once_changed_and_gone(store: Store) -> None:
    made = store.insert("thing", "a", {"k": 1}, now=5.0, data=b"bytes")
    with pytest.raises(ApiError) as taken:
        store.insert("thing", "a", {}, now=6.0)
    assert taken.value.code == 409
    changed = store.replace(made, {"k": 2}, now=7.0)
    assert store.get("thing", "a") == changed
    assert (changed.generation, changed.created, changed.updated) == (2, 5.0, 7.0)
    assert changed.etag != made.etag
    assert changed.uid == made.uid
    assert store.data("thing", "a") == b"bytes", "bytes stay where none are given"
    assert store.delete("thing", "a") is True
    assert store.delete("thing", "a") is False
    for gone in (lambda: store.get("thing", "a"), lambda: store.data("thing", "a")):
        with pytest.raises(ApiError) as missing:
            gone()
        assert missing.value.code == 404
    with pytest.raises(ApiError):
        store.replace(changed, {}, now=8.0)


def test_what_is_raised_in_a_transaction_undoes_all_of_it(store: Store) -> None:
    def half() -> None:
        with store.transaction():
            store.insert("thing", "a", {}, now=1.0)
            store.set_setting("key", "value")
            store.next_number("counter")
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert (store.find("thing", "a"), store.setting("key"), store.next_number("counter")) == (None, None, 1)


def listing(store: Store, **params: Any) -> ApiCall:
    return ApiCall("things.list", "v1", params, {}, {}, Cloud(store))


CHARACTERS = st.characters(exclude_characters="\U0010ffff", codec="utf-8")


@given(st.sets(st.text(CHARACTERS, min_size=1, max_size=5), max_size=12), st.integers(1, 5))
def test_pages_hold_everything_once_and_in_order(names: set[str], size: int) -> None:
    store = Store()
    for name in names:
        store.insert("thing", f"p/{name}", {}, now=0.0)
        store.insert("other", f"p/{name}", {}, now=0.0)
    store.insert("thing", "q/x", {}, now=0.0)
    seen: list[str] = []
    token: str | None = ""
    while token is not None:
        items = [{"name": found.name} for found in store.each("thing", "p/")]
        answer = page(listing(store, pageSize=size, pageToken=token), "things", items)
        assert len(answer.get("things", [])) <= size
        seen += [found["name"] for found in answer.get("things", [])]
        token = answer.get("nextPageToken")
    assert seen == sorted(f"p/{name}" for name in names)
    assert store.count("thing", "p/") == len(names)
    store.close()


@pytest.mark.parametrize("params", [{"pageToken": "%%%"}, {"pageToken": "\N{SNOWMAN}"}])
def test_a_page_that_cannot_be_is_refused(store: Store, params: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as refused:
        page(listing(store, **params), "things", [])
    assert refused.value.code == 400


def test_a_commit_that_fails_undoes_all_and_the_next_transaction_begins(store: Store) -> None:
    store.connection.executescript(
        "PRAGMA foreign_keys = ON; CREATE TABLE parent (id INTEGER PRIMARY KEY);"
        "CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);"
    )

    def refused_at_its_end() -> None:
        with store.transaction():
            store.insert("thing", "a", {}, now=5.0)
            store.connection.execute("INSERT INTO child VALUES (1)")

    with pytest.raises(sqlite3.IntegrityError):
        refused_at_its_end()
    with store.transaction():
        assert store.find("thing", "a") is None


def test_a_second_process_cannot_open_the_same_file(tmp_path: Path) -> None:
    first = Store(tmp_path / "cloud.sqlite")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        Store(tmp_path / "cloud.sqlite", patience=0.0)
    first.close()
