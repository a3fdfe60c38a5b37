"""Arguments and options that several commands share, so that a word means one thing everywhere."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

import click

from infra.cli.failures import WANTS_JSON
from infra.operations.ports import DEFAULT_PARALLEL, CloudName, EngineName

F = TypeVar("F", bound=Callable[..., Any])
AUTO = "auto"


def stack_argument(command: F) -> F:
    return click.argument("stack", metavar="STACK")(command)


def stack_option(command: F) -> F:
    """--stack, where the name of a pool or VM mostly says it."""
    return click.option("--stack", metavar="STACK", help="The stack, where several may have it.")(command)


def json_option(command: F) -> F:
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        callback=_remember,
        help="Print one JSON object on stdout; text goes to stderr.",
    )(command)


class Form(StrEnum):
    """What a command prints on stdout."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def format_options(command: F) -> F:
    """--format, and --json as a short word for --format json. The command gets `form`."""
    command = click.option(
        "--format",
        "form",
        type=click.Choice([form.value for form in Form]),
        default=Form.TEXT.value,
        show_default=True,
        callback=_form,
        help="What stdout gets; with markdown (for a pull request) or json, text for people goes to stderr.",
    )(command)
    return click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember,
        help="Short for --format json.",
    )(command)


def yes_option(command: F) -> F:
    return click.option("--yes", "-y", is_flag=True, help="Do not ask, as in CI.")(command)


def cloud_option(command: F) -> F:
    """--cloud; the command gets None for auto."""
    return _place_option("cloud", CloudName, "Where: the local cloud or Google's.")(command)


def place_options(command: F) -> F:
    """--engine and --cloud; the command gets None for auto."""
    engine = _place_option("engine", EngineName, "Who works: the pulumi CLI or the embedded (local) engine.")
    return engine(cloud_option(command))


def _place_option(name: str, values: type[EngineName] | type[CloudName], text: str) -> Callable[[F], F]:
    return click.option(
        f"--{name}",
        type=click.Choice([AUTO, *(value.value for value in values)]),
        default=AUTO,
        show_default=True,
        callback=_auto(values),
        help=text,
    )


def work_options(command: F) -> F:
    """--target and --parallel."""
    command = click.option(
        "--parallel",
        type=click.IntRange(min=1, max=1000),
        default=DEFAULT_PARALLEL,
        show_default=True,
        help="How many resources to work on at once.",
    )(command)
    return click.option(
        "--target", "targets", metavar="URN", multiple=True, help="Change this resource alone; may be repeated."
    )(command)


def refresh_option(command: F) -> F:
    return click.option("--refresh", is_flag=True, help="First read every resource from its cloud.")(command)


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    ctx.meta[WANTS_JSON] = value
    return value


def _form(ctx: click.Context, _: click.Parameter, value: str) -> Form:
    if ctx.meta.get(WANTS_JSON):
        return Form.JSON
    ctx.meta[WANTS_JSON] = value == Form.JSON
    return Form(value)


def _auto(values: type[EngineName] | type[CloudName]) -> Callable[[click.Context, click.Parameter, str], Any]:
    def parse(_: click.Context, __: click.Parameter, value: str) -> EngineName | CloudName | None:
        return None if value == AUTO else values(value)

    return parse
