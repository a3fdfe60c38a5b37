#!/bin/bash
# What must hold in the built image levanter-cluster, as its user and without network. Says everything that does not.
# shellcheck disable=SC2329 # prints and absent are called by check
set -uo pipefail

failed=0
# check WHAT COMMAND...
check() {
  if ! "${@:2}" </dev/null >/dev/null; then
    echo "smoke test of levanter-cluster failed: $1" >&2
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
check "gcloud starts" prints "Google Cloud SDK" gcloud version
for tool in cmake curl g++ gpg rsync screen ssh tmux wget; do
  check "has $tool" command -v "$tool"
done
check "has jemalloc" test -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
check "has no docker" absent docker

check "python is the environment's" prints "$UV_PROJECT_ENVIRONMENT" python -c 'import sys; print(sys.prefix)'
check "imports levanter's dependencies" env JAX_PLATFORMS=cpu python -c 'import equinox, jax, optax, transformers'
check "has libtpu" python -c 'import importlib.util; assert importlib.util.find_spec("libtpu")'

exit "$failed"
