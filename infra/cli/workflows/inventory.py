"""`./tidepool workflows --inventory`: the workflow files before and after, in figures, against the targets."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table

from infra.cli.render.console import machines, people, say, show
from infra.cli.workflows.below import below
from infra.operations.errors import Refusal
from infra.operations.workflows.scene import refuse_problems, scene
from workflows.generate import generate
from workflows.inventory import figures, load_before
from workflows.inventory.before import FOLDER
from workflows.spec import load_spec


def inventory(name: str, *, as_json: bool) -> int:
    """Print the figures of a specification whose repository's past was written down."""
    here, console = scene(), people(as_json=as_json)
    refuse_problems(here)
    spec, before = load_spec(here.root, name, here.world), load_before(here.root, name)
    if before is None:
        raise Refusal(f"nobody wrote down what the repository of {name} had before; {FOLDER}/{name}.yaml would be it")
    if here.outputs.demands is None:
        raise Refusal("what workflows ask of the fleet is not known; ./tidepool workflows --check says why")
    files = generate(spec, here.world)
    found = figures(spec, before, files, here.outputs.demands, tuple(here.world.stacks.values()))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in (f"{spec.declared.repository}", "before", "after", "target", ""):
        table.add_column(column, overflow="fold")
    for each in found:
        met = "" if each.met is None else "met" if each.met else "missed"
        table.add_row(each.what, each.before, each.after, each.target, met, style="red" if each.met is False else "")
    show(console, table)
    say(console, "")
    for each in found:
        below(console, each.what, by=0, style="bold")
        for line in each.sums:
            below(console, line)
    below(console, f"before: {before.source} (read {before.read}), and {FOLDER}/{name}.yaml", by=0, style="dim")
    if as_json:
        body = {"repository": spec.declared.repository, "source": before.source}
        machines(body | {"figures": [asdict(each) for each in found], "exit": 0})
    return 0
