"""Builds on this machine: a build config run step by step, and images built from their recipes."""
