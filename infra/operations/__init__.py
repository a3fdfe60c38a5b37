"""What a person or a program can ask for, as functions with typed results over ports. Nothing here prints or asks.

What reaches the local cloud of this machine is the bench's, which `infra.engines.bench` finds where that cloud is
chosen: an operation on Google Cloud loads nothing of it.
"""
