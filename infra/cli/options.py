"""Arguments and options that several commands share, so that a word means one thing everywhere.

What they say reaches a command as one `infra.cli.call.Invocation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from infra.model.errors import meant
from infra.operations.ports import DEFAULT_PARALLEL, CloudName, EngineName
from infra.operations.workspace import workspace

F = TypeVar("F", bound=Callable[..., Any])
AUTO: Final = "auto"
WANTS_JSON: Final = "tidepool.json"
"""Key of `click.Context.meta` that a command's --json sets."""
A_FILE: Final = click.Path(dir_okay=False, path_type=Path)
A_FILE_THERE: Final = click.Path(dir_okay=False, exists=True, path_type=Path)
A_FOLDER: Final = click.Path(file_okay=False, path_type=Path)
A_FOLDER_THERE: Final = click.Path(file_okay=False, exists=True, path_type=Path)


class Form(StrEnum):
    """What a command prints on stdout."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class Duration(click.ParamType):
    """`90s`, `15m`, `24h`, `2d`, or plain seconds."""

    name = "duration"
    seconds: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", str(value))
        if found is None:
            self.fail(f"{value!r} is not a length of time; write 90s, 15m, 24h or 2d", param, ctx)
        return float(found[1]) * self.seconds[found[2] or "s"]


class Name(click.ParamType):
    """A name that a shell completes: of stacks, or of what the stack files declare. kinds: `known.Named`, as text."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds
        self.name = "|".join(kinds)

    def known(self, within: str | None) -> Sequence[str]:
        """All that there are; within: of this stack."""
        from infra.operations.declared import known  # reads stack files, which a start does without

        return known.names(frozenset(map(known.Named, self.kinds)), within)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        there = self.known(ctx.params.get("within"))
        return [CompletionItem(each) for each in there if each.startswith(incomplete)]


class StackName(Name):
    """Of a stack, by the names of files alone. Where it is left out, the stacks that there are."""

    def __init__(self) -> None:
        super().__init__("stack")

    def known(self, within: str | None = None) -> Sequence[str]:  # noqa: ARG002 - stacks are always all
        from infra.model.stack_text import stack_names  # reads YAML, which a start does without

        return stack_names(workspace().root)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's
        there = self.known()
        return f"Stacks are {', '.join(there)}" if there else "There is no stacks/Pulumi.STACK.yaml yet"


class NearChoice(click.Choice):
    """A choice that a mistyped word gets its nearest one of.

    known: gives the choices once they are needed; what knows them may be slow to load.
    """

    def __init__(self, known: Callable[[], Sequence[str]]) -> None:
        self.known = known
        self.case_sensitive = True

    @cached_property
    def choices(self) -> tuple[str, ...]:
        return tuple(self.known())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message}{meant(str(value), map(str, self.choices))}", param, ctx)


class Group(click.Group):
    """A group whose help has the first sentence of every command whole, folded where it is longer than a line."""

    group_class = type
    longest: Final = 200

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        there = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(self.longest)) for name, each in there if each])


def each(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorated(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def pairs(_: click.Context, option: click.Parameter, values: tuple[str, ...]) -> Mapping[str, str]:
    """NAME=VALUE, as often as it is given."""
    cut = {name: value for name, _, value in (each.partition("=") for each in values) if name}
    if bad := [each for each in values if "=" not in each or each.startswith("=")]:
        raise click.BadParameter(f"{bad[0]!r} is not {option.metavar}")
    return cut


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    ctx.meta[WANTS_JSON] = value
    return value


def _form(ctx: click.Context, _: click.Parameter, value: str) -> Form:
    if ctx.meta.get(WANTS_JSON):
        return Form.JSON
    ctx.meta[WANTS_JSON] = value == Form.JSON
    return Form(value)


def _place_option(name: str, values: type[EngineName] | type[CloudName], text: str) -> Callable[[F], F]:
    """The command gets None for auto."""
    return click.option(
        f"--{name}",
        type=click.Choice([AUTO, *(value.value for value in values)]),
        default=AUTO,
        show_default=True,
        callback=lambda _ctx, _param, value: None if value == AUTO else values(value),
        help=text,
    )


stack_argument = click.argument("stack", metavar="STACK", type=StackName())
stacks_argument = click.argument("stacks", metavar="[STACK]...", nargs=-1, type=StackName())
stack_option = click.option(
    "--stack", "within", metavar="STACK", type=StackName(), help="The stack, where several may have it."
)
"""Where the name of a pool or VM mostly says it."""
json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_remember, help="Print one JSON object on stdout; text goes to stderr."
)
format_options = each(
    click.option(
        "--json", is_flag=True, is_eager=True, expose_value=False, callback=_remember, help="Short for --format json."
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice([form.value for form in Form]),
        default=Form.TEXT.value,
        show_default=True,
        callback=_form,
        help="What stdout gets; with markdown (for a pull request) or json, text for people goes to stderr.",
    ),
)
"""--format, and --json as a short word for --format json."""
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask, as in CI.")
cloud_option = _place_option("cloud", CloudName, "Where: the local cloud or Google's.")
place_options = each(
    _place_option("engine", EngineName, "Who works: the pulumi CLI or the embedded (local) engine."), cloud_option
)
work_options = each(
    click.option(
        "--target", "targets", metavar="NAME", multiple=True, type=Name("vm", "pool"),
        help="Change this alone: a VM, a pool's VMs, any resource by name or URN, * for anything; may be repeated.",
    ),
    click.option(
        "--parallel",
        type=click.IntRange(min=1, max=1000),
        default=DEFAULT_PARALLEL,
        show_default=True,
        help="How many resources to work on at once.",
    ),
    click.option("--all", "detail", flag_value="every", help="Name every resource, also where there are many."),
    click.option("--quiet", "-q", "detail", flag_value="quiet", help="Only what is lost, failed or found, and counts."),
)  # fmt: skip
refresh_option = click.option("--refresh", is_flag=True, help="First read every resource from its cloud.")
