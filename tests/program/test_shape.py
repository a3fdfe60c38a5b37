"""The resources that the stacks declare: their URNs, which are an interface, and whether the embedded engine has them.

A resource that moves to another component or takes another name is deleted and created again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from bench.providers.google.provider import GoogleProvider
from bench.providers.kubernetes.provider import KubernetesProvider
from infra.model.urns import qualified_type
from tests.program.fake_engine import Built, Registered
from tests.program.stacks import STACKS, unedited
from tests.program.test_builds_plan import joined
from tests.program.test_serving import served

GOLDEN: Final = Path(__file__).parent / "golden" / "resources.txt"
_SECRET: Final = "4dabf18193072939515e22adb298388d"
"""The key by which the wire marks a special value, a secret here."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
LONG: Final = 600
OPTIONS: Final = (
    "protect", "retain_on_delete", "delete_before_replace", "ignore_changes", "replace_on_changes", "replace_with",
    "create_timeout",
)  # fmt: skip


def shape(stack: str, built: Built) -> dict[str, str]:
    """By each resource's type with those above it and its name: options, what it needs, and its inputs or outputs."""
    return {f"{stack} {qualified_type(each.urn)} {each.name}": line(each, built) for each in built.resources.values()}


def line(each: Registered, built: Built) -> str:
    needs = sorted({built.resources[urn].type.rpartition(":")[2] for urn in each.dependencies})
    options = {name: found for name in OPTIONS if (found := getattr(each, name))}
    told = json.dumps(
        {**options, "needs": needs, **values(each, built.component_outputs.get(each.urn, {}))}, sort_keys=True
    )
    return _DIGEST.sub("DIGEST", told)


def values(each: Registered, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Its inputs, of a component its outputs.

    Without long texts, and without objects of Kubernetes and steps of builds, which have goldens of their own.
    """
    if not each.custom:
        return {"outputs": json.loads(json.dumps(plain(outputs)), object_hook=shortened)} if outputs else {}
    if not each.type.startswith("gcp:"):
        return {}
    return json.loads(json.dumps({"inputs": each.inputs}), object_hook=shortened)


def shortened(found: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in found.items() if key not in ("steps", "envs", "disabled")}
    return {k: f"{v[:40]}..." if isinstance(v, str) and len(v) > LONG else v for k, v in found.items()}


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
            checked = provider.check(each.type, plain(each.inputs))
            yield from (f"{each.type} {each.name} {failure}" for failure in checked.failures)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return plain(value["value"]) if _SECRET in value else {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def test_no_resource_moves_takes_another_name_or_changes_unseen(update_goldens: bool) -> None:
    """Of the stacks as they are, and of ci what is more or other where it has its services and its connections."""
    found = {line for stack in STACKS for line in shape(stack, unedited(stack)).items()}
    plain = shape("ci", unedited("ci")).items()
    found |= {(f"served {at}", told) for at, told in shape("ci", served()).items() - plain}
    found |= {(f"connected {at}", told) for at, told in shape("ci", joined()).items() - plain}
    found |= {
        (f"{stack} outputs", _DIGEST.sub("DIGEST", json.dumps(unedited(stack).outputs, sort_keys=True)))
        for stack in STACKS
    }
    text = "".join(f"{at} {told}\n" for at, told in sorted(found))
    if update_goldens:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "look at it, then renew with --update-goldens"


@pytest.mark.parametrize("stack", STACKS)
def test_the_embedded_engine_knows_every_resource(stack: str) -> None:
    assert list(unknown(unedited(stack))) == []
