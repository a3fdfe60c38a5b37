"""Pulumi components: one ComponentResource and its frozen Args a module.

`infra.program` joins them by their outputs; they never import one another.
"""
