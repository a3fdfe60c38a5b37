"""Rules of what must stay and be told apart: protection, labels, names, and images by what they are.

Owns which types each rule is about. Does not own how names are made (`infra.model.names`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from infra.model import names
from infra.rules.finding import Level
from infra.rules.rule import Broken, ResourceContext, ResourceRule
from infra.rules.view import ResourceView, is_known, texts

_KEPT: Final = {
    "gcp:artifactregistry/repository:Repository": "its images and every digest that is pinned",
    "gcp:secretmanager/secret:Secret": "the versions of the secret, of which there is no copy",
    "gcp:storage/bucket:Bucket": "state or fleet records and their history",
    "gcp:iam/workloadIdentityPool:WorkloadIdentityPool": "its id for thirty days, and every workflow's way in",
    "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider": "its id for thirty days",
    "gcp:kms/cryptoKey:CryptoKey": "whatever was encrypted with it",
}
"""Types that are protected, and what would be lost."""

LABELLED: Final = {
    "gcp:tpu/v2Vm:V2Vm": "labels",
    "gcp:artifactregistry/repository:Repository": "labels",
    "gcp:cloudrunv2/job:Job": "labels",
    "gcp:cloudrunv2/service:Service": "labels",
    "gcp:cloudrunv2/workerPool:WorkerPool": "labels",
    "gcp:compute/address:Address": "labels",
    "gcp:compute/disk:Disk": "labels",
    "gcp:compute/globalAddress:GlobalAddress": "labels",
    "gcp:compute/instance:Instance": "labels",
    "gcp:compute/instanceTemplate:InstanceTemplate": "labels",
    "gcp:container/cluster:Cluster": "resourceLabels",
    "gcp:kms/cryptoKey:CryptoKey": "labels",
    "gcp:monitoring/alertPolicy:AlertPolicy": "userLabels",
    "gcp:monitoring/notificationChannel:NotificationChannel": "userLabels",
    "gcp:pubsub/subscription:Subscription": "labels",
    "gcp:pubsub/topic:Topic": "labels",
    "gcp:redis/instance:Instance": "labels",
    "gcp:secretmanager/secret:Secret": "labels",
    "gcp:storage/bucket:Bucket": "labels",
}
"""Types that take labels, and the input that holds them."""

_COMPUTE_NAME: Final = (names.is_resource_name, names.RESOURCE_NAME_RULE)
_SHAPES: Final[dict[str, tuple[str, Callable[[str], bool], str]]] = {
    "gcp:tpu/v2Vm:V2Vm": ("name", *_COMPUTE_NAME),
    "gcp:compute/firewall:Firewall": ("name", *_COMPUTE_NAME),
    "gcp:compute/instance:Instance": ("name", *_COMPUTE_NAME),
    "gcp:compute/network:Network": ("name", *_COMPUTE_NAME),
    "gcp:compute/router:Router": ("name", *_COMPUTE_NAME),
    "gcp:compute/routerNat:RouterNat": ("name", *_COMPUTE_NAME),
    "gcp:compute/subnetwork:Subnetwork": ("name", *_COMPUTE_NAME),
    "gcp:artifactregistry/repository:Repository": ("repositoryId", *_COMPUTE_NAME),
    "gcp:serviceaccount/account:Account": (
        "accountId",
        names.is_account_id,
        "6 to 30 lower-case letters, digits and hyphens, a letter first, no hyphen last",
    ),
    "gcp:storage/bucket:Bucket": ("name", names.is_bucket_name, names.BUCKET_RULE),
    "gcp:secretmanager/secret:Secret": (
        "secretId",
        lambda text: re.fullmatch(r"[A-Za-z0-9_-]{1,255}", text) is not None,
        "1 to 255 letters, digits, hyphens and underscores",
    ),
}
"""Where each type has its name, what holds of it, and that in words."""

_DIGEST: Final = re.compile(r".+@sha256:[0-9a-f]{64}")
_DOCKER_REFERENCE: Final = re.compile(r"[a-z0-9.-]+\.[a-z]{2,}(?::\d+)?/[^\s?]+")
_DECLARED_IMAGE: Final = re.compile(r"^\s*-?\s*[\"']?image[\"']?\s*:\s*[\"']?([^\s\"',}]+)", re.MULTILINE)
_CONTAINERS: Final = ("gcp:cloudrunv2/", "gcp:cloudrun/", "kubernetes:")
_NOT_DEPLOYED: Final = ("gcp:artifactregistry/", "gcp:cloudbuild/")
"""Where images are kept or made, by whatever name."""


def _protected(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type in _KEPT and not view.protect:
        yield Broken(view.subject, f"it is not protected: deleting it loses {_KEPT[view.type]}")


def _labelled(view: ResourceView, around: ResourceContext) -> Iterator[Broken]:
    key = LABELLED.get(view.type)
    if key is None or not is_known(view.inputs.get(key, {})):
        return
    wanted = {"tidepool-owner": around.config.owner, "tidepool-stack": around.config.stack}
    given = view.table(key)
    for label, value in wanted.items():
        if label not in given:
            yield Broken(view.subject, f"it has no label {label}", f"{key}: {label}: {value}")
        elif is_known(given[label]) and given[label] != value:
            yield Broken(view.subject, f"its label {label} is not {value}", f"{key}: {label}: {value}")


def _named(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type in _SHAPES:
        key, holds, rule = _SHAPES[view.type]
        name = view.text(key)
        if name is not None and not holds(name):
            yield Broken(view.subject, f"{key} {_shortened(name)!r} is refused by Google", rule)
    for key, value in view.table(LABELLED[view.type]).items() if view.type in LABELLED else ():
        if not names.is_label_key(str(key)):
            yield Broken(view.subject, f"label key {_shortened(str(key))!r} is refused", names.LABEL_KEY_RULE)
        if isinstance(value, str) and is_known(value) and not names.is_label_value(value):
            yield Broken(view.subject, f"the value of label {_shortened(str(key))} is refused", names.LABEL_VALUE_RULE)


def _shortened(text: str) -> str:
    return text if len(text) <= names.MAX_RESOURCE_NAME + 1 else f"{text[: names.MAX_RESOURCE_NAME]}..."


def _by_digest(view: ResourceView, _: ResourceContext) -> Iterator[Broken]:
    if view.type.startswith(_NOT_DEPLOYED):
        return
    for path, text in _images(view):
        if not _DIGEST.fullmatch(text) and is_known(text):
            yield Broken(view.subject, f"{path} names an image by a tag, which may be another one tomorrow")


def _images(view: ResourceView) -> Iterator[tuple[str, str]]:
    """Every text that names a container image, with its path."""
    runs_containers = view.type.startswith(_CONTAINERS)
    for path, text in texts(view.inputs):
        key = re.split(r"[.\[]", path)[-1].lower()
        if key.endswith("image") and (runs_containers or _DOCKER_REFERENCE.fullmatch(text)):
            yield path, text
        elif "container-declaration" in path:
            yield from ((path, image) for image in _DECLARED_IMAGE.findall(text))


RULES: Final = (
    ResourceRule(
        id="protected",
        level=Level.STOP,
        reason="What cannot be made again must not go by a slip of the stack file.",
        fix="opts: protect=True, and retain_on_delete=True with it",
        check=_protected,
    ),
    ResourceRule(
        id="labels-say-owner",
        level=Level.STOP,
        reason="Costs and clean-ups go by labels: whose it is, and which stack made it.",
        fix="labels tidepool-owner and tidepool-stack",
        check=_labelled,
    ),
    ResourceRule(
        id="name-within-limits",
        level=Level.STOP,
        reason="Google refuses the name in the middle of the apply, after others were made.",
        fix="a shorter or simpler name",
        check=_named,
    ),
    ResourceRule(
        id="image-by-digest",
        level=Level.STOP,
        reason="A tag moves: what was reviewed is then not what runs.",
        fix="NAME@sha256:DIGEST, as the registry shows it",
        check=_by_digest,
    ),
)
