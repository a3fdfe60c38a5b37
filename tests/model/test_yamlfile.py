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


def test_each_line_with_a_tab_is_refused() -> None:
    assert [problem.subject for problem in refused("a:\n\tb: 1\nc:\t2\n")] == ["f.yaml:2", "f.yaml:3"]


def test_each_duplicate_key_is_refused_with_the_line_of_the_first() -> None:
    problems = refused("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert [problem.subject for problem in problems] == ["f.yaml:4 b.c", "f.yaml:5 a"]
    assert "line 3" in problems[0].rule


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    assert len(refused(text)) == 1


@pytest.mark.parametrize("text", ["- a\n", "text\n", "5\n"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    assert "one mapping" in refused(text)[0].rule


@pytest.mark.parametrize(
    "text", ["a: [1\n", "a: b: c\n", "a: 'x\n", "a: 1\n---\nb: 2\n", "a: *nowhere\n", "a: \x00\n", "%YAML 3\na"]
)
def test_broken_yaml_is_refused_with_a_place(text: str) -> None:
    assert all(problem.subject.startswith("f.yaml") for problem in refused(text))


def test_an_alias_is_refused() -> None:
    assert "alias" in refused("a: &x [1]\nb: *x\n")[0].value


def test_an_alias_is_refused_where_it_stands_and_not_where_its_anchor_does() -> None:
    problems = refused("a: &x [1]\nb:\n  c: *x\nd:\n  - 1\n  - *x\n")
    assert [problem.subject for problem in problems] == ["f.yaml:3 b.c", "f.yaml:4 d[1]"]


@pytest.mark.parametrize(
    "text", ["!secret x", "!!str 2", '!!int "2"', "!!str yes", "!!set {a: }", '!!str "x"', "! x", "!!map {a: b}"]
)
def test_a_tag_is_refused(text: str) -> None:
    (problem,) = refused(f"a: {text}\n")
    assert problem.subject == "f.yaml:1 a"
    assert problem.value.startswith("!")


def test_what_can_still_be_read_beside_a_mistake_of_syntax_is_read() -> None:
    document = yamlfile.read("a: 1\nb: &x 2\na: 3\nc: *x\nd: 017\te: f\n".replace("\te", "\n\ne"), "f.yaml")
    assert document.data == {"a": 1, "b": 2, "c": None, "d": "017", "e": "f"}
    assert [problem.subject for problem in document.problems] == ["f.yaml:3 a", "f.yaml:4 c", "f.yaml:5 d"]


def test_a_tab_that_is_no_indentation_keeps_nothing_from_being_read() -> None:
    document = yamlfile.read("a: 1\t# why\nb: 2\n", "f.yaml")
    assert document.data == {"a": 1, "b": 2}
    assert [problem.subject for problem in document.problems] == ["f.yaml:1"]


def test_a_control_character_is_refused_with_its_line() -> None:
    (problem,) = refused("a: b\nc: d\x07e\n")
    assert problem.subject == "f.yaml:2"
    assert "#x0007" in problem.value


def test_paths_start_below_config_as_people_call_them() -> None:
    problems = refused("config:\n  a:b: 1\n  a:b: 2\nconfig: {}\n")
    assert [problem.subject for problem in problems] == ["f.yaml:3 a:b", "f.yaml:4 config"]


def test_a_key_that_is_no_text_is_refused() -> None:
    assert "the key is not text" in refused("? [a]\n: b\n")[0].rule


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


@pytest.mark.parametrize("text", ["012", "0o17", "0x1f", "0b1", "1_000", "-1_0.5", ".inf", "-.INF", ".NaN", "1:30"])
def test_a_number_that_readers_of_yaml_take_differently_is_refused(text: str) -> None:
    (problem,) = refused(f"a:\n  b: {text}\n")
    assert problem.subject == "f.yaml:2 a.b"


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


def test_a_long_key_is_named_by_its_beginning() -> None:
    key = "7" * 1000
    (problem,) = ConfigError(refused(f"a: 1\n'{key}': 1\n'{key}': 2\n")).problems
    assert problem.subject == f"f.yaml:3 {key[:80]}..."
    assert problem.rule == "line 2 has this key already"
    (problem,) = ConfigError(refused(f"a: 1\n'{key * 5}': 1\n")).problems
    assert problem.rule == "a key has more than 1,024 characters"


def test_a_tag_on_the_first_key_is_no_tag_of_the_mapping() -> None:
    assert [problem.rule for problem in refused("!x a: 1\n")] == ["a tag on a key, and keys carry none"]


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off", "=", "<<"])
def test_a_word_that_readers_of_yaml_take_differently_is_refused_unless_quoted(word: str) -> None:
    (problem,) = refused(f"a:\n  b: {word}\n")
    assert (problem.subject, problem.fix.split(",")[0]) == ("f.yaml:2 a.b", f'"{word}"')
    assert yamlfile.read(f"a:\n  b: '{word}'\n", "f.yaml").data == {"a": {"b": word}}


@pytest.mark.parametrize(
    "key", ["yes", "true", "~", "7", "1.5", "<<", "2026-01-01", "!!str b", '!!str "b"', "! b", "!x b"]
)
def test_a_key_that_readers_of_yaml_take_differently_is_refused(key: str) -> None:
    (problem,) = refused(f"a: 1\n{key}: b\n")
    assert problem.subject.startswith("f.yaml:2")


@pytest.mark.parametrize("text", ["a: &x b\n*x : c\n", "a: &x b\n? *x\n: c\n", "&x a: b\nc: {*x : d}\n"])
def test_an_alias_as_a_key_is_refused(text: str) -> None:
    (problem,) = refused(text)
    assert "alias" in problem.value


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028", "\u2029"])
def test_a_line_that_hides_in_a_comment_is_refused(end: str) -> None:
    text = f"a: 1\nb: 2  # nothing to see{end}c: 3\n"
    (problem,) = refused(text)
    assert (problem.subject, f"U+{ord(end):04X}" in problem.value) == ("f.yaml:2", True)


@pytest.mark.parametrize("unseen", ["\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\u00ad", "\U000e0041"])
def test_a_character_that_nobody_sees_is_refused(unseen: str) -> None:
    (problem,) = refused(f"a: 1\nb: x{unseen}y\n")
    assert problem.subject == "f.yaml:2"


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


def test_a_path_is_written_as_people_read_it() -> None:
    assert yamlfile.render(("tidepool:pools", 0, "zones", "us-west4-a")) == "tidepool:pools[0].zones.us-west4-a"


@pytest.mark.parametrize(
    "lines",
    ["  a-1:2\n  b-1: 1\n", "  b-1: 1\n  a-1:2\n", "  b-1: 1\n  a-1:2  # why\n\n  # more\n  c-1: 1\n", "  a-1:2\n"],
)
def test_a_missing_space_after_a_colon_is_said_on_its_own_line(lines: str) -> None:
    text = f"zones:\n{lines}other: x\n"
    (problem,) = refused(text)
    line = next(number for number, each in enumerate(text.splitlines(), start=1) if "a-1:2" in each)
    assert problem.subject.split()[0] == f"f.yaml:{line}"
    assert (problem.value, problem.fix) == ("a-1:2", "a-1: 2")
    assert "no space after the colon, so that the line is text" in problem.rule


def test_each_of_several_missing_spaces_below_a_key_is_said() -> None:
    problems = refused("zones:\n  a-1:2\n  b-1:3\n")
    assert [(each.subject, each.fix) for each in problems] == [
        ("f.yaml:2 zones.a-1", "a-1: 2"),
        ("f.yaml:3 zones.b-1", "b-1: 3"),
    ]


def test_text_with_a_colon_beside_its_key_stays_text() -> None:
    text = "image: base:latest\nurl:\n  https://ghcr.io\nnote:\n  see base:latest there\n"
    document = yamlfile.read(text, "f.yaml")
    assert document.data == {"image": "base:latest", "url": "https://ghcr.io", "note": "see base:latest there"}
    assert not document.problems


@pytest.mark.parametrize(
    ("written", "plain"), [("03", "3"), ("007", "7"), ("00", "0"), ("1_000", "1000"), ("0x1f", "31"), ("-017", "-17")]
)
def test_an_ambiguous_number_is_answered_with_the_plain_one(written: str, plain: str) -> None:
    (problem,) = refused(f"count: {written}\n")
    assert problem.fix.startswith(f"{plain}, or ")
