"""The resources that the stacks declare: their URNs, which are an interface, and whether the embedded engine has them.

A resource that moves to another component or takes another name is deleted and created again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from bench.providers.google.provider import GoogleProvider
from bench.providers.kubernetes.provider import KubernetesProvider
from infra.model.urns import qualified_type
from tests.program.fake_engine import Built
from tests.program.stacks import STACKS, unedited

GOLDEN: Final = Path(__file__).parent / "golden" / "resources.txt"
_SECRET: Final = "4dabf18193072939515e22adb298388d"
"""The key by which the wire marks a special value, a secret here."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def shape(stack: str) -> Iterator[str]:
    """The type of each resource with those above it, and its name."""
    for each in unedited(stack).resources.values():
        protected = " (protected)" if each.protect else ""
        yield _DIGEST.sub("DIGEST", f"{stack} {qualified_type(each.urn)} {each.name}{protected}\n")


def unknown(built: Built) -> Iterator[str]:
    """What the embedded engine's providers refuse of a program: types, properties, values."""
    providers = {"gcp": GoogleProvider("http://127.0.0.1:9"), "kubernetes": KubernetesProvider()}
    for each in built.custom:
        provider = providers.get(each.type.partition(":")[0])
        if provider is None:
            if not each.type.startswith("pulumi:"):
                yield each.type
        elif each.type not in provider.types():
            yield each.type
        else:
            checked = provider.check(each.type, each.name, each.urn, plain(each.inputs), None)
            yield from (f"{each.type} {each.name} {failure}" for failure in checked.failures)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return plain(value["value"]) if _SECRET in value else {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def test_no_resource_moves_or_takes_another_name(update_goldens: bool) -> None:
    found = "".join(line for stack in STACKS for line in sorted(shape(stack)))
    if update_goldens:
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize("stack", STACKS)
def test_the_embedded_engine_knows_every_resource(stack: str) -> None:
    assert list(unknown(unedited(stack))) == []
