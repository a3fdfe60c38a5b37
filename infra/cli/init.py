"""`./tidepool init`: the files of another lab, from ten questions or from flags."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.render import stacks as rendered
from infra.operations.declared import stack_file
from infra.operations.errors import Refusal
from infra.operations.ports import EngineName
from infra.operations.setup import init as labs
from infra.operations.stacks import preview as previews
from infra.operations.workspace import workspace
from infra.preview import plan_lines

_QUESTIONS: Final = {
    "project": "Google Cloud project",
    "owner": "Label of the owner on all that is made, such as the lab's name",
    "models": "Repository whose jobs run on TPUs (OWNER/NAME)",
    "tidepool": "Repository of your copy of this project (OWNER/NAME)",
    "accelerator": "Accelerator of your VMs, such as v5litepod-4",
    "zone": "Zone of them",
    "count": "How many",
    "checkout": "Folder with a clone of the repository whose jobs run",
    "package": "Python package of it that is tested",
}
"""Of the options without a default, in the order in which they are asked. The others are asked with theirs."""
_TYPES: Final[Mapping[str, click.ParamType]] = {"count": click.IntRange(1), "checkout": options.A_FOLDER_THERE}


@click.command()
@click.option("--project", metavar="ID", help=_QUESTIONS["project"])
@click.option("--owner", metavar="NAME", help=_QUESTIONS["owner"])
@click.option("--models", metavar="OWNER/NAME", help=_QUESTIONS["models"])
@click.option("--tidepool", metavar="OWNER/NAME", help=_QUESTIONS["tidepool"])
@click.option("--accelerator", metavar="TYPE", help=_QUESTIONS["accelerator"])
@click.option("--zone", help=_QUESTIONS["zone"])
@click.option("--count", type=click.IntRange(1), help=_QUESTIONS["count"])
@click.option("--region", default="us-central1", show_default=True, help="Of the fleet bucket and of builds.")
@click.option("--capacity", type=click.Choice(["spot", "on-demand"]), default="spot", show_default=True)
@click.option("--fork-accelerator", metavar="TYPE", help="Of one spot VM for pull requests from forks.")
@click.option("--fork-zone", metavar="ZONE", help="Zone of that one.")
@click.option("--checkout", type=options.A_FOLDER_THERE, help=_QUESTIONS["checkout"])
@click.option("--package", help=_QUESTIONS["package"])
@click.option("--tests", default="tests", show_default=True, help="Folder of its tests.")
@options.each(options.yes_option, options.json_option)
@called
def init_command(call: Invocation, **given: Any) -> int:
    """Write the files of your lab in place of the present ones: the CI stack, images, workflows and plans; and take
    away what only the present lab needs. Asks what no flag says; git must have everything that goes. Then previews the
    new stack on the local cloud, and says what a person must still do at Google and GitHub (docs/next-lab.md).
    """
    planned = labs.plan_lab(workspace().root, labs.LabAnswers(**_asked(given)))
    call.say(*(f"+ {path}" for path in planned.written))
    call.say(*(f"- {path}" for path in _folded(planned.removes)))
    call.ask(f"Writing {len(planned.written)} files and removing {len(planned.removes)}, all of which git has")
    session = replace(call, stack="ci", engine=EngineName.LOCAL).session()
    labs.make_lab(planned)
    wanted = stack_file.declared("ci")
    found = previews.preview(session, wanted)
    rendered.show_planned(call.console, found, call.detail)
    call.say(*plan_lines.describe_findings(found.findings))
    call.say("", "Left to do:", *(f"  {number}. {each}" for number, each in enumerate(planned.left, 1)))
    return call.end(planned.to_json() | {"preview": found.to_json()}, failed=found.stopped)


def _asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options, and answers to what none of them says. Refusal with all that are missing, without a terminal."""
    missing = [name for name in _QUESTIONS if given[name] is None]
    if missing and not sys.stdin.isatty():
        raise Refusal(f"init needs {', '.join(f'--{name}' for name in missing)}, and there is no terminal to ask on")
    answers = dict(given)
    for name in missing:
        answers[name] = _answered(name, _QUESTIONS[name], answers["checkout"])
    if missing and given["fork_accelerator"] is None and click.confirm("A VM for pull requests from forks?", err=True):
        answers["fork_accelerator"] = _answered("fork_accelerator", "Its accelerator", default="v6e-1")
        answers["fork_zone"] = _answered("fork_zone", "Its zone", default="us-east5-b")
    return answers


def _answered(name: str, question: str, checkout: Path | None = None, *, default: str | None = None) -> Any:
    """The answer to a question, which is asked again until it is right by itself; of a package, in its checkout."""
    if name in _TYPES:
        return click.prompt(question, type=_TYPES[name], err=True)
    there = labs.packages(checkout) if name == "package" and checkout else ()

    def judged(value: str) -> str:
        in_checkout = labs.package_problems(checkout, value) if name == "package" and checkout else ()
        for problem in (*labs.answer_problems(name, value), *in_checkout):
            raise click.UsageError(f"{problem.value}: {problem.rule}; write {problem.fix}")
        return value

    offered = default or (there[0] if len(there) == 1 else None)
    return click.prompt(question, default=offered, value_proc=judged, err=True)


def _folded(paths: Iterable[str]) -> Iterator[str]:
    """A line a folder, with how many of its files; a file alone by its path."""
    for folder, inner in groupby(sorted(paths), key=lambda path: path.split("/")[:2]):
        first, *more = inner
        yield f"{'/'.join(folder)} ({len(more) + 1} files)" if more else first
