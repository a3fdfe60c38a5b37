"""`./tidepool workflows`: write the workflow files that are generated, and say what is wrong with those that stand.

Owns the options and which of them go together. What each does is its module's, loaded when it is asked for.
"""

from __future__ import annotations

from pathlib import Path

import click

from infra.cli import options
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace

DEFAULT_SPEC = "marin"
"""The monorepo's, which a checkout is of where nothing else is said and there are others beside it."""

_FOLDER = click.Path(file_okay=False, path_type=Path)
_THERE = click.Path(file_okay=False, exists=True, path_type=Path)
_FILE = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.command(name="workflows", short_help="Write and check the workflow files that are generated.")
@click.option("--write", "action", flag_value="write", help="Write what is generated; remove what has no source.")
@click.option("--check", "action", flag_value="check", help="Say what is stale, edited, stray, faulty or does not fit.")
@click.option("--coverage", "action", flag_value="coverage", help="Say which tests no job runs, or two jobs run.")
@click.option("--explain", metavar="FILE", help="Say which line made which job of a file, and where it runs.")
@click.option("--newer", type=_FILE, metavar="FILE", help="Say which actions of another table are newer than ours.")
@click.option(
    "--pin-actions",
    is_flag=False,
    flag_value="newest",
    metavar="[COMMIT]",
    help="Pin our own actions, all at COMMIT or each at its newest.",
)
@click.option("--read-tests", type=_THERE, metavar="CHECKOUT", help="Write the list of tests from a checkout's files.")
@click.option("--spec", metavar="NAME", help=f"One of workflows/spec; else the only one, or {DEFAULT_SPEC}.")
@click.option("--target", type=_FOLDER, metavar="FOLDER", help="The consumer's checkout, not the copies here.")
@click.option("--legacy", is_flag=True, help="With --write --target: keep the old files beside the new for a while.")
@click.option("--back", is_flag=True, help="With --write --target: the old files again, without the new ones.")
@options.json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    action: str | None,
    explain: str | None,
    newer: Path | None,
    pin_actions: str | None,
    read_tests: Path | None,
    spec: str | None,
    target: Path | None,
    legacy: bool,
    back: bool,
    as_json: bool,
) -> None:
    """Workflow files are generated from workflows/spec/*.yaml, the stacks and images/images.yaml: those of
    this repository, and those of each specification's, of which copies stand in workflows/generated.

    \b
    ./tidepool workflows --write                  the files here, the copies, and the plans of stacks
    ./tidepool workflows --write --target FOLDER  marin's, into its repository
    ./tidepool workflows --check                  files, faults, the fleet, tests

    Exit code 0 when all is well, 1 when --check, --coverage or --newer finds something, 2 for wrong usage or a mistake
    in what the files are made from.
    """
    with_value = {"explain": explain, "newer": newer, "pin-actions": pin_actions, "read-tests": read_tests}
    asked = [name for name, given in with_value.items() if given]
    if len(asked) + (action is not None) != 1:
        raise Refusal(
            "say one of --write, --check, --explain FILE, --coverage, --newer FILE, --pin-actions, --read-tests"
        )
    if (legacy or back) and (action != "write" or target is None or (legacy and back)):
        raise Refusal("--legacy and --back go with --write --target FOLDER, one of them")
    if target is not None and action not in {"write", "check"}:
        raise Refusal("--target goes with --write and --check")
    if action == "check" and target is not None and not target.is_dir():
        raise Refusal(f"--target {target}: there is no such folder; give the consumer's checkout")
    if pin_actions is not None:
        from infra.cli.workflows.told import tell_pinned
        from infra.operations.workflows.pin import pin_actions as pin

        ctx.exit(tell_pinned(*pin(pin_actions), as_json=as_json))
    ctx.exit(_code(action, explain, newer, read_tests, spec, target, legacy=legacy, back=back, as_json=as_json))


def _code(
    action: str | None,
    explain: str | None,
    newer: Path | None,
    read_tests: Path | None,
    spec: str | None,
    target: Path | None,
    *,
    legacy: bool,
    back: bool,
    as_json: bool,
) -> int:
    """Does what was asked for, and gives the exit code."""
    if explain is not None:
        from infra.cli.workflows.told import tell_explained
        from infra.operations.workflows.explained import explained

        return tell_explained(explained(explain, spec), as_json=as_json)
    if newer is not None:
        from infra.cli.workflows.told import newer_actions

        return newer_actions(newer, as_json=as_json)
    if read_tests is not None:
        from infra.cli.workflows.told import read_list

        return read_list(read_tests, spec or _default(), as_json=as_json)
    if action == "coverage":
        from infra.cli.workflows.told import told

        return told(spec, as_json=as_json)
    if action == "check":
        from infra.cli.workflows.told import tell_checked
        from infra.operations.workflows.check import check_checkout, check_here

        checked = check_checkout(target, spec or _default()) if target else check_here()
        return tell_checked(checked, as_json=as_json)
    from infra.cli.workflows.told import tell_written
    from infra.operations.workflows.write import write_back, write_checkout, write_here

    if target is None:
        wrote = write_here(spec)
    elif back:
        wrote = write_back(target, spec or _default())
    else:
        wrote = write_checkout(target, spec or _default(), legacy=legacy)
    return tell_written(wrote, as_json=as_json)


def _default() -> str:
    """The specification where none is named; Refusal where it could be any of several."""
    from workflows.spec import spec_names

    names = spec_names(workspace().root)
    if len(names) == 1:
        return names[0]
    if DEFAULT_SPEC in names:
        return DEFAULT_SPEC
    there = f"one of {', '.join(names)}" if names else "workflows/spec has none: write workflows/spec/NAME.yaml first"
    raise Refusal(f"say which specification with --spec NAME: {there}")
