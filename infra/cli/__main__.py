"""Entry point of `python -m infra.cli`, which the launcher starts."""

import atexit
import gc
import signal
from types import FrameType

from infra.cli.app import cli


def _heard_as_ctrl_c(_: int, frame: FrameType | None) -> None:
    """Whoever ends a command politely, as service managers and CI do, gets what a person at the keyboard gets."""
    pressed = signal.getsignal(signal.SIGINT)
    # A shell without job control lets what it starts in the background ignore Ctrl-C; this is no Ctrl-C.
    (pressed if callable(pressed) else signal.default_int_handler)(signal.SIGINT, frame)


# Nearly all that a command makes stays until it ends, and the end of its process frees it. So collections wait for a
# million objects, which a preview of 1,000 VMs does not reach, and the last one, at exit, has nothing to walk.
gc.set_threshold(1_000_000)
atexit.register(gc.freeze)
signal.signal(signal.SIGTERM, _heard_as_ctrl_c)
cli(prog_name="tidepool")
