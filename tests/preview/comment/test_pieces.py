"""Every piece of a comment, word for word, from plans that no engine made; what is left out of it, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.model.plan import Diagnostic, Op, Plan, PropertyChange, Status, Step
from infra.model.planned_capacity import ACCELERATOR_LABEL, NODE_POOL_TYPE, SLICES_LABEL
from infra.model.planned_records import OBJECT_TYPE
from infra.preview import blocks
from infra.preview.comment import Preview, comment
from infra.rules.finding import Finding, Level
from tests.cli import plans

WHOLE = Path(__file__).parent / "every_piece.txt"
REPOSITORY = plans.REPOSITORY
RULE = Finding("a-rule", Level.STOP, "vm x", "1 is too many", "mend it")
TOLD = PropertyChange(kind="add", after="new")


def node_pool(op: Op, number: int) -> Step:
    labels = {ACCELERATOR_LABEL: "v4-32", SLICES_LABEL: "v4-32-spot"}
    inputs = {
        "nodeCount": 4,
        "nodeLocations": ["us-central2-b"],
        "nodeConfig": {"resourceLabels": labels, "spot": True},
    }
    name = f"ct4p-hightpu-4t-2x2x4-b-spot-{number}"
    new = inputs if op is not Op.DELETE else None
    return plans.other(op, NODE_POOL_TYPE, name, old_inputs=inputs if op is not Op.CREATE else None, new_inputs=new)


EVERYTHING = plans.plan(
    *plans.MIXED.steps,
    node_pool(Op.DELETE, 3),
    plans.other(Op.DELETE, REPOSITORY, "gone"),
    plans.other(Op.ADOPT, REPOSITORY, "found"),
    plans.other(Op.RETAIN, REPOSITORY, "kept"),
    plans.other(
        Op.UPDATE,
        REPOSITORY,
        "changed",
        diff={
            "description": PropertyChange(kind="delete", before="old"),
            "labels.a": TOLD,
            "labels.b": plans.changed("same to see", "same to see"),
        },
    ),
    plans.other(Op.REPLACE, REPOSITORY, "forced", replace_reasons=("location",)),
    *(
        plans.vm(Op.UPDATE, f"p{letter}", "us-west4-a", 0, diff={"labels.a": TOLD})
        for letter in "abcdefghijklmnopqrstuvwxy"
    ),
    plans.other(Op.UPDATE, OBJECT_TYPE, "manifests/ci.json"),
    diagnostics=(
        Diagnostic(severity="warning", message="an old provider"),
        Diagnostic(severity="warning", message="using pulumi-resource-gcp from PATH"),
        Diagnostic(severity="info", message="not told"),
    ),
)
REFUSED = plans.plan(
    plans.other(Op.DELETE, REPOSITORY, "images", status=Status.FAILED, error="boom"),
    plans.other(Op.CREATE, REPOSITORY, "more", status=Status.FAILED, error="it broke"),
    diagnostics=(
        Diagnostic(severity="error", message="it broke", urn=f"urn:pulumi:ci::tidepool::{REPOSITORY}::more"),
        Diagnostic(severity="warning", message="not told"),
    ),
)

EVERY_KIND = (
    "1 of 1 stacks, 1 of 1 failures, 6 of 6 losses, 1 of 1 findings, 5 of 5 rows of capacity, "
    "35 of 35 lines of resources, 15 of 15 changed properties, 2 of 2 warnings of the program"
)


def test_a_comment_of_everything_that_can_happen_is_the_one_that_was_read_last(update_goldens: bool) -> None:
    text = comment(Preview(stack="ci", plan=EVERYTHING, findings=(RULE,))) + "\n"
    if update_goldens:
        WHOLE.write_text(text, encoding="utf-8")
    assert text == WHOLE.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize(
    ("preview", "kinds"),
    [
        (
            Preview(stack="ci", plan=EVERYTHING, findings=(RULE,)),
            EVERY_KIND,
        ),
        (
            Preview(stack="ci", plan=REFUSED),
            "1 of 1 stacks, 1 of 1 failures, 1 of 1 lines of protected resources, 2 of 2 lines of what was said",
        ),
    ],
    ids=["all", "refused"],
)
def test_what_is_left_out_is_named_by_kind(preview: Preview, kinds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_KINDS_SHOWN", 99)
    advice = "`./tidepool preview STACK` shows everything."
    assert comment(preview, limit=100) == f"**Cut to fit into a comment:** {kinds}. {advice}"


def test_a_refusal_names_what_is_protected_and_tells_each_error_once() -> None:
    assert comment(Preview(stack="ci", plan=REFUSED)).splitlines() == [
        "## ci: refused, 1 protected resource would be deleted",
        "",
        "> [!CAUTION]",
        ">",
        "> The plan is incomplete and is not shown; nothing was changed.",
        "",
        "**Protected, so not deleted and not replaced**",
        "",
        "- 1 `artifactregistry.Repository`: `images`",
        "",
        "```text",
        "boom",
        "more (artifactregistry.Repository): it broke",
        "```",
    ]


SAME = plans.plan(*(plans.other(Op.SAME, REPOSITORY, name) for name in "abc"))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (SAME, "no change (3 resources as declared)"),
        (plans.plan(plans.other(Op.CREATE, REPOSITORY, "a")), "no change of capacity, 1 resource changed"),
        (plans.plan(*(plans.other(Op.UPDATE, REPOSITORY, each) for each in "ab")),
         "no change of capacity, 2 resources changed"),
        (plans.plan(plans.vm(Op.CREATE, "a", "us-west4-a", 0), plans.vm(Op.DELETE, "b", "us-west4-a", 0)),
         "+1 VM -1 VM, chips unchanged"),
        (plans.plan(node_pool(Op.CREATE, 0), node_pool(Op.CREATE, 1)), "+2 slices, +32 chips"),
        (plans.plan(plans.vm(Op.DELETE, "a", "us-central1-b", 0, "v6e-1")), "-1 VM, -1 chip"),
        (plans.plan(diagnostics=(Diagnostic(severity="error", message="no state"),)), "the preview failed"),
    ],
)  # fmt: skip
def test_the_headline_of_a_plan_says_what_it_does(plan: Plan, said: str) -> None:
    assert comment(Preview(stack="ci", plan=plan)).splitlines()[0] == f"## ci: {said}"


def test_what_goes_is_called_what_it_is() -> None:
    vm, slices, other = (
        plans.vm(Op.DELETE, "a", "us-west4-a", 0),
        node_pool(Op.DELETE, 0),
        plans.other(Op.DELETE, REPOSITORY, "r"),
    )
    waits, ends = "`./tidepool up ci` gives these VMs no new jobs", "Pods on these node pools end."
    for steps, lead, of_vms, of_pods in (
        ((vm,), "deletes 1 VM (4 chips)", True, False),
        ((slices, other, other), "deletes 1 node pool (16 chips) and 2 other resources", False, True),
        ((vm, slices), "deletes 1 VM and 1 node pool (20 chips)", True, True),
        ((other,), "deletes 1 resource", False, False),
        ((other, other), "deletes 2 resources", False, False),
    ):
        made = comment(Preview(stack="ci", plan=plans.plan(*steps)))
        assert f"> [!CAUTION]\n>\n> This {lead}." in made
        assert (waits in made, ends in made) == (of_vms, of_pods)
