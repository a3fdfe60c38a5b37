"""Whether a condition can hold in a situation: three values, and unknown stays unknown.

Owns the search over what is not known: a path that a condition compares with constants has one of them or none. Leaves
known values to `workflows.expressions`. Says that a condition can hold wherever it cannot tell.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workflows.checks.situations import FOREIGN, FOREIGN_ID, FOREIGN_OWNER, Own, Situation, Unknown
from workflows.checks.views import JobView, StepView
from workflows.expressions import ExpressionError, Scope, equal, evaluate, truthy
from workflows.expressions.syntax import (
    Comparison,
    FunctionCall,
    Index,
    Literal,
    Logic,
    Name,
    Node,
    Not,
    Star,
    children,
)

MOST_ASSUMPTIONS = 4096
RESULTS = ("success", "failure", "cancelled", "skipped")
STATUS = "the status"
_RESULT = re.compile(r"needs\.[^.]+\.result")
_NOT_OWN = (None, "", FOREIGN, FOREIGN_OWNER, FOREIGN_ID)
ENDS = ("success", "failure", "cancelled")
"""How what came before can have ended, for those who ask by a function."""
_STATUSES = (*ENDS, "none of them")


class _Other(Unknown):
    """A text that is none of the constants it is compared with."""


def can_hold(node: Node, situation: Situation, choices: Mapping[str, tuple[Any, ...]] | None = None) -> bool:
    """Whether some values make the condition true. choices: what else is known, such as how jobs end."""
    open_values = _open(node, situation, choices or {})
    count = 1
    for values in open_values.values():
        count *= len(values)
    if count > MOST_ASSUMPTIONS:
        open_values = {}
    for each in itertools.product(*open_values.values()):
        assumed = dict(zip(open_values, each, strict=True))
        if _consistent(assumed) and _truth(_value(node, situation, assumed)) is not False:
            return True
    return False


def known_value(node: Node, situation: Situation) -> Any:
    """What an expression is in a situation: a value, or Unknown."""
    return _value(node, situation, {})


def path_of(node: Node) -> str:
    """`github.event.label.name` in lower case, empty for what is no plain path."""
    match node:
        case Name(name):
            return name.lower()
        case Index(of, Literal(str(key))):
            base = path_of(of)
            return f"{base}.{key.lower()}" if base else ""
    return ""


def _open(node: Node, situation: Situation, choices: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Every path that is not known, with the values to try for it."""
    found = {path: values for path, values in choices.items() if len(values) == 1}
    for path, constants in _compared(node):
        value = situation.value(path)
        if path in choices:
            found[path] = choices[path]
        elif path in situation.facts and not isinstance(value, Unknown):
            continue
        elif path in situation.choices:
            found[path] = situation.choices[path]
        elif isinstance(value, Unknown):
            let = situation.allowed.get(path, lambda _: True)
            named = [each for each in constants if not isinstance(each, str) or _may_be(each, value, let)]
            before = [each for each in found.get(path, ()) if not isinstance(each, _Other)]
            found[path] = (*dict.fromkeys((*before, *named)), _Other(value.prefix))
    if _asks_status(node):
        found[STATUS] = choices.get(STATUS, _STATUSES)
    return found


def _may_be(constant: str, value: Unknown, let: Callable[[str], bool]) -> bool:
    return constant.lower().startswith(value.prefix) and let(constant)


def _compared(node: Node) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Each path that is read, with the constants that it is compared with, if any."""
    match node:
        case Comparison(_, left, right):
            for one, other in ((left, right), (right, left)):
                if path := path_of(one):
                    yield path, (other.value,) if isinstance(other, Literal) else ()
        case FunctionCall("contains", (FunctionCall("fromjson", (Literal(),)) as listed, wanted)) if path_of(wanted):
            values = evaluate(listed, Scope())
            yield path_of(wanted), tuple(values) if isinstance(values, list) else ()
            return
    if path := path_of(node):
        yield path, ()
        return
    for child in children(node):
        yield from _compared(child)


def _asks_status(node: Node) -> bool:
    asks = isinstance(node, FunctionCall) and node.function in {"success", "failure", "cancelled"}
    return asks or any(_asks_status(child) for child in children(node))


def _consistent(assumed: Mapping[str, Any]) -> bool:
    """Whether the status can be so while the jobs that are waited for ended so."""
    status = assumed.get(STATUS)
    results = [value for path, value in assumed.items() if _RESULT.fullmatch(path)]
    if status == "success":
        return all(result == "success" for result in results)
    if "failure" in results:
        return status in {None, "failure", "cancelled"}
    return True


def _truth(value: Any) -> bool | None:
    return None if isinstance(value, Unknown) else True if isinstance(value, Own) else truthy(value)


def _value(node: Node, situation: Situation, assumed: Mapping[str, Any]) -> Any:
    if path := path_of(node):
        return assumed[path] if path in assumed else situation.value(path)
    match node:
        case Literal(value):
            return value
        case Not(operand):
            truth = _truth(_value(operand, situation, assumed))
            return Unknown() if truth is None else not truth
        case Logic(operator, operands):
            return _logic(operator, [_value(each, situation, assumed) for each in operands])
        case Comparison(_, left, right):
            return _comparison(node, _value(left, situation, assumed), _value(right, situation, assumed))
        case FunctionCall():
            return _call(node, situation, assumed)
        case Index(of, Star()):
            return [] if _value(of, situation, assumed) is None else Unknown()
        case Index(of):
            inner = _value(of, situation, assumed)
            return inner if inner is None or inner == [] else Unknown()
    return Unknown()


def _logic(operator: str, values: list[Any]) -> Any:
    """The operand that decides; unknown where an unknown one may have decided before."""
    decides = operator == "||"
    unknown = False
    for value in values:
        truth = _truth(value)
        if truth is None:
            unknown = True
        elif truth is decides:
            # Behind an unknown operand the value may be another, but its truth is the same.
            return value if not unknown else decides
    return Unknown() if unknown else values[-1]


def _comparison(node: Comparison, left: Any, right: Any) -> Any:
    operator = node.operator
    for one, other in ((left, right), (right, left)):
        if isinstance(one, _Other) and not isinstance(other, Unknown | Own) and operator in {"==", "!="}:
            return operator == "!="
        if isinstance(one, Unknown):
            return Unknown()
    if isinstance(left, Own) or isinstance(right, Own):
        same = left is right
        if operator in {"==", "!="} and (same or left in _NOT_OWN or right in _NOT_OWN):
            return same == (operator == "==")
        return Unknown()
    if operator in {"==", "!="}:
        return equal(left, right) == (operator == "==")
    return evaluate(replace(node, left=Literal(left), right=Literal(right)), Scope())


def _call(call: FunctionCall, situation: Situation, assumed: Mapping[str, Any]) -> Any:
    match call.function:
        case "always":
            return True
        case "success" | "failure" if call.arguments:
            return Unknown()
        case "success" | "failure" | "cancelled":
            status = assumed.get(STATUS)
            return Unknown() if status is None else status == call.function
        case "hashfiles":
            return Unknown()
    arguments = [_value(each, situation, assumed) for each in call.arguments]
    if call.function == "startswith" and isinstance(arguments[0], Unknown) and isinstance(arguments[1], str):
        known, wanted = arguments[0].prefix.lower(), arguments[1].lower()
        return known.startswith(wanted) or (Unknown() if wanted.startswith(known) else False)
    if call.function == "contains" and isinstance(arguments[1], _Other) and isinstance(arguments[0], list):
        return False
    if any(isinstance(each, Unknown | Own) for each in arguments):
        return Unknown()
    try:
        return evaluate(FunctionCall(call.function, tuple(Literal(each) for each in arguments), 0), Scope())
    except ExpressionError:
        return Unknown()


def job_starts(job: JobView, situation: Situation) -> bool:
    """Whether a job can start in a situation, with the jobs that it waits for."""
    if situation not in job.starts:
        job.starts[situation] = True  # for jobs that wait for one another, which actionlint refuses
        job.starts[situation] = _can_start(job, situation)
    return job.starts[situation]


def _can_start(job: JobView, situation: Situation) -> bool:
    if job.condition is None:
        return True
    choices: dict[str, tuple[Any, ...]] = {}
    for need in job.needs:
        other = job.workflow.job(need)
        skipped = other is not None and not job_starts(other, situation)
        choices[f"needs.{need.lower()}.result"] = ("skipped",) if skipped else RESULTS
    choices[STATUS] = _STATUSES if job.needs else ("success", "cancelled")
    return can_hold(job.condition, situation, choices)


def step_runs(step: StepView, situation: Situation) -> bool:
    """Whether a step can run in a job that has started; a condition that cannot be read can always hold."""
    node = step.condition
    if node is None:
        return True
    choices: dict[str, tuple[Any, ...]] = dict(_matrix(step.job))
    choices[STATUS] = ("success", "cancelled") if step.index == 0 else ENDS
    return can_hold(node, situation, choices)


def _matrix(job: JobView) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The values that legs have, by path; nothing of a matrix that is computed."""
    keys = sorted({key for leg in job.legs or () for key in leg})
    for key in keys:
        values = [leg.get(key) for leg in job.legs or ()]
        plain = [value for value in values if value is None or isinstance(value, str | bool | int | float)]
        if len(plain) == len(values) and not any("${{" in str(value) for value in values):
            yield f"matrix.{key.lower()}", tuple(dict.fromkeys(values))
