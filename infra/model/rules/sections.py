"""Rules of registries, mirrors, builds, secrets, GitHub and freezes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from infra.model import federation, names
from infra.model.errors import Problem, shown, suggestion
from infra.model.freezes import begins, ends, is_skipped
from infra.model.partial import UnsureStack
from infra.model.refusals import Subject
from infra.model.rules.common import Estate, Items, Rule, repeats
from infra.model.schema import (
    Bucket,
    Builds,
    Freeze,
    GitHub,
    Mirror,
    Pool,
    Queues,
    Registries,
    Reservation,
    ResultWriters,
    RunMakers,
    SecretDecl,
    StackConfig,
    Trust,
    WorkerGroup,
)
from infra.model.yamlfile import YamlPath


def _registries(registries: Registries, subject: Subject) -> Iterator[Problem]:
    regions, repositories = enumerate(registries.regions), enumerate(each.name for each in registries.repositories)
    yield from repeats(regions, subject, ("registries", "regions"), "the region is listed twice")
    path = ("registries", "repositories")
    yield from repeats(repositories, subject, path, "the repository's name is listed twice", "name")


def _registry_stack(
    registry_stack: str,
    stack: str,
    registries: Registries | None,
    siblings: Sequence[StackConfig],
    subject: Subject,
) -> Iterator[Problem]:
    """What can be said of another stack's registries: those of a stack of this repository are seen in its file."""
    where, value, fix = subject(("registry_stack",)), shown(registry_stack), "a stack that has registries"
    _organization, project, name = registry_stack.split("/")
    if registries is not None:
        rule = "the stack has registries of its own and reads another's"
        yield Problem(where, value, rule, "one of the two keys")
    elif project == names.PULUMI_PROJECT:
        if name == stack:
            yield Problem(where, value, "registry_stack names the stack itself", fix)
        for other in siblings:
            if other.stack == name and other.registries is None and not isinstance(other, UnsureStack):
                yield Problem(where, value, f"stack {name} has no registries", fix)


def _mirrors(mirrors: Items[Mirror], subject: Subject) -> Iterator[Problem]:
    for index, mirror in mirrors:
        path = ("mirrors", index, "locations")
        yield from repeats(enumerate(mirror.locations), subject, path, "the location is listed twice")


def _unique_names(
    reservations: Items[Reservation],
    mirrors: Items[Mirror],
    secrets: Items[SecretDecl],
    freezes: Items[Freeze],
    subject: Subject,
) -> Iterator[Problem]:
    sections = {"reservations": reservations, "mirrors": mirrors, "secrets": secrets, "freezes": freezes}
    for key, items in sections.items():
        given = ((index, each.name) for index, each in items)
        yield from repeats(given, subject, (key,), f"the name is listed twice in {key}", "name")


def _serves_once(pools: Items[Pool], subject: Subject) -> Iterator[Problem]:
    for index, pool in pools:
        path = ("pools", index, "serves")
        yield from repeats(enumerate(pool.serves), subject, path, "the repository is listed twice", any_case=True)


def _claimed_elsewhere(
    config: StackConfig,
    project: str,
    bucket: Bucket,
    secrets: Items[SecretDecl],
    mirrors: Items[Mirror],
    groups: Items[WorkerGroup],
    siblings: Sequence[StackConfig],
    subject: Subject,
) -> Iterator[Problem]:
    """What Google knows by one name in a project, or in the world, is one stack's."""
    theirs = {
        claim: other.stack
        for other in siblings
        for claim, _ in _claims(
            other,
            other.project,
            other.bucket,
            enumerate(other.secrets),
            enumerate(other.mirrors),
            enumerate(other.groups),
        )
    }
    for claim, path in _claims(config, project, bucket, secrets, mirrors, groups):
        if claim in theirs:
            kind, *where, name = claim
            rule = f"stack {theirs[claim]} has a {kind} of this name in {' '.join(where)}"
            yield Problem(subject(path), shown(name), rule, "another name, or declare it in one stack")


def _claims(
    config: StackConfig,
    project: str,
    bucket: Bucket,
    secrets: Iterable[tuple[int, SecretDecl]],
    mirrors: Iterable[tuple[int, Mirror]],
    groups: Iterable[tuple[int, WorkerGroup]],
) -> Iterator[tuple[tuple[str, ...], YamlPath]]:
    """Kind, scope and name of everything whose name does not carry the stack's, and where it is written."""
    yield ("bucket", "all projects", bucket.name), ("bucket", "name")
    if config.builds is not None:
        yield ("bucket", "all projects", names.build_log_bucket(bucket.name)), ("bucket", "name")
    for index, group in groups:
        if group.checkpoints is not None and group.checkpoints.location is not None:
            yield ("bucket", "all projects", group.checkpoints.bucket), ("groups", index, "checkpoints", "bucket")
    for index, secret in secrets:
        yield ("secret", project, secret.name), ("secrets", index, "name")
    for index, mirror in mirrors:
        for location in mirror.locations:
            yield ("mirror", project, location, mirror.name), ("mirrors", index, "name")
    if config.github is not None:
        yield ("deploying account", project, federation.DEPLOYER[0]), ("github",)
    if config.registries is not None:
        for index, repository in enumerate(config.registries.repositories):
            for region in config.registries.regions:
                path = ("registries", "repositories", index, "name")
                yield ("repository", project, region, repository.name), path


def _secret_readers(secrets: Items[SecretDecl], subject: Subject) -> Iterator[Problem]:
    for index, secret in secrets:
        path = ("secrets", index, "readers")
        yield from repeats(enumerate(secret.readers), subject, path, "the reader is listed twice")


def _readers(secrets: Items[SecretDecl], kind: str) -> Iterator[tuple[YamlPath, str, str]]:
    """The path of each reader of a kind, the reader, and its name within that kind."""
    for index, secret in secrets:
        for number, reader in enumerate(secret.readers):
            if reader.partition("/")[0] == kind:
                yield ("secrets", index, "readers", number), reader, reader.partition("/")[2]


def _builder_reads(secrets: Items[SecretDecl], registries: Registries | None, subject: Subject) -> Iterator[Problem]:
    for path, reader, _ in _readers(secrets, "builder"):
        if registries is None:
            rule = "this stack has no registries, and so no builder"
            yield Problem(subject(path), shown(reader), rule, "remove the reader, or declare tidepool:registries")


def _pool_reads(secrets: Items[SecretDecl], pools: tuple[Pool, ...], subject: Subject) -> Iterator[Problem]:
    trusts = {f"pool/{pool.name}": pool.trust for pool in pools}
    for path, reader, name in _readers(secrets, "pool"):
        if reader not in trusts:
            fix = suggestion(reader, trusts, "a pool of this stack")
            yield Problem(subject(path), shown(reader), "this stack has no such identity", fix)
        elif trusts[reader] is Trust.FORK:
            rule = f"pool {name} has trust fork: any pull request could read the secret"
            yield Problem(subject(path), shown(reader), rule, "remove the reader, or a pool of trust member")


def _team_reads(secrets: Items[SecretDecl], queues: Queues | None, subject: Subject) -> Iterator[Problem]:
    """A team's jobs read as its Google account, by the files that its pods mount."""
    accounts = {f"team/{team.name}": team.account for team in (queues.teams if queues else ())}
    for path, reader, name in _readers(secrets, "team"):
        if reader not in accounts:
            fix = suggestion(reader, accounts, "a team of tidepool:queues")
            yield Problem(subject(path), shown(reader), "this stack has no such team", fix)
        elif accounts[reader] is None:
            rule = f"team {name} has no Google account that may read it"
            yield Problem(subject(path), shown(reader), rule, f"account: of team {name}, or another reader")


def _environments(github: GitHub, subject: Subject) -> Iterator[Problem]:
    path = ("github", "environments")
    given = enumerate(github.environments)
    yield from repeats(given, subject, path, "the environment is listed twice", any_case=True)


def _run_makers(github: GitHub, subject: Subject) -> Iterator[Problem]:
    # Who is let in is told by the file alone: one that stood twice could act as either account.
    makers: dict[str, RunMakers] = {}
    for index, each in enumerate(github.run_makers):
        at = ("github", "run_makers", index, "workflows")
        for number, file in enumerate(each.workflows):
            first = makers.setdefault(f"{each.repository}/{file}".lower(), each)
            if first is not each:
                rule = f"this workflow makes VMs as {first.pool} already"
                yield Problem(subject((*at, number)), shown(file), rule, "a workflow of its own for each pool")
        same = [other for other in makers.values() if _same_maker(other, each)]
        if same and same[0] is not each:
            rule = "the repository is listed twice for one pool"
            yield Problem(subject((*at[:-1], "pool")), shown(each.pool), rule, "remove one of the two")
        yield from _workflows(each, subject, at)


def _makers_have_pools(github: GitHub, pools: tuple[Pool, ...], estate: Estate, subject: Subject) -> Iterator[Problem]:
    known = [pool.name for pool in pools] + [pool.name for stack in estate for pool in stack.pools]
    for index, each in enumerate(github.run_makers):
        if each.pool not in known:
            fix = suggestion(each.pool, known, "a pool of any stack")
            where = subject(("github", "run_makers", index, "pool"))
            yield Problem(where, shown(each.pool), "no stack declares a pool of this name", fix)


def _result_writers(github: GitHub, subject: Subject) -> Iterator[Problem]:
    path: YamlPath = ("github", "result_writers")
    repositories = enumerate(each.repository for each in github.result_writers)
    rule = "the repository is listed twice, and its workflows write results as one account"
    yield from repeats(repositories, subject, path, rule, "repository", any_case=True)
    for index, each in enumerate(github.result_writers):
        yield from _workflows(each, subject, (*path, index, "workflows"))


def _workflows(entry: RunMakers | ResultWriters, subject: Subject, at: YamlPath) -> Iterator[Problem]:
    yield from repeats(enumerate(entry.workflows), subject, at, "the workflow is listed twice")


def _same_maker(one: RunMakers, other: RunMakers) -> bool:
    return (one.repository.lower(), one.pool) == (other.repository.lower(), other.pool)


def _builds(builds: Builds, registries: Registries | None, subject: Subject) -> Iterator[Problem]:
    if registries is None:
        rule = "this stack has no registries to build for"
        yield Problem(subject(("builds",)), "", rule, "tidepool:registries, or no tidepool:builds")
    elif builds.region not in registries.regions:
        rule = "no repository is in this region, where builds push first"
        fix = suggestion(builds.region, registries.regions, "a region of tidepool:registries first")
        yield Problem(subject(("builds", "region")), shown(builds.region), rule, fix)


def _connections(builds: Builds, subject: Subject) -> Iterator[Problem]:
    path, repositories = ("builds", "connections"), enumerate(each.repository for each in builds.connections)
    rule = "the repository has a connection already"
    yield from repeats(repositories, subject, path, rule, "repository", any_case=True)
    for index, each in enumerate(builds.connections):
        if (each.installation is None) != (each.token_secret is None):
            given = "installation" if each.token_secret is None else "token_secret"
            rule = "only one of installation and token is given"
            fix = "both of them, or neither while it is not connected"
            yield Problem(subject((*path, index, given)), shown(getattr(each, given)), rule, fix)


def _freezes(freezes: Items[Freeze], subject: Subject) -> Iterator[Problem]:
    for index, freeze in freezes:
        for key, moment in (("from", freeze.start), ("to", freeze.end)):
            if is_skipped(moment, freeze.time_zone):
                rule = f"this hour does not exist in {freeze.time_zone}: clocks are set forward over it"
                yield Problem(subject(("freezes", index, key)), str(moment), rule, "an hour earlier or later")
        if ends(freeze) <= begins(freeze):
            rule = f"the freeze ends before it begins, on {freeze.start}"
            yield Problem(subject(("freezes", index, "to")), str(freeze.end), rule, "a later day or moment")


RULES: tuple[Rule, ...] = (
    _registries,
    _registry_stack,
    _mirrors,
    _unique_names,
    _serves_once,
    _claimed_elsewhere,
    _secret_readers,
    _builder_reads,
    _pool_reads,
    _team_reads,
    _builds,
    _connections,
    _environments,
    _run_makers,
    _makers_have_pools,
    _result_writers,
    _freezes,
)
