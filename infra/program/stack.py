"""Which components a stack has, joined by their outputs.

Owns the way from one StackConfig to resources and stack outputs. Leaves what a stack declares to `infra.model`, the
arguments of each part to the module beside it, and how one thing is made to `infra.components`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pulumi
from pulumi.runtime import config as pulumi_config

from infra.components.bucket import FleetBucket
from infra.components.federation import Federation
from infra.components.identities import Identities
from infra.components.network import Network
from infra.components.runner_pool import RunnerPool
from infra.components.secrets import Secrets
from infra.components.services import Services, ServicesArgs
from infra.model import bucket_names, federation, manifest
from infra.model.errors import ConfigError
from infra.model.schema import StackConfig
from infra.model.stack import load_stack, siblings, stack_from_pulumi
from infra.program.bucket import fleet_bucket
from infra.program.builds import BuildPlan, build_plan, declare_builds, unheard
from infra.program.cluster import declare_cluster
from infra.program.federation import federation_args
from infra.program.identities import identities_args, lent_args, secrets_args
from infra.program.network import network_args
from infra.program.pools import pool_args, pool_output
from infra.program.records import declare_records
from infra.program.registries import reaches, registries
from infra.program.results import declare_budget, declare_results
from infra.program.serving import broker_url, declare_serving, is_served, unnotified, unserved
from infra.program.store import declare_store, store_api

ROOT = Path(__file__).resolve().parents[2]


def run(root: Path = ROOT) -> None:
    """Declare the stack that the Pulumi runtime is running. What a person can mend is said without a traceback.

    root: the checkout whose other stack files the rules between stacks look at.
    """
    try:
        config = _config(root)
        elsewhere = config.registry_stack
        registry = load_stack(root, elsewhere.rpartition("/")[2]) if elsewhere else None
        plan = build_plan(root, config)
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None
    declare(config, registry=registry, plan=plan, siblings=siblings(root, config.stack))


def _config(root: Path) -> StackConfig:
    stack = pulumi.get_stack()
    # An engine that hands configuration over leaves no room for a stray PULUMI_CONFIG of the shell.
    values = pulumi_config.CONFIG.get() or pulumi_config.get_config_env()
    return stack_from_pulumi(values, project=pulumi.get_project(), stack=stack, siblings=siblings(root, stack))


def declare(
    config: StackConfig,
    *,
    registry: StackConfig | None = None,
    plan: BuildPlan | None = None,
    siblings: Sequence[StackConfig] = (),
) -> None:
    """Every resource and every output of one stack.

    registry: the stack whose repositories this one uses (`registry_stack`), None where they are its own.
    plan: the images that it builds (`tidepool:builds`), None where it builds none.
    siblings: the checkout's other stacks, whose VMs draw on the same limits.
    """
    serving = is_served(config)
    services = Services(
        "services",
        ServicesArgs(
            project=config.project,
            builds=plan is not None,
            serving=serving,
            cluster=config.cluster is not None,
            store=store_api(config),
            budget=config.budget is not None and config.budget.billing_account is not None,
        ),
    )
    ready = pulumi.ResourceOptions(depends_on=[services])
    network = Network("network", network_args(config), ready)
    sources = plan.workflow_sources if plan else ()
    github: Federation | None = None
    if config.github:
        github = Federation("federation", federation_args(config, config.github, sources), ready)
        pulumi.export("github", {"provider": github.provider, "accounts": github.emails})
    workflows = {each.key: github.member(each.key) for each in federation.workflow_accounts(config)} if github else {}
    if (lent := lent_args(config, siblings)).identities:
        others = Identities("lent", lent, ready)
        workflows = {each.key: others.member(each.key) for each in lent.identities} | workflows
    accounts = identities_args(config, siblings, workflows, serving=serving)
    identities = Identities("identities", accounts, ready)
    outside = github.member(federation.IMAGE_BUILDER[0]) if github and sources else None
    bucket = FleetBucket("bucket", fleet_bucket(config, identities, outside, workflows, siblings), ready)
    broker = broker_url(config, bucket.project_number) if serving else None
    declare_budget(config, bucket.project_number, ready)
    if config.results is not None:
        results = declare_results(config, config.results, siblings, workflows, ready)
        pulumi.export("results", {"bucket": results.bucket, "kept_days": config.results.kept_days})
    records = declare_records(config, bucket.bucket, broker, registry=registry, siblings=siblings)
    for told in filter(None, (unserved(config), unnotified(config), unheard(plan) if plan else "")):
        pulumi.warn(told)
    secrets = Secrets("secrets", secrets_args(config, identities), ready) if config.secrets else None
    if broker is not None:
        needed = [bucket, *([secrets] if secrets else [])]
        pulumi.export("serving", declare_serving(config, broker, identities.accounts, ready, needed))
    if plan is not None:
        tokens = pulumi.ResourceOptions(depends_on=[services, *([secrets] if secrets else [])])
        pulumi.export("builds", declare_builds(plan, identities.accounts, outside, ready, tokens))
    for pool in config.pools:
        RunnerPool(pool.name, pool_args(config, pool, network, identities, records), ready)
    if config.cluster is not None:
        cluster, pools, told_of_cluster = declare_cluster(config, config.cluster, identities, ready)
        pulumi.export("cluster", told_of_cluster)
        if config.queues is not None:
            # It loads pulumi_kubernetes, which other stacks do without.
            from infra.program.queues import declare_queues, unbuilt

            if lacking := unbuilt(config):
                pulumi.warn(lacking)
            store = declare_store(config, config.store, cluster, ready) if config.store else None
            told = declare_queues(config, config.cluster, config.queues, cluster, pools, store, ready)
            for name, value in told.items():
                pulumi.export(name, value)

    pulumi.export("pools", {pool.name: pool_output(config, pool) for pool in config.pools})
    pulumi.export("registries", registries(config, registry, reaches(config, identities, outside), ready))
    pulumi.export("identities", identities.emails)
    pulumi.export(
        "manifest",
        {"bucket": bucket.bucket, "object": bucket_names.manifest_object(config.stack), "version": manifest.VERSION},
    )
