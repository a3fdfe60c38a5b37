"""Reading a project for bootstrap, and making what its plan lacks.

Owns the calls and the patience that a new project needs: an API that was just enabled and an account that was just made
are not known everywhere at once. Does not own what is wanted (`infra.fleet.bootstrap`). Every call may be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.fleet.bootstrap import BUCKET_SETTINGS, OLD_VERSIONS, lacking
from infra.fleet.bootstrap_steps import (
    ACCOUNT_ID,
    ACCOUNT_PURPOSE,
    KEY,
    KEY_RING,
    Action,
    AddGrants,
    BootstrapTarget,
    EnableApis,
    Grant,
    MakeAccount,
    MakeBucket,
    MakeKey,
    MakeKeyRing,
    MendBucket,
    Observed,
    Wanted,
)
from infra.fleet.google import Api, Clients, GoogleError, execute

POLICY_VERSION: Final = 3
"""Version 3 policies carry conditions; reading with less would drop them on the next write."""

CONFLICT_TRIES: Final = 5
PATIENCE_SECONDS: Final = 180.0
"""Google says that enabling an API or making an account takes a few minutes at most to be known everywhere."""

_PAUSE_SECONDS: Final = 2.0
_NOT_YET: Final = ("has not been used in project", "is disabled", "does not exist")


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapProject:
    """One project, and how time passes while waiting for it."""

    google: Clients
    wanted: Wanted
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def observe(self) -> Observed:
        """What is there. An API that is off is not asked; nothing of its kind can be in use."""
        enabled = self._enabled()
        storage = "storage.googleapis.com" in enabled
        keys = "cloudkms.googleapis.com" in enabled
        accounts = "iam.googleapis.com" in enabled
        projects = "cloudresourcemanager.googleapis.com" in enabled
        bucket = self._bucket() if storage else None
        key = keys and self._there(self._rings().cryptoKeys().get(name=self.wanted.key), "looking for the key")
        account = accounts and self._there(self._accounts().get(name=self._account), "looking for the account")
        policies = {}
        for target, there in {
            BootstrapTarget.PROJECT: projects,
            BootstrapTarget.BUCKET: bucket is not None,
            BootstrapTarget.KEY: key,
            BootstrapTarget.ACCOUNT: account,
        }.items():
            if there:
                policies[target] = self._policy(target)
        return Observed(
            enabled=enabled,
            bucket=bucket,
            key_ring=keys and self._there(self._rings().get(name=self.wanted.key_ring), "looking for the key ring"),
            key=key,
            account=account,
            policies=policies,
        )

    def apply(self, action: Action) -> None:
        """Do one thing of a plan. What somebody else made meanwhile is fine. Raises GoogleError."""
        match action:
            case EnableApis(apis):
                self._enable(apis)
            case MakeBucket():
                self._make_bucket()
            case MendBucket(settings):
                buckets = self.google.api(Api.STORAGE).buckets()
                request = buckets.patch(bucket=self.wanted.bucket, body=dict(settings))
                self._patiently(request, f"mending gs://{self.wanted.bucket}")
            case MakeKeyRing():
                rings = self._rings()
                parent = f"projects/{self.wanted.project}/locations/{self.wanted.location}"
                self._make(rings.create(parent=parent, keyRingId=KEY_RING, body={}), "making the key ring")
            case MakeKey():
                body = {"purpose": "ENCRYPT_DECRYPT"}
                keys = self._rings().cryptoKeys()
                self._make(keys.create(parent=self.wanted.key_ring, cryptoKeyId=KEY, body=body), "making the key")
            case MakeAccount():
                account = {"displayName": ACCOUNT_ID, "description": ACCOUNT_PURPOSE}
                body = {"accountId": ACCOUNT_ID, "serviceAccount": account}
                request = self._accounts().create(name=f"projects/{self.wanted.project}", body=body)
                self._make(request, "making the deploying account")
            case AddGrants(target, added):
                self._grant(target, added)

    def _enabled(self) -> frozenset[str]:
        services = self.google.api(Api.SERVICES).services()
        request = services.list(parent=f"projects/{self.wanted.project}", filter="state:ENABLED", pageSize=200)
        found: set[str] = set()
        while request is not None:
            answer = execute(request, f"reading which APIs {self.wanted.project} has")
            found |= {service["name"].rsplit("/", 1)[-1] for service in answer.get("services", ())}
            request = services.list_next(request, answer)
        return frozenset(found)

    def _enable(self, apis: tuple[str, ...]) -> None:
        services = self.google.api(Api.SERVICES)
        doing = f"enabling {', '.join(apis)}"
        request = services.services().batchEnable(
            parent=f"projects/{self.wanted.project}", body={"serviceIds": list(apis)}
        )
        operation = execute(request, doing)
        until = self.clock() + PATIENCE_SECONDS
        while not operation.get("done"):
            if self.clock() > until:
                raise GoogleError(doing, f"not done after {PATIENCE_SECONDS:.0f} s; run the command again")
            self.sleep(_PAUSE_SECONDS)
            operation = execute(services.operations().get(name=operation["name"]), doing)
        if "error" in operation:
            raise GoogleError(doing, operation["error"].get("message", "no reason given"))

    def _bucket(self) -> Mapping[str, Any] | None:
        doing = f"looking for gs://{self.wanted.bucket}"
        try:
            return execute(self.google.api(Api.STORAGE).buckets().get(bucket=self.wanted.bucket), doing)
        except GoogleError as error:
            if error.status == 404:
                return None
            if error.status == 403:
                raise GoogleError(
                    doing, "the name may belong to another project, since names are global; choose one with --bucket"
                ) from None
            raise

    def _make_bucket(self) -> None:
        body = {
            "name": self.wanted.bucket,
            "location": self.wanted.location,
            "lifecycle": OLD_VERSIONS,
            **BUCKET_SETTINGS,
        }
        request = self.google.api(Api.STORAGE).buckets().insert(project=self.wanted.project, body=body)
        self._make(request, f"making gs://{self.wanted.bucket}")
        if patch := lacking(self._bucket() or {}):
            self.apply(MendBucket(patch))

    def _grant(self, target: BootstrapTarget, added: tuple[Grant, ...]) -> None:
        """Read, add and write, again where somebody else wrote between."""
        doing = f"granting {', '.join(grant.role for grant in added)} on the {target.value}"
        for attempt in range(1, CONFLICT_TRIES + 1):
            policy = self._policy(target)
            missing = [grant.binding() for grant in added if not grant.stands_in(policy)]
            if not missing:
                return
            new = {**policy, "version": POLICY_VERSION, "bindings": [*policy.get("bindings", ()), *missing]}
            try:
                self._patiently(self._set_policy(target, new), doing)
            except GoogleError as error:
                if error.status not in (409, 412) or attempt == CONFLICT_TRIES:
                    raise
            else:
                return

    def _policy(self, target: BootstrapTarget) -> Mapping[str, Any]:
        wanted, version = self.wanted, POLICY_VERSION
        match target:
            case BootstrapTarget.PROJECT:
                body = {"options": {"requestedPolicyVersion": version}}
                request = self.google.api(Api.PROJECTS).projects().getIamPolicy(resource=wanted.project, body=body)
            case BootstrapTarget.BUCKET:
                buckets = self.google.api(Api.STORAGE).buckets()
                request = buckets.getIamPolicy(bucket=wanted.bucket, optionsRequestedPolicyVersion=version)
            case BootstrapTarget.KEY:
                keys = self._rings().cryptoKeys()
                request = keys.getIamPolicy(resource=wanted.key, options_requestedPolicyVersion=version)
            case BootstrapTarget.ACCOUNT:
                request = self._accounts().getIamPolicy(resource=self._account, options_requestedPolicyVersion=version)
        return self._patiently(request, f"reading who may use the {target.value}")

    def _set_policy(self, target: BootstrapTarget, policy: Mapping[str, Any]) -> Any:
        wanted, body = self.wanted, {"policy": policy}
        match target:
            case BootstrapTarget.PROJECT:
                return self.google.api(Api.PROJECTS).projects().setIamPolicy(resource=wanted.project, body=body)
            case BootstrapTarget.BUCKET:
                return self.google.api(Api.STORAGE).buckets().setIamPolicy(bucket=wanted.bucket, body=policy)
            case BootstrapTarget.KEY:
                return self._rings().cryptoKeys().setIamPolicy(resource=wanted.key, body=body)
            case BootstrapTarget.ACCOUNT:
                return self._accounts().setIamPolicy(resource=self._account, body=body)

    def _make(self, request: Any, doing: str) -> None:
        try:
            self._patiently(request, doing)
        except GoogleError as error:
            if error.status != 409:
                raise

    def _there(self, request: Any, doing: str) -> bool:
        try:
            execute(request, doing)
        except GoogleError as error:
            if error.status == 404:
                return False
            raise
        return True

    def _patiently(self, request: Any, doing: str) -> Any:
        """Send a request, again for a while where the project does not yet know what was just enabled or made."""
        until = self.clock() + PATIENCE_SECONDS
        while True:
            try:
                return execute(request, doing)
            except GoogleError as error:
                soon = error.status in (400, 403, 404) and any(words in error.reason for words in _NOT_YET)
                if not soon or self.clock() > until:
                    raise
            self.sleep(_PAUSE_SECONDS)

    @property
    def _account(self) -> str:
        return f"projects/{self.wanted.project}/serviceAccounts/{self.wanted.deployer}"

    def _accounts(self) -> Any:
        return self.google.api(Api.IAM).projects().serviceAccounts()

    def _rings(self) -> Any:
        return self.google.api(Api.KMS).projects().locations().keyRings()
