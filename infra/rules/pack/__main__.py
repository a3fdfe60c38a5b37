"""The policy pack as the pulumi CLI runs it: `pulumi preview --policy-pack infra/rules/pack`.

The checkout that it is started from, also by a link, has the stacks and workflows that it judges by.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).absolute().parents[3]))

from infra.engines.official.analyzer import serve

serve(root=Path(__file__).absolute().parents[3])
