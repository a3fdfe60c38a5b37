"""Lists every text that the product shows, with its file and line: `python -m tests.texts [FOLDER|FILE...]`.

A developer's tool, to read all texts at once as somebody who sees them first. A text is a string of two words or more,
the help of a command, or a sentence of a table (YAML). Values stand in braces as the code says them. Docstrings of what
is no command, patterns and queries are left out.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("bench", "infra", "workflows")
_TWO_WORDS = re.compile(r"[A-Za-z][\w'`-]*[,;:.)]? +[(`'{]*[A-Za-z]|\} [a-z]|[a-z,;:] \{")
_NO_TEXT = re.compile(r"^(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|BEGIN|ALTER|DROP|WITH) |\(\?|\\[dswb]|^#!")
_NODES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


@dataclass(frozen=True, slots=True, order=True)
class ShownText:
    """file: below the root of the checkout."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def shown_texts(root: Path, below: tuple[str, ...] = ROOMS) -> Iterator[ShownText]:
    """Those of Python files and tables in folders, or of single files, in the order of files and lines."""
    for name in below:
        place = root / name
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            source, file = path.suffix, path.relative_to(root).as_posix()
            if "tests" in path.relative_to(root).parts[:-1]:
                continue
            if source == ".py":
                yield from sorted({ShownText(file, *found) for found in _of_python(path.read_text(encoding="utf-8"))})
            elif source == ".yaml":
                lines = path.read_text(encoding="utf-8").splitlines()
                yield from (
                    ShownText(file, number, text) for number, line in enumerate(lines, 1) if (text := _row(line))
                )


def _of_python(code: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(code)
    quiet = {id(each) for node in ast.walk(tree) for each in _no_texts(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            text = _said(node)
            if id(node) not in quiet and _TWO_WORDS.search(text) and not _NO_TEXT.search(text):
                yield node.lineno, " ".join(text.split())


def _no_texts(node: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, but for those of commands; and the parts of an f-string, which is listed whole."""
    if isinstance(node, ast.JoinedStr):
        yield from (part for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, _NODES):
        shown = any(
            "command" in (said := ast.unparse(each)) or "group" in said for each in getattr(node, "decorator_list", ())
        )
        yield from (
            line.value for line in node.body if isinstance(line, ast.Expr) and not (shown and line is node.body[0])
        )
    elif isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try):
        yield from (line.value for line in node.body if isinstance(line, ast.Expr))


def _said(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    values = (ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else part for part in node.values)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else f"{{{part}}}" for part in values)


def _row(line: str) -> str:
    """The sentence that a line of a table says, without its key; empty for comments and for what is no sentence."""
    said = line.strip().removeprefix("- ")
    value = "; ".join(re.findall(r'"([^"]*)"', said)) or said.partition(": ")[2] or said
    return value if not said.startswith("#") and _TWO_WORDS.search(value) else ""


if __name__ == "__main__":
    for each in shown_texts(ROOT, tuple(sys.argv[1:]) or ROOMS):
        sys.stdout.write(f"{each}\n")
