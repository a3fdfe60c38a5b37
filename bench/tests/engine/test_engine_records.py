"""The lines of a journal and the entries of a checkpoint, field by field."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench.engine import journal as journals
from bench.engine.journal import Journal, key_of, replay
from bench.engine.secrets import Vault
from bench.engine.state import Codec, ResourceState
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
    journal.end(first, [{"urn": "ü", "id": "1"}], ["c"])
    journal.end(second)
    journal.note([{"urn": "d"}])
    journal.note(dropped=["d"])
    journal.note()
    journal.folding("after")
    journal.close()
    assert path.read_text(encoding="utf-8").splitlines() == [
        '{"journal":1,"base":"sha"}',
        '{"begin":1,"type":"creating","resource":{"urn":"ü"}}',
        '{"begin":2,"type":"deleting","resource":{"urn":"b"}}',
        '{"end":1,"set":[{"urn":"ü","id":"1"}],"drop":["c"]}',
        '{"end":2,"set":[],"drop":[]}',
        '{"set":[{"urn":"d"}],"drop":[]}',
        '{"set":[],"drop":["d"]}',
        '{"set":[],"drop":[]}',
        '{"folded":"after"}',
    ]
    assert replay(path).folded == "after"


def test_lines_are_added_to_what_another_program_has_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = Journal(path, "sha")
    with path.open("a") as other:
        other.write('{"set":[],"drop":["x"]}\n')
    journal.note(dropped=["y"])
    journal.close()
    assert replay(path).dropped == {"x", "y"}


def test_a_journal_is_synced_once_a_second_and_before_it_is_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, synced = [100.0], list[object]()
    monkeypatch.setattr(journals.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(journals.os, "fsync", synced.append)
    journal = Journal(tmp_path / "run.jsonl", "sha")
    counts = []
    for at in (100.9, 101.0, 101.9, 102.0):
        now[0] = at
        journal.note()
        counts.append(len(synced))
    journal.folding("after")
    counts.append(len(synced))
    journal.close()
    assert counts == [0, 1, 1, 2, 3]
    assert [type(handle) for handle in synced] == [int, int, int]


def test_a_replay_says_what_is_what_is_no_more_and_what_was_in_flight(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = Journal(path, "sha")
    replaced = {"urn": "a", "id": "old", "delete": True}
    flights = [journal.begin("creating", {"urn": name}) for name in ("a", "b", "c")]
    journal.end(flights[0], [replaced, {"urn": "a", "id": "new"}, {"urn": "d"}])
    journal.note([{"urn": "e"}, {"urn": "f"}], ["d", "never"])
    journal.note(dropped=["f"])
    journal.note([{"urn": "d", "id": "again"}])
    journal.note([replaced | {"inputs": {}}])
    journal.end(flights[2])
    journal.close()
    said = replay(path)
    assert (said.base, said.folded) == ("sha", None)
    assert list(said.entries.items()) == [
        ("a", {"urn": "a", "id": "new"}),
        ("e", {"urn": "e"}),
        ("d", {"urn": "d", "id": "again"}),
        ("a::old", replaced | {"inputs": {}}),
    ]
    assert said.dropped == {"never", "f"}
    assert said.open == {2: ("creating", {"urn": "b"})}


def test_a_torn_last_line_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path, "base")
    number = journal.begin("creating", {"urn": "a"})
    journal.end(number, [{"urn": "a", "id": "1"}])
    journal.begin("creating", {"urn": "b"})
    journal.close()
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        said = replay(path)
        assert set(said.entries) <= {"a"}
        assert len(said.open) <= 1
    path.write_bytes(whole + b'{"torn\n{"drop": 1}\n')
    assert set(replay(path).entries) == {"a"}
    path.write_bytes(whole + b"[]\n")
    with pytest.raises(EngineError, match=r"j\.jsonl:5: not a journal record"):
        replay(path)


def test_a_disk_that_takes_half_a_line_leaves_the_lines_before_and_after_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "run.jsonl", base="b")
    journal.note([{"urn": "before"}])
    with monkeypatch.context() as full:
        write = os.write
        full.setattr(os, "write", lambda handle, line: write(handle, line[: len(line) // 2]))
        with pytest.raises(OSError, match="No space left") as refused:
            journal.note([{"urn": "during"}])
    assert (refused.value.errno, refused.value.filename) == (errno.ENOSPC, str(tmp_path / "run.jsonl"))
    journal.note([{"urn": "after"}])
    journal.close()
    assert set(replay(tmp_path / "run.jsonl").entries) == {"before", "after"}


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
    "custom": True,
    "delete": True,
    "id": "vm/a",
    "type": "fake:index:Vm",
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


def codec() -> Codec:
    return Codec(Vault(lambda: "x", None))


@pytest.mark.parametrize("entry", [FULL, BARE], ids=["every field", "the fewest"])
def test_an_entry_is_written_as_it_was_read(entry: dict[str, Any]) -> None:
    state = codec().decode(entry)
    written = json.loads(json.dumps(codec().encode(state)))
    assert list(written.items()) == list(entry.items())


def test_an_entry_of_the_cli_may_leave_a_list_of_dependencies_null() -> None:
    assert codec().decode({**BARE, "propertyDependencies": {"net": None}}).property_dependencies == {"net": ()}


def test_a_state_refers_to_all_that_must_exist_before_it() -> None:
    assert list(codec().decode(FULL).references()) == [
        f"{NET}-parent",
        PROVIDER,
        f"{NET}-one",
        f"{NET}-two",
        f"{NET}-net",
        f"{NET}-replaced",
    ]
    assert list(codec().decode(BARE).references()) == []


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
    assert codec().decode({**BARE, name: ""}).urn == URN
    with pytest.raises(RefusedError) as caught:
        codec().decode({**BARE, name: "x"})
    assert str(caught.value) == (
        f"{URN} has {what} in the state, which the embedded engine does not support: use --engine pulumi for this stack"
    )


def test_a_value_of_another_signature_is_refused_by_it() -> None:
    with pytest.raises(RefusedError) as caught:
        codec().decode_value([{SIGNATURE: "of an asset"}])
    assert str(caught.value) == (
        "the state holds a value with signature of an asset, which the embedded engine does not support: "
        "use --engine pulumi for this stack"
    )


def test_a_secret_in_clear_needs_no_vault_and_a_sealed_one_says_that_it_was_met() -> None:
    reader = codec()
    assert reader.decode_value({SIGNATURE: SECRET_SIGNATURE, "plaintext": '{"p": "w"}'}) == Secret({"p": "w"})
    assert reader.met_secrets is False
    for unreadable in ({"plaintext": 7}, {}):
        with pytest.raises(EngineError, match="the state holds a secret without readable text"):
            reader.decode_value({SIGNATURE: SECRET_SIGNATURE, **unreadable})
    sealed = reader.encode_value({"deep": (Secret("hush"), 1, None)})
    (shut, *rest) = sealed["deep"]
    assert set(shut) == {SIGNATURE, "ciphertext"}
    assert rest == [1, None]
    assert reader.decode_value(sealed) == {"deep": [Secret("hush"), 1, None]}
    assert reader.met_secrets


class Hiding:
    """A provider that calls one output of one type a secret."""

    def secret_outputs(self, kind: str) -> tuple[str, ...]:
        return ("key",) if kind == "fake:index:Vm" else ()


def test_an_output_is_secret_where_provider_program_or_an_input_says_so() -> None:
    state = ResourceState(
        urn=URN, type="fake:index:Vm", custom=True, inputs={"token": Secret("a")}, secret_outputs=("named", "absent")
    )
    outputs = {"token": "a", "named": "b", "key": "c", "open": "d"}
    provider: Any = Hiding()
    shown = state.showing(outputs, provider, id="vm/a")
    assert shown.outputs == {"token": Secret("a"), "named": Secret("b"), "key": Secret("c"), "open": "d"}
    assert shown.id == "vm/a"
    assert state.showing({"__inputs": {"token": "a"}}, provider).outputs == {"__inputs": {"token": Secret("a")}}
    assert ResourceState(urn=URN, type="t", custom=True).showing(outputs, provider).outputs == outputs


def test_a_secret_that_stays_keeps_the_ciphertext_that_it_had() -> None:
    vault = Vault(lambda: "x", None)
    sealed = Codec(vault).encode_value(Secret("a"))["ciphertext"]
    state = ResourceState(
        urn=URN,
        type="t",
        custom=True,
        outputs={"token": Secret.sealed(sealed, vault)},
        secret_outputs=("token",),
    )
    provider: Any = Hiding()
    assert state.showing({"token": "a"}, provider).outputs["token"].sealed_by(vault) == sealed
    assert state.showing({"token": "b"}, provider).outputs["token"].sealed_by(vault) != sealed
