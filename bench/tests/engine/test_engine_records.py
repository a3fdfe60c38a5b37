"""The lines of a journal and the entries of a checkpoint, field by field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.engine import journal as journals
from bench.engine.journal import Journal, key_of, replay
from bench.engine.secrets import Vault
from bench.engine.state import ResourceState, decode, encode
from bench.engine.values import RefusedError
from infra.model.errors import EngineError
from infra.model.secret_values import SECRET_SIGNATURE, SIGNATURE, Secret

URN = "urn:pulumi:ci::tidepool::fake:index:Vm::a"
NET = "urn:pulumi:ci::tidepool::fake:index:Net::net"
PROVIDER = "urn:pulumi:ci::tidepool::pulumi:providers:fake::default"


# Journal


def test_a_journal_is_a_line_of_json_for_each_thing_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "run.jsonl"
    journal = Journal(path, "sha")
    first = journal.begin("creating", {"urn": "ü"})
    second = journal.begin("deleting", {"urn": "b"})
    journal.note([{"urn": "ü", "id": "1"}], ["c"], ended=first)
    journal.note(ended=second)
    journal.note([{"urn": "d"}])
    journal.note(dropped=["d"])
    journal.close()
    assert path.read_text(encoding="utf-8").splitlines() == [
        '{"base":"sha"}',
        '{"begin":1,"type":"creating","resource":{"urn":"ü"}}',
        '{"begin":2,"type":"deleting","resource":{"urn":"b"}}',
        '{"end":1,"set":[{"urn":"ü","id":"1"}],"drop":["c"]}',
        '{"end":2,"set":[],"drop":[]}',
        '{"end":null,"set":[{"urn":"d"}],"drop":[]}',
        '{"end":null,"set":[],"drop":["d"]}',
    ]


def test_a_journal_is_of_one_run_and_synced_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, synced = [100.0], list[object]()
    monkeypatch.setattr(journals.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(journals.os, "fsync", synced.append)
    journal = Journal(tmp_path / "run.jsonl", "sha")
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "run.jsonl", "sha")
    counts = []
    for at in (100.9, 101.0, 101.9, 102.0):
        now[0] = at
        journal.note()
        counts.append(len(synced))
    journal.close()
    assert counts == [0, 1, 1, 2]
    assert [type(handle) for handle in synced] == [int, int]


def test_a_replay_says_what_is_what_is_no_more_and_what_was_in_flight(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = Journal(path, "sha")
    replaced = {"urn": "a", "id": "old", "delete": True}
    flights = [journal.begin("creating", {"urn": name}) for name in ("a", "b", "c")]
    journal.note([replaced, {"urn": "a", "id": "new"}, {"urn": "d"}], ended=flights[0])
    journal.note([{"urn": "e"}, {"urn": "f"}], ["d", "never", "before"])
    journal.note(dropped=["f"])
    journal.note([replaced | {"inputs": {}}])
    journal.note(ended=flights[2])
    journal.close()
    entries: dict[str, Any] = {"before": {"urn": "before"}, "a": {"urn": "a"}}
    assert replay(path, entries) == ("sha", [{"type": "creating", "resource": {"urn": "b"}}])
    assert list(entries.items()) == [
        ("a", {"urn": "a", "id": "new"}),
        ("a::old", replaced | {"inputs": {}}),
        ("e", {"urn": "e"}),
    ]


def test_a_torn_last_line_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path, "base")
    number = journal.begin("creating", {"urn": "a"})
    journal.note([{"urn": "a", "id": "1"}], ended=number)
    journal.begin("creating", {"urn": "b"})
    journal.close()
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        entries: dict[str, Any] = {}
        base, in_flight = replay(path, entries)
        assert base in ("", "base")
        assert set(entries) <= {"a"}
        assert len(in_flight) <= 1
    path.write_bytes(whole + b'{"torn\n{"set": [{"urn": "c"}]}\n')
    base, _ = replay(path, entries := {})
    assert (base, set(entries)) == ("base", {"a"})


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({"urn": "a", "id": "1"}, "a"),
        ({"urn": "a", "id": "1", "delete": False}, "a"),
        ({"urn": "a", "id": "1", "delete": True}, "a::1"),
        ({"urn": "a", "delete": True}, "a::"),
    ],
)
def test_entries_that_were_replaced_are_told_apart_by_their_ids(entry: dict[str, Any], key: str) -> None:
    assert key_of(entry) == key
    shown = {name: value for name, value in entry.items() if name != "urn"}
    assert ResourceState(urn="a", type="t", custom=True, **shown).key == key


# Entries of a checkpoint


FULL: dict[str, Any] = {
    "urn": URN,
    "type": "fake:index:Vm",
    "custom": True,
    "delete": True,
    "id": "vm/a",
    "inputs": {"size": "small"},
    "outputs": {"link": "https://fake/vm/a"},
    "parent": f"{NET}-parent",
    "protect": True,
    "external": True,
    "dependencies": [f"{NET}-one", f"{NET}-two"],
    "initErrors": ["broken"],
    "provider": f"{PROVIDER}::id",
    "propertyDependencies": {"net": [f"{NET}-net"], "none": []},
    "pendingReplacement": True,
    "additionalSecretOutputs": ["token"],
    "customTimeouts": {"create": 60.0},
    "retainOnDelete": True,
    "replaceWith": [f"{NET}-replaced"],
    "created": "2026-11-21T00:00:00Z",
    "modified": "2026-11-22T00:00:00Z",
    "ignoreChanges": ["labels"],
    "replaceOnChanges": ["size"],
    "importID": "vm/imported",
    "sourcePosition": "project:///x.py#1",
}
BARE = {"urn": URN, "custom": False, "type": "fake:index:Vm"}


def vault() -> Vault:
    return Vault(lambda: "x", None)


@pytest.mark.parametrize("entry", [FULL, BARE], ids=["every field", "the fewest"])
def test_an_entry_is_written_as_it_was_read(entry: dict[str, Any]) -> None:
    state = decode(entry, vault())
    assert json.loads(json.dumps(encode(state, vault()))) == entry
    assert isinstance(state.dependencies, tuple)


def test_an_entry_of_the_cli_may_leave_a_list_of_dependencies_null() -> None:
    assert decode({**BARE, "propertyDependencies": {"net": None}}, vault()).property_dependencies == {"net": ()}


def test_a_state_refers_to_all_that_must_exist_before_it() -> None:
    assert list(decode(FULL, vault()).references()) == [
        f"{NET}-parent",
        PROVIDER,
        f"{NET}-one",
        f"{NET}-two",
        f"{NET}-net",
        f"{NET}-replaced",
    ]
    assert list(decode(BARE, vault()).references()) == []


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("viewOf", "a view of another resource"),
        ("extensionRef", "a resource of an extension package"),
        ("resourceHooks", "resource hooks"),
        ("taint", "a taint"),
        ("deletedWith", "a deletion with another resource"),
    ],
)
def test_what_this_engine_would_get_wrong_is_refused_by_name(name: str, what: str) -> None:
    assert decode({**BARE, name: ""}, vault()).urn == URN
    with pytest.raises(RefusedError) as caught:
        decode({**BARE, name: "x"}, vault())
    assert str(caught.value) == (
        f"{URN} has {what} in the state, which the embedded engine does not support: use --engine pulumi for this stack"
    )


@pytest.mark.parametrize("value", [{SIGNATURE: "of an asset"}, {SIGNATURE: SECRET_SIGNATURE, "plaintext": '"w"'}])
def test_a_value_that_is_neither_plain_nor_sealed_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(EngineError, match=f"{re.escape(URN)} has a value in the state that is neither plain nor"):
        decode({**BARE, "inputs": {"deep": [value]}}, vault())


def test_a_sealed_secret_is_opened_by_who_looks_and_the_vault_knows_that_it_was_met() -> None:
    mine = vault()
    state = ResourceState(urn=URN, type="t", custom=True, inputs={"deep": (Secret("hush"), 1, None)})
    entry = encode(state, mine)
    (shut, *rest) = entry["inputs"]["deep"]
    assert set(shut) == {SIGNATURE, "ciphertext"}
    assert rest == [1, None]
    assert not mine.met_secrets
    assert decode(entry, mine).inputs == {"deep": [Secret("hush"), 1, None]}
    assert mine.met_secrets


class Hiding:
    """A provider that calls one output of one type a secret."""

    def secret_outputs(self, kind: str) -> tuple[str, ...]:
        return ("key",) if kind == "fake:index:Vm" else ()


def test_an_output_is_secret_where_provider_program_or_an_input_says_so() -> None:
    state = ResourceState(
        urn=URN,
        type="fake:index:Vm",
        custom=True,
        inputs={"token": Secret("a")},
        additional_secret_outputs=("named", "absent"),
    )
    outputs = {"token": "a", "named": "b", "key": "c", "open": "d"}
    provider: Any = Hiding()
    shown = state.showing(outputs, provider, id="vm/a")
    assert shown.outputs == {"token": Secret("a"), "named": Secret("b"), "key": Secret("c"), "open": "d"}
    assert shown.id == "vm/a"
    assert state.showing({"__inputs": {"token": "a"}}, provider).outputs == {"__inputs": {"token": Secret("a")}}
    assert ResourceState(urn=URN, type="t", custom=True).showing(outputs, provider).outputs == outputs
