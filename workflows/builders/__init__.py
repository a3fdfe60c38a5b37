"""Typed, frozen values that become a workflow file; what must not be written cannot be built."""

from workflows.builders.expression import (
    Expression,
    Template,
    always,
    call,
    context,
    literal,
    not_cancelled,
    parsed,
    template,
)
from workflows.builders.job import Hosted, Job, Matrix, Ours
from workflows.builders.policy import Access, Concurrency, Grant, Guard, Permissions, Purpose, Scope
from workflows.builders.step import Pinned, Shared, Step, timed
from workflows.builders.triggers import (
    Input,
    IssueComment,
    MergeGroup,
    PullRequest,
    PullRequestTarget,
    Push,
    Schedule,
    Triggers,
    WorkflowDispatch,
    WorkflowRun,
)
from workflows.builders.workflow import Workflow

__all__ = [
    "Access", "Concurrency", "Expression", "Grant", "Guard", "Hosted", "Input", "IssueComment", "Job", "Matrix",
    "MergeGroup", "Ours", "Permissions", "Pinned", "PullRequest", "PullRequestTarget", "Purpose", "Push", "Schedule",
    "Scope", "Shared", "Step", "Template", "Triggers", "Workflow", "WorkflowDispatch", "WorkflowRun", "always",
    "call", "context", "literal", "not_cancelled", "parsed", "template", "timed",
]  # fmt: skip
