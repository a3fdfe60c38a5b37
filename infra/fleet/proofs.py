"""Whether a VM's report is its own: Google signs it for the machine that wrote it.

All VMs of a pool run as one account, and conditions of Cloud Storage know accounts and names of objects, no machines:
so each may write the reports of the others. A VM therefore asks its metadata server for an identity token whose
audience is the checksum of its report, and writes the token into it: Google signs it for the machine that wrote it, and
Google's keys verify that without asking anybody. Which machine a VM is, is in the broker's records: a job can only
break out on a VM that was registered, and from then on its machine is no other VM's.
https://cloud.google.com/compute/docs/instances/verifying-instance-identity, read 2026-11.

Owns what is believed of such a token. What a report says is `infra.fleet.reports`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from infra.fleet.broker.decide import Claims, NodeLife
from infra.fleet.broker.identity import GoogleKeys, Verifier
from infra.fleet.broker.refusals import Reason, Refused
from infra.fleet.google import GoogleError
from infra.fleet.records import Record, Records, UnreadableRecordError
from infra.fleet.reports import MOST_BYTES, ReportSeen, dated, report_seen
from infra.model import bucket_names

WRITTEN_WITHIN: Final = timedelta(minutes=10)
"""How long after it was signed a report is written: later it is a copy of an old one."""
_AUDIENCE: Final = "tidepool-report:"
_MARK: Final = b',"proof":"'
_END: Final = b'"}'


def audience(report: bytes) -> str:
    """Of the token that proves a report, which has no proof yet."""
    return f"{_AUDIENCE}{hashlib.sha256(report).hexdigest()}"


def parted(content: bytes) -> tuple[bytes, str]:
    """A report without its proof, and the proof, empty where it has none.

    It is the last key of the report's JSON text, as `infra/fleet/runner/supervisor/report.py` writes it.
    """
    head, mark, tail = content.strip().rpartition(_MARK)
    if not mark or not tail.endswith(_END):
        return content, ""
    return head + b"}", tail.removesuffix(_END).decode("ascii", "replace")


class ForgedReportError(Exception):
    """A report that was not written by the VM whose it is, or not now; its text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """Proofs of the reports of one stack."""

    stack: str
    keys: GoogleKeys = field(repr=False)

    def zone(
        self, records: Records, vm: str, record: Record, made: Mapping[str, str], unlisted: Collection[str] = ()
    ) -> str:
        """The zone of the VM that wrote its report, empty where the report has no proof, or one without a machine.

        made: by zone, when the VM of that name there was made. unlisted: zones in which nobody can say that; there the
        machine must be the one to which the broker bound the VM, or no other VM's. Raises ForgedReportError, and
        GoogleError where keys or records cannot be had.
        """
        text, token = parted(record.content)
        if not token:
            return ""
        instance = signer(self.keys, token, text, record.updated).instance
        if instance is None:
            return ""
        if instance.zone not in made and instance.zone not in unlisted:
            raise ForgedReportError(f"it was written in {instance.zone}, and the VM is not there")
        bound = records.body(bucket_names.binding_object(self.stack, vm)) or {}
        life = NodeLife.parse(str(bound.get("life", "")))
        if bound.get("instance") and life.created == made.get(instance.zone):
            owner = vm if bound["instance"] == instance.id else ""
        else:
            owner = (records.body(bucket_names.instance_object(self.stack, instance.id)) or {}).get("vm", vm)
        if owner != vm:
            raise ForgedReportError(f"machine {instance.id} wrote it, which is {owner or 'another'}")
        return instance.zone


def signer(keys: GoogleKeys, token: str, text: bytes, written: datetime) -> Claims:
    """For whom Google signed a report. written: when the bucket got it.

    Raises ForgedReportError where the token is no proof of this text, and GoogleError where there are no keys.
    """
    try:
        claims = Verifier(audience=audience(text), keys=keys).verify(token, written)
    except Refused as refused:
        if refused.reason is Reason.GOOGLE_DOWN:
            raise GoogleError("reading Google's keys", refused.detail) from None
        raise ForgedReportError(f"its proof is {refused.reason.word}") from None
    if written - claims.issued > WRITTEN_WITHIN:
        raise ForgedReportError("it is a copy of an older one")
    return claims


def proved_report(
    records: Records,
    pool: str,
    vm: str,
    proofs: Proofs,
    made: Mapping[str, str],
    unlisted: Collection[str] = (),
    *,
    proves: bool,
) -> ReportSeen | None:
    """What a VM's report says, where no other can have written it; None where it says nothing.

    made, unlisted: as `Proofs.zone` takes them. proves: whether the VM is known to prove its reports. One that does not
    proves them no better than those who wrote them before there were proofs. Raises GoogleError.
    """
    try:
        record = records.read(bucket_names.report_object(pool, vm), most=MOST_BYTES)
        body = None if record is None else dated(record)
        if record is None or body is None:
            return None
        zone = proofs.zone(records, vm, record, made, unlisted)
    except (UnreadableRecordError, RecursionError, ForgedReportError):
        return None
    seen = report_seen(pool, vm, body)
    return None if seen is None or (proves and not zone) else replace(seen, proved=zone)
