"""Python that generated jobs run: each file once, of the standard library alone, shipped as text in a step.

Owns how a file becomes the text of a step. A job has no checkout of this project, so what a file imports from its
neighbours is written into the text; what each does stands in its own docstring, and it is tested as it is shipped.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_NEIGHBOUR = re.compile(r"^from workflows\.scripts\.(?P<name>\w+) import .+\n", re.MULTILINE)
_FUTURE = "from __future__ import annotations\n"
_DOCSTRING = re.compile(r'\A"""(?P<first>[^\n"]*)(?s:.*?)"""\n')


@cache
def shipped(name: str) -> str:
    """The text of `NAME.py` with its neighbours in it, ready for `python3`."""
    said = _DOCSTRING.match(_read(name))
    parts = [_body(each).strip() for each in _in_turn(name)]
    return "\n\n\n".join([f"# {said['first']}\n{_FUTURE}".strip() if said else _FUTURE.strip(), *parts]) + "\n"


def _in_turn(name: str) -> tuple[str, ...]:
    """The file after everything that it needs, each once."""
    needed = (found["name"] for found in _NEIGHBOUR.finditer(_read(name)))
    return tuple(dict.fromkeys([*(each for one in needed for each in _in_turn(one)), name]))


def _body(name: str) -> str:
    """What a file does itself."""
    return _NEIGHBOUR.sub("", _DOCSTRING.sub("", _read(name), count=1).replace(_FUTURE, "", 1))


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.py").read_text(encoding="utf-8")
