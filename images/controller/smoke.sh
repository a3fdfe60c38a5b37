#!/bin/bash
# What must hold in the built image controller, as its user and without network. Says everything that does not.
# images/steps/checks.sh comes before it: check, prints, absent, and what holds of every image.

check "starts: python -P -m infra.cli --help" python -P -m infra.cli --help
check "imports what the controller and the broker call" python -P -c \
  'import infra.program.stack, googleapiclient.discovery, github, pulumi_gcp'
check "has the committed stacks" test -s /opt/tidepool/stacks/Pulumi.ci.yaml

check "cannot write its own code" test ! -w /opt/tidepool/infra
check "has no bytecode left to make" test -d /opt/tidepool/infra/__pycache__
for path in .git .venv docs images tests workflows requirements-dev.lock; do
  check "holds this project as it runs and not $path" test ! -e "/opt/tidepool/$path"
done
for tool in gcc git pytest ruff ty uv; do
  check "has no development tool: $tool" absent "$tool"
done

verdict
