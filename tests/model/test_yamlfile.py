"""Syntax of stack files: what two readers could understand in two ways is refused, with its line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model import yamlfile
from infra.model.errors import ConfigError, Problem
from infra.model.secret_values import _DETECTORS, _denylist


def refused(text: str) -> tuple[Problem, ...]:
    """What is wrong with the text, whether or not the rest of it could be read."""
    try:
        problems = yamlfile.read(text, "f.yaml").problems
    except ConfigError as error:
        problems = error.problems
    assert problems
    return problems


def test_every_value_has_its_line() -> None:
    document = yamlfile.read("# head\na:\n  b: 1\n  c:\n    - x\n    - {d: y}\n", "f.yaml")
    assert document.data == {"a": {"b": 1, "c": ["x", {"d": "y"}]}}
    assert document.lines[("a", "b")] == 3
    assert document.lines[("a", "c", 0)] == 5
    assert document.lines[("a", "c", 1, "d")] == 6


@pytest.mark.parametrize(
    ("text", "subjects", "said"),
    [
        ("a:\n\tb: 1\nc:\t2\n", ["2", "3"], "a tab"),
        ("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", ["4 b.c", "5 a"], "line 3"),
        ("config:\n  a:b: 1\n  a:b: 2\nconfig: {}\n", ["3 a:b", "4 config"], ""),
        ("", [None], ""),
        ("\n\n", [None], ""),
        ("# only a comment\n", [None], ""),
        ("---\n", [None], ""),
        ("- a\n", [None], "one mapping"),
        ("text\n", [None], "one mapping"),
        ("5\n", [None], "one mapping"),
        ("a: [1\n", [None], ""),
        ("a: b: c\n", [None], ""),
        ("a: 'x\n", [None], ""),
        ("a: 1\n---\nb: 2\n", [None], ""),
        ("a: *nowhere\n", [None], ""),
        ("a: \x00\n", [None], ""),
        ("%YAML 3\na", [None], ""),
        ("a: b\nc: d\x07e\n", ["2"], "#x0007"),
        ("a: &x [1]\nb:\n  c: *x\nd:\n  - 1\n  - *x\n", ["3 b.c", "4 d[1]"], "alias"),
        ("a: &x b\n*x : c\n", [None], "alias"),
        ("a: &x b\n? *x\n: c\n", [None], "alias"),
        ("&x a: b\nc: {*x : d}\n", [None], "alias"),
        ("? [a]\n: b\n", [None], ": a key that is not text"),
        ("!x a: 1\n", [None], "a tag on a key, and keys carry none"),
        *(
            (f"a: {tag}\n", ["1 a"], "!")
            for tag in ("!secret x", "!!str 2", '!!int "2"', "!!set {a: }", "! x", "!!map {a: b}")
        ),
        *(
            (f"a: 1\n{key}: b\n", [None], "")
            for key in ("yes", "true", "~", "7", "1.5", "<<", "2026-01-01", "!!str b", "! b")
        ),
        *((f"a:\n  b: {word}\n", ["2 a.b"], f'"{word}"') for word in ("yes", "No", "ON", "off", "=", "<<")),
        *((f"a:\n  b: {text}\n", ["2 a.b"], "") for text in ("0o17", "0b1", "-1_0.5", ".inf", "-.INF", ".NaN", "1:30")),
        *(
            (f"a: {text}\n", ["1 a"], f"{plain}, or ")
            for text, plain in (("03", 3), ("00", 0), ("1_000", 1000), ("0x1f", 31), ("-017", -17))
        ),
        *((f"a: 1\nb: x{unseen}y\n", ["2"], "") for unseen in "\u200b\u200d\u202e\u2066\ufeff\u00ad\U000e0041"),
        *((f"a: 1\nb: 2  # nothing to see{end}c: 3\n", ["2"], f"U+{ord(end):04X}") for end in "\r\x85\u2028\u2029"),
        ("zones:\n  a-1:2\n  b-1: 1\nother: x\n", [None], "a-1: 2"),
        ("zones:\n  b-1: 1\n  a-1:2\nother: x\n", [None], "no space after the colon, so that the line is text"),
        ("zones:\n  a-1:2\n  b-1:3\n", ["2 zones.a-1", "3 zones.b-1"], "a-1: 2"),
        (f"a: 1\n'{'7' * 1000}': 1\n'{'7' * 1000}': 2\n", [f"3 {'7' * 80}..."], "line 2 has this key already"),
        (f"a: 1\n'{'7' * 5000}': 1\n", [None], "a key has more than 1,024 characters"),
    ],
)
def test_what_readers_could_take_in_two_ways_is_refused(text: str, subjects: list[str | None], said: str) -> None:
    """subjects: the place of each problem below the file; None where the reader says no more than the file."""
    problems = ConfigError(refused(text)).problems
    assert all(each.subject.startswith("f.yaml") for each in problems)
    if None not in subjects:
        assert [each.subject.removeprefix("f.yaml:") for each in problems] == subjects
    assert said in str(problems[0])


def test_what_can_still_be_read_beside_a_mistake_of_syntax_is_read() -> None:
    document = yamlfile.read("a: 1\nb: &x 2\na: 3\nc: *x\nd: 017\te: f\n".replace("\te", "\n\ne"), "f.yaml")
    assert document.data == {"a": 1, "b": 2, "c": None, "d": "017", "e": "f"}
    assert [problem.subject for problem in document.problems] == ["f.yaml:3 a", "f.yaml:4 c", "f.yaml:5 d"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("0.5", 0.5),
        ('"012"', "012"),
        ("2026-01-01", "2026-01-01"),
        ("-3", -3),
        ("2.0", 2.0),
        ("1e3", 1000.0),
        ('"2"', "2"),
        ("'true'", "true"),
        ("'no'", "no"),
        ("y", "y"),
        ("9" * 18, 10**18 - 1),
        ("0b4c08a80a5cf8cdad1682a1c6654efddd631309", "0b4c08a80a5cf8cdad1682a1c6654efddd631309"),
        ("0o89", "0o89"),
    ],
)
def test_scalars_resolve_as_the_pulumi_cli_reads_them(text: str, value: object) -> None:
    read = yamlfile.read(f"a: {text}\n", "f.yaml").data["a"]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    ["9" * 19, "9" * 5000, "-" + "9" * 5000, "0" * 5000, "0x" + "f" * 5000, "1_" * 2500, "0." + "3" * 5000, "1e999"],
)
def test_a_number_that_no_reader_of_yaml_keeps_is_refused_and_not_repeated(text: str) -> None:
    (problem,) = ConfigError(refused(f"a:\n  b: {text}\n")).problems
    assert (problem.subject, problem.fix) == (
        "f.yaml:2 a.b", "a smaller number, or quotes where text is meant"
    )  # fmt: skip
    assert len(str(problem)) < 400
    assert yamlfile.read(f"a: '{text}'\n", "f.yaml").data == {"a": text}


def test_line_ends_of_windows_and_letters_of_any_language_are_what_they_seem() -> None:
    document = yamlfile.read("\ufeffa: 1\r\nb: 'größer, 大きい 🙂 👩\u200d🔬'\r\n", "f.yaml")
    assert (document.data, document.problems) == ({"a": 1, "b": "größer, 大きい 🙂 👩\u200d🔬"}, ())


@pytest.mark.parametrize(
    "said", ["docker://ubuntu:22.04@sha256:abc", "https://me:<token>@host", "sk-learn-is-a-long-name-of-one"]
)
def test_what_only_looks_like_a_secret_passes(said: str) -> None:
    assert yamlfile.read(f"a: {said!r}  # {said}\n", "f.yaml").problems == ()


TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    "text",
    [
        f"a: {TOKEN}\n",
        f"a: 1  # {TOKEN}\n",
        f"{TOKEN}: 1\n",
        f"a: [b, {TOKEN}]\n",
        f'a: "\\x67{TOKEN[1:]}"\n',
        f"a: https://me:{TOKEN[4:]}@host\n",
    ],
)
def test_a_secret_in_clear_is_refused_wherever_it_stands_and_never_repeated(text: str) -> None:
    (problem,) = refused(text)
    assert problem.subject.startswith("f.yaml:1")
    assert TOKEN[4:] not in str(problem)
    assert "revoke it" in problem.fix


LETTERS = "aB3d" * 40
TOKENS = {
    "a GitLab token": ("gl" + "pat-" + LETTERS[:20], "gl" + "rt-" + LETTERS[:27], "glcbt-" + "64_" + LETTERS[:20]),
    "an npm token": ("npm" + "_" + LETTERS[:36], "//registry.npmjs.org/:_auth" + "Token=" + "ab12" * 9),
    "a PyPI token": ("pypi-" + "AgEIcHlwaS5vcmc" + LETTERS[:70], "pypi-" + "AgENdGVzdC5weXBpLm9yZw" + LETTERS[:80]),
    "a Docker token": ("dckr" + "_pat_" + LETTERS[:27], "dckr" + "_oat_" + LETTERS[:32]),
    "a Slack webhook": ("https://hooks.sl" + "ack.com/services/T" + "A1B2/B3C4/" + LETTERS[:24],),
    "a DigitalOcean token": ("dop" + "_v1_" + "0a" * 32, "dor" + "_v1_" + "1b" * 32),
    "a Stripe key": ("sk" + "_live_" + LETTERS[:24], "rk" + "_live_" + LETTERS[:24]),
    "a SendGrid key": ("SG" + "." + LETTERS[:22] + "." + LETTERS[:43],),
}
"""In pieces, so that what scans this repository for secrets finds none."""


@pytest.mark.parametrize(("kind", "token"), [(kind, token) for kind, each in TOKENS.items() for token in each])
def test_a_token_of_another_service_is_refused_and_never_repeated(kind: str, token: str) -> None:
    for text in (f"a: 1\nb: '{token}'\n", f"a: 1\nb: 2  # see {token}\n", f"a: 1\n'{token}': 2\n"):
        problems = refused(text)
        assert problems[0].subject.startswith("f.yaml:2")
        assert kind in problems[0].value
        assert token[8:] not in str(ConfigError(problems))
    assert token[8:] not in str(ConfigError([Problem(f"f.yaml {token}", token, f"no {token}", token)]))


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_every_secret_that_a_detector_knows_has_the_detectors_mark(data: st.DataObject) -> None:
    for detector, mark in _DETECTORS.values():
        forms = _denylist(detector)
        assert forms
        for form in forms:
            if "xox" not in form.pattern:  # of ours already
                assert mark.search(data.draw(st.from_regex(form)))


@pytest.mark.parametrize("levels", [200, 5_000, 100_000])
@pytest.mark.parametrize("opened", ["[", "{", "- ", "{a: "])
def test_a_file_nested_beyond_reason_is_refused_and_does_not_crash(opened: str, levels: int) -> None:
    (problem,) = refused(f"a:\n  {opened * levels}\n")
    assert problem.value == "nested too deeply"


def test_text_with_a_colon_beside_its_key_stays_text() -> None:
    text = "image: base:latest\nurl:\n  https://ghcr.io\nnote:\n  see base:latest there\n"
    document = yamlfile.read(text, "f.yaml")
    assert document.data == {"image": "base:latest", "url": "https://ghcr.io", "note": "see base:latest there"}
    assert not document.problems
