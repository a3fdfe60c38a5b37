"""Edits of small fleets, from which the golden comments are made: what stands, and what somebody writes instead."""

from __future__ import annotations

from dataclasses import dataclass

from tests.preview.two_versions import replayed

FLEET = """\
config:
  gcp:project: lab-tpus
  tidepool:owner: lab
  tidepool:bucket: {name: lab-tpus-tidepool, location: us-central1}
  tidepool:vm_labels: {team: core}
  tidepool:pools:
    - name: tpu-ci
      accelerator: v5litepod-4
      zones:
        us-west4-a: 2
        europe-west4-b: 2
      capacity: preemptible
      trust: member
      serves: [lab/code]
    - name: tpu-v4
      accelerator: v4-8
      zones:
        us-central2-b: 1
      capacity: on-demand
      trust: member
      serves: [lab/code]
  tidepool:registries:
    regions: [us-central1, europe-west4]
    repositories:
      - name: images
        description: Training images
        cleanup: {delete_older_than: 30d, keep_newest: 16}
      - name: images-ci
        description: Test images
        cleanup: {delete_older_than: 30d, keep_newest: 16}
"""
_IMAGES_CI = """\
      - name: images-ci
        description: Test images
        cleanup: {delete_older_than: 30d, keep_newest: 16}
"""
_LARGE = (
    FLEET.replace("us-west4-a: 2", "us-west4-a: 54")
    .replace("europe-west4-b: 2", "europe-west4-b: 41")
    .replace("lab-tpus", "large-lab-tpus")
)


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit. name: of its golden file. title, when: what docs/preview.md says of it."""

    name: str
    title: str
    when: str
    before: str
    after: str


def _edit(name: str, title: str, when: str, *changes: tuple[str, str], before: str = FLEET) -> Edit:
    after = before
    for old, new in changes:
        assert after.count(old) == 1, f"{name}: {old!r} does not stand there once"
        after = after.replace(old, new)
    return Edit(name, title, when, before, after)


_ONE_MORE = ("us-west4-a: 2", "us-west4-a: 3")

FIRST = Edit("first", "A first apply", "Nothing stands, and the stack is new.", "", FLEET)
NO_CHANGE = _edit(
    "no-change", "No change", "Only a comment in the stack file is new.", ("config:\n", "# Our fleet.\nconfig:\n")
)
ONE_VM = _edit("one-vm", "One VM more", "A count goes from 2 to 3.", _ONE_MORE)
TO_ZERO = _edit("to-zero", "Scale to zero", "A zone goes from 2 to 0.", ("europe-west4-b: 2", "europe-west4-b: 0"))
SWAP = Edit(
    "swap",
    "A swap in a full reservation",
    "All 128 chips are in use, and pools trade some of them.",
    before=replayed(v2=12, v8=16, v16=3),
    after=replayed(v2=4, v8=20, v16=2),
)
TOO_MANY = Edit(
    "over-the-reservation",
    "Over the reservation",
    "A pool grows by two slices, and the reservation has no chip left.",
    before=replayed(v2=12, v8=16, v16=3),
    after=replayed(v2=12, v8=18, v16=3),
)
REPLACE = _edit("replace", "A replacement", "A pool gets larger slices, so its VM cannot stay.", ("v4-8", "v4-16"))
REGISTRY_GONE = _edit(
    "protected", "A protected delete, refused", "A registry is taken out of the stack file.", (_IMAGES_CI, "")
)
HUNDRED = _edit(
    "hundred",
    "A hundred changes",
    "A label of every VM changes, and four VMs come.",
    ("team: core", "team: platform"),
    ("us-west4-a: 54", "us-west4-a: 58"),
    before=_LARGE,
)
FAILED = _edit("failed", "A preview that failed", "The engine cannot open the state's secrets.", _ONE_MORE)
BEHIND = _edit(
    "behind",
    "A plan that does more than the edit",
    "An earlier edit was merged and never applied.",
    ("europe-west4-b: 2", "europe-west4-b: 0"),
    before=ONE_VM.after,
)
TWO_STACKS = _edit("two-stacks", "Two stacks", "One comment serves all stacks of a pull request.", _ONE_MORE)
