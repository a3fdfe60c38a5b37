"""Why something is as it is: what a name means, and how what it names stands. Nothing is changed.

`answer.why` finds what a name is (`find`) and asks whoever knows of it: `fleets` of pools, zones and VMs, `runs`,
`infra.operations.stacks.work` of what stands in a cluster, `infra.operations.jobs` of training jobs.
"""
