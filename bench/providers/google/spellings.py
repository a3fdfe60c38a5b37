"""Two spellings of one value, differences that mean nothing, and the form in which a state or a path holds a value.

The table of types names these functions: `same_...` and the like compare an old value with a new one (as `hidden`, they
are told of the old and the new resource too), the others return the value as it is held. Does not own what is refused
(`rules`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

# Texts


def same_text(old: str, new: str) -> bool:
    """Upper and lower case are one."""
    return old.lower() == new.lower()


def in_upper_case(value: str) -> str:
    return value.upper()


def are_months(old: Any, new: Any, *_: Any) -> bool:
    """A budget that names no period has months; Google's provider sends and keeps none where months are asked for."""
    return (old or "MONTH") == (new or "MONTH") == "MONTH"


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def same_duration(old: str, new: str) -> bool:
    """`30d` and `2592000s` are one duration."""
    return in_seconds(old) == in_seconds(new)


def in_seconds(duration: str) -> str:
    """`30d` as `2592000s`, the only form that the API takes; what is no duration stays for the service to refuse."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", duration)
    return f"{float(match[1]) * _UNITS[match[2]]:.9f}".rstrip("0").rstrip(".") + "s" if match else duration


_CASE_MATTERS = ("principal:", "principalSet:", "principalHierarchy:")


_EVERYBODY = ("allUsers", "allAuthenticatedUsers")


def tidy_member(member: str) -> str:
    """Google keeps members in lower case, but for those of workload identity."""
    kind, colon, who = member.partition(":")
    return member if not colon or _case_matters(member) else f"{kind}:{who.lower()}"


def same_member(old: str, new: str) -> bool:
    return old == new if _case_matters(old) or _case_matters(new) else old.lower() == new.lower()


def _case_matters(member: str) -> bool:
    """Whether upper and lower case make different members of this one."""
    return member.startswith(_CASE_MATTERS) or any(each in member for each in _EVERYBODY)


def condition_parts(holder: Mapping[str, Any]) -> tuple[str, ...]:
    """Title, description and expression of the condition of a grant or a binding; empty where it says none."""
    condition = holder.get("condition") or {}
    return tuple(condition.get(part) or "" for part in ("title", "description", "expression"))


def with_condition(values: Mapping[str, Any]) -> str:
    """What the official provider puts behind the id of a conditional grant: /TITLE/DESCRIPTION/EXPRESSION."""
    parts = condition_parts(values)
    return "/" + "/".join(parts) if any(parts) else ""


# Names, links and addresses


def last_part(link: str) -> str:
    """The bare name at the end of a path or URL."""
    return link.rstrip("/").rsplit("/", 1)[-1]


def same_last_part(old: str, new: str) -> bool:
    """A short name and a full one are one."""
    return last_part(old) == last_part(new)


def link_path(link: str) -> str:
    """A link from its `projects/` on."""
    return re.sub(r"^https?://.*?/(?=projects/)", "", link)


def same_link(old: str, new: str) -> bool:
    """A bare name is the path or URL of the state that ends in it; a path is never the bare name of the state."""
    return link_path(old) == link_path(new) if "/" in new else last_part(old) == new


def link_as_v1(link: str) -> str:
    """Links in a state are those of the API's first version, whichever version was asked."""
    return re.sub("/compute/[a-z0-9]+/", "/compute/v1/", link)


def without_global(path: str) -> str:
    """Ids of what is in no region do not say so."""
    return path.replace("/locations/global/", "/")


def with_b(bucket: str) -> str:
    return bucket if bucket.startswith("b/") else f"b/{bucket}"


def same_bucket(old: str, new: str) -> bool:
    return with_b(old) == with_b(new)


def does_not_contain(old: str, new: str) -> bool:
    """Whether a new IP range leaves out a part of the old one: a range can only grow in place."""
    try:
        return not ip_network(old, strict=False).subnet_of(ip_network(new, strict=False))  # ty: ignore[invalid-argument-type]
    except (TypeError, ValueError):
        return True


# JSON


def says_no_more(old: str, new: str) -> bool:
    """Whether everything that the program says is so: keys that the service or a person added mean nothing."""
    try:
        return _holds(json.loads(old), json.loads(new))
    except ValueError:
        return old == new


def _holds(found: Any, wanted: Any) -> bool:
    if isinstance(found, dict) and isinstance(wanted, dict):
        return all(key in found and _holds(found[key], value) for key, value in wanted.items())
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_holds, found, wanted))
    return found == wanted


def normal_json(text: str) -> str:
    """As a state holds JSON."""
    return written_json(json.loads(text))


def written_json(value: Any) -> str:
    """As Go writes JSON: keys sorted, no blanks, what HTML would understand escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# What the service or the provider adds by itself


def is_usual_deadline(old: Any, new: Any, *_: Any) -> bool:
    return {old or "180s", new or "180s"} == {"180s"}


def differs_by_gke_alone(old: Any, new: Any, *_: Any) -> bool:
    """GKE adds labels of its own to what a pool is made of."""
    wanted, had = new or {}, old or {}
    return {key: value for key, value in had.items() if key in wanted or not key.startswith("goog-gke")} == wanted


def has_all_scopes(old: Any, new: Any, *_: Any) -> bool:
    """GKE may add scopes that it needs."""
    return isinstance(new, list) and {*new} <= {*(old or ())}


def same_but_for_pubsub(old: Any, new: Any, *_: Any) -> bool:
    """The service adds this scope by itself; the order of the others counts."""
    return isinstance(new, list) and _without_pubsub(old) == _without_pubsub(new)


def _without_pubsub(scopes: list[Any] | None) -> list[Any]:
    return [scope for scope in scopes or () if scope != "https://www.googleapis.com/auth/pubsub"]


def is_same_content(hashed: Any, _: Any, __: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the service's bytes are the declared ones: `detectMd5hash` is then no difference."""
    content = new.get("content")
    return isinstance(content, str) and content != "" and hashed == md5(content)


def md5(content: str) -> str:
    """As Cloud Storage writes it: base64 of the MD5 of the bytes."""
    return base64.b64encode(hashlib.md5(content.encode(), usedforsecurity=False).digest()).decode()


# What a body shows of a resource's life


def in_transit(node: Mapping[str, Any]) -> bool:
    """A node that is being made may still end in a stockout and vanish: what it becomes is waited for."""
    return node.get("state") in ("CREATING", "DELETING")


def is_reconciling(body: Mapping[str, Any]) -> bool:
    """A cluster or a node pool on its way to another state."""
    return body.get("status") in ("PROVISIONING", "RECONCILING", "STOPPING")


def is_deleted(body: Mapping[str, Any]) -> bool:
    """For thirty days the service still shows what was deleted."""
    return body.get("state") == "DELETED"
