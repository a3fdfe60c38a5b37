#!/bin/bash
# What must hold in the built image levanter-incremental, as its user and without network. Says everything that does not.
# shellcheck disable=SC2329 # prints and absent are called by check
set -uo pipefail

failed=0
# check WHAT COMMAND...
check() {
  if ! "${@:2}" </dev/null >/dev/null; then
    echo "smoke test of levanter-incremental failed: $1" >&2
    failed=1
  fi
}
# prints WANTED COMMAND...: the command's output has WANTED in it.
prints() { [[ $("${@:2}" 2>&1) == *"$1"* ]]; }
absent() { ! command -v "$1"; }

check "runs as uid 1000, gid 1000" test "$(id -u):$(id -g)" = 1000:1000
check "has no sudo" absent sudo
check "has Python 3.11" prints "Python 3.11." python3 --version
check "has uv $UV_VERSION" prints "uv $UV_VERSION" uv --version

check "python is the environment's" prints "$UV_PROJECT_ENVIRONMENT" python -c 'import sys; print(sys.prefix)'
check "imports levanter, haliax and their dependencies" \
  env JAX_PLATFORMS=cpu python -c 'import equinox, haliax, jax, levanter, optax'
check "starts: python -m levanter.main.train_lm" \
  env JAX_PLATFORMS=cpu python -c 'import importlib.util; assert importlib.util.find_spec("levanter.main.train_lm")'
check "has libtpu" python -c 'import importlib.util; assert importlib.util.find_spec("libtpu")'
check "works in levanter's folder" test -s pyproject.toml

exit "$failed"
