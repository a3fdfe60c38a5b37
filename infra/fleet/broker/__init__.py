"""The token broker: it gives a TPU VM a runner registration for one job against the VM's Google identity.

No VM ever holds a credential of GitHub. docs/broker.md has the protocol, every refusal and the threats considered.
"""
