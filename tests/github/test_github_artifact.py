"""An artifact comes from whoever opened the pull request: what it may be, and what becomes of its words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.github import artifact
from infra.github.artifact import MOST_BYTES, Artifact, UntrustedError, cut, harmless
from tests.github.workflow_sandbox import ROOT

GOOD: dict[str, Any] = {"version": 1, "labels": ["capacity-up"], "markdown": "## ci: +1 VM"}


def read(tmp_path: Path, content: Any) -> Artifact:
    path = tmp_path / "preview.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return artifact.read(path)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    one = Artifact(labels=("capacity-down", "capacity-up"), markdown="text\n")
    artifact.write(tmp_path / "a.json", one)
    assert artifact.read(tmp_path / "a.json") == one


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[" * 100_000,
        b'{"version": 1, "labels": [], "markdown": "\xff"}',
        [GOOD],
        {"version": 1},
        GOOD | {"version": 2},
        GOOD | {"version": "1"},
        GOOD | {"pull_request": 7},
        GOOD | {"head": "a" * 40},
        GOOD | {"labels": ["approved"]},
        GOOD | {"labels": "capacity-up"},
        GOOD | {"labels": ["capacity-up"] * 5},
        GOOD | {"markdown": ""},
        GOOD | {"markdown": ["a"]},
        GOOD | {"markdown": "x" * 65_537},
    ],
)
def test_what_has_not_the_shape_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(UntrustedError):
        read(tmp_path, content)


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    with pytest.raises(UntrustedError, match="bytes"):
        read(tmp_path, b" " * (MOST_BYTES + 1))


def test_a_link_to_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(json.dumps(GOOD))
    (tmp_path / "preview.json").symlink_to("real.json")
    with pytest.raises(UntrustedError, match="plain file"):
        artifact.read(tmp_path / "preview.json")


def test_a_refusal_repeats_nothing_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(UntrustedError) as refusal:
        read(tmp_path, GOOD | {"labels": ["::set-output name=x::y"], "markdown": "", "@eve": 1})
    assert "eve" not in str(refusal.value)
    assert "::" not in str(refusal.value)
    assert str(refusal.value).endswith(": see labels, markdown")


@pytest.mark.parametrize(
    ("said", "never"),
    [
        ("<script>alert(1)</script>", "<script"),
        ("<img src=x onerror=y>", "<img"),
        ("<details open ontoggle=x>", "<details o"),
        ("<!-- tidepool:preview -->", "<!-- t"),
        ("@octo, @lab/admins", "@octo"),
        ("\\@octo", "@octo"),
        ("@&#111;cto", "@&"),
        ("&#64;octo", "&#64;"),
        ("&commat;octo", "&commat;"),
        ("[click](https://evil.example)", "]("),
        ("![see](//evil.example/x.png)", "!["),
        ("[click][a]\n\n[a]: //evil.example", "]:"),
        ("https://evil.example", "://"),
        ("http:\\/\\/evil.example", ":\\/"),
        ("www.evil.example", "www."),
        ("closes #12 and lab/other#3", "#1"),
        ("GH-12", "GH-1"),
        ("GH\\-12", "GH\\-"),
        ("fine\n  /approve", "\n  /approve"),
        ("```mermaid\ngraph TD\n```", "```mermaid"),
        ("``` mermaid\ngraph TD\n```", "``` mermaid"),
        ("~~~\t mermaid\ngraph TD\n~~~", "~~~\t mermaid"),
        ("<details><summary>All is well</summary>\n", "<details>"),
        ("</details>\nnot folded\n<details>", "</details>"),
        ("safe\u202egnp.exe", "\u202e"),
        ("a\x00b\x1b[31mc\x07", "\x1b"),
        ("a\u2028b", "\u2028"),
        ("soft\u00adhyphen", "\u00ad"),
    ],
)
def test_what_could_act_is_broken(said: str, never: str) -> None:
    assert never in said
    assert never not in harmless(said)


@pytest.mark.parametrize(
    "golden", sorted((ROOT / "tests" / "preview" / "comment" / "golden").glob("*.md")), ids=lambda path: path.stem
)
def test_every_golden_comment_comes_back_as_it_is(golden: Path) -> None:
    assert harmless(golden.read_text()) == golden.read_text()


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.sampled_from([*"@#:/w.G H-[]()!<>&;\\`~ax1\n\u200b\u202e*", "<details>", "</details>"]), max_size=40
    ).map("".join)
)
def test_twice_is_the_same_as_once_and_nothing_acts(said: str) -> None:
    once = harmless(said)
    assert harmless(once) == once
    assert not any(each in once for each in ("@a", "#1", "://", "www.", "](", "![", "\u202e", "<a", "@&"))


def test_a_comment_that_is_too_long_is_cut_at_a_line_and_says_so() -> None:
    text = "\n".join(f"line {index}" for index in range(10_000))
    short = cut(text, 1_000)
    assert len(short) <= 1_000
    assert short.startswith("line 0\nline 1\n")
    assert short.endswith(f"({10_000 - short.count('line '):,} lines more did not fit)")
    assert cut("x" * 1_000, 1_000) == "x" * 1_000
