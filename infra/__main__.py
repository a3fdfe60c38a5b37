"""The program as the pulumi CLI runs it: the folder `infra`, whose parent is what imports start from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from infra.program.stack import run

run()
