"""Rules of what a job may do: permissions, identities, secrets, and the actions that it trusts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from workflows.builders.expression import secret
from workflows.checks.plain import becoming, text
from workflows.checks.programs import TALK
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.shell import Command, commands
from workflows.checks.views import Job, Step
from workflows.checks.words import ASSIGNMENT, Word
from workflows.expressions import references

_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
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


def _permissions(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        found = job.permissions
        if found is None:
            reason = "the job's token has whatever the repository's settings give, writing too"
            yield Broken(workflow=job.workflow, path=job.path, job=job.id, reason=reason)
        elif found == "write-all":
            path = (*job.path, "permissions") if "permissions" in job.data else ("permissions",)
            reason = "the job's token may write everything"
            yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)


def _keys(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            path = (*step.path, "env")
            for name in sorted(_KEY_VARIABLES & step.env.keys()):
                if any(_secrets_of(text(step.env[name]))):
                    reason = f"{name} is a service account's key, which works for whoever copies it, from anywhere"
                    yield Broken(workflow=job.workflow, path=(*path, name), job=job.id, reason=reason)
            if text(step.inputs.get("username")).startswith(_KEY_USER):
                reason = "a registry is signed in to with a service account's key, which works for whoever copies it"
                yield Broken(workflow=job.workflow, path=(*step.path, "with", "username"), job=job.id, reason=reason)
            for key in _KEY_INPUTS:
                if key in step.inputs:
                    reason = f"{key} is a service account's key, which works for whoever copies it, from anywhere"
                    path = (*step.path, "with", key)
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason)
            for command in step.commands:
                signs_in = command.said.startswith("docker login") and any(
                    each.startswith(_KEY_USER) for each in command.option("-u", "--username")
                )
                if signs_in or command.said.startswith("gcloud auth activate-service-account"):
                    reason = "a service account's key works for whoever copies it, from anywhere"
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=command.line)


def _identities(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        granted = identity_granted(job)
        for step in job.steps:
            if step.action == _AUTH and "workload_identity_provider" in step.inputs and not granted:
                reason = "GitHub gives the job no token to exchange: id-token: write is missing"
                yield Broken(workflow=job.workflow, path=step.path, job=job.id, reason=reason)


def identity_granted(job: Job) -> bool:
    """Whether GitHub gives the job a token to exchange for one of Google's."""
    rights = job.permissions
    return rights == "write-all" or (isinstance(rights, dict) and rights.get("id-token") == "write")


def _pinned(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        if job.reusable and _moves(text(job.data["uses"])):
            reason = f"{text(job.data['uses'])} is whatever its owner makes of it tomorrow"
            yield Broken(workflow=job.workflow, path=(*job.path, "uses"), job=job.id, reason=reason)
        for step in job.steps:
            if step.uses and _moves(step.uses):
                reason = f"{step.uses} is whatever its owner makes of it tomorrow"
                yield Broken(workflow=job.workflow, path=(*step.path, "uses"), job=job.id, reason=reason)


def _moves(uses: str) -> bool:
    if uses.startswith(("./", ".\\")):
        return False
    if uses.startswith("docker://"):
        return not _DIGEST.search(uses)
    return not _COMMIT.fullmatch(uses.partition("@")[2])


def _secrets(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            held = {name for name, value in step.known_env.items() if any(_secrets_of(text(value)))}
            yield from _written_in(job, step, {f"env.{name.lower()}" for name in held})
            for command in step.commands:
                held |= _copied(command, held)
                if leaked := _given(command) & held:
                    reason = f"{min(leaked)} is a secret, and every process sees the arguments of {command.program}"
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=command.line)


def _written_in(job: Job, step: Step, held: set[str]) -> Iterator[Broken]:
    """Secrets that become part of a script, each where it stands. held: variables that hold one."""
    for key, content in step.scripts:
        for path, line in _secrets_of(content, held):
            reason = f"{path} becomes part of the script's text"
            lines = line if "\n" in content else None
            yield Broken(workflow=job.workflow, path=step.script_path(key), job=job.id, reason=reason, lines=lines)


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


def _kept(scene: Scene) -> Iterator[Broken]:
    for workflow in scene.workflows:
        for asked in workflow.asked:
            if asked.path[-2:-1] == ("outputs",) and any(
                path.startswith("secrets.") for path in references(asked.node)
            ):
                reason = "what a job puts out is kept with the run, and GitHub drops an output that holds a secret"
                yield Broken(workflow=workflow, path=asked.path, job=asked.job, reason=reason)


RULES = (
    Rule(
        id="rights-said",
        what="Every job's token has stated permissions, and never all of them",
        why="the repository's setting decides otherwise, and an action that goes bad writes to the repository",
        example="a workflow without `permissions`",
        fix="permissions: {contents: read}",
        judge=_permissions,
    ),
    Rule(
        id="no-account-key",
        what="Google is reached by workload identity, never with a service account's key",
        why="a key does not end, and works for whoever copies it",
        example="`credentials_json: ${{ secrets.GCP_SA_KEY }}`",
        fix="workload_identity_provider and service_account, with id-token: write",
        judge=_keys,
    ),
    Rule(
        id="identity-has-token",
        what="A job with a workload identity has `id-token: write`",
        why="there is no token to exchange otherwise, and the step fails",
        example="`workload_identity_provider: ...` in a job with `permissions: {contents: read}`",
        fix="permissions: {id-token: write}",
        judge=_identities,
    ),
    Rule(
        id="action-by-commit",
        what="An action is named by its commit, an image of one by its digest",
        why="a tag can be moved to other code, which then has the job's secrets",
        example="`uses: actions/checkout@v4`",
        fix="uses: OWNER/NAME@COMMIT # VERSION",
        judge=_pinned,
    ),
    Rule(
        id="secret-by-environment",
        what="A secret reaches a script by its environment, and no program by its arguments",
        why="a command line is seen by every process, and a secret in a script's text is run as code",
        example="`run: wandb login ${{ secrets.WANDB_API_KEY }}`",
        fix="env, and the program's own variable or standard input",
        judge=_secrets,
    ),
    Rule(
        id="secret-stays",
        what="No output of a job holds a secret",
        why="GitHub drops such an output, and what it misses is kept in clear",
        example="`outputs: {token: '${{ secrets.TOKEN }}'}`",
        fix="the secret in the job that needs it",
        judge=_kept,
    ),
)
