"""The embedded provider against Google's own: every state unchanged both ways.

Runs where `pulumi-resource-gcp` is on PATH (`./tidepool test --live`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import cache
from typing import Any

import pytest

from bench.cloud.testing import TestCloud
from bench.providers.google import GoogleProvider
from bench.providers.google.fields import Field
from bench.providers.google.tables import TYPES
from bench.tests.provider.conftest import PROJECT
from bench.tests.provider.lives import LIVES, Life
from bench.tests.provider.official_provider import OfficialProvider

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def plugins(serving: TestCloud) -> Iterator[Callable[[str], OfficialProvider]]:
    """Starts a plugin once, by its path."""
    with ExitStack() as ends:

        @cache
        def start(plugin: str) -> OfficialProvider:
            return ends.enter_context(closing(OfficialProvider.of_google(plugin, serving.url, PROJECT)))

        yield start


@pytest.fixture
def official(tool: Callable[[str], str], plugins: Callable[[str], OfficialProvider]) -> OfficialProvider:
    return plugins(tool("pulumi-resource-gcp"))


OTHERWISE = {
    "Bucket encryption.defaultKmsKeyName required": "no other way of encrypting is served",
    "BucketObject content required": "assets reach no provider of the embedded engine",
    "BucketObject contentType required": "it is not guessed",
    "ConnectionIAMMember name required": "a name that the provider makes is that of no connection",
    "JobIamMember name required": "nor of a job",
    "Service template.containers.envs.valueSource.secretKeyRef.version required": "a service takes no secret unpinned",
    "ServiceIamMember name required": "nor of a service",
}
"""Where the table is not as the published schema has it, and why."""


def test_the_table_holds_the_facts_of_the_published_schema(official: OfficialProvider) -> None:
    schema = official.schema()
    found: set[str] = set()

    def compare(path: str, fields: Mapping[str, Field], said: Mapping[str, Any], required: Collection[str]) -> None:
        for name, field in fields.items():
            if field.computed:
                continue
            fact, at = said[name], f"{path}{name}"
            if field.replaces != fact.get("willReplaceOnChanges", False):
                found.add(f"{at} replaces")
            if field.required != (name in required):
                found.add(f"{at} required")
            _, _, inner = (fact.get("$ref") or fact.get("items", {}).get("$ref") or "").partition("#/types/")
            if inner:
                block = schema["types"][inner.replace("%2F", "/")]
                compare(f"{at}.", field.inner, block["properties"], block.get("required", ()))

    for token, kind in TYPES.items():
        published = schema["resources"][token]
        inputs, required = published["inputProperties"], published.get("requiredInputs", ())
        compare(f"{token.rpartition(':')[2]} ", kind.fields, inputs, required)
    assert found == OTHERWISE.keys()


@pytest.mark.parametrize("life", LIVES, ids=str)
def test_a_state_of_one_provider_is_unchanged_for_the_other(
    life: Life, official: OfficialProvider, cloud: TestCloud, provider: GoogleProvider, virtual: Any
) -> None:
    token = life.token
    life.meet_needs(provider, virtual)
    checked, failures = official.check(token, life.inputs)
    assert failures == []
    embedded = provider.check(token, life.inputs).inputs
    assert embedded == checked, "both fill in the same"

    made, outputs = official.create(token, checked)
    assert provider.diff(token, made, checked, outputs, embedded).detailed == {}
    inputs, outputs = official.read(token, made, checked, outputs)
    assert provider.diff(token, made, inputs, outputs, embedded).detailed == {}
    read = provider.read(token, made, embedded)
    assert read is not None
    assert read.id == made
    assert not official.diff(token, made, read.inputs, read.outputs, checked).changes

    cloud.control.reset()
    life.meet_needs(provider, virtual)
    created = provider.create(token, embedded, None, virtual)
    assert created.id == made or TYPES[token].calls.assigned
    assert official.diff(token, created.id, embedded, created.outputs, checked).detailed == {}
    inputs, outputs = official.read(token, created.id, embedded, created.outputs)
    assert not official.diff(token, created.id, inputs, outputs, checked).changes
    assert provider.diff(token, created.id, inputs, outputs, embedded).detailed == {}


@pytest.mark.parametrize(
    "life",
    [life for life in LIVES if life.change],
    ids=str,
)
def test_a_change_means_the_same_to_both(
    life: Life, official: OfficialProvider, cloud: TestCloud, provider: GoogleProvider, virtual: Any
) -> None:
    del cloud
    token = life.token
    life.meet_needs(provider, virtual)
    old = provider.check(token, life.inputs).inputs
    created = provider.create(token, old, None, virtual)
    new = provider.check(token, {**life.inputs, **life.change}).inputs
    ours = provider.diff(token, created.id, old, created.outputs, new).detailed
    theirs = official.diff(token, created.id, old, created.outputs, new)
    assert {path.partition("[")[0].partition(".")[0] for path in ours} <= {
        path.partition("[")[0].partition(".")[0] for path in theirs.detailed
    }
    assert theirs.changes
    assert not theirs.replaces
    updated = provider.update(token, created.id, created.outputs, new, virtual)
    assert not official.diff(token, created.id, new, updated, new).changes
