"""Workflow files as typed values: built, written as YAML, read back, and asked which jobs an event starts.

Owns GitHub's workflow language. Leaves what is to be tested to the specs, and the fleet to `infra.model`.
"""
