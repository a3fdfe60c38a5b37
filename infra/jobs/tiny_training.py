"""The smallest training that proves a machine: a two-layer network learns a curve with JAX.

It is sent to the image as text (`python -c`), so it imports nothing of this project. It ends with 1 where JAX finds
another kind of device than EXPECT_PLATFORM says, or where the loss does not fall below a tenth.
"""

from __future__ import annotations

import os
import sys

import jax  # ty: ignore[import-not-found]
import jax.numpy as jnp  # ty: ignore[import-not-found]

STEPS = int(os.environ.get("STEPS", "200"))
RATE = 0.05


def loss_of(weights, inputs, targets):
    """Mean squared error of the network."""
    hidden = jnp.tanh(inputs @ weights["in"] + weights["bias"])
    return jnp.mean((hidden @ weights["out"] - targets) ** 2)


def main() -> int:
    if "MEGASCALE_NUM_SLICES" in os.environ or int(os.environ.get("TPU_WORKER_HOSTNAMES", "").count(",")):
        jax.distributed.initialize()
    devices = jax.devices()
    print(f"{len(devices)} devices of {jax.process_count()} processes: {devices[0].platform} {devices[0].device_kind}")
    wanted = os.environ.get("EXPECT_PLATFORM")
    if wanted and devices[0].platform != wanted:
        print(f"{wanted} was expected", file=sys.stderr)
        return 1
    first, second = jax.random.split(jax.random.key(0))
    inputs = jnp.linspace(-2.0, 2.0, 64)[:, None]
    targets = jnp.sin(inputs)
    weights = {
        "in": jax.random.normal(first, (1, 32)),
        "bias": jnp.zeros(32),
        "out": jax.random.normal(second, (32, 1)) / 6,
    }
    step = jax.jit(jax.value_and_grad(loss_of))
    losses = []
    for _ in range(STEPS):
        loss, slope = step(weights, inputs, targets)
        weights = jax.tree.map(lambda weight, each: weight - RATE * each, weights, slope)
        losses.append(float(loss))
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {STEPS} steps")
    return 0 if losses[-1] < losses[0] / 10 else 1


if __name__ == "__main__":
    sys.exit(main())
