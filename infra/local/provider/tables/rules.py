"""Forms of values that Google's provider tests before any call, and spellings that it holds equal."""

from __future__ import annotations

import re
from ipaddress import ip_network

from infra.local.provider.fields import Rule
from infra.local.provider.network import link_path

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def shaped(pattern: str, form: str) -> Rule:
    """A text must match the whole pattern; `form` says so in words."""
    compiled = re.compile(pattern)
    return lambda value: None if compiled.fullmatch(value) else f"{value!r} is not {form}"


COMPUTE_NAME = shaped(
    r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?", "1 to 63 lower-case letters, digits and dashes, a letter first, no dash last"
)


def same_duration(old: str, new: str) -> bool:
    """`30d` and `2592000s` are one duration."""
    return in_seconds(old) == in_seconds(new)


def in_seconds(duration: str) -> str:
    """`30d` as `2592000s`, the only form that the API takes; what is no duration stays for the service to refuse."""
    seconds = _seconds(duration)
    return duration if seconds is None else f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def _seconds(duration: str) -> float | None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", duration)
    return float(match[1]) * _SECONDS[match[2]] if match else None


def same_text(old: str, new: str) -> bool:
    """Upper and lower case are one."""
    return old.lower() == new.lower()


def same_link(old: str, new: str) -> bool:
    """A bare name is the path or URL of the state that ends in it; a path is never the bare name of the state."""
    if "/" not in new:
        return last_part(old) == new
    return link_path(old) == link_path(new)


def last_part(link: str) -> str:
    """The bare name at the end of a path or URL."""
    return link.rstrip("/").rsplit("/", 1)[-1]


def same_last_part(old: str, new: str) -> bool:
    """A short name and a full one are one."""
    return last_part(old) == last_part(new)


def does_not_contain(old: str, new: str) -> bool:
    """Whether a new IP range leaves out a part of the old one: a range can only grow in place."""
    try:
        return not ip_network(old, strict=False).subnet_of(ip_network(new, strict=False))  # ty: ignore[invalid-argument-type]
    except (TypeError, ValueError):
        return True


def is_ip_range(value: str) -> str | None:
    """A range may be named by any address in it."""
    try:
        ip_network(value, strict=False)
    except ValueError:
        return f"{value!r} is not an IP range in CIDR form"
    return None if "/" in value else f"{value!r} is not an IP range in CIDR form: it has no prefix length"


def link_as_v1(link: str) -> str:
    """Links in a state are those of the API's first version, whichever version was asked."""
    return re.sub("/compute/[a-z0-9]+/", "/compute/v1/", link)
