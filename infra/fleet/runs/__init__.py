"""VMs for one run: made, given a command, followed, and deleted whatever happens; and the program that they run.

`run` does it over ports, `decide` says what follows, `cloud` is the ports on Google, `guest` is what the VM runs.
"""
