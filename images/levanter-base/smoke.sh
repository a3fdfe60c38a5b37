#!/bin/bash
# What must hold in the built image levanter-base, as its user and without network. Says everything that does not.
# images/steps/checks.sh comes before it: check, prints, absent, and what holds of every image.

check "has uv $UV_VERSION" prints "uv $UV_VERSION" uv --version
check "has git" command -v git
check "has no compiler" absent gcc

check "python is the environment's" prints "$UV_PROJECT_ENVIRONMENT" python -c 'import sys; print(sys.prefix)'
check "imports levanter's dependencies" env JAX_PLATFORMS=cpu python -c 'import equinox, jax, optax, transformers'
check "has libtpu" python -c 'import importlib.util; assert importlib.util.find_spec("libtpu")'
for folder in /opt/monorepo "$UV_CACHE_DIR" "$UV_PROJECT_ENVIRONMENT"; do
  check "may write $folder" test -w "$folder"
done

verdict
