"""What Google's provider refuses before any call: forms of one value, and properties that do not go together.

The table of types names these functions. One that takes a value or a resource's values returns what is wrong with them,
None where nothing is. Does not own which values a property chooses from, nor how many of a block are given (`fields`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, Final

from bench.engine.provider import UNKNOWN
from bench.providers.google.fields import Rule

# Forms of a text


def shaped(pattern: str, form: str) -> Rule:
    """A text must match the whole pattern; `form` says so in words."""
    compiled = re.compile(pattern)
    return lambda value: None if compiled.fullmatch(value) else f"{value!r} is not {form}"


is_compute_name = shaped(
    r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?", "1 to 63 lower-case letters, digits and dashes, a letter first, no dash last"
)
is_nat_name = shaped(
    r"[a-z][-a-z0-9]{0,61}[a-z0-9]", "2 to 63 lower-case letters, digits and dashes, a letter first, no dash last"
)
is_cluster_name = shaped(
    r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?",
    "1 to 40 lower-case letters, digits and dashes, a letter first, no dash last",
)
is_account_id = shaped(
    r"[a-z][-a-z0-9]{4,28}[a-z0-9]", "6 to 30 lower-case letters, digits and dashes, a letter first, no dash last"
)
is_account_name = shaped(r"projects/[^/]+/serviceAccounts/[^/]+@[^/]+", "projects/PROJECT/serviceAccounts/EMAIL")
is_short = shaped(r"(?s).{0,256}", "at most 256 characters")
is_seconds = shaped(r"[0-9]+(\.[0-9]{1,9})?s", "seconds with an s, such as 600s or 3.5s")
is_federation_id = shaped(
    r"(?!gcp-)[a-z0-9-]{4,32}", "4 to 32 lower-case letters, digits and dashes, and does not start with gcp-"
)


def is_federation_pool(value: str) -> str | None:
    """Google's own pools are named by a project, which is judged alone."""
    return is_federation_id(value.removesuffix(".svc.id.goog"))


_EVERYONE = ("allUsers", "allAuthenticatedUsers", "projectOwners", "projectReaders", "projectWriters")


def is_member(value: str) -> str | None:
    """As lax as Google's provider: what no service knows is for the service to refuse."""
    if value.startswith("deleted"):
        return f"{value!r} is an account that was deleted; it cannot be granted anything"
    if re.search(".+:.+", value) or any(each in value for each in _EVERYONE):
        return None
    return f"{value!r} is not a member such as serviceAccount:EMAIL or allUsers"


def is_service(value: str) -> str | None:
    if value == "bigquery-json.googleapis.com":
        return f"{value!r} was renamed; name bigquery.googleapis.com"
    return None if "." in value else f"{value!r} is not an API's name, which contains a dot"


def is_ip_range(value: str) -> str | None:
    """A range may be named by any address in it."""
    try:
        ip_network(value, strict=False)
    except ValueError:
        return f"{value!r} is not an IP range in CIDR form"
    return None if "/" in value else f"{value!r} is not an IP range in CIDR form: it has no prefix length"


_SHORTEST_ROTATION = 86400


def is_rotation(value: str) -> str | None:
    seconds = value.removesuffix("s")
    if value != seconds and seconds.replace(".", "", 1).isdigit() and float(seconds) >= _SHORTEST_ROTATION:
        return None
    return f"{value!r} is not a number of seconds with an s, at least {_SHORTEST_ROTATION}s"


def is_redis_name(value: str) -> str | None:
    if re.fullmatch(r"[a-z][a-z0-9-]{0,39}[a-z0-9]", value):
        return None
    return f"{value!r} is not 2 to 41 lower-case letters, digits and hyphens, a letter first, no hyphen last"


def is_base64(value: str) -> str | None:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        return "not in base64, as the service takes it"
    return None


def is_json(value: str) -> str | None:
    try:
        json.loads(value)
    except ValueError as error:
        return f"not JSON: {error}"
    return None


# Other values


def is_boot_disk_size(size: int) -> str | None:
    return None if size >= 10 else f"expected at least 10, got {size}"


def is_private_asn(asn: int) -> str | None:
    """RFC 6996, and Google's own for Partner Interconnect."""
    private = 64512 <= asn <= 65534 or 4200000000 <= asn <= 4294967294 or asn == 16550
    return None if private else f"{asn} is not a private ASN (64512 to 65534, 4200000000 to 4294967294) nor 16550"


def is_priority(value: int) -> str | None:
    return None if 0 <= value <= 65535 else f"expected 0 to 65535, got {value}"


def deletes_no_routes(wanted: bool) -> str | None:
    """Routes are no part of what the local cloud serves."""
    return "the embedded provider does not delete routes; leave it out" if wanted else None


def chooses_no_path(wanted: bool) -> str | None:
    return "the embedded provider has no choice of BGP paths; leave it out" if wanted else None


def are_labels(labels: dict[str, str]) -> str | None:
    wrong = sorted(key for key in labels if not re.fullmatch("[a-z0-9_-]{1,63}", key))
    return f"label keys are 1 to 63 lower-case letters, digits, _ and -: {', '.join(wrong)}" if wrong else None


def are_headers(headers: dict[str, str]) -> str | None:
    wrong = sorted(key for key in headers if key == "Content-Length" or re.search("X-Google-|X-AppEngine-", key))
    return f"Cloud Scheduler sets {', '.join(wrong)} itself" if wrong else None


# Values of a resource together


def has_a_source(values: Mapping[str, Any]) -> str | None:
    """Traffic that comes in comes from somewhere."""
    direction = values.get("direction")
    sources = ("sourceTags", "sourceRanges", "sourceServiceAccounts")
    if direction is UNKNOWN or direction == "EGRESS" or any(values.get(name) for name in sources):
        return None
    return "one of source_tags, source_ranges, or source_service_accounts must be defined"


def logs_what_it_describes(values: Mapping[str, Any]) -> str | None:
    if values.get("enableLogging") is False and "logConfig" in values:
        return "log_config cannot be defined when enable_logging is false"
    return None


def adverts_are_custom(values: Mapping[str, Any]) -> str | None:
    bgp = values.get("bgp")
    if isinstance(bgp, Mapping) and bgp.get("advertiseMode") == "DEFAULT":
        for name, said in (("advertisedGroups", "advertised_groups"), ("advertisedIpRanges", "advertised_ip_ranges")):
            if bgp.get(name):
                return f"Error in bgp: {said} cannot be specified when using advertise_mode DEFAULT"
    return None


def has_one_token(values: Mapping[str, Any]) -> str | None:
    target = values.get("httpTarget")
    if not isinstance(target, Mapping) or not {"oauthToken", "oidcToken"} <= target.keys():
        return None
    return "Error in http_target: only one of oauth_token or oidc_token can be specified, but not both."


_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(rf"(\d+\.?\d*|\.\d+)({'|'.join(_SECONDS)})")
_DURATION: Final = re.compile(rf"[-+]?(?:0|(?:{_PART.pattern})+)")


def steps_fit_into_the_build(values: Mapping[str, Any]) -> str | None:
    """Google's provider refuses a build whose steps could take longer than all of it, side by side or not."""
    build = values.get("build")
    if not isinstance(build, Mapping) or not isinstance(build.get("steps"), list):
        return None
    steps = [step.get("timeout") for step in build["steps"] if isinstance(step, Mapping)]
    allowed = build.get("timeout", "600s")
    try:
        whole = _seconds("build timeout", allowed)
        total = sum(_seconds("build step timeout", each) for each in steps if each and each is not UNKNOWN)
    except ValueError as error:
        return str(error)
    if allowed is UNKNOWN or total <= whole:
        return None
    return f"Step timeout sum ({_as_go(total)}) cannot be greater than build timeout ({_as_go(whole)})"


def _seconds(subject: str, duration: Any) -> float:
    """Of a duration as Go writes it (`1h30m`, `600s`). Raises ValueError."""
    if duration is UNKNOWN:
        return 0.0
    if not _DURATION.fullmatch(duration):
        raise ValueError(f"Error parsing {subject}: {duration!r} is not a duration such as 600s or 10m")
    sign = -1 if duration.startswith("-") else 1
    return sign * sum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(duration))


def _as_go(seconds: float) -> str:
    """`9h30m0s`, `10m0s`, `30s`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}h{minutes}m{rest:g}s" if hours else f"{minutes}m{rest:g}s" if minutes else f"{rest:g}s"
