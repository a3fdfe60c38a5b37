"""A badge: two words side by side as SVG, with a title for who does not see it."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from html import escape
from typing import Final, Literal

from infra.pages.theme import LIGHT

_LETTER, _PAD, _HEIGHT = 6.6, 8, 20
"""Widths in pixels of 11-pixel letters, which a reader's own font may differ from: texts are stretched to fit."""
_SAID = "#3f4752"
_AT: Final = re.compile(rb'data-at="([^"]{1,40})"')

Tone = Literal["good", "warning", "bad", "muted"]


def badge(subject: str, said: str, tone: Tone, *, at: datetime | None = None) -> str:
    """`subject` on grey, `said` on the colour of its tone. at: of what it tells, which `told_at` reads."""
    when = "" if at is None else f' data-at="{at.isoformat()}"'
    left, right = (round(len(text) * _LETTER) for text in (subject, said))
    middle, width = left + 2 * _PAD, left + right + 4 * _PAD
    title = escape(f"{subject}: {said}", quote=True)
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{length}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        for x, length, text in ((_PAD, left, subject), (middle + _PAD, right, said))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" role="img"{when}'
        f' aria-label="{title}">'
        f'<title>{title}</title><clipPath id="r"><rect width="{width}" height="{_HEIGHT}" rx="4"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{middle}" height="{_HEIGHT}" fill="{_SAID}"/>'
        f'<rect x="{middle}" width="{width - middle}" height="{_HEIGHT}" fill="{getattr(LIGHT, tone)}"/></g>'
        f'<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


def told_at(svg: bytes) -> datetime | None:
    """When what a badge tells was so; None where it does not say."""
    found = _AT.search(svg)
    with suppress(ValueError):
        return datetime.fromisoformat(found[1].decode()) if found else None
    return None
