# shellcheck shell=bash
# What smoke tests say with: it comes before the smoke test of an image, over the same standard input.
#
#   IMAGE   the image's name
set -uo pipefail

failed=0
# check WHAT COMMAND...
check() {
  if ! "${@:2}" </dev/null >/dev/null; then
    echo "smoke test of $IMAGE failed: $1" >&2
    failed=1
  fi
}
# prints WANTED COMMAND...: the command's output has WANTED in it.
prints() { [[ $("${@:2}" 2>&1) == *"$1"* ]]; }
absent() { ! command -v "$1"; }
# verdict: ends the test, with 1 where anything did not hold.
verdict() { exit "$failed"; }

check "runs as uid 1000, gid 1000" test "$(id -u):$(id -g)" = 1000:1000
check "has no sudo" absent sudo
check "has Python 3.11" prints "Python 3.11." python3 --version
