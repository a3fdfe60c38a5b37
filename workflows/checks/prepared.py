"""Rules of what a step finds when it runs: the checkout and its history, tools, credentials, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workflows.checks.conditions import situations_of
from workflows.checks.plain import text
from workflows.checks.rights import identity_granted
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.runners import on_ours
from workflows.checks.shell import Command
from workflows.checks.views import Step

_CHECKOUT = "actions/checkout"
_UV = "astral-sh/setup-uv"
_GOOGLE = "google-github-actions/auth"
_ONE_COMMIT = ("", "1")
_HISTORY = re.compile(r"git (rev-list|describe|merge-base|log)\b|HEAD[\^~]\d*(?!\{)")
_OURS = re.compile(r"\./(?!\.)[\w.-]+")
_OF_PROJECT = re.compile(
    r"uv (build|sync|lock|export|version)\b|uv run (?!--no-project)|git (rev-parse|rev-list|diff|log)\b"
)
_CLOUD = re.compile(r"gcloud (compute|storage|builds|run|secrets|artifacts)\b")
_BRINGS_CODE = re.compile(r"git (clone|fetch|init)\b|curl\b|\btar\b|\bunzip\b")
_INSTALLS_UV = re.compile(r"astral\.sh/uv|install (-\S+ )*uv\b")
_SETS = re.compile(
    r"(?<![\w$-])([A-Za-z_]\w*)\+?=|\b(?:read|mapfile|readarray|getopts)\b[^\n;|]*|\bfor +(\w+)\b|printf +-v +(\w+)"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFAULTED = re.compile(r"\$\{(\w+):?[-+?=]")
_GIVEN = re.compile(
    r"(GITHUB|RUNNER|ACTIONS|BASH|AGENT)_\w*|CI|HOME|PATH|PWD|OLDPWD|USER|SHELL|TMPDIR|LANG|IFS|RANDOM|SECONDS"
    r"|EUID|UID|HOSTNAME|LINENO|OSTYPE|PIPESTATUS|REPLY|FUNCNAME|UV_\w+|JAVA_HOME|DEBIAN_FRONTEND"
)
"""Variables that a shell, the runner or its image set."""
_PYTHON_ENV = re.compile(r"""os\.environ\[['"](\w+)['"]\]""")


def _prepared(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        ours = on_ours(job, scene.known, situations_of(job.workflow, scene))
        before: set[str] = set()
        for step in job.steps:
            for command in step.commands:
                if said := _missing(command, step, before, ours=ours):
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=said, lines=command.line)
                    break
            before |= _brought(step)


def _brought(step: Step) -> set[str]:
    """What a step leaves for those behind it; an action of the repository's own may leave anything."""
    if step.uses.startswith("./"):
        return {"code", "uv", "google"}
    brought = {
        what for action, what in ((_CHECKOUT, "code"), (_UV, "uv"), (_GOOGLE, "google")) if step.action == action
    }
    if _BRINGS_CODE.search(step.run):
        brought.add("code")
    if _INSTALLS_UV.search(step.run):
        brought.add("uv")
    if "gcloud auth" in step.run:
        brought.add("google")
    return brought


def _missing(command: Command, step: Step, before: set[str], *, ours: bool) -> str:
    if command.substituted:
        return ""  # it may run elsewhere: on another machine, in a container
    program, here = command.program, _brought(step)
    of_project = _OURS.fullmatch(program) or _OF_PROJECT.match(" ".join(command.texts))
    if of_project and "code" not in before | here and not step.job.data.get("container"):
        return f"{program} works on the repository, and no step before it checks that out"
    if program in {"uv", "uvx"} and not ours and "uv" not in before | here:
        return f"GitHub's runners have no {program}, and no step before it installs it"
    if _CLOUD.match(command.said) and "google" not in before | here and identity_granted(step.job):
        return "the job may have an identity at Google, and no step before gcloud takes it"
    return ""


def _history(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        checkouts = [step for step in job.steps if step.action == _CHECKOUT]
        if not checkouts or any(text(step.inputs.get("fetch-depth")) not in _ONE_COMMIT for step in checkouts):
            continue
        if any("git fetch" in step.run or "git clone" in step.run for step in job.steps):
            continue
        for step in job.steps:
            for command in step.commands:
                if found := _HISTORY.search(" ".join(command.texts)):
                    reason = f"{found[0]} asks for commits before this one, and one commit is checked out"
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=command.line)


def _variables(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        passed = "".join(step.run for step in job.steps if "GITHUB_ENV" in step.run)
        foreign = any(step.uses and not step.uses.startswith("actions/") for step in job.steps)
        for step in job.steps:
            known = {*step.known_env, *_set_in(passed)}
            for name, lines in _read(step, foreign=foreign):
                if name not in known:
                    reason = f"{name} is read, and nothing sets it: it is empty here"
                    path = (*step.path, "run")
                    yield Broken(workflow=job.workflow, path=path, job=job.id, reason=reason, lines=lines)


def _read(step: Step, *, foreign: bool) -> Iterator[tuple[str, int | None]]:
    """Variables that a script reads and does not set, each once, with how far into it.

    foreign: an action that is not GitHub's own may have set some.
    """
    script = text(step.data.get("run"))
    if step.shell.startswith("python"):
        yield from ((name, None) for name in sorted({*_PYTHON_ENV.findall(script)}) if not _GIVEN.fullmatch(name))
        return
    own = {*_set_in(script), *_DEFAULTED.findall(script)}
    seen: set[str] = set()
    for command in step.commands:
        for word in command.words:
            for name in sorted(word.expands - own - seen):
                seen.add(name)
                # Names in small letters are a script's own: a function may set them in ways that are not seen here.
                if (
                    name.isupper()
                    and not _GIVEN.fullmatch(name)
                    and not (foreign and name.startswith(("GOOGLE_", "CLOUDSDK_")))
                ):
                    yield name, command.line


def _set_in(script: str) -> set[str]:
    found: set[str] = set()
    for each in _SETS.finditer(script):
        found.update(_NAME.findall(each[1] or each[2] or each[3] or each[0]))
    return found


RULES = (
    Rule(
        id="prepared-first",
        what="What a script works on is there before it: the checkout, uv, an identity at Google",
        why="the step fails, or works on what an earlier job left",
        example="`uv run pytest` before `astral-sh/setup-uv`",
        fix="the step that brings it, before this one",
        judge=_prepared,
    ),
    Rule(
        id="history-is-there",
        what="What asks for earlier commits checks them out",
        why="checkout brings one commit: a count is 1, and a comparison is with nothing",
        example="`git rev-list --count HEAD` behind a checkout without `fetch-depth: 0`",
        fix="with: fetch-depth: 0",
        judge=_history,
    ),
    Rule(
        id="variable-is-set",
        what="A variable that a script reads is set, by its step, its job or an earlier step",
        why="an empty word is a path of its own, a filter that matches everything, a tag without a name",
        example='`docker push "$IMAGE"` where no `env` has IMAGE',
        fix="env, or a value of the script's own",
        judge=_variables,
    ),
)
