"""Rules of expressions: ones that GitHub refuses, and comparisons whose types never meet, which linters let through."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from infra.model.errors import ConfigError
from workflows.checks.plain import mapping, text, texts
from workflows.checks.possible import path_of
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.views import Workflow
from workflows.expressions import ExpressionError, condition, parse, parts, status_misplaced
from workflows.expressions.syntax import Comparison, Literal, Node, children
from workflows.expressions.values import parse_number

_TEXTS = re.compile(r"(steps|needs)\.[^.]+\.outputs\.[^.]+|(env|vars|secrets)\.[^.]+|github\.event\.inputs\.[^.]+")
"""What is text whatever was written to it."""


def _readable(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        for path, whole in texts(workflow.data, ()):
            job = str(path[1]) if len(path) > 1 and path[0] == "jobs" else ""
            asks = path[-1] == "if"
            try:
                nodes = [condition(whole)] if asks else [parse(each.text) for each in parts(whole) if each.expression]
            except (ExpressionError, ConfigError) as error:
                yield Broken(workflow=workflow, path=path, job=job, reason=str(error))
                continue
            for node in nodes:
                if said := status_misplaced(node, in_if=asks, of_job="steps" not in path):
                    yield Broken(workflow=workflow, path=path, job=job, reason=said)


def _whole(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        for path, whole in texts(workflow.data, ()):
            if path[-1] != "if" or "${{" not in whole:
                continue
            job = str(path[1]) if len(path) > 1 else ""
            try:
                pieces = list(parts(whole.strip()))
            except ExpressionError:
                continue
            if len(pieces) > 1:
                reason = f"text beside an expression makes the whole a text, which always holds: {whole.strip()}"
                yield Broken(workflow=workflow, path=path, job=job, reason=reason)


def _types(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        for asked in workflow.asked:
            for node in _nodes(asked.node):
                if isinstance(node, Comparison) and node.operator in {"==", "!="} and (said := _never(workflow, node)):
                    lines = asked.lines or None
                    yield Broken(workflow=workflow, path=asked.path, job=asked.job, reason=said, lines=lines)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _nodes(child)


def _never(workflow: Workflow, node: Comparison) -> str:
    for one, other in ((node.left, node.right), (node.right, node.left)):
        path = path_of(one)
        if not path or not isinstance(other, Literal):
            continue
        kind = _kind(workflow, path)
        if kind == "text" and isinstance(other.value, bool):
            said = str(other.value).lower()
            return f"{path} is text, and no text is the boolean {said}: compare with '{said}'"
        if kind == "boolean" and isinstance(other.value, str) and math.isnan(parse_number(other.value)):
            return f"{path} is a boolean, and no boolean is the text '{other.value}': compare with true or false"
    return ""


def _kind(workflow: Workflow, path: str) -> str:
    if _TEXTS.fullmatch(path):
        return "text"
    first, _, name = path.partition(".")
    if first == "inputs":
        kinds = {
            text(mapping(each).get("type"))
            for event in ("workflow_dispatch", "workflow_call")
            for key, each in mapping(workflow.filters(event).get("inputs")).items()
            if key.lower() == name
        }
        return "boolean" if kinds == {"boolean"} else ""
    return ""


def _truths(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        for asked in workflow.asked:
            if asked.path[-1] != "if":
                continue
            for path in _bare(asked.node):
                if _says_false(workflow, asked.job, path):
                    reason = f"{path} is the text 'false' when it is false, and that is true in a condition"
                    yield Broken(workflow=workflow, path=asked.path, job=asked.job, reason=reason)


def _bare(node: Node) -> Iterator[str]:
    """Paths whose own truth is asked for."""
    if path := path_of(node):
        yield path
    elif not isinstance(node, Comparison) and type(node).__name__ in {"Logic", "Not"}:
        for child in children(node):
            yield from _bare(child)


def _says_false(workflow: Workflow, job: str, path: str) -> bool:
    parts_of: Any = path.split(".")
    if len(parts_of) != 4 or parts_of[2] != "outputs":
        return False
    here = workflow.job(job)
    if parts_of[0] == "needs":
        here = next((each for each in workflow.jobs if each.id.lower() == parts_of[1]), None)
        outputs = mapping(here.data.get("outputs")) if here else {}
        source = text(next((value for key, value in outputs.items() if key.lower() == parts_of[3]), ""))
        found = re.search(r"steps\.([\w-]+)\.outputs\.([\w-]+)", source)
        if not found:
            return False
        parts_of = ["steps", found[1].lower(), "outputs", found[2].lower()]
    steps = [step for step in here.steps if step.id.lower() == parts_of[1]] if here else []
    return any(re.search(rf"\b{re.escape(parts_of[3])}=false\b", step.run, re.IGNORECASE) for step in steps)


RULES = (
    Rule(
        id="expression-reads",
        what="Every expression is one that GitHub reads",
        why="GitHub refuses the whole file for it",
        example='`if: github.ref == "refs/heads/main"`',
        fix="strings in single quotes, the functions that GitHub has",
        judge=_readable,
    ),
    Rule(
        id="condition-is-whole",
        what="An `if` is one expression, with nothing beside it",
        why="text beside it makes the whole a text, which always holds",
        example="`if: ${{ github.ref == 'refs/heads/main' }} && success()`",
        fix="all of it between the braces, or no braces",
        judge=_whole,
    ),
    Rule(
        id="types-meet",
        what="Text is compared with text, a boolean with a boolean",
        why="`'true' == true` is false at GitHub: what is no number never equals a boolean",
        example="`if: needs.changes.outputs.relevant == true`",
        fix="== 'true' for outputs, variables and environment; no comparison for a boolean input",
        judge=_types,
    ),
    Rule(
        id="false-is-no-text",
        what="An output that may be the text `false` is compared, not asked for its truth",
        why="every text but the empty one is true",
        example="`if: steps.changes.outputs.relevant` where the step writes `relevant=false`",
        fix="if: steps.ID.outputs.NAME == 'true'",
        judge=_truths,
    ),
)
