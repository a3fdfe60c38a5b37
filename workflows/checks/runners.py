"""Which runners the legs of a job ask for, in each situation where the matrix is computed from the event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workflows.checks.known import Known
from workflows.checks.plain import listed, mapping, parsed, text
from workflows.checks.possible import known_value
from workflows.checks.situations import Situation, Unknown
from workflows.checks.views import Job, legs_of
from workflows.expressions import ExpressionError, parts
from workflows.legs import Leg

_VALUE = re.compile(r"\$\{\{\s*matrix\.([\w-]+)\s*\}\}")


def runners(job: Job, around: Iterable[Situation]) -> tuple[tuple[str, ...], ...] | None:
    """The labels that each leg asks for, each combination once; None where a leg's are not known."""
    if not any("${{" in label for label in job.labels):
        return (job.labels,)
    found: dict[tuple[str, ...], None] = {}
    for legs in (job.legs,) if job.legs is not None else (_computed(job, each) for each in around):
        if legs is None:
            return None
        for leg in legs:
            labels = tuple(label for given in job.labels for label in _filled(given, leg))
            if any("${{" in label for label in labels):
                return None
            found[labels] = None
    return tuple(found)


def on_ours(job: Job, known: Known, around: Iterable[Situation]) -> bool:
    """Whether a leg asks for labels that no runner of GitHub's has; one that is written out is enough."""
    written = {label for label in job.labels if "${{" not in label}
    if not written <= known.hosted:
        return True
    return any(not set(labels) <= known.hosted for labels in runners(job, around) or ())


def _computed(job: Job, situation: Situation) -> tuple[Leg, ...] | None:
    """The legs of a matrix that is one expression, where the situation decides its value."""
    matrix = text(mapping(job.data.get("strategy")).get("matrix"))
    try:
        pieces = list(parts(matrix.strip()))
    except ExpressionError:
        return None
    node = parsed(pieces[0].text) if len(pieces) == 1 and pieces[0].expression else None
    value = known_value(node, situation) if node is not None else None
    return None if isinstance(value, Unknown) else legs_of(value)


def _filled(label: str, leg: Leg) -> Iterator[str]:
    """A label with the values of a leg in place; a leg may hold a whole list of labels."""
    whole = _VALUE.fullmatch(label)
    if whole and isinstance(leg.get(whole[1]), list):
        yield from listed(leg[whole[1]])
    else:
        yield _VALUE.sub(lambda found: text(leg.get(found[1], "")), label)
