"""What the program grants is what `infra.model.grants` takes for declared, so that no grant of a stack is told."""

from __future__ import annotations

from collections.abc import Iterator

from infra.model.grants import Guarded, Kind, guarded, strange
from infra.model.stack import load_stack
from tests.program.fake_engine import Registered
from tests.program.stacks import STACKS, unedited
from tests.synthetic_lab import the_lab

NAMES: dict[Kind, tuple[str, str]] = {
    "bucket": ("BucketIAMMember", "{bucket}"),
    "registry": ("RepositoryIamMember", "projects/{project}/locations/{location}/repositories/{repository}"),
    "account": ("serviceaccount/iAMMember:IAMMember", "{serviceAccountId}"),
    "secret": ("SecretIamMember", "projects/{project}/secrets/{secretId}"),
}


def granted(stack: str) -> Iterator[tuple[Guarded, Registered]]:
    """Every grant of a stack, with the thing in whose policy it stands."""
    program = unedited(stack)
    for kind, (token, name) in NAMES.items():
        for each in program.of(token):
            yield Guarded(kind, name.format(**each.inputs)), each


def test_no_grant_that_a_stack_declares_is_a_strangers() -> None:
    stacks = [load_stack(the_lab(), each) for each in STACKS]
    found = [pair for stack in STACKS for pair in granted(stack)]
    assert {thing.kind for thing, _ in found} == NAMES.keys()
    bindings = (
        (
            thing,
            {key: each.inputs[key] for key in ("role", "condition") if key in each.inputs}
            | {"members": [each.inputs["member"]]},
        )
        for thing, each in found
    )
    assert [told for thing, binding in bindings for told in strange(thing, {"bindings": [binding]}, stacks)] == []


def test_everything_in_whose_policy_a_stack_grants_is_looked_at() -> None:
    looked_at = {each for stack in STACKS for each in guarded(load_stack(the_lab(), stack))}
    assert {thing for stack in STACKS for thing, _ in granted(stack)} <= looked_at
