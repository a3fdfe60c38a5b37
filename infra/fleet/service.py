"""The fleet service, which the controller image runs: a sweep of a stack's controller, or its token broker.

    python -m infra.fleet.service controller STACK
    python -m infra.fleet.service broker STACK --host 0.0.0.0

Owns its arguments, its output (JSON lines on stdout, failures on stderr) and its exit codes: 0 done, 1 failed, 2 wrong
arguments or settings, 130 interrupted. It reads no stack file: the environment says where the fleet is, and the
manifest in the fleet bucket what the fleet shall be. The same by hand are `./tidepool reconcile` and
`./tidepool broker serve`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from infra.model.errors import ConfigError, OutsideError
from infra.model.visible import visible

DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130
PORT: Final = "PORT"
"""Where Cloud Run says at which port a service listens."""


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run one of both, and return the exit code."""
    given = parsed(arguments, environ)
    try:
        if given.role == "controller":
            return _sweep(given.stack, environ)
        return _serve(given.stack, environ, host=given.host, port=given.port)
    except ConfigError as error:
        _complain("\n\n".join(str(problem) for problem in error.problems))
        return REFUSED
    except OutsideError as error:
        _complain(f"error: {error}")
        return FAILED
    except KeyboardInterrupt as error:
        _complain(str(error) or "Interrupted.")
        return INTERRUPTED


def _sweep(stack: str, environ: Mapping[str, str]) -> int:
    # Each role imports its own: Cloud Run starts a process for every sweep, and a broker while a VM waits.
    from infra.fleet.sweep_log import logged_sweeps

    return DONE if logged_sweeps(stack, environ, _say) else FAILED


def _serve(stack: str, environ: Mapping[str, str], *, host: str, port: int) -> int:
    from infra.fleet.broker import audit, settings
    from infra.fleet.broker.serve import serve
    from infra.model.clock import machine_clock  # noqa: TID251 - the service runs on Google Cloud

    read = settings.read(stack, environ)
    serve(read, lambda facts: _say(audit.line(facts)), host=host, port=port, clock=machine_clock)
    return DONE


def parsed(arguments: Sequence[str], environ: Mapping[str, str]) -> argparse.Namespace:
    """The role, its stack and, of a broker, where it listens. SystemExit, with what is wrong said, where it is not."""
    parser = argparse.ArgumentParser(prog="python -m infra.fleet.service", allow_abbrev=False)
    roles = parser.add_subparsers(dest="role", required=True)
    controller = roles.add_parser(
        "controller",
        help="Bring the fleet of a stack to its manifest: one sweep, in a job of Cloud Run until the next job.",
    )
    broker = roles.add_parser("broker", help="Serve the token broker of a stack until SIGTERM.")
    for role in (controller, broker):
        role.add_argument("stack", metavar="STACK")
    broker.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    # A default that is text is checked as an argument is.
    broker.add_argument("--port", type=_port, default=environ.get(PORT) or "8080", help=f"default: ${PORT}, else 8080")
    return parser.parse_args(_current(arguments))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; write a number from 1 to 65535")
    return int(text)


def _current(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments in today's form. Stacks are declared with the older form, which images before this entry need too:
    a new program may run an old image, and the way back from a new image is the old one."""
    match arguments:
        case ["reconcile", stack, "--cloud", "google", "--yes", "--log", "json"]:
            return ["controller", stack]
        case ["broker", "serve", stack, "--cloud", "google", "--host", host, "--json"]:
            return ["broker", stack, "--host", host]
    return arguments


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _complain(text: str) -> None:
    sys.stderr.write(visible(f"{text}\n", "\n\t"))


if __name__ == "__main__":
    # Cloud Run ends a task with SIGTERM; a sweep then gives its lease back, as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:], os.environ))
