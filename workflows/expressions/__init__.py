"""GitHub's expressions, read and evaluated as GitHub does."""

from workflows.expressions.errors import ExpressionError
from workflows.expressions.evaluator import Scope, Status, evaluate
from workflows.expressions.files import hash_files
from workflows.expressions.parser import parse
from workflows.expressions.syntax import STATUS_FUNCTIONS, functions, references, status_misplaced, written
from workflows.expressions.template import condition, expand, parts
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
