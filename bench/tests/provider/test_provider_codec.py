"""Translation to the wire and back, for anything that the table can say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.providers.google.codec import as_written, decode, encode
from bench.providers.google.differ import compare
from bench.providers.google.fields import Field, Shape
from bench.providers.google.tables import TYPES

_WORD = st.text(alphabet="abcd", min_size=4, max_size=4)
_PLAIN: Final[Mapping[Shape, st.SearchStrategy[Any]]] = {
    Shape.TEXT: _WORD,
    Shape.WHOLE: st.integers(0, 2**40),
    Shape.REAL: st.floats(0, 1),
    Shape.FLAG: st.booleans(),
    Shape.REALS: st.lists(st.floats(0, 1), max_size=3),
    Shape.TEXTS: st.lists(_WORD, max_size=3),
    Shape.TABLE: st.dictionaries(_WORD, _WORD, max_size=3),
}


def values(field: Field) -> st.SearchStrategy[Any]:
    if field.kind in _PLAIN:
        return _PLAIN[field.kind]
    reaching = Field(kind=Shape.BLOCK, inner=field.inner)
    block = st.deferred(lambda: said(field.inner)).filter(lambda each: encode({"it": reaching}, {"it": each}) != {})
    if field.kind is Shape.BLOCK:
        return block
    return st.lists(block, max_size=3, unique_by=(lambda item: item[field.keyed]) if field.keyed else None)


def said(fields: Mapping[str, Field]) -> st.SearchStrategy[dict[str, Any]]:
    """Anything that a program may say, but for blocks that say nothing."""
    inputs = {name: values(field) for name, field in fields.items() if not (field.computed or field.local)}
    required = {name: strategy for name, strategy in inputs.items() if fields[name].required or name == "id"}
    return st.fixed_dictionaries(required, optional={n: s for n, s in inputs.items() if n not in required})


@pytest.mark.parametrize("token", sorted(TYPES))
@given(data=st.data())
@settings(deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_said_comes_back(token: str, data: st.DataObject) -> None:
    fields = TYPES[token].fields
    wanted = data.draw(said(fields))
    outputs = decode(fields, encode(fields, wanted))
    on_the_wire = {name: field for name, field in fields.items() if not field.local}
    assert compare(on_the_wire, outputs, wanted) == {}
    again = as_written(on_the_wire, outputs, wanted)
    assert compare(on_the_wire, outputs, again) == {}
    assert again.keys() <= wanted.keys()
