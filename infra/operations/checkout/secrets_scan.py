"""The scan for secrets over every file that git tracks: which of detect-secrets' detectors are on, and why not all.

Without a baseline: a finding is mended, or marked on its own line with `pragma: allowlist secret`. Nothing is verified
over the network. What looks like a secret by its entropy alone is left out: digests, checksums and recorded URNs would
be hundreds of findings; so are values by the name of their variable, since secrets are what much of this code is about.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

NOISY = ("Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector")
UNUSED = (
    "ArtifactoryDetector", "AzureStorageKeyDetector", "CloudantDetector", "DiscordBotTokenDetector",
    "GitLabTokenDetector", "IPPublicDetector", "IbmCloudIamDetector", "IbmCosHmacDetector", "MailchimpDetector",
    "SendGridDetector", "SoftlayerDetector", "SquareOAuthDetector", "StripeDetector", "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)  # fmt: skip
"""Detectors of services that nothing here speaks to; without them the scan takes half the time."""

BY_EXTENSION = "detect_secrets.filters.heuristic.is_non_text_file"
"""The filter that would pass over *.lock, *.sum and others by name: their hashes are no finding, so read them too."""


def scan(paths: Iterable[Path]) -> tuple[str, ...]:
    """The command that fails where one of these files has a secret, and says where."""
    off = (text for name in (*NOISY, *UNUSED) for text in ("--disable-plugin", name))
    return ("detect-secrets-hook", "--no-verify", "--disable-filter", BY_EXTENSION, *off, *map(str, paths))
