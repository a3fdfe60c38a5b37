"""The refusal of a request by a quota of requests a minute, which is another one than that of chips that are used up.

Owns its words and details, by which clients tell the two apart: this one is over when the minute is. Sources:
cloud.google.com/apis/design/errors#error_info, cloud.google.com/docs/quotas/troubleshoot and, of Compute Engine's 403,
cloud.google.com/compute/api-quota. Read 2026-11.
"""

from __future__ import annotations

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.discovery import Method
from infra.local.cloud.errors import ApiError
from infra.local.cloud.faults import Rule, Target

_MINUTE = 60.0
_HELP = "https://cloud.google.com/docs/quotas/help/request_increase"


def exceeded(cloud: Cloud, method: Method, target: Target, rule: Rule) -> ApiError:
    """What Google answers to a request above the rate of a rule."""
    host = f"{method.api.service}.googleapis.com"
    verb, word = ("read", "Read") if method.verb == "GET" else ("write", "Write")
    number = cloud.project(target.project).number if target.project else 0
    place = "PerProject" if rule.zone == "*" else "PerProjectPerRegion"
    text = rule.message or (
        f"Quota exceeded for quota metric '{word} requests' and limit '{word} requests per minute' of service "
        f"'{host}' for consumer 'project_number:{number}'."
    )
    metadata = {
        "service": host,
        "consumer": f"projects/{number}",
        "quota_metric": f"{host}/{verb}_requests",
        "quota_limit": f"{word}RequestsPerMinute{place}",
        "quota_limit_value": str(rule.per_minute),
        "quota_location": target.zone or "global",
        "quota_unit": "1/min/{project}" if rule.zone == "*" else "1/min/{project}/{region}",
    }
    reason = {"reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com", "metadata": metadata}
    wait = f"{_MINUTE - cloud.now % _MINUTE:.3f}s"
    return ApiError(
        403 if method.api.service == "compute" else 429,
        text,
        details=[
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", **reason},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait},
            {
                "@type": "type.googleapis.com/google.rpc.Help",
                "links": [{"description": "Request a higher quota limit.", "url": _HELP}],
            },
        ],
        reason="rateLimitExceeded",
        domain="usageLimits",
    )
