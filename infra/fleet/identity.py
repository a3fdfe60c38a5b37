"""An identity token of whoever runs this: what Google signs for an account and for one audience.

Owns where it comes from: the metadata server on Cloud Run or a VM, or a service account's own key. A person's
credentials give none for an audience, which the error says.
"""

from __future__ import annotations

import google.auth
import urllib3
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.urllib3 import Request
from google.oauth2 import credentials, id_token

from infra.fleet.google import GoogleError


def identity_token(audience: str, *, project: str) -> str:
    """A token for that audience, not kept here. project: the fleet's. Raises GoogleError where there is none."""
    with urllib3.PoolManager() as http:
        try:
            found, _ = google.auth.default(quota_project_id=project)
            if isinstance(found, credentials.Credentials):
                # Said here: Google's library would look for a metadata server for ten seconds first.
                raise GoogleError("getting an identity token", "a person's credentials give none for an audience")
            return id_token.fetch_id_token(Request(http), audience)
        except GoogleAuthError as error:
            raise GoogleError("getting an identity token", str(error)) from None
