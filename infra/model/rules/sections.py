"""Rules of registries, mirrors, builds, secrets, GitHub and freezes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.model import federation, freezes, names
from infra.model.catalogue import nearest_names
from infra.model.errors import Problem, shown
from infra.model.facts import mirror_locations
from infra.model.partial import has
from infra.model.refusals import Subject
from infra.model.rules.common import Rule, repeats, right
from infra.model.schema import GitHub, Registries, ResultWriters, RunMakers, StackConfig, Trust
from infra.model.yamlfile import YamlPath


def _registries(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    own = _own_registries(config)
    if own is not None and has(own, "regions"):
        yield from repeats(own.regions, subject, ("registries", "regions"), "the region is listed twice")
    if own is not None and has(own, "repositories"):
        repositories = [getattr(each, "name", None) for each in own.repositories]
        path = ("registries", "repositories")
        yield from repeats(repositories, subject, path, "the repository's name is listed twice", "name")


def _registry_stack(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """What can be said of another stack's registries: those of a stack of this repository are seen in its file."""
    if not has(config, "registry_stack") or config.registry_stack is None:
        return
    where, value, fix = subject(("registry_stack",)), shown(config.registry_stack), "a stack that has registries"
    _organization, project, name = config.registry_stack.split("/")
    if _own_registries(config) is not None:
        rule = "the stack has registries of its own and reads another's"
        yield Problem(where, value, rule, "one of the two keys")
    elif project == names.PULUMI_PROJECT:
        if has(config, "stack") and name == config.stack:
            yield Problem(where, value, "registry_stack names the stack itself", fix)
        for other in siblings:
            if other.stack == name and has(other, "registries") and other.registries is None:
                yield Problem(where, value, f"stack {name} has no registries", fix)


def _own_registries(config: StackConfig) -> Registries | None:
    return config.registries if has(config, "registries") else None


def _mirrors(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, mirror in enumerate(config.mirrors):
        if has(mirror, "locations"):
            path = ("mirrors", index, "locations")
            yield from repeats(mirror.locations, subject, path, "the location is listed twice")
            if not mirror.locations:
                fix = f"one or more of {', '.join(mirror_locations())}"
                yield Problem(subject(path), "[]", "the mirror has no location", fix)


def _unique_names(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for key in ("reservations", "mirrors", "secrets", "freezes"):
        given = [getattr(each, "name", None) for each in getattr(config, key)]
        yield from repeats(given, subject, (key,), f"the name is listed twice in {key}", "name")
    for index, pool in enumerate(config.pools):
        if has(pool, "serves"):
            path = ("pools", index, "serves")
            yield from repeats(pool.serves, subject, path, "the repository is listed twice", any_case=True)


def _claimed_elsewhere(config: StackConfig, siblings: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    """What Google knows by one name in a project, or in the world, is one stack's."""
    theirs = {claim: other.stack for other in siblings for claim, _ in _claims(other)}
    for claim, path in _claims(config):
        if claim in theirs:
            kind, *where, name = claim
            rule = f"stack {theirs[claim]} has a {kind} of this name in {' '.join(where)}"
            yield Problem(subject(path), shown(name), rule, "another name, or declare it in one stack")


def _claims(config: StackConfig) -> Iterator[tuple[tuple[str, ...], YamlPath]]:
    """Kind, scope and name of everything whose name does not carry the stack's, and where it is written."""
    if has(config, "bucket"):
        yield ("bucket", "all projects", config.bucket.name), ("bucket", "name")
        if has(config, "builds") and config.builds is not None:
            logs = names.build_log_bucket(config.bucket.name)
            yield ("bucket", "all projects", logs), ("bucket", "name")
    for index, group in enumerate(config.groups):
        said = group.checkpoints if has(group, "checkpoints") else None
        if said is not None and said.location is not None:
            yield ("bucket", "all projects", said.bucket), ("groups", index, "checkpoints", "bucket")
    if not has(config, "project"):
        return
    for index, secret in enumerate(config.secrets):
        if has(secret, "name"):
            yield ("secret", config.project, secret.name), ("secrets", index, "name")
    for index, mirror in enumerate(config.mirrors):
        if has(mirror, "name", "locations"):
            for _, location in right(mirror.locations):
                yield ("mirror", config.project, location, mirror.name), ("mirrors", index, "name")
    if has(config, "github") and config.github is not None:
        yield ("deploying account", config.project, federation.DEPLOYER[0]), ("github",)
    own = _own_registries(config)
    if own is not None and has(own, "regions", "repositories"):
        for index, repository in enumerate(own.repositories):
            for _, region in right(own.regions if has(repository, "name") else ()):
                path = ("registries", "repositories", index, "name")
                yield ("repository", config.project, region, repository.name), path


def _secret_readers(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    pools = {pool.name: pool for pool in config.pools if has(pool, "name")}
    for index, secret in enumerate(config.secrets):
        if not has(secret, "readers"):
            continue
        yield from repeats(secret.readers, subject, ("secrets", index, "readers"), "the reader is listed twice")
        for number, reader in right(secret.readers):
            kind, _slash, name = reader.partition("/")
            where = subject(("secrets", index, "readers", number))
            if reader == "builder" and has(config, "registries") and config.registries is None:
                rule = "this stack has no registries, and so no builder"
                yield Problem(where, shown(reader), rule, "remove the reader, or declare tidepool:registries")
            if kind == "team":
                yield from _team_reader(config, reader, where)
            if kind != "pool":
                continue
            pool = pools.get(name)
            if pool is None:
                nearest = nearest_names(name, pools)
                fix = f"pool/{nearest[0]}" if nearest else "a pool of this stack"
                yield Problem(where, shown(reader), "this stack has no such identity", fix)
            elif has(pool, "trust") and pool.trust is Trust.FORK:
                rule = f"pool {name} has trust fork: any pull request could read the secret"
                yield Problem(where, shown(reader), rule, "remove the reader, or a pool of trust member")


def _team_reader(config: StackConfig, reader: str, where: str) -> Iterator[Problem]:
    """A team's jobs read as its Google account, by the files that its pods mount."""
    name = reader.partition("/")[2]
    queues = config.queues if has(config, "queues") else None
    teams = {team.name: team for team in queues.teams if has(team, "name")} if queues and has(queues, "teams") else {}
    if name not in teams:
        nearest = nearest_names(name, teams)
        fix = f"team/{nearest[0]}" if nearest else "a team of tidepool:queues"
        yield Problem(where, shown(reader), "this stack has no such team", fix)
    elif has(teams[name], "account") and teams[name].account is None:
        rule = f"team {name} has no Google account that may read it"
        yield Problem(where, shown(reader), rule, f"account: of team {name}, or another reader")


def _github(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if not has(config, "github") or config.github is None or not has(config.github, "environments"):
        return
    path = ("github", "environments")
    yield from repeats(config.github.environments, subject, path, "the environment is listed twice", any_case=True)
    if not config.github.environments:
        yield Problem(subject(path), "[]", "no environment may apply", "the environment of the apply workflow")
    if has(config.github, "run_makers"):
        yield from _run_makers(config.github, subject)
    if has(config.github, "result_writers"):
        yield from _result_writers(config.github, subject)


def _run_makers(github: GitHub, subject: Subject) -> Iterator[Problem]:
    # Who is let in is told by the file alone: one that stood twice could act as either account.
    makers: dict[str, RunMakers] = {}
    for index, each in right(github.run_makers):
        at = ("github", "run_makers", index, "workflows")
        if has(each, "repository", "pool", "workflows"):
            for number, file in right(each.workflows):
                first = makers.setdefault(f"{each.repository}/{file}".lower(), each)
                if first is not each:
                    rule = f"this workflow makes VMs as {first.pool} already"
                    yield Problem(subject((*at, number)), shown(file), rule, "a workflow of its own for each pool")
            same = [other for other in makers.values() if _same_maker(other, each)]
            if same and same[0] is not each:
                rule = "the repository is listed twice for one pool"
                yield Problem(subject((*at[:-1], "pool")), shown(each.pool), rule, "remove one of the two")
        yield from _workflows(each, subject, at)


def _result_writers(github: GitHub, subject: Subject) -> Iterator[Problem]:
    path: YamlPath = ("github", "result_writers")
    repositories = [getattr(each, "repository", None) for each in github.result_writers]
    rule = "the repository is listed twice, and its workflows write results as one account"
    yield from repeats(repositories, subject, path, rule, "repository", any_case=True)
    for index, each in right(github.result_writers):
        yield from _workflows(each, subject, (*path, index, "workflows"))


def _workflows(entry: RunMakers | ResultWriters, subject: Subject, at: YamlPath) -> Iterator[Problem]:
    if has(entry, "workflows"):
        yield from repeats(entry.workflows, subject, at, "the workflow is listed twice")
        if not entry.workflows:
            yield Problem(subject(at), "[]", "no workflow is named", "the files of workflows")


def _same_maker(one: RunMakers, other: RunMakers) -> bool:
    return (one.repository.lower(), one.pool) == (other.repository.lower(), other.pool)


def _builds(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    if not has(config, "builds") or config.builds is None:
        return
    builds, path = config.builds, ("builds", "connections")
    own = _own_registries(config)
    if has(config, "registries") and own is None:
        rule = "this stack has no registries to build for"
        yield Problem(subject(("builds",)), "", rule, "tidepool:registries, or no tidepool:builds")
    elif own is not None and has(own, "regions") and has(builds, "region") and builds.region not in own.regions:
        rule = "no repository is in this region, where builds push first"
        fix = f"one of {', '.join(str(region) for _, region in right(own.regions))}"
        yield Problem(subject(("builds", "region")), shown(builds.region), rule, fix)
    if not has(builds, "connections"):
        return
    repositories = [getattr(each, "repository", None) for each in builds.connections]
    rule = "the repository has a connection already"
    yield from repeats(repositories, subject, path, rule, "repository", any_case=True)
    for index, each in enumerate(builds.connections):
        if has(each, "installation", "token_secret") and (each.installation is None) != (each.token_secret is None):
            given = "installation" if each.token_secret is None else "token_secret"
            rule = "only one of installation and token is given"
            fix = "both of them, or neither while it is not connected"
            yield Problem(subject((*path, index, given)), shown(getattr(each, given)), rule, fix)


def _freezes(config: StackConfig, _: Sequence[StackConfig], subject: Subject) -> Iterator[Problem]:
    for index, freeze in enumerate(config.freezes):
        if has(freeze, "from", "to", "time_zone") and freezes.ends(freeze) <= freezes.begins(freeze):
            rule = f"the freeze ends before it begins, on {freeze.start}"
            yield Problem(subject(("freezes", index, "to")), str(freeze.end), rule, "a later day or moment")


RULES: tuple[Rule, ...] = (
    _registries,
    _registry_stack,
    _mirrors,
    _unique_names,
    _claimed_elsewhere,
    _secret_readers,
    _builds,
    _github,
    _freezes,
)
