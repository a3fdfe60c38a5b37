"""Rules of runners, and which of them the legs of a job ask for, in each situation where the event decides.

GitHub compares labels without regard to case, so that they are told in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workflows.checks.plain import listed, mapping, only, parsed, text
from workflows.checks.possible import job_starts, known_value
from workflows.checks.rule import Broken, Known, Repository, WorkflowRule, broken
from workflows.checks.situations import Own, Situation, Unknown
from workflows.checks.views import JobView, legs_of
from workflows.expressions import ExpressionError, parts
from workflows.legs import Leg

_ANYWHERE = Situation("")


def runners(job: JobView, around: Iterable[Situation]) -> tuple[tuple[str, ...], ...] | None:
    """The labels that each leg asks for, each combination once; None where a leg's are not known."""
    if not any("${{" in label for label in job.labels):
        return (_lower(job.labels),)
    found: dict[tuple[str, ...], None] = {}
    for situation in tuple(around) or (_ANYWHERE,):
        legs = job.legs if job.legs is not None else _computed(job, situation)
        if legs is None:
            return None
        for leg in legs:
            told = {f"matrix.{name.lower()}": value for name, value in leg.items()}
            here = Situation(situation.event, situation.fork, {**situation.facts, **told}, situation.choices)
            labels = tuple(label for given in job.labels for label in _filled(given, here))
            if any("${{" in label for label in labels):
                return None
            found[_lower(labels)] = None
    return tuple(found)


def on_ours(job: JobView, known: Known, around: Iterable[Situation]) -> bool:
    """Whether a leg asks for a group, or for labels that no runner of GitHub's has; one written out is enough."""
    written = {label.lower() for label in job.labels if "${{" not in label}
    if not written <= known.hosted or (job.group and not job.labels):
        return True
    return any(not set(labels) <= known.hosted for labels in runners(job, around) or ())


def _lower(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(label.lower() for label in labels)


def _computed(job: JobView, situation: Situation) -> tuple[Leg, ...] | None:
    """The legs of a matrix that is one expression, where the situation decides its value."""
    node = only(text(mapping(job.data.get("strategy")).get("matrix")))
    value = known_value(node, situation) if node is not None else None
    return None if isinstance(value, Unknown) else legs_of(value)


def _filled(label: str, situation: Situation) -> Iterator[str]:
    """A label with its expressions evaluated, as it is where that cannot be done; one of them may be a whole list."""
    node = only(label)
    value = known_value(node, situation) if node is not None else None
    if isinstance(value, list | tuple):
        yield from listed(list(value))
        return
    try:
        pieces = [_evaluated(part.text, situation) if part.expression else part.text for part in parts(label)]
    except ExpressionError:
        pieces = [label]
    yield "".join(pieces)


def _evaluated(expression: str, situation: Situation) -> str:
    node = parsed(expression)
    value = known_value(node, situation) if node is not None else Unknown()
    return f"${{{{{expression}}}}}" if isinstance(value, Unknown | Own) else text(value)


def _asked_for(judged: Repository) -> Iterator[tuple[JobView, tuple[str, ...]]]:
    """Every job with the labels of each of its legs, where they are known."""
    for job in judged.jobs():
        yield from ((job, labels) for labels in runners(job, judged.situations(job.workflow)) or ())


def _unlabelled(judged: Repository) -> Iterator[Broken]:
    pools = judged.known.pools
    for job, labels in _asked_for(judged):
        wanted = frozenset(labels) - {"self-hosted"}
        if not labels or (len(labels) == 1 and labels[0] in judged.known.hosted):
            continue
        if not wanted and not job.group:
            yield broken(job, "self-hosted alone is any runner of any pool", "runs-on")
        elif pools is not None and not any(wanted <= {label.lower() for label in pool.labels} for pool in pools):
            near = sorted({label for pool in pools for label in pool.labels if label != "self-hosted"})
            reason = f"no runner has {', '.join(labels)}; pools have {', '.join(near) or 'none'}"
            yield broken(job, reason, "runs-on")


def _latest(judged: Repository) -> Iterator[Broken]:
    for job, labels in _asked_for(judged):
        if moving := [each for each in labels if each.endswith("-latest") and each in judged.known.hosted]:
            yield broken(job, f"{moving[0]} is another system when GitHub says so", "runs-on")


def _forked(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        around = judged.situations(job.workflow)
        foreign = [each for each in around if each.fork and job_starts(job, each)]
        if foreign and on_ours(job, judged.known, around) and not _for_forks(job, judged.known, foreign):
            reason = f"{foreign[0].event} of a fork starts the job on a runner of ours"
            yield broken(job, reason, *(["if"] if "if" in job.data else []))


def _for_forks(job: JobView, known: Known, foreign: list[Situation]) -> bool:
    """Whether every leg's runner is of a pool that is made for forks."""
    asked = runners(job, foreign)
    pools = [pool for pool in known.pools or () if pool.forks]
    return asked is not None and all(
        labels and any(set(labels) <= {*(each.lower() for each in pool.labels), "self-hosted"} for pool in pools)
        for labels in asked
    )


RULES = (
    WorkflowRule("runner-has-labels", _unlabelled, "a label of a pool, as its stack file has it"),
    WorkflowRule("runner-stays", _latest, "runs-on: ubuntu-24.04"),
    WorkflowRule(
        "no-fork-on-our-runner", _forked, "if: github.event.pull_request.head.repo.full_name == github.repository"
    ),
)
