#!/bin/bash
# What must hold in the built image cluster, as its user and without network. Says everything that does not.
# images/steps/checks.sh comes before it: check, prints, absent, and what holds of every image.

check "has uv $UV_VERSION" prints "uv $UV_VERSION" uv --version
check "gcloud starts" prints "Google Cloud SDK" gcloud version
for tool in clang cmake curl g++ gcc git make rsync ssh tmux; do
  check "has $tool" command -v "$tool"
done
check "has jemalloc" test -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
check "has no docker" absent docker

check "python is the environment's" prints "$UV_PROJECT_ENVIRONMENT" python -c 'import sys; print(sys.prefix)'
check "imports marin's dependencies" env JAX_PLATFORMS=cpu python -c 'import datasets, gcsfs, jax, pandas, transformers'
check "has libtpu" python -c 'import importlib.util; assert importlib.util.find_spec("libtpu")'
check "may write /opt/marin" test -w /opt/marin

verdict
