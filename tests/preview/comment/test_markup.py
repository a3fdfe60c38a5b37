"""Whatever anybody writes appears as it is and does nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from infra.preview.markup import clipped, code, fenced, folded, html, name, prose, size, spoken, table
from infra.preview.toned import Cell, Tone, toned

RENDERER = MarkdownIt("gfm-like", {"linkify": False, "html": True})
HARMLESS = re.compile(
    r"</?(?:p|code|ul|li|table|thead|tbody|tr|th|td)(?: style=\"text-align:\w+\")?>|<!-- -->|<span>\$</span>"
)
HOSTILE = [
    "<script>alert(1)</script>",
    "</details><h1>approved</h1>",
    "<!-- tidepool -->",
    "-->",
    "![x](https://example.org/x.png)",
    "[merge](https://example.org)",
    "**bold** _it_ ~~gone~~",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "```\nfence",
    "a | b | c",
    "`code`` x",
    "\\` \\| \\",
    "&lt;b&gt; &amp;",
    "$x^2$",
    "$1 and $2",
]
ANYTHING = st.text(alphabet=st.characters(exclude_categories=()), max_size=60) | st.sampled_from(HOSTILE)


def _rendered(markdown: str) -> str:
    return RENDERER.render(markdown)


MATHEMATICS = MarkdownIt("gfm-like", {"linkify": False, "html": True}).use(dollarmath_plugin)
"""Takes any two dollars for a formula, with blanks and digits beside them too."""


def _is_harmless(rendered: str) -> bool:
    return not re.search(r"<[^>]*>", HARMLESS.sub("", rendered))


@pytest.mark.parametrize("writing", [prose, code, spoken, name])
@pytest.mark.parametrize("text", HOSTILE)
def test_markup_in_a_text_is_shown_and_not_obeyed(writing, text: str) -> None:
    assert _is_harmless(_rendered(f"- x {writing(text)}\n- y"))
    assert _is_harmless(_rendered(f"- {writing(text)}"))


@settings(deadline=None)
@given(ANYTHING)
def test_no_text_at_all_makes_an_element(text: str) -> None:
    for writing in (prose, code, spoken):
        assert _is_harmless(_rendered(f"- {writing(text)}")), writing.__name__
    shown = _rendered(fenced(text))
    assert shown.count("<pre>") == shown.count("<code") == 1
    assert not re.search(r"</?(?!pre|code)[a-z]", shown)
    assert "<" not in html(text).replace("<!-- -->", "")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("it costs $5", "it costs $5"),
        ("$3.84 -> $5.76 `$a` $1", "<span>$</span>3.84 -> <span>$</span>5.76 `$a` <span>$</span>1"),
        (toned("$1 ", ("$x", Tone.NAME), " ", ("$2", Tone.HEADING)), "<span>$</span>1 `$x` **<span>$</span>2**"),
    ],
)
def test_a_dollar_is_a_bare_one_unless_there_is_another(text: Cell, written: str) -> None:
    assert spoken(text) == written


@given(st.text(alphabet="$ a1`|\\", max_size=20))
def test_no_text_is_taken_for_mathematics(text: str) -> None:
    rows = "\n".join(table(("a", "b"), [(prose(text), spoken(text))]))
    for shown in (f"- {spoken(text)}\n- {prose(text)}", rows):
        bare = shown.replace("<span>$</span>", "")
        assert 'class="math' not in MATHEMATICS.render(bare), "GitHub skips the others"


@given(ANYTHING, ANYTHING)
def test_a_cell_stays_one_cell(left: str, right: str) -> None:
    made = _rendered("\n".join(table(("a", "b"), [(prose(left), code(right))])))
    assert made.count("<td>") == 2
    assert made.count("<tr>") == 2


@pytest.mark.parametrize(
    "text", ["@octocat", "lab@team", "see #12", "GH-7", "lab/code#3", "https://x.org", "www.x.org"]
)
def test_a_mention_or_a_link_is_broken_by_an_invisible_seam(text: str) -> None:
    for writing in (prose, html):
        assert "<!-- -->" in writing(text)
        assert writing(text).replace("<!-- -->", "") == text


def test_characters_that_hide_or_turn_text_are_shown_by_number() -> None:
    assert prose("a\u202eb") == "a\\\\u202eb"
    assert code("a\u200bb\x1b[31m") == "`a\\u200bb\\u001b[31m`"
    assert "\\u0000" in fenced("x\x00y")


@pytest.mark.parametrize("text", ["x ` ` y `b` z", "x `b` y ` ` z"])
def test_nothing_between_two_backticks_is_no_code(text: str) -> None:
    assert spoken(text) == prose(text)


def test_what_would_begin_a_list_or_a_heading_is_text() -> None:
    assert (prose("# a"), prose("1. a"), prose("12) a")) == ("\\# a", "1\\. a", "12\\) a")
    assert spoken("- `a`") == "\\- `a`"


def test_a_fence_is_longer_than_any_within() -> None:
    assert fenced("````\nx").startswith("`````text\n")


def test_a_name_that_no_cloud_would_take_is_cut() -> None:
    assert name("x" * 500) == f"`{'x' * 120}… (500 characters)`"


def test_a_text_is_cut_from_the_first_character_that_is_too_many() -> None:
    assert clipped("x" * 1200, 1200) == "x" * 1200
    assert clipped("x" * 1201, 1200) == f"{'x' * 1200}… (1,201 characters)"
    assert clipped("a@example.com", 8) == "[e-mail]", "it is masked before it is measured"


def test_a_block_of_code_has_its_lines_without_tabs_and_spaces_at_their_ends() -> None:
    assert fenced("a\tb  \n\n c") == "```text\na    b\n\n c\n```"
    assert fenced("") == "```text\n\n```"
    assert fenced("``") == "```text\n``\n```"


def test_a_body_is_folded_below_its_summary() -> None:
    assert folded("<b>2</b>", "text") == "<details><summary><b>2</b></summary>\n\ntext\n\n</details>"


def test_numbers_stand_to_the_right_of_their_column() -> None:
    assert table(("a", "b"), [("x", "1")], numbers=frozenset({1})) == ["| a | b |", "| --- | --: |", "| x | 1 |"]


def test_a_size_is_in_bytes_and_half_a_character_is_one() -> None:
    assert (size("aé"), size("\ud800")) == (3, 1)


def test_what_markdown_means_something_by_is_shown_in_a_table_too() -> None:
    assert code("a|b`c") == "<code>a&#124;b&#96;c</code>"
    assert (code("a|b"), code("b`c")) == ("<code>a&#124;b</code>", "<code>b&#96;c</code>")
    assert code("") == "` `"
    assert html('<a "b">') == "&lt;a &quot;b&quot;&gt;"
