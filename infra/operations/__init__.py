"""What a person or a program can ask for, as functions with typed results over ports. Nothing here prints or asks.

Whatever reaches the local cloud of this machine is in `infra.operations.local`, which is imported where that cloud is
the chosen one: an operation on Google Cloud loads nothing of `infra.local`.
"""
