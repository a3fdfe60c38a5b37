"""Facts, typed configuration and pure derivations. Knows nothing of Pulumi, clouds or terminals."""
