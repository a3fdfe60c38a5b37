"""What others wrote can say anything and steer nothing."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.model.visible import visible, visible_answer, visible_json

STEERS = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
ANY = st.text(st.characters(exclude_categories=()))
ANSWERS = st.recursive(
    st.none() | st.integers() | ANY, lambda inner: st.lists(inner) | st.dictionaries(ANY, inner), max_leaves=8
)


@given(ANY)
def test_nothing_that_steers_a_terminal_is_left_and_twice_is_as_once(text: str) -> None:
    shown = visible(text)
    assert not [each for each in shown if unicodedata.category(each) in STEERS]
    assert visible(shown) == shown
    shown.encode()


@given(st.text(st.characters(exclude_categories=STEERS)))
def test_words_of_every_script_stay_as_they_are(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b[31mall is well", "\\u001b[2J\\u001b[31mall is well"),
        ("\x9b2Kjob", "\\u009b2Kjob"),
        ("over\rwritten", "over\\u000dwritten"),
        ("a\u202eb", "a\\u202eb"),
        ("two\nlines", "two\\u000alines"),
    ],
)
def test_what_would_act_shows_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_stay_where_a_text_has_lines() -> None:
    assert visible("one\ntwo\x07", "\n") == "one\ntwo\\u0007"


@given(ANSWERS, st.booleans(), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_an_answer_that_is_read_shows_what_steers_however_it_is_encoded(
    answer: object, escaped: bool, encoding: str
) -> None:
    text = json.dumps(answer, ensure_ascii=escaped)
    data = text.encode(encoding, "surrogatepass")
    assert visible_json(data) == visible_answer(json.loads(data))


@given(ANSWERS)
def test_no_answer_of_an_api_holds_what_steers(answer: object) -> None:
    said = json.dumps(visible_answer(answer), ensure_ascii=False).replace("\\n", "").replace("\\t", "")
    assert not [each for each in said if unicodedata.category(each) in STEERS]
