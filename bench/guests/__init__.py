"""Simulated guests of the local cloud's VMs: each boots, registers through the real broker, takes jobs, reports.

A guest reaches what a VM reaches (its metadata server, the fleet bucket, the broker, and GitHub as a runner's program
does), and what it does there the supervisor of VMs decides, `infra.fleet.runner.supervisor`. Like the cloud it has no
thread: whoever looks at the fleet lets all guests live until now.
"""
