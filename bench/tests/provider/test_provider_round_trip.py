"""Every type goes through its whole life at the local cloud, and what was read back is what was declared."""

from __future__ import annotations

from typing import Any

import pytest

from bench.providers.google import GoogleProvider
from bench.providers.google.codec import DEFAULTS
from bench.providers.google.tables import TYPES
from bench.tests.provider.lives import LIVES, Life


def made(provider: GoogleProvider, virtual: Any, token: str, inputs: dict[str, Any]) -> tuple[str, dict, dict]:
    checked = provider.check(token, "it", "urn:it", inputs, None)
    assert checked.failures == ()
    created = provider.create(token, checked.inputs, None, virtual)
    return created.id, checked.inputs, created.outputs


@pytest.mark.parametrize("life", LIVES, ids=lambda life: f"{life.token.rsplit(':', 1)[1]}-{life.id.rsplit('/', 1)[-1]}")
def test_a_resource_lives_and_reads_back_as_declared(life: Life, provider: GoogleProvider, virtual: Any) -> None:
    for token, inputs in life.needs:
        made(provider, virtual, token, inputs)

    resource_id, inputs, outputs = made(provider, virtual, life.token, life.inputs)
    assert provider.locate(life.token, inputs) == (life.id or None)
    found = provider.read(life.token, life.id or resource_id, inputs)
    assert found is not None
    assert found.id == resource_id, "where it is looked for and where it is are one place"
    assert resource_id == life.id or TYPES[life.token].assigned
    assert {name: outputs[name] for name in life.shows} == life.shows
    assert provider.diff(life.token, resource_id, inputs, outputs, inputs).detailed == {}

    read = provider.read(life.token, resource_id, inputs)
    assert read is not None
    assert read.outputs == outputs
    assert provider.diff(life.token, resource_id, read.inputs, read.outputs, inputs).detailed == {}
    assert provider.diff(life.token, resource_id, inputs, outputs, read.inputs).detailed == {}

    if life.change:
        wanted = provider.check(life.token, "it", "urn:it", {**life.inputs, **life.change}, inputs).inputs
        diff = provider.diff(life.token, resource_id, inputs, outputs, wanted).detailed
        assert diff
        assert not any(each.replaces for each in diff.values())
        outputs = provider.update(life.token, resource_id, inputs, outputs, wanted, None, virtual)
        assert provider.diff(life.token, resource_id, wanted, outputs, wanted).detailed == {}
        inputs = wanted

    provider.delete(life.token, resource_id, outputs, None, virtual)
    gone = provider.read(life.token, resource_id, inputs)
    assert (gone is not None) == life.stays
    provider.delete(life.token, resource_id, outputs, None, virtual)


@pytest.mark.parametrize("life", LIVES, ids=lambda life: f"{life.token.rsplit(':', 1)[1]}-{life.id.rsplit('/', 1)[-1]}")
def test_a_refresh_writes_the_inputs_that_were_written(life: Life, provider: GoogleProvider, virtual: Any) -> None:
    """Nothing that the program left out joins its inputs, whatever the service fills in."""
    for token, inputs in life.needs:
        provider.create(token, provider.check(token, "it", "urn", inputs, None).inputs, None, virtual)
    inputs = provider.check(life.token, "it", "urn:it", life.inputs, None).inputs
    made = provider.create(life.token, inputs, None, virtual)
    read = provider.read(life.token, made.id, inputs)
    assert read is not None
    assert read.inputs.keys() <= inputs.keys()
    again = provider.check(life.token, "it", "urn:it", life.inputs, read.inputs).inputs
    assert again == inputs
    assert provider.diff(life.token, made.id, read.inputs, read.outputs, again).detailed == {}


def import_id(life: Life, made_id: str) -> str:
    """A grant is named by its parts with blanks between, and by the title of its condition."""
    if "role" not in life.inputs:
        return made_id
    title = life.inputs.get("condition", {}).get("title", "")
    role = life.inputs["role"]
    owner, _, rest = made_id.partition(f"/{role}/")
    return f"{owner} {role} {rest.partition('/')[0]} {title}"


@pytest.mark.parametrize(
    "life",
    [life for life in LIVES if TYPES[life.token].imported],
    ids=lambda life: f"{life.token.rsplit(':', 1)[1]}-{life.id.rsplit('/', 1)[-1]}",
)
def test_an_import_needs_nothing_but_the_id(life: Life, provider: GoogleProvider, virtual: Any) -> None:
    for token, inputs in life.needs:
        made(provider, virtual, token, inputs)
    made_id, inputs, outputs = made(provider, virtual, life.token, life.inputs)
    read = provider.read(life.token, import_id(life, made_id), {})
    assert read is not None
    computed = {name for name, field in TYPES[life.token].fields.items() if field.computed}
    assert {name: read.outputs[name] for name in computed} == {name: outputs[name] for name in computed}
    differences = provider.diff(life.token, life.id, read.inputs, read.outputs, inputs).detailed
    assert not any(each.replaces for each in differences.values()), differences
    assert DEFAULTS in read.inputs


def test_every_type_of_the_table_has_a_life() -> None:
    assert {life.token for life in LIVES} == set(TYPES)
