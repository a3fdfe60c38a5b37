#!/bin/bash
# What must hold in the built image levanter-incremental, as its user and without network. Says everything that does not.
# images/steps/checks.sh comes before it: check, prints, absent, and what holds of every image.

check "has uv $UV_VERSION" prints "uv $UV_VERSION" uv --version

check "python is the environment's" prints "$UV_PROJECT_ENVIRONMENT" python -c 'import sys; print(sys.prefix)'
check "imports levanter, haliax and their dependencies" \
  env JAX_PLATFORMS=cpu python -c 'import equinox, haliax, jax, levanter, optax'
check "starts: python -m levanter.main.train_lm" \
  env JAX_PLATFORMS=cpu python -c 'import importlib.util; assert importlib.util.find_spec("levanter.main.train_lm")'
check "has libtpu" python -c 'import importlib.util; assert importlib.util.find_spec("libtpu")'
check "works in levanter's folder" test -s pyproject.toml

verdict
