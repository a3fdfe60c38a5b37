"""The typed shape of a stack file, a module a subject: frozen models that refuse unknown keys.

Owns which keys exist. Does not own what a single value may be (fields), rules that need several values (rules), nor
reading (stack). docs/stack-file.md is the same for the people who write these files.
"""

from infra.model.schema.fleet import (
    DataDisk,
    DiskMode,
    Fallback,
    Pool,
    Quota,
    QuotaKind,
    Reservation,
    RuntimeOverride,
    Trust,
    Window,
)
from infra.model.schema.gke import Cluster, ClusterRanges, CpuPool, Exclusion, Maintenance, Slices, SystemPool
from infra.model.schema.images import Builds, Cleanup, Mirror, MirrorCleanup, Registries, Repository, SourceConnection
from infra.model.schema.queues import Queues, Team
from infra.model.schema.results import QuarantineEntry, Results, ResultsBucket, Suite
from infra.model.schema.running import (
    App,
    Bucket,
    Budget,
    Controller,
    Freeze,
    FreezeOverride,
    GitHub,
    ResultWriters,
    RuleException,
    RunMakers,
    Runners,
    Runs,
    SecretDecl,
)
from infra.model.schema.stack import StackConfig
from infra.model.schema.store import FirestoreDecl, LockStore, RedisDecl
from infra.model.schema.workloads import (
    CheckpointBucket,
    CurriculumRole,
    DaskClass,
    RolloutRole,
    TrainRole,
    WorkerGroup,
)

__all__ = [
    "App",
    "Bucket",
    "Budget",
    "Builds",
    "CheckpointBucket",
    "Cleanup",
    "Cluster",
    "ClusterRanges",
    "Controller",
    "CpuPool",
    "CurriculumRole",
    "DaskClass",
    "DataDisk",
    "DiskMode",
    "Exclusion",
    "Fallback",
    "FirestoreDecl",
    "Freeze",
    "FreezeOverride",
    "GitHub",
    "LockStore",
    "Maintenance",
    "Mirror",
    "MirrorCleanup",
    "Pool",
    "QuarantineEntry",
    "Queues",
    "Quota",
    "QuotaKind",
    "RedisDecl",
    "Registries",
    "Repository",
    "Reservation",
    "ResultWriters",
    "Results",
    "ResultsBucket",
    "RolloutRole",
    "RuleException",
    "RunMakers",
    "Runners",
    "Runs",
    "RuntimeOverride",
    "SecretDecl",
    "Slices",
    "SourceConnection",
    "StackConfig",
    "Suite",
    "SystemPool",
    "Team",
    "TrainRole",
    "Trust",
    "Window",
    "WorkerGroup",
]
