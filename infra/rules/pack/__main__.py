"""The policy pack as the pulumi CLI runs it: `pulumi preview --policy-pack infra/rules/pack`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from infra.engines.official.analyzer import serve

serve(root=Path(__file__).resolve().parents[3])
