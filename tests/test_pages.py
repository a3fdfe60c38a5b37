"""The pages that people read: every link leads somewhere, every page is reached, every command exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from infra.cli.app import cli

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
OF_TODAY: Final = [page for page in PAGES if page.name != "CHANGELOG.md"]
FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
COMMAND: Final = re.compile(r"(?:^\$ |`)\./tidepool ([a-z][a-z-]*(?: [a-z][a-z-]*)?)", re.MULTILINE)


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to headings: lower case, spaces to hyphens, punctuation dropped."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    bare = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in bare}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    for path, anchor in LINK.findall(prose(page)):
        yield (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    gone = [
        f"{target.relative_to(ROOT)}#{anchor}" if anchor else str(target.relative_to(ROOT))
        for target, anchor in links(page)
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
    ]
    assert gone == []


def test_the_readme_leads_to_every_page() -> None:
    """A runbook is reached from the list of runbooks, which the README names."""
    reached, ahead = set[Path](), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        ahead += {target for target, _ in links(page) if target.suffix == ".md" and target.exists()} - reached
    assert set(PAGES) - reached == set()


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    unknown = []
    for words in COMMAND.findall(page.read_text(encoding="utf-8")):
        name, _, second = words.partition(" ")
        command = cli.get_command(click.Context(cli), name)
        if command is None or (isinstance(command, click.Group) and second and not subcommand(command, second)):
            unknown.append(words)
    assert unknown == []


def subcommand(group: click.Group, name: str) -> bool:
    return group.get_command(click.Context(group), name) is not None
