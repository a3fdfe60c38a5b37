"""A comment never passes GitHub's limit, never loses its summary, and says what it left out."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model.plan import Diagnostic, Op, Plan, Step
from infra.preview.blocks import LIMIT, Block, Rank, fit
from infra.preview.comment import Preview, comment
from infra.preview.markup import size
from infra.rules.finding import Finding, Level
from tests.cli import plans

OPS = (Op.CREATE, Op.UPDATE, Op.REPLACE, Op.DELETE)
LETTERS = ("a", "é", "語", "😀", "|", "*", "<")


def _many(op: Op, count: int, length: int, letter: str) -> list[Step]:
    """Resources of which no two share a run of names or a change."""
    steps = []
    for index in range(count):
        value = f"{index} {letter * length}"
        diff = {f"labels.l{index}": plans.changed(value, f"new {value}")} if op in (Op.UPDATE, Op.REPLACE) else {}
        step = plans.vm(op, f"p{index}{letter * min(length, 300)}x", "us-west4-a", index, diff=diff)
        steps.append(step)
    return steps


def _plan(counts: tuple[int, ...], length: int, letter: str, **more: object) -> Plan:
    steps = (step for op, count in zip(OPS, counts, strict=True) for step in _many(op, count, length, letter))
    return plans.plan(*steps, **more)


COUNTS = st.tuples(*(st.sampled_from((0, 1, 3, 200)) for _ in OPS))


@settings(deadline=None, max_examples=8)
@given(
    counts=COUNTS,
    length=st.sampled_from((0, 1, 40, 2000)),
    letter=st.sampled_from(LETTERS),
    said=st.integers(0, 200),
    found=st.integers(0, 300),
)
def test_no_size_of_plan_passes_the_limit_or_loses_the_summary(
    counts: tuple[int, ...], length: int, letter: str, said: int, found: int
) -> None:
    text = letter * length
    plan = _plan(
        counts,
        length,
        letter,
        diagnostics=tuple(Diagnostic(severity="warning", message=f"{index} {text}") for index in range(said)),
    )
    findings = tuple(Finding(f"rule-{index}", Level.STOP, f"vm {text}", text, "mend it") for index in range(found))
    made = comment(Preview(stack="ci", plan=plan, findings=findings))
    assert size(made) < LIMIT
    assert len(made) <= size(made)
    lines = made.splitlines()
    assert lines[0].startswith("## ci: ")
    if any(counts):
        assert sum(line.startswith("<details><summary>Resources: ") for line in lines) == 1
    if counts[2] or counts[3]:
        assert sum(line.startswith(("> This deletes ", "> This replaces ")) for line in lines) == 1
        assert "> - **deleted**: " in made or "> - **replaced**: " in made
    if found:
        assert f"> Held: fix {found} finding" in made
    assert made.count("<details>") == made.count("</details>")
    if " left out\n" in made:
        assert lines[-1].startswith("**Cut to fit into a comment:** ")


def test_what_matters_least_goes_first_and_is_named() -> None:
    plan = _plan((0, 400, 0, 30), 40, "a")
    made = comment(Preview(stack="ci", plan=plan))
    assert all(f"p{index}{'a' * 40}x-us-west4-a-{index}" in made for index in range(30)), "a deleted VM is named"
    note = made.splitlines()[-1]
    assert note.startswith("**Cut to fit into a comment:** ")
    assert "of 801 changed properties" in note
    assert note.endswith("`./tidepool preview STACK` shows everything.")
    assert "more changed properties left out" in made


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Block,
            rank=st.sampled_from(Rank),
            lines=st.lists(st.text(max_size=60), min_size=1, max_size=30),
            opening=st.sampled_from(("", "### A", "<details>")),
            closing=st.sampled_from(("", "</details>")),
        ),
        max_size=12,
    ),
    st.integers(2000, 6000),
)
def test_pieces_fit_into_any_limit(blocks: list[Block], limit: int) -> None:
    made = fit(blocks, limit=limit, advice="See there.")
    assert size(made) <= limit
    whole = "\n\n".join(block.text(len(block.lines)) for block in blocks)
    assert made == whole or made.endswith("See there.")


def test_pieces_are_whole_where_they_fit_to_the_byte() -> None:
    blocks = [Block(rank=Rank.DETAILS, lines=["é" * 500]), Block(rank=Rank.SUMMARY, lines=["b" * 1000])]
    assert fit(blocks, limit=2002, advice="") == f"{'é' * 500}\n\n{'b' * 1000}"
    assert "Cut to fit" in fit(blocks, limit=2001, advice="")
