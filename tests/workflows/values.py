"""Values that the workflow tests share."""

from __future__ import annotations

from hypothesis import strategies as st

_SIGNS = st.one_of(
    st.sampled_from(list("\n\n \t:#'\"-?{}[],&*!|>%@`=~$<0123456789.eExo_+ynfult\x7f\x85\u2028\ufeff\x1b\r")),
    st.characters(codec="utf-8"),
)
TEXTS = st.one_of(
    st.text(_SIGNS, max_size=30),
    st.sampled_from(
        ["on", "off", "yes", "NO", "y", "null", "~", "", "3.11", "0o17", "1e3", "1:30", "017", "1_000", "=", "<<", ".5",
         "2026-11-21", "2026-11-21T02:00:00Z", "!x", "0x1f", ".inf", "- a", "a: b", "a #b", "${{ a }}", "  a\n"]
    ),
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**18), 10**18), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
DATA = st.dictionaries(
    TEXTS,
    st.recursive(
        SCALARS,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
        max_leaves=12,
    ),
    max_size=5,
)
"""Plain data of any shape that YAML can hold."""
