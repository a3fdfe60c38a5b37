"""The daemon's process: `python -m bench.cloud HOME`, in the background. People use `./tidepool cloud start`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.cloud.daemon import awaited

home = Path(sys.argv[1])
if child := os.fork():
    sys.exit(0 if awaited(home, child) else 1)
# A session of its own, so that Ctrl-C in the terminal that started it does not reach it.
os.setsid()

from bench.cloud.process import serve  # noqa: E402 - a fork is cheap only before the server is imported

serve(home)
