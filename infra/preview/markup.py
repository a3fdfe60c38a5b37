"""GitHub's markdown from text that anybody may have written.

Owns escaping: whatever a stack file, a provider or a pull request says appears as it is and does nothing. No HTML, no
link, no mention, no reference to an issue, no emoji, no table cell more, no character that turns or hides text. Every
text is masked here too: no secret in clear and no e-mail address reaches a comment. Does not own what is said, nor by
what form a secret is told (`infra.model.secret_values`); what Pulumi itself keeps as a secret arrives masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Any, Final

from infra.model.secret_values import SECRET, without_secrets
from infra.model.visible import visible
from infra.preview.toned import Cell, Tone
from infra.rules.secrecy import TELLING_NAME

SEAM: Final = "<!-- -->"
"""Invisible, and neither a mention nor a link reaches across it."""

_MARKUP: Final = re.compile(r"[\\`*_\[\]~]")
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", "|": "&#124;"})
_DOLLAR: Final = "<span>$</span>"
"""A dollar beside others, which begins and ends no formula (docs.github.com, "Writing mathematical expressions")."""
_SEAMS: Final = (
    re.compile(r"(?<=@)(?=\w)"),
    re.compile(r"(?<=#)(?<!&#)(?=\d)"),
    re.compile(r"(?<=\bGH)(?=-\d)", re.IGNORECASE),
    re.compile(r"(?<=:)(?=//)"),
    re.compile(r"(?<=\bwww)(?=\.)", re.IGNORECASE),
    re.compile(r"(?<=:)(?=[\w+-]+:)"),
)
_LEADING: Final = re.compile(r"^(?:(\d{1,9})(?=[.)])|(?=[#=>]|\+(?: |$)|-(?:[ -]|$)))")
_PLAIN: Final = re.compile(r"[^A-Za-z0-9 ]")
_LONGEST_NAME: Final = 120
_TICKS: Final = re.compile(r"`+")
EMAIL: Final = "[e-mail]"
_ADDRESS: Final = re.compile(r"(?<![\w.%+'-])([\w.%+'-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})")
_SERVICE_ACCOUNTS: Final = ".gserviceaccount.com"
_PROJECT_NUMBER: Final = re.compile(r"\d{6,}")
_LAST_NAME: Final = re.compile(r"""([^.\[\]"]+)["\]\d\[]*$""")


def prose(text: str) -> str:
    """The text on one line, within a paragraph, a list item or a table cell."""
    return _joined([(text, Tone.PLAIN)])


def spoken(cell: Cell) -> str:
    """A sentence as prose, in which what stands between two backticks is in code font, and parts look as they mean."""
    parts = ((cell, Tone.PLAIN),) if isinstance(cell, str) else cell.parts
    return _joined(each for part in parts for each in (_with_code(part[0]) if part[1] is Tone.PLAIN else [part]))


def _with_code(text: str) -> list[tuple[str, Tone]]:
    parts = _spaced(text).split("`")
    if len(parts) % 2 == 0 or not all(map(str.strip, parts[1::2])):
        return [(text, Tone.PLAIN)]
    return [(part, Tone.NAME if index % 2 else Tone.PLAIN) for index, part in enumerate(parts)]


def _joined(parts: Iterable[tuple[str, Tone]]) -> str:
    """Parts as one line. A dollar is a bare one where it is the only one: two could begin and end a formula."""
    written = [(code(text) if tone is Tone.NAME else _escaped(_spaced(text)), tone) for text, tone in parts]
    dollar = _DOLLAR if sum(text.count("$") for text, tone in written if tone is not Tone.NAME) > 1 else "$"
    made = ""
    for text, tone in written:
        plain = text if tone is Tone.NAME else text.replace("$", dollar)
        made += f"**{plain}**" if tone is Tone.HEADING else plain
    return _LEADING.sub(r"\1\\", made.strip())


def _spaced(text: str) -> str:
    """The text on one line, apart from what stands beside it where it was."""
    line = one_line(text)
    return f"{' ' * text[:1].isspace()}{line}{' ' * text[-1:].isspace()}" if line else " " * bool(text)


def code(text: str) -> str:
    """A name or a value, in code font; in a table cell too."""
    line = one_line(text) or " "
    if "|" in line or "`" in line:
        return f"<code>{_PLAIN.sub(lambda found: f'&#{ord(found[0])};', line)}</code>"
    return f"`{line}`"


def name(text: str) -> str:
    """A name in code font; one longer than any that a cloud takes is cut."""
    return code(clipped(text, _LONGEST_NAME))


def html(text: str) -> str:
    """The text on one line within an HTML element, where markdown means nothing: a `<summary>`."""
    line = escape(one_line(text))
    for seam in _SEAMS:
        line = seam.sub(SEAM, line)
    return line


def fenced(text: str) -> str:
    """Lines as they are, in a block of code."""
    lines = masked(text).splitlines() or [""]
    said = "\n".join(visible(line.replace("\t", "    ")).rstrip() for line in lines)
    fence = "`" * (1 + max((2, *map(len, _TICKS.findall(said)))))
    return f"{fence}text\n{said}\n{fence}"


def folded(summary: str, body: str) -> str:
    """A body that opens on a click; `summary` is HTML."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: frozenset[int] = frozenset()) -> list[str]:
    """The lines of a table whose cells are markdown already; columns in `numbers` stand to the right."""
    rule = ["--:" if column in numbers else "---" for column in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in chain([head, rule], rows)]


def one_line(text: str) -> str:
    """The text masked, on one line, with characters that hide or turn others shown by their numbers."""
    return visible(" ".join(masked(text).split()))


def clipped(text: str, characters: int) -> str:
    """The text masked, with its end cut off where it is longer; says how long it was."""
    text = masked(text)
    return text if len(text) <= characters else f"{text[:characters]}… ({len(text):,} characters)"


def size(text: str) -> int:
    """What a text takes of a comment's limit: its bytes, never fewer than the characters that GitHub counts."""
    return len(text.encode("utf-8", errors="replace"))


def _escaped(line: str) -> str:
    line = _MARKUP.sub(r"\\\g<0>", line).translate(_ENTITIES)
    for seam in _SEAMS:
        line = seam.sub(SEAM, line)
    return line


def masked(text: str) -> str:
    """The text without secrets in clear and without addresses: a person's is `[e-mail]`, a service account's
    `runner@…`, with neither its project nor a project's number."""
    return _ADDRESS.sub(_short, without_secrets(text))


def masked_value(value: Any, name: str = "") -> Any:
    """The value with every text in it masked; `name` is the property's path, whose last part may tell a secret."""
    if isinstance(value, Mapping):
        return {masked(str(key)): masked_value(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(item, name) for item in value]
    if isinstance(value, str):
        return SECRET if _tells_a_secret(name) else masked(value)
    return value


def _tells_a_secret(path: str) -> bool:
    last = _LAST_NAME.search(path)
    return bool(last and TELLING_NAME.fullmatch(last[1]))


def _short(found: re.Match[str]) -> str:
    name, domain = found.groups()
    if domain.endswith(_SERVICE_ACCOUNTS):
        return f"{_PROJECT_NUMBER.sub('…', name)}@…"
    return EMAIL
