"""`./tidepool workflows`: write the workflow files that are generated, and say what is wrong with those that stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.operations.errors import Refusal
from infra.operations.workflows import check as checking
from infra.operations.workflows import explained as explaining
from infra.operations.workflows import pin as pinning
from infra.operations.workflows import workflow_words
from infra.operations.workflows import write as writing
from workflows import world


@click.command(name="workflows", short_help="Write and check the workflow files that are generated.")
@click.option("--write", "action", flag_value="write", help="Write what is generated; remove what has no source.")
@click.option("--check", "action", flag_value="check", help="Say what is stale, edited, stray, faulty or does not fit.")
@click.option("--coverage", "action", flag_value="coverage", help="Say which tests no job runs, or two jobs run.")
@click.option("--explain", metavar="FILE", help="Say which line made which job of a file, and where it runs.")
@click.option(
    "--newer", type=options.A_FILE_THERE, metavar="FILE", help="Say which actions of another table are newer than ours."
)
@click.option(
    "--pin-actions", "pin", is_flag=False, flag_value="newest", metavar="[COMMIT]",
    help="Pin our own actions, all at COMMIT or each at its newest.",
)  # fmt: skip
@click.option(
    "--read-tests", "tests", type=options.A_FOLDER_THERE, metavar="CHECKOUT",
    help="Write the list of tests from a checkout's files.",
)  # fmt: skip
@click.option("--spec", metavar="NAME", help="One of workflows/spec; else the only one, or marin.")
@click.option("--target", type=options.A_FOLDER, metavar="FOLDER", help="The consumer's checkout, not the copies here.")
@click.option("--legacy", is_flag=True, help="With --write --target: keep the old files beside the new for a while.")
@click.option("--back", is_flag=True, help="With --write --target: the old files again, without the new ones.")
@options.json_option
@called
def command(
    call: Invocation, *, action: str | None, explain: str | None, newer: Path | None, pin: str | None,
    tests: Path | None, spec: str | None, target: Path | None, legacy: bool, back: bool,
) -> int:  # fmt: skip
    """Workflow files are generated from workflows/spec/*.yaml, the stacks and images/images.yaml: those of
    this repository, and those of each specification's, of which copies stand in workflows/generated.

    \b
    ./tidepool workflows --write                  the files here, and the copies
    ./tidepool workflows --write --target FOLDER  marin's, into its repository
    ./tidepool workflows --check                  files, faults, the fleet, tests

    Exit code 0 when all is well, 1 when --check, --coverage or --newer finds something, 2 for wrong usage or a mistake
    in what the files are made from.
    """
    if sum(bool(each) for each in (action, explain, newer, pin, tests)) != 1:
        raise Refusal(
            "say one of --write, --check, --explain FILE, --coverage, --newer FILE, --pin-actions, --read-tests"
        )
    if (legacy or back) and (action != "write" or target is None or (legacy and back)):
        raise Refusal("--legacy and --back go with --write --target FOLDER, one of them")
    if target is not None and action not in {"write", "check"}:
        raise Refusal("--target goes with --write and --check")
    if action == "check" and target is not None and not target.is_dir():
        raise Refusal(f"--target {target}: there is no such folder; give the consumer's checkout")
    if pin is not None:
        moved, wrote = pinning.pin_actions(pin)
        call.say(*(f"pinned {name} at {commit}" for name, commit in moved.items()))
        return _wrote(call, wrote)
    if explain is not None:
        return _explained(call, explaining.explained(explain, spec))
    if newer is not None:
        return _newer(call, newer)
    if tests is not None:
        file, count = explaining.write_list(tests, spec)
        call.say(f"wrote {file}: {count} tests; ./tidepool workflows --coverage")
        return call.end({"file": file, "tests": count})
    if action == "coverage":
        return _covered(call, spec)
    if action == "check":
        return _checked(call, target, spec)
    if target is None:
        return _wrote(call, writing.write_here(spec))
    return _wrote(
        call, writing.write_back(target, spec) if back else writing.write_checkout(target, spec, legacy=legacy)
    )


def _wrote(call: Invocation, wrote: writing.Wrote) -> int:
    if wrote.made_folder:
        call.say(f"made the folder {wrote.root}, which was not there")
    call.say(*(f"removed {path}" for path in wrote.removed), *(f"wrote {path}" for path in wrote.written))
    call.say(f"{len(wrote.written)} written, {len(wrote.removed)} removed, {wrote.same} as they were")
    return call.end(asdict(wrote) | {"root": str(wrote.root)})


def _checked(call: Invocation, target: Path | None, spec: str | None) -> int:
    checked = checking.check_checkout(target, spec) if target else checking.check_here()
    call.say(*workflow_words.checked_shown(checked))
    return call.end({"findings": [asdict(each) for each in checked.troubles]}, failed=bool(checked.stops))


def _explained(call: Invocation, files: Iterable[explaining.FileTold]) -> int:
    for each in files:
        call.say(*workflow_words.explained_shown(each))
    return call.end({"files": [asdict(each) for each in files]})


def _newer(call: Invocation, file: Path) -> int:
    found = explaining.newer_actions(file)
    call.say(*map(str, found))
    table = world.TABLE
    call.say(f"take them over in {table}, then ./tidepool workflows --write" if found else f"{table} has the newest")
    return call.end({"newer": [each.to_json() for each in found]}, failed=bool(found))


def _covered(call: Invocation, spec: str | None) -> int:
    found = list(explaining.coverages(spec))
    for each, covered in found:
        call.say(*workflow_words.coverage_shown(each, covered))
    specs = {each.name: explaining.coverage_document(covered) for each, covered in found}
    return call.end({"specs": specs}, failed=not all(covered.complete for _, covered in found))
