"""What a promotion or an undo came to, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from infra.cli.render.console import machines, say
from infra.fleet.images.promotion import Moved
from infra.operations.errors import Failure


def end(console: Console, moved: Sequence[Moved], *, as_json: bool) -> None:
    """Print it; Failure where tags could not be tidied up, with everything else done."""
    for each in moved:
        say(console, Text.assemble((f"{each.pool}: ", "bold"), _said(each)))
        if each.before and each.before != each.digest:
            say(console, Text(f"  before: {each.before}", style="dim"))
        say(console, Text(f"  {_tags(each)}", style="dim"))
    if as_json:
        machines({"pools": [asdict(each) for each in moved]})
    problems = [each for each in moved if each.problem]
    if problems and not as_json:
        raise Failure(
            f"{problems[0].problem}\nThe pools have their targets; tags that nobody needs stay until the next time."
        )


def _said(moved: Moved) -> str:
    what = f"{moved.image}@{moved.digest}"
    if moved.finished:
        return f"an earlier command had been cut off and is finished now; the target is {what}. Nothing was taken back"
    if not moved.changed:
        again = f"where it was taken back, `./tidepool rollout redo {moved.pool}` tries it again"
        return f"{what} was its target already; {'the pointer names it now' if moved.pointer else again}"
    return what


def _tags(moved: Moved) -> str:
    told = "the controller rolls it out" if moved.pointer else "the pointer named it before"
    return f"{told}; {len(moved.kept)} tags set, {len(moved.released)} taken away"
