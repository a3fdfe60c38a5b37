"""Steps of the neutral plan, from the engine events of the pulumi CLI or from `pulumi preview --json`.

Owns the translation: which of the CLI's operations make one step, how far a step came, what failed and why. Does not
own how events arrive (`engine`) nor what a value looks like (`values`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from pulumi.automation import events

from infra.engines.official import values
from infra.engines.protocol import EngineName
from infra.model import property_paths as paths
from infra.model import urns
from infra.model.errors import EngineError
from infra.model.plan import Diagnostic, Op, Plan, Status, Step
from infra.model.protected import refused
from infra.model.urns import Targets

OPS: Final[Mapping[str, Op]] = {
    "same": Op.SAME,
    "create": Op.CREATE,
    "update": Op.UPDATE,
    "delete": Op.DELETE,
    "replace": Op.REPLACE,
    "create-replacement": Op.REPLACE,
    "delete-replaced": Op.REPLACE,
    "read": Op.READ,
    "read-replacement": Op.READ,
    "import": Op.READ,
    "import-replacement": Op.READ,
}
"""Left out: `refresh` (its outcome arrives as an operation of its own) and bookkeeping such as `discard-replaced`."""

SEVERITIES: Final[Mapping[str, Literal["info", "warning", "error"]]] = {
    "info": "info",
    "warning": "warning",
    "error": "error",
}
"""Severities of the CLI that are for people; left out are debug lines and `info#err`, the program's own output."""
_LOGGED: Final = re.compile(r"sdk-v2/\S+: sdk\.helper_schema: (?P<said>.*): provider=google\S*", re.DOTALL)
_COUNTED: Final = re.compile(r"1 error occurred:\s+\* (?P<said>.*)", re.DOTALL)
"""An error of the gcp plugin as it is logged, and as the CLI repeats it (seen with 3.259 and pulumi-gcp 10.2)."""
NOISE: Final = frozenset({"update failed", "preview failed", "destroy failed", "refresh failed"})


def plan_from_preview_json(document: str | Mapping[str, Any], *, stack: str, cloud: str) -> Plan:
    """The plan in the output of `pulumi preview --json --show-sames`; without that flag it lacks unchanged resources.

    Raises EngineError where the document is no such output.
    """
    try:
        body = json.loads(document) if isinstance(document, str) else document
    except ValueError:
        body = None
    if not isinstance(body, Mapping) or "changeSummary" not in body:
        raise EngineError(
            "not the output of `pulumi preview --json`; write it with `pulumi preview --json --show-sames > FILE`"
        )
    steps = [_step_of_json(item) for item in body.get("steps", ())]
    return Plan(
        stack=stack,
        engine=EngineName.PULUMI.value,
        cloud=cloud,
        steps=tuple(step for step in steps if step is not None),
        diagnostics=tuple(dict.fromkeys(_diagnostics_of_json(body.get("diagnostics", ())))),
    )


def protected_steps(exported: Mapping[str, Any], targets: Iterable[str]) -> tuple[Step, ...]:
    """The refused deletion of each protected resource of an exported state, or of those among `targets` alone.

    targets: URNs, with the CLI's wildcards; empty means all.
    """
    asked = Targets(targets)
    return tuple(
        _refused(resource)
        for resource in exported["deployment"].get("resources") or ()
        if resource.get("protect") and resource["urn"] in asked
    )


def without_traceback(message: str) -> str:
    """The message with Python's stack frames left out: `ValueError: boom` remains."""
    if "Traceback (most recent call last)" not in message:
        return message
    kept, within = [], False
    for line in message.splitlines():
        if line.startswith("Traceback (most recent call last)"):
            within = True
        elif not within or not line.startswith("  "):
            within = False
            kept.append(line)
    return "\n".join(kept)


def without_wrapping(message: str) -> str:
    """What a provider said, without what its plugin and the CLI wrap it in; both tell it once each."""
    logged = _LOGGED.fullmatch(message.strip())
    counted = _COUNTED.fullmatch(message.strip())
    found = logged or counted
    return found["said"].strip() if found else message


def without_unprotecting(message: str) -> str:
    """The CLI's refusal to lose a protected resource, with this project's advice in place of lifting the protection."""
    what, advice, _ = message.partition("To unprotect the resource")
    if not advice:
        return message
    return f"{what.strip()} Undo the edit of the stack file that leads to this; docs/never.md says what would be lost."


def step_of_event(metadata: events.StepEventMetadata) -> Step | None:
    old, new = metadata.old, metadata.new
    return _make(
        op=metadata.op.value,
        urn=metadata.urn,
        old=old.inputs if old else None,
        new=new.inputs if new else None,
        protect=bool(new and new.protect),
        retained=bool(old and old.retain_on_delete),
        old_outputs=old.outputs if old else None,
        detail={path: (diff.diff_kind.value, diff.input_diff) for path, diff in (metadata.detailed_diff or {}).items()},
        changed=metadata.diffs or (),
        replacing=metadata.keys or (),
    )


def _step_of_json(item: Mapping[str, Any]) -> Step | None:
    old, new = item.get("oldState") or {}, item.get("newState") or {}
    detail = item.get("detailedDiff") or {}
    return _make(
        op=item["op"],
        urn=item["urn"],
        old=old.get("inputs", {}) if old else None,
        new=new.get("inputs", {}) if new else None,
        protect=bool(new.get("protect")),
        retained=bool(old.get("retainOnDelete")),
        old_outputs=old.get("outputs"),
        detail={path: (diff["kind"], diff.get("inputDiff", False)) for path, diff in detail.items()},
        changed=item.get("diffReasons") or (),
        replacing=item.get("replaceReasons") or (),
    )


def _make(
    *,
    op: str,
    urn: str,
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any] | None,
    protect: bool,
    retained: bool,
    old_outputs: Mapping[str, Any] | None,
    detail: Mapping[str, tuple[str, bool]],
    changed: Sequence[str],
    replacing: Sequence[str],
) -> Step | None:
    """None for what the CLI does not show either: its own default providers and its bookkeeping."""
    if op not in OPS or urns.is_default_provider(urn):
        return None
    kind = urns.type_of(urn)
    before, after = values.inputs(old), values.inputs(new)
    outputs = values.inputs(old_outputs)
    if detail:
        diff = {
            paths.render(paths.parse(path)): values.change(
                path, word, before=before if of_inputs else outputs, after=after
            )
            for path, (word, of_inputs) in paths.of_the_program(detail, before, after).items()
        }
        reasons = tuple(sorted(path for path, change in diff.items() if change.replaces)) or tuple(replacing)
    elif op == "update" and not changed and not kind.startswith("gcp:"):
        diff, reasons = values.changes_between(before or {}, after or {}), ()
    else:
        diff = values.changes_of_keys(changed, before=before, after=after, replacing=replacing)
        reasons = tuple(replacing)
    return Step(
        op=Op.RETAIN if op == "delete" and retained else OPS[op],
        urn=urn,
        type=kind,
        name=urns.name_of(urn),
        diff=diff,
        replace_reasons=reasons,
        old_inputs=before,
        new_inputs=after,
        protect=protect,
    )


def _refused(resource: Mapping[str, Any]) -> Step:
    urn = resource["urn"]
    step = Step(
        op=Op.DELETE,
        urn=urn,
        type=urns.type_of(urn),
        name=urns.name_of(urn),
        old_inputs=values.inputs(resource.get("inputs")),
        status=Status.FAILED,
        seconds=0.0,
    )
    return replace(step, error=refused(step))


def _diagnostics_of_json(items: Iterable[Mapping[str, Any]]) -> Iterable[Diagnostic]:
    for item in items:
        severity = item.get("severity", "")
        message = without_unprotecting(without_traceback(item.get("message", ""))).strip().removeprefix(f"{severity}: ")
        if severity in SEVERITIES and message and message not in NOISE:
            yield Diagnostic(severity=SEVERITIES[severity], message=message, urn=item.get("urn", ""), repeats=True)
