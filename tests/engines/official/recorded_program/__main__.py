"""A network, an account and a pool of VMs, small enough to read what the CLI says of them."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

PROJECT = "hai-gcp-models"
ZONE = "us-west4-a"

config = pulumi.Config()
count = config.require_int("count")

network = gcp.compute.Network(
    "runners", name="runners", project=PROJECT, auto_create_subnetworks=False, opts=pulumi.ResourceOptions(protect=True)
)
pool = pulumi.ComponentResource("tidepool:runners:Pool", "tpu-ci")
below = pulumi.ResourceOptions(parent=pool, delete_before_replace=True)
account = gcp.serviceaccount.Account("tpu-ci-vm", account_id="tpu-ci-vm", project=PROJECT, opts=below)
for index in range(count):
    name = f"tpu-ci-{ZONE}-{index}"
    gcp.tpu.V2Vm(
        name,
        name=name,
        project=PROJECT,
        zone=ZONE,
        accelerator_type="v5litepod-4",
        runtime_version=config.require("runtime"),
        labels={"tidepool-pool": "tpu-ci", "owner": config.require("owner")},
        metadata={"startup-script": "#!/bin/sh\n", "token": pulumi.Output.secret("a word")},
        network_config=gcp.tpu.V2VmNetworkConfigArgs(network=network.id),
        service_account=gcp.tpu.V2VmServiceAccountArgs(email=account.email),
        opts=below,
    )
pool.register_outputs({"vms": count})
pulumi.export("pools", {"tpu-ci": count})
pulumi.export("key", pulumi.Output.secret("another word"))
if config.get_bool("boom"):
    raise ValueError("boom")
