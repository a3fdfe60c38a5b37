"""`./tidepool results`: keep what test runs left behind, report on them, and show them as a page."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from infra.cli import options
from infra.cli.call import Invocation, called
from infra.cli.posting import api_option, repository_name_option
from infra.github import suites
from infra.operations import results as operation
from infra.operations.errors import Refusal
from infra.operations.stacks import comment
from infra.operations.workspace import RESULTS
from infra.preview.toned import columns
from infra.results import lines as result_lines

_FILES = click.Path(exists=True, dir_okay=False, path_type=Path)
_suite = click.argument("suite", metavar="SUITE")
_main = click.option("--main", default="main", show_default=True, help="The branch that runs are compared with.")
_store = options.each(
    click.option(
        "--store", default="", envvar=RESULTS, metavar="PLACE",
        help=f"gs://BUCKET or a folder; {RESULTS} is heard. Without it what tidepool:results says, else a folder here.",
    ),
    repository_name_option(required=False, what="Whose results, in a bucket; and where --post posts"),
    options.cloud_option,
    options.json_option,
)  # fmt: skip
_facts = options.each(
    click.option("--run", required=True, metavar="ID", help="An id that no other run of the suite has."),
    click.option("--hardware", required=True, metavar="NAME", help="What it ran on, such as v6e-1 or ubuntu-24.04."),
    click.option("--commit", default="", metavar="SHA", help="What was tested; the checkout's commit if not given."),
    click.option("--branch", default="", metavar="NAME", help="Its branch."),
    click.option("--pull", type=click.IntRange(1), metavar="NUMBER", help="Its pull request."),
    click.option("--at", type=click.DateTime(), help="When it began, in UTC; now if not given."),
    click.option("--link", default="", metavar="URL", help="Where its log is."),
    click.option("--version", "versions", metavar="NAME=VALUE", multiple=True, callback=options.pairs,
                 help="What durations depend on, such as jax=0.8.0; may be repeated."),
)  # fmt: skip


@click.group(cls=options.Group)
def command() -> None:
    """Keep what test runs left behind, report on them, and show them as a page."""


def _place(call: Invocation, store: str, repository: str | None) -> operation.ResultsPlace:
    """Open until the command ends."""
    opened = operation.open_results(store, call.cloud, call.teller, repository or "")
    return click.get_current_context().with_resource(opened)


def _unread(place: operation.ResultsPlace) -> dict[str, list[str]]:
    return {"unread": sorted(place.store.unread.values())}


def _unread_lines(place: operation.ResultsPlace) -> list[str]:
    return [f"skipped: {why}" for why in sorted(place.store.unread.values())]


def _told(
    suite: str, run: str, hardware: str, commit: str, at: datetime | None, more: Mapping[str, Any]
) -> operation.RunFacts:
    given = {name: value for name, value in more.items() if value not in (None, "")}
    return operation.RunFacts(suite=suite, run=run, hardware=hardware, commit=commit, at=at, more=given)


@command.command()
@_suite
@click.option("--junit", type=_FILES, multiple=True, help="JUnit XML; may be repeated, for shards and second tries.")
@click.option("--coverage", type=_FILES, help="Coverage XML, as `coverage xml` writes it.")
@click.option(
    "--timing", type=_FILES, multiple=True, help="Timing JSON of the test runner; may be repeated, as --junit."
)
@click.option("--seconds", type=click.FloatRange(0), help="What the tests took; their sum if not given.")
@click.option("--waited", type=click.FloatRange(0), help="Seconds from the request to the first test.")
@click.option("--vm", type=_FILES, help="What `run-on --json` printed, for the time of its VM.")
@_facts
@_store
@called
def publish(
    call: Invocation, *, suite: str, junit: tuple[Path, ...], coverage: Path | None, timing: tuple[Path, ...],
    run: str, hardware: str, commit: str, at: datetime | None, store: str, repository: str | None, vm: Path | None,
    **more: Any,
) -> int:  # fmt: skip
    """Keep one run of SUITE: one object, and a line of the index.

    Files are read without trust. Exit code 0 also where tests failed: `report` says so.
    """
    more |= {"vm": operation.vm_time(vm)} if vm else {}
    files = operation.RunFiles(junit=junit, coverage=coverage, timing=timing)
    place = _place(call, store, repository)
    kept = operation.publish(place, _told(suite, run, hardware, commit, at, more), files)
    said = f"{kept.suite}: {kept.ended}, {result_lines.tests_of(kept)}; kept in {place.store.objects.said}"
    return call.end({"object": kept.object_name, "ended": kept.ended, "tests": len(kept.tests)}, said)


@command.command()
@_suite
@_facts
@_store
@called
def reuse(
    call: Invocation, *, suite: str, run: str, hardware: str, commit: str, at: datetime | None, store: str,
    repository: str | None, **more: Any,
) -> int:  # fmt: skip
    """Let an earlier pass stand for this run, where the declared inputs of SUITE are the same.

    Exit code 0 where it does, 1 where the suite must run. A failure or a flaky pass is never reused.
    """
    found = operation.reuse(_place(call, store, repository), _told(suite, run, hardware, commit, at, more))
    if found is None:
        return call.end({"reused": None}, f"{suite}: no earlier pass has these inputs; run it", failed=True)
    return call.end({"reused": found.reused}, f"{suite}: nothing to run; the inputs are those of run {found.reused}")


@command.command()
@_suite
@click.option("--run", default="", metavar="ID", help="Which run; the newest if not given.")
@click.option("--summary", type=options.A_FILE, envvar="GITHUB_STEP_SUMMARY", help="Add markdown to this file.")
@click.option("--badges", type=click.Path(file_okay=False, path_type=Path), help="Write badges (SVG) to this folder.")
@click.option("--post", is_flag=True, help="Post to GitHub: the issue of the main branch, or comment and status.")
@_main
@api_option
@_store
@called
def report(
    call: Invocation, *, suite: str, run: str, summary: Path | None, badges: Path | None, post: bool, main: str,
    repository: str | None, api: str, store: str,
) -> int:  # fmt: skip
    """Say what is found of a run of SUITE: broken, slower, less coverage, flaky, and what to do.

    Exit code 1 for findings other than flaky tests. The token of --post is GITHUB_TOKEN.
    """
    place = _place(call, store, repository)
    told = operation.report(place, suite, run, main=main)
    operation.write_outputs([told], summary, badges)
    body, said = told.to_json(), result_lines.lines(told)
    if post:
        if not repository:
            raise Refusal("--post needs --repository OWNER/NAME, or GITHUB_REPOSITORY")
        operation.keep_badges(place, [told], main)
        [done] = suites.post(comment.posting_place(repository, api), [operation.text_of([told], main=main)])
        body["posted"] = done.to_json()
        said += [f"  posted: {name} {what}" for name, what in done.to_json().items() if what]
    return call.end({**body, **_unread(place)}, *said, *_unread_lines(place), failed=told.failed)


@command.command(name="open")
@click.option("--out", type=options.A_FILE, help="Where the page goes; below the home if not given.")
@click.option("--no-browser", is_flag=True, help="Only write the page.")
@_main
@_store
@called
def open_command(
    call: Invocation, *, out: Path | None, no_browser: bool, main: str, store: str, repository: str | None
) -> int:
    """Write all results as one page that loads nothing, and open it."""
    place = _place(call, store, repository)
    path = operation.write_page(place, out, main=main)
    if not no_browser:
        webbrowser.open(path.as_uri())
    return call.end({"page": str(path), **_unread(place)}, f"wrote {path}", *_unread_lines(place))


@command.command()
@_store
@called
def rebuild(call: Invocation, *, store: str, repository: str | None) -> int:
    """Make the index anew from the objects. Objects that cannot be read are skipped and listed."""
    place = _place(call, store, repository)
    count = place.store.rebuild()
    return call.end({"runs": count, **_unread(place)}, f"{count} runs in the index", *_unread_lines(place))


@command.command()
@click.option(
    "--series", type=click.IntRange(1), default=60, show_default=True, help="Series of 200 runs, of each kind."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the noise.")
@options.json_option
@called
def bench(call: Invocation, *, series: int, seed: int) -> int:
    """Measure how often reports raise a false alarm, and how soon they find a step of 20 %."""
    found = operation.bench(series, seed)
    titles = ("NOISE", "RUNS", "FALSE ALARMS", "STEPS", "IN 3 RUNS", "IN 10")
    rows = [each.row for each in found]
    return call.end({"figures": [each.to_json() for each in found]}, *columns(titles, rows))
