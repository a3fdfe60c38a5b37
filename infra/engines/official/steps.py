"""Steps of the neutral plan, from the engine events of the pulumi CLI or from `pulumi preview --json`.

Owns the translation: which of the CLI's operations make one step, how far a step came, what failed and why. Does not
own how events arrive (`engine`) nor what a value looks like (`values`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pulumi.automation import events

from infra.engines.official import values
from infra.engines.protocol import EngineError, EngineName, Listener
from infra.model.plan import Diagnostic, Op, Plan, Status, Step, StepEnded, StepStarted

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

_HALVES: Final = frozenset({"create-replacement", "delete-replaced"})
_SEVERITIES: Final = {"info": "info", "warning": "warning", "error": "error"}
_NOISE: Final = frozenset({"update failed", "preview failed", "destroy failed", "refresh failed"})


@dataclass(slots=True)
class _Open:
    """A step that has begun."""

    step: Step
    since: float
    halves: set[str]


class Recorder:
    """Takes the events of one run in order, tells the listener, and has the steps at the end.

    planning: a preview: steps end at once and stay PLANNED.
    clock: seconds; the CLI's own time stamps are whole seconds, too coarse for a step.
    """

    def __init__(
        self, listener: Listener | None, *, planning: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = listener or (lambda _: None)
        self._planning = planning
        self._clock = clock
        self._open: dict[str, _Open] = {}
        self._ended: dict[str, Step] = {}
        self._errors: dict[str, str] = {}
        self._said: dict[Diagnostic, None] = {}
        self._program_output: list[str] = []
        self._succeeded = False

    def take(self, event: events.EngineEvent) -> None:
        """One event of the CLI, in the order of their sequence numbers."""
        if event.resource_pre_event is not None:
            self._begin(event.resource_pre_event.metadata)
        elif event.res_outputs_event is not None:
            self._end(event.res_outputs_event.metadata)
        elif event.res_op_failed_event is not None:
            self._fail(event.res_op_failed_event.metadata)
        elif event.diagnostic_event is not None:
            self._say(event.diagnostic_event)
        elif event.cancel_event is not None:
            self._succeeded = not self._errors and not self._told_of_error

    def say(self, said: Diagnostic) -> None:
        """Add a diagnostic of this project's own, or the CLI's; each is told and kept once."""
        if said not in self._said:
            self._said[said] = None
            self._tell(said)

    def refuse(self, step: Step) -> None:
        """Record a step that was not even tried."""
        self._errors[step.urn] = step.error or ""
        self._ended[step.urn] = step
        self._tell(StepEnded(step=step))

    @property
    def began(self) -> bool:
        """Whether any resource was worked on or looked at."""
        return bool(self._open or self._ended)

    @property
    def failed(self) -> bool:
        """Whether the run began and something in it went wrong."""
        return bool(self._errors) or any(said.severity == "error" for said in self.diagnostics())

    def steps(self) -> tuple[Step, ...]:
        """Every step seen, in order of their ends. One that never ended is SKIPPED; half a replacement is FAILED."""
        begun = self._open.values()
        if self._planning:
            return (*self._ended.values(), *(step.step for step in begun))
        return (*self._ended.values(), *(_cut_short(step, succeeded=self._succeeded) for step in begun))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was said, once each. The program's own output is added where a run failed and nothing else says why."""
        if self._succeeded or self._errors or self._told_of_error:
            return tuple(self._said)
        output = "".join(self._program_output).strip()
        return (*self._said, Diagnostic(severity="error", message=output)) if output else tuple(self._said)

    def _begin(self, metadata: events.StepEventMetadata) -> None:
        step = _step(metadata)
        if step is None or metadata.urn in self._open:
            return
        self._ended.pop(metadata.urn, None)
        self._open[metadata.urn] = _Open(step=step, since=self._clock(), halves=set())
        if step.op is not Op.SAME and not self._planning:
            self._tell(StepStarted(step=step))

    def _end(self, metadata: events.StepEventMetadata) -> None:
        step = _step(metadata)
        if step is None:
            return
        begun = self._open.get(metadata.urn)
        if begun is None:
            known = self._ended.get(metadata.urn)
            if known is None:
                self._close(replace(step, status=self._success), since=None)
            return
        if metadata.op.value in _HALVES or metadata.op.value == "replace":
            begun.step = _richer(begun.step, step)
            begun.halves.add(metadata.op.value)
            if not begun.halves >= _HALVES:
                return
            step = begun.step
        del self._open[metadata.urn]
        self._close(replace(step, status=self._success), since=begun.since)

    def _fail(self, metadata: events.StepEventMetadata) -> None:
        step = _step(metadata)
        if step is None:
            return
        begun = self._open.pop(metadata.urn, None)
        failed = _richer(begun.step, step) if begun else step
        why = self._errors.get(metadata.urn, "the provider gave no reason")
        self._close(replace(failed, status=Status.FAILED, error=why), since=begun.since if begun else None)

    @property
    def _told_of_error(self) -> bool:
        return any(said.severity == "error" for said in self._said)

    @property
    def _success(self) -> Status:
        return Status.PLANNED if self._planning else Status.DONE

    def _close(self, step: Step, *, since: float | None) -> None:
        if not self._planning:
            step = replace(step, seconds=round(self._clock() - since, 3) if since is not None else 0.0)
        self._ended[step.urn] = step
        if not self._planning:
            self._tell(StepEnded(step=step))

    def _say(self, event: events.DiagnosticEvent) -> None:
        message = without_traceback(event.message).strip()
        if event.severity == "info#err":
            self._program_output.append(event.message)
            return
        if event.severity not in _SEVERITIES or not message or message in _NOISE:
            return
        if event.severity == "error" and event.urn and not event.urn.split("::")[2].endswith("pulumi:pulumi:Stack"):
            self._errors[event.urn] = message
            return
        self.say(Diagnostic(severity=_severity(event.severity), message=message, urn=event.urn or ""))


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
            "this is no output of `pulumi preview --json`; write it with `pulumi preview --json --show-sames > FILE`"
        )
    steps = [_step_of_json(item) for item in body.get("steps", ())]
    return Plan(
        stack=stack,
        engine=EngineName.PULUMI.value,
        cloud=cloud,
        steps=tuple(step for step in steps if step is not None),
        diagnostics=tuple(dict.fromkeys(_diagnostics_of_json(body.get("diagnostics", ())))),
    )


def protected_steps(exported: Mapping[str, Any], targets: Collection[str]) -> tuple[Step, ...]:
    """The refused deletion of each protected resource of an exported state, or of those among `targets` alone."""
    return tuple(
        _refused(resource)
        for resource in exported["deployment"].get("resources") or ()
        if resource.get("protect") and (not targets or resource["urn"] in targets)
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


def _step(metadata: events.StepEventMetadata) -> Step | None:
    old, new = metadata.old, metadata.new
    return _make(
        op=metadata.op.value,
        urn=metadata.urn,
        old=old.inputs if old else None,
        new=new.inputs if new else None,
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
    old_outputs: Mapping[str, Any] | None,
    detail: Mapping[str, tuple[str, bool]],
    changed: Sequence[str],
    replacing: Sequence[str],
) -> Step | None:
    """None for what the CLI does not show either: its own default providers and its bookkeeping."""
    kind, name = type_and_name(urn)
    if op not in OPS or (kind.startswith("pulumi:providers:") and name.startswith("default")):
        return None
    before, after = values.inputs(old), values.inputs(new)
    outputs = values.inputs(old_outputs)
    if detail:
        diff = {
            path: values.change(path, word, before=before if of_inputs else outputs, after=after)
            for path, (word, of_inputs) in detail.items()
        }
        reasons = tuple(sorted(path for path, change in diff.items() if change.replaces)) or tuple(replacing)
    else:
        diff = values.changes_of_keys(changed, before=before, after=after, replacing=replacing)
        reasons = tuple(replacing)
    return Step(
        op=OPS[op],
        urn=urn,
        type=kind,
        name=name,
        diff=diff,
        replace_reasons=reasons,
        old_inputs=before,
        new_inputs=after,
    )


def _refused(resource: Mapping[str, Any]) -> Step:
    kind, name = type_and_name(resource["urn"])
    why = (
        f"{resource['urn']} is protected and cannot be deleted: set protect=False on it in the program and run up, "
        f"or run `pulumi state unprotect '{resource['urn']}'`"
    )
    return Step(
        op=Op.DELETE,
        urn=resource["urn"],
        type=kind,
        name=name,
        old_inputs=values.inputs(resource.get("inputs")),
        status=Status.FAILED,
        seconds=0.0,
        error=why,
    )


def type_and_name(urn: str) -> tuple[str, str]:
    """The resource's own type and name: `urn:pulumi:ci::tidepool::a:b:C$d:e/f:G::name` gives `d:e/f:G`, `name`."""
    types, name = urn.split("::", 3)[2:]
    return types.rsplit("$", 1)[-1], name


def _richer(first: Step, second: Step) -> Step:
    """Both halves of a replacement as one step: its deletion knows no new inputs and no difference."""
    return replace(
        first,
        diff=first.diff or second.diff,
        replace_reasons=first.replace_reasons or second.replace_reasons,
        old_inputs=first.old_inputs if first.old_inputs is not None else second.old_inputs,
        new_inputs=first.new_inputs if first.new_inputs is not None else second.new_inputs,
    )


def _cut_short(begun: _Open, *, succeeded: bool) -> Step:
    if begun.step.op is Op.REPLACE and succeeded:
        return replace(begun.step, status=Status.DONE)
    if begun.halves & _HALVES:
        done = "its old resource is gone and no new one was made"
        if "create-replacement" in begun.halves:
            done = "the new resource exists and its old one was not deleted"
        return replace(begun.step, status=Status.FAILED, error=f"the replacement was cut short: {done}")
    return replace(begun.step, status=Status.SKIPPED)


def _severity(word: str) -> Any:
    return _SEVERITIES[word]


def _diagnostics_of_json(items: Iterable[Mapping[str, Any]]) -> Iterable[Diagnostic]:
    for item in items:
        severity = item.get("severity", "")
        message = without_traceback(item.get("message", "")).strip().removeprefix(f"{severity}: ")
        if severity in _SEVERITIES and message and message not in _NOISE:
            yield Diagnostic(severity=_severity(severity), message=message, urn=item.get("urn", ""))
