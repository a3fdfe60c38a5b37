"""The course of an apply where VMs stand at fallbacks: what is changed and deleted there, and what became of it.

Does not own when (`infra.engines.phased`), nor how such VMs are found, changed and deleted (`infra.engines.away`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from infra.engines.away import AwayVm, Fallbacks
from infra.engines.passes import ApplyRecord
from infra.engines.protocol import Listener
from infra.model.plan import Diagnostic, Op, Status
from infra.preview.words import vms as in_words


class FallbackCourse:
    """Of one apply. urns: of the plan's VMs, by name.

    deleted: VMs that are gone from where they stood, by what each is called. stuck: why others could not be deleted.
    """

    def __init__(self, away: Fallbacks, steps: ApplyRecord, urns: Mapping[str, str], listener: Listener) -> None:
        self._away = away
        self._steps = steps
        self._urns = urns
        self._listener = listener
        self.deleted: set[str] = set()
        self.stuck: dict[str, str] = {}

    def delete(self, vms: Sequence[AwayVm]) -> None:
        """Delete these where they stand. One that cannot be is a failure of its slot, whose step had another end."""
        if not vms:
            return
        message = f"deleting {in_words([str(vm) for vm in vms])}, at fallbacks"
        self._listener(Diagnostic(severity="info", message=message))
        failed = self._away.delete(vms)
        self.deleted |= {str(vm) for vm in vms} - failed.keys()
        self.stuck |= failed
        for vm in vms:
            if str(vm) in failed:
                step = self._steps.planned[self._urns[vm.name]]
                if step.op is Op.DELETE:
                    why = f"it stands in {vm.zone}: {failed[str(vm)]}"
                    self._steps.ended[step.urn] = replace(step, status=Status.FAILED, error=why)
                self._steps.blame(f"{vm} could not be deleted: {failed[str(vm)]}; mend that and")

    def change(self) -> None:
        """Change in place what stands at fallbacks. The state has it at home, and plans say so until it is there."""
        vms = self._away.changing
        failed = self._away.change(vms)
        for vm in vms:
            why = failed.get(str(vm))
            status = Status.DONE if why is None else Status.FAILED
            urn = self._urns[vm.name]
            self._steps.ended[urn] = replace(self._steps.planned[urn], status=status, error=why)

    def leave(self) -> None:
        """Delete what stands at fallbacks once its slot is gone, or stands at home again."""
        self.delete(self.done())

    def done(self) -> list[AwayVm]:
        """VMs that stand at fallbacks still, whose slot is gone or stands at home again."""
        left = [vm for vm in self._away.leaving if str(vm) not in self.deleted | self.stuck.keys()]
        ended = (self._steps.ended.get(self._urns[vm.name]) for vm in left)
        return [vm for vm, step in zip(left, ended, strict=True) if step is not None and step.status is Status.DONE]
