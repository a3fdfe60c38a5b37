"""Entry point of `python -m infra.cli`, which the launcher starts."""

import signal
from types import FrameType

from infra.cli.app import cli
from infra.tools import collector


def _heard_as_ctrl_c(_: int, frame: FrameType | None) -> None:
    """Whoever ends a command politely, as service managers and CI do, gets what a person at the keyboard gets."""
    pressed = signal.getsignal(signal.SIGINT)
    # A shell without job control lets what it starts in the background ignore Ctrl-C; this is no Ctrl-C.
    (pressed if callable(pressed) else signal.default_int_handler)(signal.SIGINT, frame)


collector.seldom()
signal.signal(signal.SIGTERM, _heard_as_ctrl_c)
cli(prog_name="tidepool")
