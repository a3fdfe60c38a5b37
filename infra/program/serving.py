"""The broker and the controller of a stack and the alerts on them: when they are declared, and with which settings.

Owns that neither is declared before there is an image to run and an app to register through: a placeholder would be a
stranger's code with the fleet's identities, and an image that the program does not know could not be reviewed, undone
by a revert, or seen in a plan. Both names are in the stack file, so a new image is an edit like any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_gcp as gcp

from infra.components.broker import Broker, BrokerArgs
from infra.components.controller import Controller, ControllerArgs
from infra.components.monitoring import Monitoring, MonitoringArgs
from infra.model import names
from infra.model.alerts import Writer, alerts
from infra.model.schema import App, StackConfig
from infra.program.shared import CLOCK, grantee, labels, pool_key


def is_served(config: StackConfig) -> bool:
    """Whether the stack declares its broker and controller."""
    return config.controller.image is not None


def unserved(config: StackConfig) -> str:
    """What a person is told of a fleet that nobody keeps, and what is next; empty where nothing is to be told."""
    if is_served(config) or not any(pool.most for pool in config.pools):
        return ""
    missing = ["tidepool:runners.app"] if config.runners.app is None else []
    missing.append("tidepool:controller.image")
    return (
        f"No broker and no controller is declared, so on Google Cloud no runner registers and nothing heals: "
        f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing. Next: docs/serving.md"
    )


def unnotified(config: StackConfig) -> str:
    """What a person is told whose alerts reach nobody; empty where nothing is to be told."""
    if not is_served(config) or config.controller.notify:
        return ""
    return (
        "Alerts are declared and reach nobody: tidepool:controller.notify names no address, so that they are seen in "
        "Cloud Monitoring alone. Next: docs/serving.md#alerts"
    )


def broker_url(config: StackConfig, project_number: pulumi.Output[str]) -> pulumi.Output[str]:
    """Where VMs reach a served stack's broker, which is the audience of their tokens: known before the service is made.

    Cloud Run has this address for every service, beside the one that it makes up (read 2026-11-22:
    https://cloud.google.com/run/docs/triggering/https-request#deterministic).

    project_number: a resource's output and not looked up: Google's provider asks for the billing of a project as well.
    """
    service, region = names.broker_service(config.stack), config.controller.region
    return pulumi.Output.concat("https://", service, "-", project_number, ".", region or "", ".run.app")


def declare_serving(
    config: StackConfig,
    url: pulumi.Output[str],
    accounts: Mapping[str, gcp.serviceaccount.Account],
    ready: pulumi.ResourceOptions,
    needed: Sequence[pulumi.Resource],
) -> dict[str, pulumi.Input[Any]]:
    """Declare them, and return what the stack says of them.

    url: where VMs reach the broker. accounts: by key. needed: what both find at their start.
    """
    settings, app = config.controller, config.runners.app
    if settings.image is None or settings.region is None or app is None:
        raise ValueError("an image comes with a region and an app, which the stack file's rules see to")
    pools = {grantee(pool_key(pool)): accounts[pool_key(pool)] for pool in config.pools}
    service, job = names.broker_service(config.stack), names.controller_job(config.stack)
    broker = Broker(
        "broker",
        BrokerArgs(
            project=config.project,
            region=settings.region,
            name=service,
            labels=labels(config),
            url=url,
            image=settings.image,
            arguments=("broker", "serve", config.stack, "--cloud", "google", "--host", "0.0.0.0", "--json"),  # noqa: S104
            environment=_settings(config, app, url),
            account=accounts["broker"],
            callers={
                "controller": accounts["controller"].member,
                **{who: account.member for who, account in pools.items()},
            },
            ready=needed,
        ),
        ready,
    )
    controller = Controller(
        "controller",
        ControllerArgs(
            project=config.project,
            region=settings.region,
            name=job,
            labels=labels(config),
            image=settings.image,
            arguments=("reconcile", config.stack, "--cloud", "google", "--yes", "--log", "json"),
            environment={
                **_place(config),
                "TIDEPOOL_BROKER": url,
                **_key(config, app),
                **({"TIDEPOOL_BUILDS": "true"} if config.builds else {}),
            },
            every_minutes=settings.every_minutes,
            account=accounts["controller"],
            clock=accounts[CLOCK],
            pools=pools,
            ready=needed,
        ),
        ready,
    )
    monitoring = Monitoring(
        "monitoring",
        MonitoringArgs(
            project=config.project,
            stack=config.stack,
            labels=labels(config),
            alerts=alerts(config),
            writers={Writer.BROKER: service, Writer.CONTROLLER: job},
            notify=settings.notify,
            runbooks=f"https://github.com/{config.github.repository}/blob/main/docs/runbooks/" if config.github else "",
            dated=(app.key_secret, accounts["controller"].member),
            ready=needed,
            after=[broker, controller],
        ),
        ready,
    )
    return {
        "broker": broker.url,
        "controller": controller.job,
        "region": settings.region,
        "alerts": monitoring.policies,
    }


def _settings(config: StackConfig, app: App, url: pulumi.Input[str]) -> dict[str, pulumi.Input[str]]:
    """The broker's environment, as docs/broker.md has it."""
    groups = {trust.value: group for trust, group in (config.runners.groups or {}).items()}
    return {
        "TIDEPOOL_BROKER_AUDIENCE": url,
        **_place(config),
        "TIDEPOOL_GITHUB_APP": str(app.id),
        "TIDEPOOL_GITHUB_INSTALLATION": str(app.installation),
        **_key(config, app),
        **({"TIDEPOOL_GITHUB_GROUPS": json.dumps(groups, sort_keys=True)} if groups else {}),
    }


def _key(config: StackConfig, app: App) -> dict[str, str]:
    """Which version the app's key is: the broker reads it, the controller asks how old it is."""
    return {"TIDEPOOL_GITHUB_KEY_SECRET": f"projects/{config.project}/secrets/{app.key_secret}/versions/latest"}


def _place(config: StackConfig) -> dict[str, str]:
    """Where the fleet is, so that neither needs a stack file: its image may be older than an edit."""
    return {"TIDEPOOL_PROJECT": config.project, "TIDEPOOL_BUCKET": config.bucket.name}
