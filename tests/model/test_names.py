"""Names: within the rules of Google for every stack and pool, and never the same for two."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.model import names

words = st.from_regex(r"[a-z]([a-z0-9-]{0,40}[a-z0-9])?", fullmatch=True)
short_words = st.from_regex(r"[a-c](-?[a-c]){0,3}", fullmatch=True)


@given(stack=words, pool=words)
@settings(deadline=None)
def test_every_account_id_keeps_googles_rule(stack: str, pool: str) -> None:
    for account in (names.pool_account_id(stack, pool), names.role_account_id(stack, "controller")):
        assert names.is_account_id(account)


@given(st.lists(st.tuples(st.one_of(words, short_words), st.one_of(words, short_words)), unique=True, max_size=30))
@settings(deadline=None)
def test_distinct_stacks_and_pools_have_distinct_accounts(pairs: list[tuple[str, str]]) -> None:
    accounts = [names.pool_account_id(stack, pool) for stack, pool in pairs]
    roles = {names.role_account_id(stack, role) for stack, _ in pairs for role in ("broker", "controller", "builder")}
    assert len(set(accounts)) == len(pairs)
    assert not roles & set(accounts), "a pool may be named like a role, or a stack like a stack and a pool"
    assert len(roles) == 3 * len({stack for stack, _ in pairs})


def test_an_account_that_fits_is_readable_and_a_long_one_keeps_its_tail() -> None:
    assert names.in_use_tag("tpu-ci", "sha256:0123456789abcdef") == "in-use-tpu-ci-0123456789ab"
    assert names.pool_account_id("ci", "tpu-ci") == "tidepool-ci-pool-tpu-ci"
    long_one = names.pool_account_id("training", "a-very-long-pool-name-v5litepod-256")
    assert long_one.endswith("-v5litepod-256")
    assert len(long_one) <= 30


@given(
    pools=st.lists(words, unique=True, min_size=1, max_size=6),
    zones=st.lists(st.sampled_from(["us-west4-a", "us-central1-a", "us-central1-ai1a"]), unique=True, min_size=1),
    count=st.integers(1, 12),
)
@settings(deadline=None)
def test_distinct_pools_zones_and_indexes_have_distinct_vm_names(
    pools: list[str], zones: list[str], count: int
) -> None:
    made = [names.vm_name(pool, zone, index) for pool in pools for zone in zones for index in range(count)]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("text", ["", "A", "1a", "a-", "-a", "a_b", "a.b", "a" * 64, "a b", "a\n"])
def test_what_is_no_resource_name_is_told(text: str) -> None:
    assert not names.is_resource_name(text)


@pytest.mark.parametrize("text", ["a", "tpu-ci", "a" * 63, "a1"])
def test_what_is_a_resource_name_is_told(text: str) -> None:
    assert names.is_resource_name(text)


@pytest.mark.parametrize("text", ["ab", "Goo", "google-x", "my-google", "goog1", "a_b", "a.b", "-ab", "ab-", "a" * 64])
def test_what_is_no_bucket_name_is_told(text: str) -> None:
    assert not names.is_bucket_name(text)


@pytest.mark.parametrize("text", ["A", "é", "a b", "a" * 64])
def test_what_is_no_label_value_is_told(text: str) -> None:
    assert not names.is_label_value(text)


def test_an_empty_label_value_is_allowed() -> None:
    assert names.is_label_value("")
