"""GitHub's expressions, read and evaluated as GitHub does."""

from workflows.expressions.evaluator import Scope, Status, condition, evaluate, expand, parts
from workflows.expressions.functions import hash_files
from workflows.expressions.parser import parse
from workflows.expressions.syntax import (
    STATUS_FUNCTIONS,
    ExpressionError,
    functions,
    references,
    status_misplaced,
    written,
)
from workflows.expressions.values import equal, truthy

__all__ = [
    "STATUS_FUNCTIONS",
    "ExpressionError",
    "Scope",
    "Status",
    "condition",
    "equal",
    "evaluate",
    "expand",
    "functions",
    "hash_files",
    "parse",
    "parts",
    "references",
    "status_misplaced",
    "truthy",
    "written",
]
