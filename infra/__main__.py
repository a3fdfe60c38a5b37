"""The program as the pulumi CLI runs it: the folder `infra`, whose parent is what imports start from."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pulumi

from infra.program.stack import run

if "PULUMI_AUTOMATION_API" not in os.environ:  # a plain `pulumi` command: `./tidepool` imports by itself
    stack = pulumi.get_stack()
    pulumi.log.info(f"A create that fails with 409 exists already: run `./tidepool adopt {stack}`, then `pulumi up`.")
run()
