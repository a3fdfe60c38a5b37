#!/bin/bash
# What must hold in the built image controller, as its user and without network. Says everything that does not.
# images/steps/checks.sh comes before it: check, prints, absent, and what holds of every image.

check "starts: python -P -m infra.fleet.service --help" python -P -m infra.fleet.service --help
check "imports what the controller and the broker call" python -P -c \
  'from infra.fleet.google import Api, clients; c = clients("p", "http://127.0.0.1/"); [c.api(each) for each in Api]'
check "has the rules of the controller" test -s /opt/tidepool/infra/fleet/controller/rules.yaml

check "cannot write its own code" test ! -w /opt/tidepool/infra
check "has no bytecode left to make" test -d /opt/tidepool/infra/__pycache__
for path in .git .venv docs images infra/cli bench infra/program stacks tests workflows; do
  check "holds the fleet service and not $path" test ! -e "/opt/tidepool/$path"
done
for tool in gcc git pytest ruff ty uv; do
  check "has no development tool: $tool" absent "$tool"
done
for package in pulumi pulumi_gcp rich; do
  check "has no package of the tool: $package" test ! -e "/opt/tidepool/environment/lib/python3.11/site-packages/$package"
done

verdict
