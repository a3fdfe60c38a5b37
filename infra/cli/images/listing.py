"""`./tidepool images listing REPOSITORY --checkout DIR`: make the committed listing of another repository anew."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import click

from infra.cli import options
from infra.cli.failures import FAILED
from infra.cli.render.console import machines, people, say
from infra.model.images.listings import filters, listing_file, listing_text, load_listing, sample
from infra.model.images.load import load_images
from infra.model.stack import load_stack, stack_names
from infra.operations.errors import Refusal
from infra.operations.workspace import workspace


@click.command(name="listing", short_help="List another repository's files for the check of path filters.")
@click.argument("repository", metavar="OWNER/NAME")
@click.option(
    "--checkout",
    required=True,
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="A working copy of that repository.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if the listing would have other files.")
@options.json_option
@click.pass_context
def command(ctx: click.Context, *, repository: str, checkout: Path, check: bool, as_json: bool) -> None:
    """Write images/listings/OWNER.NAME.txt: of each path filter over that repository some files that it names.

    By it path filters are checked where no working copy is at hand. Reads the commit that DIR has checked out, and
    refuses a filter that names none of its files.
    """
    root, console = workspace().root, people(as_json=as_json)
    stacks = {name: load_stack(root, name) for name in stack_names(root)}
    spec = load_images(root, stacks, checkouts={repository: checkout})
    patterns = filters(spec, repository)
    if not patterns or repository.lower() == spec.recipes.lower():
        others = {image.context.repository for image in spec.images} - {spec.recipes}
        raise Refusal(f"no image reads {repository}; listings are of {', '.join(sorted(others)) or 'no repository'}")
    commit = _git(checkout, "rev-parse", "HEAD").strip()
    files = _git(checkout, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    paths = sample((path for path in files if path), patterns)
    listing = load_listing(root, repository) if check else None
    code = FAILED if check and (listing is None or listing.paths != paths) else 0
    path = root / listing_file(repository)
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        day = datetime.now(UTC).date().isoformat()
        path.write_text(listing_text(repository, paths, commit=commit, day=day))
    verb = ("would have other files" if code else "is right") if check else f"has {len(paths)} files of {commit[:12]}"
    say(console, f"{listing_file(repository)} {verb}")
    if as_json:
        machines({"repository": repository, "commit": commit, "paths": list(paths), "exit": code})
    ctx.exit(code)


def _git(checkout: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(checkout), *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        raise Refusal("git is not installed; it lists the files of a working copy") from None
    if done.returncode != 0:
        raise Refusal(f"{checkout} is no working copy with a commit: {done.stderr.strip()}")
    return done.stdout
