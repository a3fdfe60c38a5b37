"""GitHub's expressions, read and evaluated as GitHub does."""

from workflows.expressions.evaluator import JobStatus, Scope, condition, evaluate, expand, hash_files, parts
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
    "STATUS_FUNCTIONS", "ExpressionError", "JobStatus", "Scope", "condition", "equal", "evaluate", "expand",
    "functions", "hash_files", "parse", "parts", "references", "status_misplaced", "truthy", "written",
]  # fmt: skip
