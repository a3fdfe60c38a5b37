#!/bin/bash
# What must hold in the built image controller, as its user and without network. Says everything that does not.
# shellcheck disable=SC2329 # prints and absent are called by check
set -uo pipefail

failed=0
# check WHAT COMMAND...
check() {
  if ! "${@:2}" </dev/null >/dev/null; then
    echo "smoke test of controller failed: $1" >&2
    failed=1
  fi
}
# prints WANTED COMMAND...: the command's output has WANTED in it.
prints() { [[ $("${@:2}" 2>&1) == *"$1"* ]]; }
absent() { ! command -v "$1"; }

check "runs as uid 1000, gid 1000" test "$(id -u):$(id -g)" = 1000:1000
check "has no sudo" absent sudo
check "has Python 3.11" prints "Python 3.11." python3 --version

check "starts: python -P -m infra.cli --help" python -P -m infra.cli --help
check "imports what the controller and the broker call" python -P -c \
  'import infra.fleet.publish, infra.program, googleapiclient.discovery, github, pulumi_gcp'
check "has the committed stacks" test -s /opt/tidepool/stacks/Pulumi.ci.yaml

check "cannot write its own code" test ! -w /opt/tidepool/infra
check "has no bytecode left to make" test -d /opt/tidepool/infra/__pycache__
for path in .git .venv docs images tests workflows requirements-dev.lock; do
  check "holds this project as it runs and not $path" test ! -e "/opt/tidepool/$path"
done
for tool in gcc git pytest ruff ty uv; do
  check "has no development tool: $tool" absent "$tool"
done

exit "$failed"
