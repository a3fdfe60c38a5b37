"""Pulumi components: one ComponentResource and its frozen Args a module. `infra.program` joins them; they never import one another."""
