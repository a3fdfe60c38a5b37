"""Every type goes through its whole life at the local cloud, and what was read back is what was declared."""

from __future__ import annotations

from typing import Any

import pytest

from bench.providers.google import GoogleProvider
from bench.providers.google.tables import TYPES
from bench.tests.provider.lives import LIVES, Life


@pytest.mark.parametrize("life", LIVES, ids=str)
def test_a_resource_lives_and_reads_back_as_declared(life: Life, provider: GoogleProvider, virtual: Any) -> None:
    life.meet_needs(provider, virtual)
    checked = provider.check(life.token, life.inputs)
    assert checked.failures == ()
    created = provider.create(life.token, checked.inputs, None, virtual)
    resource_id, inputs, outputs = created.id, checked.inputs, created.outputs
    assert provider.locate(life.token, inputs) == (life.id or None)
    read = provider.read(life.token, life.id or resource_id, inputs)
    assert read is not None
    assert read.id == resource_id, "where it is looked for and where it is are one place"
    assert resource_id == life.id or TYPES[life.token].calls.assigned
    assert {name: outputs[name] for name in life.shows} == life.shows
    assert provider.diff(life.token, resource_id, inputs, outputs, inputs).detailed == {}

    assert read.outputs == outputs
    assert read.inputs.keys() <= inputs.keys(), "nothing that the program left out joins its inputs"
    assert provider.diff(life.token, resource_id, read.inputs, read.outputs, inputs).detailed == {}
    assert provider.diff(life.token, resource_id, inputs, outputs, read.inputs).detailed == {}

    if life.change:
        wanted = provider.check(life.token, {**life.inputs, **life.change}).inputs
        diff = provider.diff(life.token, resource_id, inputs, outputs, wanted).detailed
        assert diff
        assert not any(each.replaces for each in diff.values())
        outputs = provider.update(life.token, resource_id, outputs, wanted, virtual)
        assert provider.diff(life.token, resource_id, wanted, outputs, wanted).detailed == {}
        inputs = wanted

    provider.delete(life.token, resource_id, outputs, virtual)
    gone = provider.read(life.token, resource_id, inputs)
    assert (gone is not None) == life.stays
    provider.delete(life.token, resource_id, outputs, virtual)


def test_every_type_of_the_table_has_a_life() -> None:
    assert {life.token for life in LIVES} == set(TYPES)
