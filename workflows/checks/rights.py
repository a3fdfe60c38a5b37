"""Rules of what a job may do (permissions, identities, secrets), and of what a stranger can bring beside that."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from workflows.builders.expression import secret
from workflows.checks.plain import becoming, text, texts
from workflows.checks.possible import job_starts, step_runs
from workflows.checks.rule import Broken, Repository, WorkflowRule, asks_wrongly, broken
from workflows.checks.shell import Command, commands
from workflows.checks.situations import Situation
from workflows.checks.views import JobView, StepView
from workflows.checks.words import ASSIGNMENT, TALK, Word
from workflows.expressions import references

_AUTH = "google-github-actions/auth"
_KEY_INPUTS = ("credentials_json", "service_account_key")
_KEY_USER = "_json_key"
"""The user of a registry whose password is a service account's key."""
_KEY_VARIABLES = frozenset(("GOOGLE_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS", "GCP_SA_KEY", "GCLOUD_SERVICE_KEY"))
_ASSIGNING = frozenset(("export", "local", "declare", "readonly"))
_BUILTINS = frozenset(
    ("echo", "printf", "export", "test", "[", "[[", "read", "set", "unset", "local", "declare", "return", "exit",
     "eval", "cd", ":", "case", "for", "trap")
)  # fmt: skip

_CHECKOUT = "actions/checkout"
_FOREIGN = re.compile(
    r"github\.event\.pull_request\.(head\.|number)|github\.event\.workflow_run\.head_|github\.head_ref"
    r"|github\.event\.issue\.number|refs/pull/"
)
_READ_ONLY = frozenset(("pull_request", "pull_request_review", "pull_request_review_comment"))
"""Events at which a fork's run gets no secrets and a token that only reads.

https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows (read 2026-11-22)
"""
_SECRET = re.compile(r"\bsecrets\.(?!GITHUB_TOKEN\b)\w+\b(?!\s*\|\|)", re.IGNORECASE)
"""A secret for whose absence nothing is written."""
_TRUSTED_BASE = frozenset(("pull_request_target", "workflow_run", "issue_comment"))
"""Events at which a workflow has the repository's rights, whoever brought them about."""


def _permissions(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        found = job.permissions
        if found is None:
            reason = "the job's token has whatever the repository's settings give, writing too"
            yield broken(job, reason)
        elif found == "write-all":
            reason = "the job's token may write everything"
            yield broken(job if "permissions" in job.data else job.workflow, reason, "permissions")


def _keys(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        for step in job.steps:
            for name in sorted(_KEY_VARIABLES & step.env.keys()):
                if any(_secrets_of(text(step.env[name]))):
                    reason = f"{name} is a service account's key, which works for whoever copies it, from anywhere"
                    yield broken(step, reason, "env", name)
            if text(step.inputs.get("username")).startswith(_KEY_USER):
                reason = "a registry is signed in to with a service account's key, which works for whoever copies it"
                yield broken(step, reason, "with", "username")
            for key in _KEY_INPUTS:
                if key in step.inputs:
                    reason = f"{key} is a service account's key, which works for whoever copies it, from anywhere"
                    yield broken(step, reason, "with", key)
            for command in step.commands:
                signs_in = command.said.startswith("docker login") and any(
                    each.startswith(_KEY_USER) for each in command.option("-u", "--username")
                )
                if signs_in or command.said.startswith("gcloud auth activate-service-account"):
                    reason = "a service account's key works for whoever copies it, from anywhere"
                    yield broken(step, reason, line=command.line)


def _identities(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        granted = identity_granted(job)
        for step in job.steps:
            if step.action == _AUTH and "workload_identity_provider" in step.inputs and not granted:
                reason = "GitHub gives the job no token to exchange: id-token: write is missing"
                yield broken(step, reason)


def identity_granted(job: JobView) -> bool:
    """Whether GitHub gives the job a token to exchange for one of Google's."""
    rights = job.permissions
    return rights == "write-all" or (isinstance(rights, dict) and rights.get("id-token") == "write")


def _secrets(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        for step in job.steps:
            held = {name for name, value in step.known_env.items() if any(_secrets_of(text(value)))}
            yield from _written_in(step, {f"env.{name.lower()}" for name in held})
            for command in step.commands:
                held |= _copied(command, held)
                if leaked := _given(command) & held:
                    reason = f"{min(leaked)} is a secret, and every process sees the arguments of {command.program}"
                    yield broken(step, reason, line=command.line)


def _written_in(step: StepView, held: set[str]) -> Iterator[Broken]:
    """Secrets that become part of a script, each where it stands. held: variables that hold one."""
    for key, content in step.scripts:
        for path, line in _secrets_of(content, held):
            keys = ("run",) if key == "run" and "run" in step.data else ("with", key)
            line_in = line if "\n" in content else None
            yield broken(step, f"{path} becomes part of the script's text", *keys, line=line_in)


def _secrets_of(content: str, held: Collection[str] = ()) -> Iterator[tuple[str, int]]:
    """Secrets whose values are in a text, with how far into it; `held` are other paths that have them."""
    for path, line in becoming(content):
        if path in held or secret((path,)):
            yield path, line


def _given(command: Command) -> set[str]:
    """Variables that a program gets as arguments."""
    if not command.arguments or command.program in _BUILTINS:
        return set()
    return {name for word in command.arguments[1:] for name in word.expands | _printed(word)}


def _printed(word: Word) -> frozenset[str]:
    """Variables whose values `$(echo "$NAME")` puts into a word."""
    told = (each for each in commands(word.raw) if each.substituted and each.program in TALK and each.ends[:1] != "|")
    return frozenset(name for each in told for inner in each.words for name in inner.expands)


def _copied(command: Command, held: set[str]) -> set[str]:
    """Variables that are set to what a secret's variable holds."""
    words = command.arguments[1:] if command.program in _ASSIGNING else command.words if not command.arguments else ()
    found = ((ASSIGNMENT.match(word.text), word.expands) for word in words)
    return {name[0].rstrip("+=") for name, expands in found if name and expands & held}


def _kept(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        for asked in workflow.asked:
            if asked.path[-2:-1] == ("outputs",) and any(
                path.startswith("secrets.") for path in references(asked.node)
            ):
                reason = "what a job puts out is kept with the run, and GitHub drops an output that holds a secret"
                yield asks_wrongly(workflow, asked, reason)


def _checked_out(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        events = _TRUSTED_BASE & set(workflow.triggers)
        around = [each for each in judged.situations(workflow) if each.event in events] if events else []
        for job in workflow.jobs:
            for step in job.steps:
                if step.action != _CHECKOUT or not _takes_foreign(step):
                    continue
                if bad := [
                    each for each in around if _strangers(each) and job_starts(job, each) and step_runs(step, each)
                ]:
                    reason = (
                        f"{bad[0].event} has the repository's rights, and a stranger's code is checked out beside them"
                    )
                    yield broken(step, reason)


def _takes_foreign(step: StepView) -> bool:
    return any(_FOREIGN.search(text(step.inputs.get(key))) for key in ("ref", "repository"))


def _strangers(situation: Situation) -> bool:
    # A comment may stand below anybody's pull request, and its event does not say whose that is.
    return situation.fork or situation.event == "issue_comment"


def _commands_of_comments(judged: Repository) -> Iterator[Broken]:
    for workflow in judged.workflows:
        if "issue_comment" not in workflow.triggers:
            continue
        for job in workflow.jobs:
            reads = {path for asked in workflow.asked if asked.job == job.id for path in references(asked.node)} | {
                path
                for step in job.steps
                for _, content in step.scripts
                for path in re.findall(r"author_association", content)
            }
            told = any(
                "author_association" in path or path.startswith(("github.actor", "github.triggering_actor"))
                for path in reads
            )
            acts = any("body" in path for path in reads if path.startswith("github.event.comment"))
            if acts and not told and not _only_reads(job):
                reason = "anybody can write a comment, and nothing asks who wrote this one"
                yield broken(job, reason)


def _only_reads(job: JobView) -> bool:
    rights = job.permissions
    harmless = isinstance(rights, dict) and all(each in {"read", "none"} for each in rights.values())
    given = any("secrets." in text(each) for each in job.env.values())
    return harmless and not given and not job.mentions(r"\$\{\{[^}]*secrets\.")


def _secretless(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        around = [
            each
            for each in judged.situations(job.workflow)
            if each.fork and each.event in _READ_ONLY and job_starts(job, each)
        ]
        for step in job.steps if around else ():
            if not any(step_runs(step, each) for each in around):
                continue
            needed = sorted({found for _, content in texts(step.data, ()) for found in _SECRET.findall(content)})
            if needed:
                reason = f"a fork's pull request starts it, and has no secret: {', '.join(needed)} is empty there"
                yield broken(step, reason)


RULES = (
    WorkflowRule("rights-said", _permissions, "permissions: {contents: read}"),
    WorkflowRule("no-account-key", _keys, "workload_identity_provider and service_account, with id-token: write"),
    WorkflowRule("identity-has-token", _identities, "permissions: {id-token: write}"),
    WorkflowRule("secret-by-environment", _secrets, "env, and the program's own variable or standard input"),
    WorkflowRule("secret-stays", _kept, "the secret in the job that needs it"),
    WorkflowRule(
        "no-stranger-with-rights",
        _checked_out,
        "the default branch, or a condition that only the repository's own branches meet",
    ),
    WorkflowRule(
        "comment-by-whom",
        _commands_of_comments,
        'contains(fromJSON(\'["MEMBER", "OWNER"]\'), github.event.comment.author_association)',
    ),
    WorkflowRule(
        "secret-for-forks",
        _secretless,
        "if: github.event.pull_request.head.repo.full_name == github.repository; or secrets.NAME || ''",
    ),
)
