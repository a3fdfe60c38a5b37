"""What people are alerted of and look at: metrics of lines, a policy for each alert, whom it reaches, and a dashboard.

Owns the resources, and the grant by which somebody may date the app's key and not read it. Leaves which alerts there
are to `infra.model.alerts`, and what the dashboard draws to `infra.model.alerts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from infra.model import names
from infra.model.alerts import FIGURES, Alert, Match, Writer, dashboard
from infra.model.grants import DATES

CLOSED_AFTER: Final = "3600s"
"""An incident of which nothing at all is heard, such as of a pool that went, is over."""
CLOSED_LATEST: Final = "604800s"
"""The longest that there is, where hearing nothing is what is told."""

BUCKETS: Final = 16
"""A distribution must have some; what is read of it is its mean, which is exact in any."""
_NEARLY_NONE: Final = 0.01
"""Below the mean of a window's lines, fewer than a hundred whole numbers, of which one is not 0."""

_NAMED_BY: Final = {Writer.BROKER: "service_name", Writer.CONTROLLER: "job_name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringArgs:
    """writers: names of the service and the job in Cloud Run. notify: e-mail addresses.

    runbooks: the URL of the folder of runbooks, empty where no repository is known. dated: the secret whose age is
    told, and who tells it. ready: what the grant on it needs to be there. after: what is made before the policies,
    which Cloud Monitoring refuses for as long as it does not know their metrics.
    """

    project: str
    stack: str
    labels: dict[str, str]
    alerts: Sequence[Alert]
    writers: Mapping[Writer, str]
    notify: Sequence[str]
    runbooks: str
    dated: tuple[str, pulumi.Input[str]]
    ready: Sequence[pulumi.Resource]
    after: Sequence[pulumi.Resource]


class Monitoring(pulumi.ComponentResource):
    """Alerts of one stack. policies: the names that Cloud Monitoring gave them, by key."""

    policies: pulumi.Output[Mapping[str, str]]

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tidepool:monitoring:Monitoring", name, None, opts)
        secret, member = args.dated
        gcp.secretmanager.SecretIamMember(
            f"controller-dates-{secret}",
            project=args.project,
            secret_id=secret,
            role=DATES,
            member=member,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.ready)),
        )
        channels = [
            gcp.monitoring.NotificationChannel(
                f"alerts-to-{address}",
                project=args.project,
                type="email",
                display_name=f"Tidepool {args.stack}: {address}",
                labels={"email_address": address},
                user_labels=args.labels,
                opts=pulumi.ResourceOptions(parent=self),
            )
            for address in args.notify
        ]
        self.policies = pulumi.Output.all(**{alert.key: self._policy(alert, args, channels) for alert in args.alerts})
        for figure in FIGURES:
            self._metric(figure.key, figure.title, figure.match, Writer.CONTROLLER, args, by="pool", value=figure.field)
        gcp.monitoring.Dashboard(
            f"tidepool-{args.stack}",
            project=args.project,
            dashboard_json=dashboard(args.stack, args.alerts),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"policies": self.policies})

    def _policy(
        self, alert: Alert, args: MonitoringArgs, channels: Sequence[gcp.monitoring.NotificationChannel]
    ) -> pulumi.Output[str]:
        metric = self._metric(
            alert.key, alert.title, alert.match, alert.writer, args, by=alert.by, value=alert.zero or None
        )
        policy = gcp.monitoring.AlertPolicy(
            names.alert_metric(args.stack, alert.key),
            project=args.project,
            display_name=f"Tidepool {args.stack}: {alert.title}",
            combiner="OR",
            severity=alert.severity.value,
            conditions=[
                gcp.monitoring.AlertPolicyConditionArgs(
                    display_name=alert.title, condition_threshold=_threshold(alert, metric.name)
                )
            ],
            documentation=_documentation(alert, args),
            notification_channels=[channel.name for channel in channels],
            alert_strategy=gcp.monitoring.AlertPolicyAlertStrategyArgs(
                auto_close=CLOSED_LATEST if alert.missing else CLOSED_AFTER
            ),
            user_labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        return policy.name

    def _metric(
        self, key: str, title: str, match: Match, writer: Writer, args: MonitoringArgs, *, by: str, value: str | None
    ) -> gcp.logging.Metric:
        """Counts lines or, of a value, keeps its distribution: sum and count, and so the mean. by: its one label."""
        name = names.alert_metric(args.stack, key)
        label = gcp.logging.MetricMetricDescriptorLabelArgs(key=by, value_type="STRING")
        buckets = gcp.logging.MetricBucketOptionsArgs(
            exponential_buckets=gcp.logging.MetricBucketOptionsExponentialBucketsArgs(
                num_finite_buckets=BUCKETS, growth_factor=2.0, scale=1.0
            )
        )
        return gcp.logging.Metric(
            name,
            project=args.project,
            name=name,
            description=title,
            filter=_lines(match, writer, args),
            value_extractor=f"EXTRACT(jsonPayload.{value})" if value else None,
            bucket_options=buckets if value else None,
            label_extractors={by: f"EXTRACT(jsonPayload.{by})"} if by else None,
            metric_descriptor=gcp.logging.MetricMetricDescriptorArgs(
                metric_kind="DELTA",
                value_type="DISTRIBUTION" if value else "INT64",
                unit="1",
                labels=[label] if by else None,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )


def _documentation(alert: Alert, args: MonitoringArgs) -> gcp.monitoring.AlertPolicyDocumentationArgs:
    """What a mail says: what is so, the first command, and the page. Cloud Monitoring puts the label's value in.

    Source: docs.cloud.google.com/monitoring/alerts/doc-variables, read 2026-11.
    """
    path = f"docs/runbooks/{alert.key}.md"
    of = f"${{metric.label.{alert.by}}}" if alert.by else ""
    told = f"Tidepool {args.stack}: {alert.title}" + (f": {of}" if of else "")
    url = args.runbooks + f"{alert.key}.md" if args.runbooks else ""
    link = gcp.monitoring.AlertPolicyDocumentationLinkArgs(display_name="Runbook", url=url)
    return gcp.monitoring.AlertPolicyDocumentationArgs(
        subject=told,
        content=f"{told}\n\nLook first: `{alert.command(args.stack, of)}`\n\n"
        f"What to look at and what to do: {f'[{path}]({url})' if url else path}",
        mime_type="text/markdown",
        links=[link] if url else None,
    )


def _threshold(alert: Alert, metric: pulumi.Input[str]) -> gcp.monitoring.AlertPolicyConditionConditionThresholdArgs:
    """Of all instances and executions, over one window that slides by the minute."""
    of_what = pulumi.Output.concat(
        'metric.type="logging.googleapis.com/user/', metric, f'" AND resource.type="{alert.writer.resource}"'
    )
    comparison, value = _limit(alert)
    return gcp.monitoring.AlertPolicyConditionConditionThresholdArgs(
        filter=of_what,
        comparison=comparison,
        threshold_value=value,
        duration=f"{60 * alert.lasting}s",
        evaluation_missing_data=_unheard(alert),
        aggregations=[
            gcp.monitoring.AlertPolicyConditionConditionThresholdAggregationArgs(
                alignment_period=f"{60 * alert.window}s",
                per_series_aligner="ALIGN_DELTA" if alert.zero else "ALIGN_SUM",
                cross_series_reducer="REDUCE_MEAN" if alert.zero else "REDUCE_SUM",
                group_by_fields=[f"metric.label.{alert.by}"] if alert.by else None,
            )
        ],
        trigger=gcp.monitoring.AlertPolicyConditionConditionThresholdTriggerArgs(count=1),
    )


def _limit(alert: Alert) -> tuple[str, float]:
    if alert.zero:
        return "COMPARISON_LT", _NEARLY_NONE
    return ("COMPARISON_LT", 1) if alert.missing else ("COMPARISON_GT", alert.above)


def _unheard(alert: Alert) -> str | None:
    """What a window without a line means: the alert itself, that it is over, or, of a number, nothing."""
    if alert.zero:
        return None
    return "EVALUATION_MISSING_DATA_ACTIVE" if alert.missing else "EVALUATION_MISSING_DATA_INACTIVE"


def _lines(match: Match, writer: Writer, args: MonitoringArgs) -> str:
    """The filter of lines of one service or job, and of no other stack's."""
    name = f'resource.labels.{_NAMED_BY[writer]}="{args.writers[writer]}"'
    return f'resource.type="{writer.resource}" AND {name} AND {match.text()}'
