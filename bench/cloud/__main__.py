"""The daemon's process: `python -m bench.cloud --home HOME`. People use `./tidepool cloud start`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bench.cloud.daemon import awaited

parser = argparse.ArgumentParser(prog="python -m bench.cloud")
parser.add_argument("--home", type=Path, required=True, help="the folder that holds the cloud's state")
parser.add_argument("--detach", action="store_true", help="serve in the background; return when it answers")
arguments = parser.parse_args()
if arguments.detach:
    if child := os.fork():
        sys.exit(0 if awaited(arguments.home, child) else 1)
    # A session of its own, so that Ctrl-C in the terminal that started it does not reach it.
    os.setsid()

from bench.cloud.process import serve  # noqa: E402 - a fork is cheap only before the server is imported

serve(arguments.home)
