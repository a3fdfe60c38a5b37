"""A slice of several hosts runs a job in one container on each of them. Worker 0 opens a round for it: a key that is
made for this round, and the image. The others join with a container that lets this key in and nobody else. Both say so
in the fleet bucket, where their pool's account alone reads and writes; no private key leaves the host that made it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from . import limits
from .container import IN_CONTAINER
from .core import Core
from .effects import Answers, DropSlice, Failed, Host, Log, MakeKey, NewSlice, Read, Steps, Write, WriteSlice

_PUBLIC_KEY: Final = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]{68}")


def slice_object(host: Host, number: int = 0) -> str:
    """What worker 0 says, or the host of that number. A full stop is in no VM's name."""
    return f"reports/{host.pool}/{host.vm}.slice{f'-{number}' if number else ''}.json"


class Rounds(Core):
    """missing: what a round waits for. host_unfit: whether a host says that it is unfit."""

    missing = ""
    host_unfit = False

    # Worker 0

    def open_round(self, image: str) -> Steps[bool]:
        """Open one, unless one is open for that image."""
        state, me = self.state, self.me
        if state.round and state.round_image == image:
            return True
        state.round, state.round_image = "", image
        if not isinstance((yield NewSlice()), Failed):
            key = yield MakeKey("id")
            files = {"ssh_config": _SSH_CONFIG.format(port=limits.SSH_PORT, folder=IN_CONTAINER)}
            if not isinstance(key, Failed) and not isinstance((yield WriteSlice(files)), Failed):
                told = {"version": 1, "round": key, "image": image}
                if not isinstance((yield Write(slice_object(me), told)), Failed):
                    state.round = key
                    yield from self.event("round-opened")
                    return True
        yield from self.blames("no round can be opened for the other hosts of its slice")
        return False

    def close_round(self) -> Steps[None]:
        """The others end their containers when they read it. Where it cannot be told, the next round tells it."""
        if not self.me.several or self.me.worker:
            return
        self.state.round = ""
        yield DropSlice()
        if isinstance((yield Write(slice_object(self.me), {"version": 1})), Failed):
            yield Log("the end of the round could not be told")

    def all_joined(self) -> Steps[bool]:
        known = ""
        for number, address in enumerate(self.me.addresses[1:], start=1):
            key = yield from self._key_of(number, address)
            if not key:
                return False
            known += f"[worker-{number}]:{limits.SSH_PORT} {key}\n"
        return not isinstance((yield WriteSlice({"known_hosts": known})), Failed)

    def _key_of(self, number: int, address: str) -> Steps[str]:
        """Of a host that has joined this round and answers; else `missing` says what is waited for."""
        said = _texts((yield Read(slice_object(self.me, number))), "round", "phase", "reason", "host_key")
        joined = said["phase"] == "joined"
        if said["round"] != self.state.round or (joined and not _PUBLIC_KEY.fullmatch(said["host_key"])):
            self.missing = f"waits for host {number} of its slice"
        elif not joined:
            self.host_unfit = self.host_unfit or said["phase"] == "unfit"
            self.missing = f"host {number} of its slice is {said['phase']}: {said['reason']}"
        elif not (yield Answers(address)):
            self.missing = f"host {number} of its slice has joined and does not answer on port {limits.SSH_PORT}"
        else:
            return said["host_key"]
        return ""

    def all_answer(self) -> Steps[bool]:
        """Whether a runner that waits for its job still has the others beside it."""
        for address in self.me.addresses[1:]:
            if not (yield Answers(address)):
                return False
        return True

    # The others

    def read_round(self) -> Steps[bool]:
        """Whether somebody can say what worker 0 has open; nothing is no failure."""
        document = yield Read(slice_object(self.me))
        if isinstance(document, Failed) or (document is not None and not isinstance(document, Mapping)):
            yield from self.blames("what worker 0 says cannot be read")
            return False
        said = _texts(document, "round", "image")
        # It becomes a line of authorized_keys, where more than a key would be a command.
        opened = _PUBLIC_KEY.fullmatch(said["round"]) is not None
        self.state.round, self.state.round_image = (said["round"], said["image"]) if opened else ("", "")
        return True

    def is_ours(self, image: str) -> Steps[bool]:
        """From the repository of this host's own. Any VM of the pool could have written what the round says."""
        if _repository(image) == _repository(self.wanted_image):
            return True
        yield from self.blames(f"refused image {image}: not from the repository of this VM's own")
        return False

    def tell_worker_0(self, phase: str, reason: str = "", host_key: str = "") -> Steps[bool]:
        """Of the round that is open."""
        told = {"version": 1, "round": self.state.round, "phase": phase, "reason": reason, "host_key": host_key}
        return not isinstance((yield Write(slice_object(self.me, self.me.worker), told)), Failed)

    def make_host_key(self) -> Steps[str]:
        """The public half of the server's key, which lets the round's key in; empty where something failed."""
        if isinstance((yield NewSlice()), Failed):
            return ""
        key = yield MakeKey("host_key")
        address = self.me.addresses[self.me.worker]
        config = _SSHD_CONFIG.format(port=limits.SSH_PORT, folder=IN_CONTAINER, address=address)
        files = {"authorized_keys": f"{self.state.round}\n", "sshd_config": config}
        if isinstance(key, Failed) or isinstance((yield WriteSlice(files)), Failed):
            return ""
        return key


def _texts(document: Any, *keys: str) -> dict[str, str]:
    told = document if isinstance(document, Mapping) else {}
    return {key: value if isinstance(value := told.get(key), str) else "" for key in keys}


def _repository(image: str) -> str:
    return image.rsplit("@", 1)[0]


_SSH_CONFIG: Final = """\
Host worker-*
  Port {port}
  IdentityFile {folder}/id
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 20
  ServerAliveInterval 15
"""

_SSHD_CONFIG: Final = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
AuthenticationMethods publickey
StrictModes no
DisableForwarding yes
ForceCommand /usr/local/bin/tidepool-hosts session
ClientAliveInterval 15
PidFile none
LogLevel FATAL
"""
"""Another's command runs in the container that this server is in, with its isolation and its environment."""
