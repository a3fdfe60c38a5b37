"""Secrets and addresses never reach a comment, whoever wrote them wherever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.model.plan import Diagnostic, Op, PropertyChange, Status
from infra.preview.comment import Preview, comment
from infra.preview.markup import masked, masked_value
from tests.cli import plans

TOKEN = "ghp_" + "a1B2" * 10
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----"  # pragma: allowlist secret
PERSON = "jane.doe+tpu@example.co.uk"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"by {PERSON}.", "by [e-mail]."),
        ("ci@lab.iam.gserviceaccount.com", "ci@…"),
        ("serviceAccount:ci@lab.iam.gserviceaccount.com", "serviceAccount:ci@…"),
        ("123456789-compute@developer.gserviceaccount.com", "…-compute@…"),
        (f"token {TOKEN}!", "token [secret]!"),
        (f"key {KEY} end", "key [secret] end"),
        ("nothing@here", "nothing@here"),
        ("image@sha256:abc", "image@sha256:abc"),
    ],
)
def test_a_text_is_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert masked(shown) == shown, "masking again changes nothing"


def test_a_property_named_like_a_secret_is_not_shown() -> None:
    value = {"metadata": {"api-key": "hunter2hunter2", "zone": "us-west4-a"}, "tokens": ["x"]}
    assert masked_value(value) == {"metadata": {"api-key": "[secret]", "zone": "us-west4-a"}, "tokens": ["x"]}
    assert masked_value({"tokens-of": {PERSON: 1}, "password": ["x", {"y": None}]}) == {
        "tokens-of": {"[e-mail]": 1},
        "password": ["[secret]", {"y": None}],
    }
    assert masked_value("hunter2", "metadata.db-password") == "[secret]"
    assert masked_value("hunter2", 'metadata["db.password"]') == "[secret]"


@pytest.mark.parametrize("several", [list, tuple])
def test_every_item_of_a_list_is_masked_however_deep(several: type) -> None:
    value = {"members": several([PERSON, {"argument": several([f"--token={TOKEN}", 7])}])}
    assert masked_value(value) == {"members": ["[e-mail]", {"argument": ["--token=[secret]", 7]}]}


def test_neither_diff_nor_name_nor_error_nor_warning_gives_anything_away() -> None:
    change = PropertyChange(kind="update", before={"owner": PERSON, "key": KEY}, after=f"{'x' * 40} {PERSON} {TOKEN}")
    step = plans.vm(Op.UPDATE, "tpu-ci", "us-west4-a", 0, diff={f"labels[{PERSON!r}]": change})
    step = replace(step, name=f"vm-{PERSON}")
    warned = plans.plan(step, diagnostics=(Diagnostic(severity="warning", message=f"{KEY} {PERSON}"),))
    failing = replace(step, status=Status.FAILED, error=f"refused {PERSON} with {TOKEN}\n{KEY}")
    failed = plans.plan(failing, diagnostics=(Diagnostic(severity="error", message=f"{'y' * 390} {PERSON}"),))
    made = comment(
        Preview(stack="ci", plan=warned),
        Preview(stack="ci", plan=failed),
        Preview(stack=f"ci {PERSON}", failure=f"{PERSON}\n{KEY}"),
    )
    for secret in ("jane", "example.co", TOKEN[:12], "MIIEow"):
        assert secret not in made
    assert "[e-mail]" in made
