"""Rules of shell scripts as such: arguments that are dropped, failures that are swallowed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workflows.checks.programs import test_words
from workflows.checks.rule import Broken, Rule, Scene
from workflows.checks.views import Step

_PIPEFAIL = re.compile(r"set -\w*o\w* pipefail|set -o pipefail|set -euo pipefail|set -eo pipefail")
_BLANK_AFTER = re.compile(r"\\[ \t]+$")


def _continued(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            for command in step.commands:
                if command.program.startswith("-") and len(command.program) > 1:
                    reason = f"{command.program} begins a command: the line before it does not end in a backslash"
                    yield _broken(step, command.line, reason)
            for line in _left_behind(step):
                yield _broken(step, line, "it is indented as the lines before it, the last of which has no backslash")
            for number, line in enumerate(step.run.split("\n")):
                if _BLANK_AFTER.search(line) and not line.lstrip().startswith("#"):
                    yield _broken(step, number, "a blank behind the backslash ends the command")


def _left_behind(step: Step) -> Iterator[int]:
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


def _piped(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            if _has_pipefail(step):
                continue
            commands = [each for each in step.commands if not each.substituted]
            for index, command in enumerate(commands[:-1]):
                following = commands[index + 1]
                if command.ends in {"|", "|&"} and following.program == "tee":
                    reason = f"the exit code of {command.program} is lost: GitHub's default shell has no pipefail"
                    yield _broken(step, command.line, reason)


def _has_pipefail(step: Step) -> bool:
    """GitHub starts `shell: bash` with pipefail, and the shell that is used without `shell` without it."""
    shell = step.shell
    return shell == "bash" or "pipefail" in shell or _PIPEFAIL.search(step.run) is not None


def _swallowed(scene: Scene) -> Iterator[Broken]:
    for job in scene.jobs():
        for step in job.steps:
            commands = step.commands
            for index, command in enumerate(commands):
                if test_words(command.texts) is None:
                    continue
                following = commands[index + 1] if index + 1 < len(commands) else None
                if command.ends == "||" and following is not None and following.program in {"true", ":", "echo"}:
                    yield _broken(step, command.line, "the tests may fail, and the step passes")
                elif step.data.get("continue-on-error") is True and not _asked_later(step):
                    yield _broken(step, command.line, "the tests may fail, and the job passes")


def _asked_later(step: Step) -> bool:
    """Whether somebody asks how the step ended."""
    asked = rf"steps\.{re.escape(step.id)}\.(outcome|conclusion)"
    return bool(step.id) and step.job.mentions(asked)


def _broken(step: Step, line: int, reason: str) -> Broken:
    path = (*step.path, "run")
    return Broken(workflow=step.job.workflow, path=path, job=step.job.id, reason=reason, lines=line)


RULES = (
    Rule(
        id="line-continued",
        what="A command that goes on over lines has its backslash on each",
        why="the rest is run as a command of its own, so that the arguments are dropped and the step fails at its end",
        example="a line `--save_interval 10m` and below it `--num_train_steps 10000`",
        fix="a backslash at the end of the line before, and nothing behind it",
        judge=_continued,
    ),
    Rule(
        id="pipe-fails",
        what="A command whose output goes through `tee` fails the step when it fails",
        why="the exit code of a pipe is that of its last command",
        example="`pytest | tee log` without `shell: bash`",
        fix="shell: bash, which GitHub starts with pipefail",
        judge=_piped,
    ),
    Rule(
        id="failure-shows",
        what="Tests that fail are seen",
        why="a green run that tested nothing is worse than none",
        example="`pytest tests || true`",
        fix="the command alone; what may fail in a job of its own",
        judge=_swallowed,
    ),
)
