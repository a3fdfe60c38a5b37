"""The Pulumi program. `stack` is the whole of it; every other module has the arguments of one part."""
