"""Simulated guests of the local cloud's VMs: each boots, registers through the real broker, takes jobs, reports.

A guest is a client of what a VM reaches (its metadata server, the fleet bucket, the broker, and GitHub as a runner's
program does) and takes the decisions of `infra/fleet/runner/supervisor.sh`. Like the cloud it has no thread: whoever
looks at the fleet lets all guests live until now.
"""
