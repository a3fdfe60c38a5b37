"""Declaring no VM any more, before a stack is destroyed.

The manifest is the program's, and the program deletes it after the VMs, which need it. Until then the controller would
make again what is being deleted.
"""

from __future__ import annotations

from infra.fleet.google import GoogleError, clients
from infra.fleet.records import Records
from infra.model import names
from infra.model.schema import StackConfig

_MISSING = 404


def withdraw(config: StackConfig, endpoint: str | None) -> None:
    """Declare no VM, where the bucket is there and has a manifest. Raises GoogleError where it fails.

    endpoint: the local cloud's root URL, None for Google.
    """
    name = names.manifest_object(config.stack)
    with clients(config.project, endpoint) as google:
        records = Records(google=google, bucket=config.bucket.name)
        try:
            found = records.read(name)
        except GoogleError as error:
            if error.status == _MISSING:
                return
            raise
        if found is not None:
            records.update(name, lambda current: {**(current or found.body), "slots": []})
