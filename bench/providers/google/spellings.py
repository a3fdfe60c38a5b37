"""Two spellings of one value, differences that mean nothing, and the form in which a state or a path holds a value.

The table of types names these functions: `same_...` and the like compare an old value with a new one, the others return
the value as it is held or sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any

from bench.providers.google.fields import Given

# Texts


def same_text(old: str, new: str) -> bool:
    """Upper and lower case are one."""
    return old.lower() == new.lower()


def in_upper_case(value: str) -> str:
    return value.upper()


def are_months(old: str, new: str) -> bool:
    """A budget that names no period has months; Google's provider sends and keeps none where months are asked for."""
    return {old or "MONTH", new or "MONTH"} == {"MONTH"}


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def same_duration(old: str, new: str) -> bool:
    """`30d` and `2592000s` are one duration."""
    return in_seconds(old) == in_seconds(new)


def in_seconds(duration: str) -> str:
    """`30d` as `2592000s`, the only form that the API takes; what is no duration stays for the service to refuse."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", duration)
    return f"{float(match[1]) * _UNITS[match[2]]:.9f}".rstrip("0").rstrip(".") + "s" if match else duration


_CASE_MATTERS = re.compile(r"principal:|principalSet:|principalHierarchy:|.*(allUsers|allAuthenticatedUsers)")


def tidy_member(member: str) -> str:
    """Google keeps members in lower case, but for those of workload identity."""
    kind, colon, who = member.partition(":")
    return member if _CASE_MATTERS.match(member) else f"{kind}{colon}{who.lower()}"


def same_member(old: str, new: str) -> bool:
    return tidy_member(old) == tidy_member(new)


def condition_parts(holder: Given) -> tuple[str, ...]:
    """Title, description and expression of the condition of a grant or a binding; empty where it says none."""
    condition = holder.get("condition") or {}
    return tuple(condition.get(part) or "" for part in ("title", "description", "expression"))


def with_condition(values: Given) -> str:
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


def is_usual_deadline(old: str, new: str) -> bool:
    return {old or "180s", new or "180s"} == {"180s"}


def unless_usual(deadline: str) -> str | None:
    return None if deadline == "180s" else deadline


def differs_by_gke_alone(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """GKE adds labels of its own to what a pool is made of."""
    return {key: value for key, value in old.items() if key in new or not key.startswith("goog-gke")} == new


def has_all_scopes(old: list[str], new: list[str]) -> bool:
    """GKE may add scopes that it needs."""
    return {*new} <= {*old}


def same_but_for_pubsub(old: list[str], new: list[str]) -> bool:
    """The service adds this scope by itself; the order of the others counts."""
    before, after = ([scope for scope in side if not scope.endswith("/auth/pubsub")] for side in (old, new))
    return before == after


def with_hash(inputs: Given) -> Given:
    """The service's bytes are the declared ones where their hash is: `detectMd5hash` is then no difference.

    As Cloud Storage writes it: base64 of the MD5 of the bytes.
    """
    content = inputs.get("content")
    if not isinstance(content, str):
        return inputs
    digest = hashlib.md5(content.encode(), usedforsecurity=False).digest()
    return {**inputs, "detectMd5hash": base64.b64encode(digest).decode()}


# Two words of one thing


def as_hexadecimal(hashed: str) -> str:
    return base64.b64decode(hashed).hex()


def first_of_each(labels: Mapping[str, list[str]]) -> dict[str, str]:
    """A budget's filter has a list of values for each label, of which it takes one."""
    return {key: values[0] for key, values in labels.items()}


def as_lists(labels: Mapping[str, str]) -> dict[str, list[str]]:
    return {key: [value] for key, value in labels.items()}


_FLAGS = {"LIVE": True, "ARCHIVED": False, "ANY": None, "VPC_NATIVE": True, "ROUTES": False}


def as_flag(word: str) -> Any:
    """Object states are flags to Cloud Storage, and the modes of a cluster's network to GKE."""
    return _FLAGS.get(word, word)


def as_state(flag: Any) -> Any:
    return {True: "LIVE", False: "ARCHIVED"}.get(flag, flag)


def as_mode(flag: Any) -> Any:
    return {True: "VPC_NATIVE", False: "ROUTES"}.get(flag, flag)


def is_not(flag: bool) -> bool:
    return not flag


def if_enabled(block: Given) -> Given | None:
    """Some blocks are shown whether they are in force or not."""
    return block if block.get("enabled") else None


# What a body shows of a resource's life


def in_transit(node: Given) -> bool:
    """A node that is being made may still end in a stockout and vanish: what it becomes is waited for."""
    return node.get("state") in ("CREATING", "DELETING")


def is_reconciling(body: Given) -> bool:
    """A cluster or a node pool on its way to another state."""
    return body.get("status") in ("PROVISIONING", "RECONCILING", "STOPPING")


def is_off(body: Given) -> bool:
    """An API that a project does not have."""
    return body.get("state") != "ENABLED"


def is_deleted(body: Given) -> bool:
    """For thirty days the service still shows what was deleted."""
    return body.get("state") == "DELETED"
