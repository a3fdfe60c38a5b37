"""All that drives the local cloud of this machine; the one room of operations that imports `infra.local`."""
