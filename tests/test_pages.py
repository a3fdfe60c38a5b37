"""The pages that people read: what they lead to and name exists (links, pages, commands, options, files, modules).

The README reaches each of them, and each says first whom it serves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from infra.cli.app import cli

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
OF_TODAY: Final = [page for page in PAGES if page.name != "CHANGELOG.md"]
BOXES: Final = {"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"}
FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
LINES: Final = re.compile(r"(?:^|^\$ |`)\./tidepool ([a-z][^\n`|#]*)", re.MULTILINE)
"""Commands as pages show them, with their options: up to a pipe, a comment, or the end of the code."""
OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
FILE: Final = re.compile(r"`((?:bench|infra|tests|workflows|images|stacks|actions)/[a-z\d_./*-]+)`")
MODULE: Final = re.compile(r"`((?:bench(?!\.py)|infra|workflows)(?:\.\w+)+)")
TEST: Final = re.compile(r"`((?:bench/)?tests/[\w/]+\.py)::(test_\w+)`")
ELSEWHERE: Final = {"images/record.json", "images/attempts.json", "actions/cache/restore"}
"""Objects of a fleet bucket, and an action of GitHub's."""
COMMAND: Final = re.compile(r"(?:^\$ |`)\./tidepool ([a-z][a-z-]*(?: [a-z][a-z0-9-]*)?)", re.MULTILINE)


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


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted(ROOT.glob("tests/**/*.md"))], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_mark_of_a_box_stands_alone_on_its_line(page: Path) -> None:
    """GitHub draws no box where text follows the mark; the layout of pages folds it into one line with the next."""
    marks = re.findall(r"^[> ]*> *\[!(\w+)\](.*)$", prose(page), re.MULTILINE)
    assert [(kind, rest) for kind, rest in marks if rest.strip() or kind not in BOXES] == []


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


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_option_that_a_page_shows_is_one_of_its_command(page: Path) -> None:
    unknown = []
    for line in LINES.findall(page.read_text(encoding="utf-8")):
        words = line.partition(" -- ")[0].split()
        command: click.Command | None = cli
        while isinstance(command, click.Group) and words:
            command = command.get_command(click.Context(command), words.pop(0))
        known = {option for each in command.params for option in each.opts} if command else set()
        unknown += [f"{line}: {each}" for each in OPTION.findall(" ".join(words)) if each not in known | {"--help"}]
    assert unknown == []


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_module_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    files = {each for each in FILE.findall(text) if not any(ROOT.glob(each.rstrip("/")))}
    modules = {each for each in MODULE.findall(text) if not named(each)}
    assert (files - ELSEWHERE, modules) == (set(), set())


def test_every_test_that_a_page_names_exists() -> None:
    told = {each for page in OF_TODAY for each in TEST.findall(page.read_text(encoding="utf-8"))}
    assert len(told) > 100, "pages of promises and traps name a test for each"
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path, _ in told if (ROOT / path).is_file()}
    assert {each for each in told if f"def {each[1]}(" not in sources.get(each[0], "")} == set()


def named(name: str) -> bool:
    """Whether a dotted name is a package, a module, or what a module's text has."""
    parts = name.split(".")
    for most in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:most])
        source = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
        if source.is_file():
            return most == len(parts) or bool(re.search(rf"\b{parts[most]}\b", source.read_text(encoding="utf-8")))
    return False


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.name)
def test_a_page_says_first_whom_it_serves(page: Path) -> None:
    title, _, rest = page.read_text(encoding="utf-8").partition("\n\n")
    assert title.startswith("# ")
    assert rest.startswith("For "), "begin with: For WHOM: what for"
