#!/bin/bash
# What must hold in the built image tpu-ci, as its user and without network. Says everything that does not.
# images/steps/checks.sh comes before it: check, prints, absent, and what holds of every image.

check "has uv $UV_VERSION" prints "uv $UV_VERSION" uv --version
check "has node $NODE_VERSION" prints "v$NODE_VERSION" node --version
check "has GitHub's runner ${GITHUB_RUNNER_VERSION:=of a stated version}" \
  prints "$GITHUB_RUNNER_VERSION" /opt/actions-runner/bin/Runner.Listener --version
for tool in cmake curl g++ gcc git jq make npm npx pkg-config ssh unzip xz zip; do
  check "has $tool" command -v "$tool"
done

check "starts: /opt/actions-runner/run.sh" test -x /opt/actions-runner/run.sh
for folder in /opt/actions-runner /workspace "$UV_CACHE_DIR" "$UV_PROJECT_ENVIRONMENT"; do
  check "may write $folder" test -w "$folder"
done

# As a job does it: an environment from the lock, out of the image's cache alone.
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
for package in levanter marin; do
  check "the cache holds the test dependencies of $package" \
    env UV_PROJECT_ENVIRONMENT="$environment/$package" uv sync --quiet --offline --frozen --no-install-workspace \
    --directory "/opt/monorepo/lib/$package" --extra tpu --group test
  check "the test dependencies of $package import: jax, pytest" \
    env JAX_PLATFORMS=cpu "$environment/$package/bin/python" -c 'import jax, pytest; jax.devices()'
  check "the test dependencies of $package have libtpu" \
    "$environment/$package/bin/python" -c 'import importlib.util; assert importlib.util.find_spec("libtpu")'
  rm -rf "${environment:?}/$package"
done

# As a run with another release of jax does it, which asks for the newest of all else that this release takes.
for release in 0.6.2 0.7.2 0.8.0; do
  check "the cache holds jax $release and its libtpu" \
    uv run --quiet --offline --no-project --no-managed-python --with "jax[tpu]==$release" \
    python3 -c "import jax, importlib.util; assert jax.__version__ == '$release' and importlib.util.find_spec('libtpu')"
done

verdict
