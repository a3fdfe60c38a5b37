"""The daemon's process: `python -m infra.local.cloud --home HOME`. People use `./tidepool cloud start`."""

from __future__ import annotations

import argparse
from pathlib import Path

from infra.local.cloud.process import serve

parser = argparse.ArgumentParser(prog="python -m infra.local.cloud")
parser.add_argument("--home", type=Path, required=True, help="the folder that holds the cloud's state")
serve(parser.parse_args().home)
