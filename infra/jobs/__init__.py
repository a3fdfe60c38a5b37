"""Training jobs: what is asked for (`request`), how it is rendered for a backend, how it ended and why, and clients.

It contains no scheduler and no queue: JobSet restarts, Kueue admits, and this package declares, submits and explains.
It knows `infra.model` and no other room.
"""
