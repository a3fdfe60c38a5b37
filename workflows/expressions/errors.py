"""What is wrong with an expression, and where in it."""

from __future__ import annotations


class ExpressionError(Exception):
    """An expression that GitHub would refuse; `offset` counts from 0 in `text`, the expression without its braces."""

    def __init__(self, said: str, text: str, offset: int = 0) -> None:
        self.said = said
        self.text = text
        self.offset = offset
        super().__init__(f"{said}, at position {offset + 1} of: {text}")
