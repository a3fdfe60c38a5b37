"""Rules of scripts: arguments that are dropped, failures that are swallowed, and what a step finds when it runs: the
checkout and its history, tools, credentials, variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from workflows.checks.machines import OURS
from workflows.checks.plain import text
from workflows.checks.rights import identity_granted
from workflows.checks.rule import Broken, Repository, WorkflowRule, broken
from workflows.checks.runners import on_ours
from workflows.checks.shell import Command
from workflows.checks.views import StepView
from workflows.checks.words import test_words

_PIPEFAIL = re.compile(r"set -\w*o\w* pipefail|set -o pipefail|set -euo pipefail|set -eo pipefail")
_BLANK_AFTER = re.compile(r"\\[ \t]+$")
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


def _continued(judged: Repository) -> Iterator[Broken]:
    for step in judged.steps():
        for command in step.commands:
            if command.program.startswith("-") and len(command.program) > 1:
                reason = f"{command.program} begins a command: the line before it does not end in a backslash"
                yield broken(step, reason, line=command.line)
        for number in _left_behind(step):
            reason = "it is indented as the lines before it, the last of which has no backslash"
            yield broken(step, reason, line=number)
        for number, line in enumerate(step.run.split("\n")):
            if _BLANK_AFTER.search(line) and not line.lstrip().startswith("#"):
                yield broken(step, "a blank behind the backslash ends the command", line=number)


def _left_behind(step: StepView) -> Iterator[int]:
    """Lines that begin a command below the last line of a continued one, as deep as that."""
    lines = step.run.split("\n")
    begun = {command.line: command.program for command in step.commands if not command.substituted}
    for number in sorted(line for line, program in begun.items() if not program.startswith("-")):
        last = lines[number - 1] if number > 1 else ""
        ends = number > 1 and lines[number - 2].endswith("\\") and not last.endswith(("\\", "then", "do", "{", "("))
        if ends and number - 1 not in begun and _indent(last) == _indent(lines[number]) > _start(lines, number - 2):
            yield number


def _start(lines: list[str], number: int) -> int:
    """How deep the first line of a continued command stands."""
    while number and lines[number - 1].endswith("\\"):
        number -= 1
    return _indent(lines[number])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _piped(judged: Repository) -> Iterator[Broken]:
    for step in judged.steps():
        commands = [each for each in step.commands if not each.substituted and not _has_pipefail(step)]
        for command, following in pairwise(commands):
            if command.ends in {"|", "|&"} and following.program == "tee":
                reason = f"the exit code of {command.program} is lost: GitHub's default shell has no pipefail"
                yield broken(step, reason, line=command.line)


def _has_pipefail(step: StepView) -> bool:
    """GitHub starts `shell: bash` with pipefail, and the shell that is used without `shell` without it."""
    shell = step.shell
    return shell == "bash" or "pipefail" in shell or _PIPEFAIL.search(step.run) is not None


def _swallowed(judged: Repository) -> Iterator[Broken]:
    for step in judged.steps():
        for command, following in pairwise((*step.commands, None)):
            if command is None or test_words(command.texts) is None:
                continue
            if command.ends == "||" and following is not None and following.program in {"true", ":", "echo"}:
                yield broken(step, "the tests may fail, and the step passes", line=command.line)
            elif step.data.get("continue-on-error") is True and not _asked_later(step):
                yield broken(step, "the tests may fail, and the job passes", line=command.line)


def _asked_later(step: StepView) -> bool:
    """Whether somebody asks how the step ended."""
    asked = rf"steps\.{re.escape(step.id)}\.(outcome|conclusion)"
    return bool(step.id) and step.job.mentions(asked)


def _prepared(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        ours = on_ours(job, judged.known, judged.situations(job.workflow))
        before: set[str] = set()
        for step in job.steps:
            here = _brought(step)
            for command in step.commands:
                if said := _missing(command, step, before | here, ours=ours):
                    yield broken(step, said, line=command.line)
                    break
            before |= here


def _brought(step: StepView) -> set[str]:
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


def _missing(command: Command, step: StepView, there: set[str], *, ours: bool) -> str:
    if command.substituted:
        return ""  # it may run elsewhere: on another machine, in a container
    program = command.program
    of_project = _OURS.fullmatch(program) or _OF_PROJECT.match(" ".join(command.texts))
    if of_project and "code" not in there and not step.job.data.get("container"):
        return f"{program} works on the repository, and no step before it checks that out"
    if program in {"uv", "uvx"} and not ours and "uv" not in there:
        return f"GitHub's runners have no {program}, and no step before it installs it"
    asks_google = _CLOUD.match(command.said) or OURS.match(command.said)
    if asks_google and "google" not in there and identity_granted(step.job):
        return "the job may have an identity at Google, and no step before it takes it"
    return ""


def _history(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        checkouts = [step for step in job.steps if step.action == _CHECKOUT]
        if not checkouts or any(text(step.inputs.get("fetch-depth")) not in _ONE_COMMIT for step in checkouts):
            continue
        if any("git fetch" in step.run or "git clone" in step.run for step in job.steps):
            continue
        for step in job.steps:
            for command in step.commands:
                if found := _HISTORY.search(" ".join(command.texts)):
                    reason = f"{found[0]} asks for commits before this one, and one commit is checked out"
                    yield broken(step, reason, line=command.line)


def _variables(judged: Repository) -> Iterator[Broken]:
    for job in judged.jobs():
        passed = "".join(step.run for step in job.steps if "GITHUB_ENV" in step.run)
        foreign = any(step.uses and not step.uses.startswith("actions/") for step in job.steps)
        for step in job.steps:
            known = {*step.known_env, *_set_in(passed)}
            for name, lines in _read(step, foreign=foreign):
                if name not in known:
                    reason = f"{name} is read, and nothing sets it: it is empty here"
                    yield broken(step, reason, line=lines)


def _read(step: StepView, *, foreign: bool) -> Iterator[tuple[str, int | None]]:
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
    WorkflowRule("line-continued", _continued, "a backslash at the end of the line before, and nothing behind it"),
    WorkflowRule("pipe-fails", _piped, "shell: bash, which GitHub starts with pipefail"),
    WorkflowRule("failure-shows", _swallowed, "the command alone; what may fail in a job of its own"),
    WorkflowRule("prepared-first", _prepared, "the step that brings it, before this one"),
    WorkflowRule("history-is-there", _history, "with: fetch-depth: 0"),
    WorkflowRule("variable-is-set", _variables, "env, or a value of the script's own"),
)
