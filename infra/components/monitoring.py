"""What people are alerted of and look at: metrics of lines, a policy for each alert, whom it reaches, and a dashboard.

Owns the resources. Leaves which alerts there are to `infra.model.alerts`, and that somebody may date the app's key, and
not read it, to the grant that stands here beside the alert of it. Nothing is kept in any of them but what is declared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_gcp as gcp

from infra.model import names
from infra.model.alerts import FIGURES, Alert, Figure, Match, Writer

DATES: Final = "roles/secretmanager.viewer"
"""Seeing a secret and when its versions were made, and none of their values."""

COLUMNS: Final = 12
CHART_WIDTH, CHART_HEIGHT = 6, 4
"""Of the dashboard, in its columns."""

CLOSED_AFTER: Final = "3600s"
"""An alert whose lines have ended is over."""

_SERIES: Final = {Writer.BROKER: "cloud_run_revision", Writer.CONTROLLER: "cloud_run_job"}
_NAMED_BY: Final = {Writer.BROKER: "service_name", Writer.CONTROLLER: "job_name"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringArgs:
    """writers: names of the service and the job in Cloud Run. notify: e-mail addresses.

    runbooks: the URL of the folder of runbooks, empty where no repository is known. dated: the secret whose age is
    told, and who tells it. ready: what the grant on it needs to be there.
    """

    project: str
    stack: str
    labels: dict[str, str]
    alerts: Sequence[Alert]
    writers: Mapping[Writer, pulumi.Input[str]]
    notify: Sequence[str]
    runbooks: str
    dated: tuple[str, pulumi.Input[str]]
    ready: Sequence[pulumi.Resource]


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
            self._figure(figure, args)
        gcp.monitoring.Dashboard(
            f"tidepool-{args.stack}",
            project=args.project,
            dashboard_json=json.dumps(_dashboard(args), sort_keys=True),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"policies": self.policies})

    def _policy(
        self, alert: Alert, args: MonitoringArgs, channels: Sequence[gcp.monitoring.NotificationChannel]
    ) -> pulumi.Output[str]:
        metric = self._metric(alert, args)
        page = f"{alert.key}.md"
        policy = gcp.monitoring.AlertPolicy(
            names.alert_metric(args.stack, alert.key),
            project=args.project,
            display_name=f"Tidepool {args.stack}: {alert.title}",
            combiner="OR",
            severity=alert.severity.value,
            conditions=[
                gcp.monitoring.AlertPolicyConditionArgs(
                    display_name=alert.title, condition_threshold=self._threshold(alert, metric.name)
                )
            ],
            documentation=gcp.monitoring.AlertPolicyDocumentationArgs(
                subject=f"Tidepool {args.stack}: {alert.title}",
                content=f"What to look at and what to do: docs/runbooks/{page}",
                mime_type="text/markdown",
                links=[
                    gcp.monitoring.AlertPolicyDocumentationLinkArgs(display_name="Runbook", url=args.runbooks + page)
                ]
                if args.runbooks
                else None,
            ),
            notification_channels=[channel.name for channel in channels],
            alert_strategy=gcp.monitoring.AlertPolicyAlertStrategyArgs(auto_close=CLOSED_AFTER),
            user_labels=args.labels,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return policy.name

    def _metric(self, alert: Alert, args: MonitoringArgs) -> gcp.logging.Metric:
        """Its label is the one field that tells incidents apart."""
        name = names.alert_metric(args.stack, alert.key)
        label = gcp.logging.MetricMetricDescriptorLabelArgs(key=alert.by, value_type="STRING")
        return gcp.logging.Metric(
            name,
            project=args.project,
            name=name,
            description=alert.title,
            filter=_lines(alert.match, alert.writer, args),
            label_extractors={alert.by: f"EXTRACT(jsonPayload.{alert.by})"} if alert.by else None,
            metric_descriptor=gcp.logging.MetricMetricDescriptorArgs(
                metric_kind="DELTA", value_type="INT64", unit="1", labels=[label] if alert.by else None
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _figure(self, figure: Figure, args: MonitoringArgs) -> None:
        """A distribution keeps sum and count, so that the mean of one sweep's line is the number that it says."""
        name = names.alert_metric(args.stack, figure.key)
        gcp.logging.Metric(
            name,
            project=args.project,
            name=name,
            description=figure.title,
            filter=_lines(figure.match, Writer.CONTROLLER, args),
            value_extractor=f"EXTRACT(jsonPayload.{figure.field})",
            label_extractors={"pool": "EXTRACT(jsonPayload.pool)"},
            metric_descriptor=gcp.logging.MetricMetricDescriptorArgs(
                metric_kind="DELTA",
                value_type="DISTRIBUTION",
                unit="1",
                labels=[gcp.logging.MetricMetricDescriptorLabelArgs(key="pool", value_type="STRING")],
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _threshold(
        self, alert: Alert, metric: pulumi.Input[str]
    ) -> gcp.monitoring.AlertPolicyConditionConditionThresholdArgs:
        """Counts of one window, of all instances and executions. Where lines are missed, no data counts as none."""
        of_what = pulumi.Output.concat(
            'metric.type="logging.googleapis.com/user/', metric, f'" AND resource.type="{_SERIES[alert.writer]}"'
        )
        return gcp.monitoring.AlertPolicyConditionConditionThresholdArgs(
            filter=of_what,
            comparison="COMPARISON_LT" if alert.missing else "COMPARISON_GT",
            threshold_value=1 if alert.missing else alert.above,
            duration=f"{60 * alert.lasting}s",
            evaluation_missing_data="EVALUATION_MISSING_DATA_ACTIVE" if alert.missing else None,
            aggregations=[
                gcp.monitoring.AlertPolicyConditionConditionThresholdAggregationArgs(
                    alignment_period=f"{60 * alert.window}s",
                    per_series_aligner="ALIGN_SUM",
                    cross_series_reducer="REDUCE_SUM",
                    group_by_fields=[f"metric.label.{alert.by}"] if alert.by else None,
                )
            ],
            trigger=gcp.monitoring.AlertPolicyConditionConditionThresholdTriggerArgs(count=1),
        )


def _lines(match: Match, writer: Writer, args: MonitoringArgs) -> pulumi.Output[str]:
    """The filter of lines of one service or job, and of no other stack's."""
    return pulumi.Output.concat(
        f'resource.type="{_SERIES[writer]}" AND resource.labels.{_NAMED_BY[writer]}="',
        args.writers[writer],
        f'" AND {match.text()}',
    )


def _dashboard(args: MonitoringArgs) -> dict[str, Any]:
    """One chart a figure, a line a pool. Places that are 0 are left out, as the service leaves them out."""
    across = COLUMNS // CHART_WIDTH
    tiles = [
        {
            **{key: value for key, value in _place(number, across).items() if value},
            "width": CHART_WIDTH,
            "height": CHART_HEIGHT,
            "widget": _chart(figure, args),
        }
        for number, figure in enumerate(FIGURES)
    ]
    return {"displayName": f"Tidepool {args.stack}", "mosaicLayout": {"columns": COLUMNS, "tiles": tiles}}


def _place(number: int, across: int) -> dict[str, int]:
    return {"xPos": number % across * CHART_WIDTH, "yPos": number // across * CHART_HEIGHT}


def _chart(figure: Figure, args: MonitoringArgs) -> dict[str, Any]:
    metric = f'metric.type="logging.googleapis.com/user/{names.alert_metric(args.stack, figure.key)}"'
    query = {
        "filter": f'{metric} AND resource.type="{_SERIES[Writer.CONTROLLER]}"',
        "aggregation": {
            "alignmentPeriod": "300s",
            "perSeriesAligner": "ALIGN_DELTA",
            "crossSeriesReducer": "REDUCE_MEAN",
            "groupByFields": ["metric.label.pool"],
        },
    }
    return {
        "title": figure.title,
        "xyChart": {"dataSets": [{"plotType": "LINE", "timeSeriesQuery": {"timeSeriesFilter": query}}]},
    }
