"""Every stack builds, and whatever its size holds what must hold of every stack."""

from __future__ import annotations

import re

import pulumi
import pytest

from infra.fleet.bundle import STUB
from infra.model import bucket_names, names
from infra.model.federation import makers_as, result_writers
from infra.model.grants import NODE_ROLES
from infra.model.stack import load_stack
from infra.model.stack_text import pulumi_values
from tests.program.fake_engine import Registered, build
from tests.program.stacks import CI_REGISTRIES, STACKS, built, content, lab_program, text_of, unedited
from tests.synthetic_lab import the_lab

PROJECT_BY_PARENT = {"BucketIAMMember", "BucketObject", "IAMMember"}
"""Types without a project of their own: the bucket or account that they name has one."""

every_stack = pytest.mark.parametrize("stack", STACKS)


@every_stack
def test_every_slice_that_a_stack_counts_is_one_vm(stack: str) -> None:
    counted = sum(pool.slices for pool in load_stack(the_lab(), stack).pools)
    assert len(unedited(stack).of("V2Vm")) == counted
    assert len(unedited("ci").of("V2Vm")) == 9


def test_ci_has_its_repositories_in_six_regions() -> None:
    standard = [
        r
        for r in unedited("ci").of("artifactregistry/repository:Repository")
        if r.inputs["mode"] == "STANDARD_REPOSITORY"
    ]
    assert len({r.inputs["location"] for r in standard}) == 6


@every_stack
def test_a_vm_is_named_as_its_resource_so_that_it_can_be_made_again(stack: str) -> None:
    for vm in unedited(stack).of("V2Vm"):
        assert vm.inputs["name"] == vm.name
        assert vm.inputs["name"].startswith(f"{vm.inputs['labels']['tidepool-pool']}-{vm.inputs['zone']}-")


@every_stack
def test_a_vm_names_its_network_by_full_paths(stack: str) -> None:
    for vm in unedited(stack).of("V2Vm"):
        network = vm.inputs["networkConfig"]
        assert re.fullmatch(r"projects/[^/]+/global/networks/[^/]+", network["network"])
        assert re.fullmatch(r"projects/[^/]+/regions/[^/]+/subnetworks/[^/]+", network["subnetwork"])


@every_stack
def test_the_paths_of_a_vms_network_are_those_of_resources_in_the_program(stack: str) -> None:
    program = unedited(stack)
    networks = {
        f"projects/{n.inputs['project']}/global/networks/{n.inputs['name']}" for n in program.of("Network") if n.custom
    }
    subnets = {
        f"projects/{s.inputs['project']}/regions/{s.inputs['region']}/subnetworks/{s.inputs['name']}"
        for s in program.of("Subnetwork")
    }
    for vm in program.of("V2Vm"):
        assert vm.inputs["networkConfig"]["network"] in networks
        assert vm.inputs["networkConfig"]["subnetwork"] in subnets


@every_stack
def test_a_vm_goes_before_its_subnet_and_account_do(stack: str) -> None:
    program = unedited(stack)
    for vm in program.of("V2Vm"):
        needed = {program.resources[urn].type.split(":")[-1] for urn in vm.dependencies}
        assert {"Subnetwork", "Account"} <= needed


@every_stack
def test_a_vm_is_made_once_all_records_of_its_fleet_stand(stack: str) -> None:
    program = unedited(stack)
    records = {each.urn for each in program.of("BucketObject")}
    for vm in program.of("V2Vm"):
        needed = set(vm.dependencies)
        while more := set().union(*(program.resources[urn].dependencies for urn in needed)) - needed:
            needed |= more
        assert len(records & needed) == 3, "a bundle, what VMs read when they start, and the manifest"


@every_stack
def test_a_vm_runs_as_an_account_of_its_pool_alone(stack: str) -> None:
    program = unedited(stack)
    emails = {f"{a.inputs['accountId']}@{a.inputs['project']}.iam.gserviceaccount.com" for a in program.of("Account")}
    pool_of: dict[str, str] = {}
    for vm in program.of("V2Vm"):
        email = vm.inputs["serviceAccount"]["email"]
        assert email in emails, "an account that the program does not make, such as Google's default one"
        pool = vm.inputs["labels"]["tidepool-pool"]
        assert pool_of.setdefault(email, pool) == pool, f"{email} is shared by two pools"


@every_stack
def test_a_vm_is_deleted_before_it_is_replaced(stack: str) -> None:
    assert all(vm.delete_before_replace for vm in unedited(stack).of("V2Vm"))


@every_stack
def test_a_full_limit_is_not_waited_for_longer_than_a_slice_takes(stack: str) -> None:
    for vm in unedited(stack).of("V2Vm"):
        assert vm.create_timeout in ("10m", "20m"), vm.name
    assert {vm.create_timeout for vm in unedited("ci").of("V2Vm")} == {"10m"}, "ci has one-host slices only"


@every_stack
def test_every_vm_carries_the_reviewed_stub(stack: str) -> None:
    for vm in unedited(stack).of("V2Vm"):
        assert vm.inputs["metadata"]["startup-script"] == STUB.read_text()


@every_stack
def test_nothing_secret_stands_in_a_program(stack: str) -> None:
    program = unedited(stack)
    assert not program.of("SecretVersion")
    secrets = {s.inputs["secretId"] for s in program.of("Secret")}
    for vm in program.of("V2Vm"):
        text = repr(vm.inputs)
        assert not [secret for secret in secrets if secret in text]
        assert not re.search(r"BEGIN [A-Z ]*PRIVATE KEY|gh[a-z]_[A-Za-z0-9]{20}|ya29\.|AIza", text)


@every_stack
def test_what_cannot_be_made_again_is_protected_and_outlives_its_removal(stack: str) -> None:
    program = unedited(stack)
    kept = [*program.of("artifactregistry/repository:Repository"), *program.of("Secret"), *program.of("Bucket")]
    kept += [*program.of("WorkloadIdentityPool"), *program.of("WorkloadIdentityPoolProvider")]
    assert kept
    for resource in kept:
        assert resource.protect, f"{resource.name} could be deleted or replaced by one up"
        assert resource.retain_on_delete, f"{resource.name} would be lost where protection was lifted"


@every_stack
def test_nothing_else_is_protected_so_that_a_pool_can_go(stack: str) -> None:
    program = unedited(stack)
    assert {r.type.split(":")[-1] for r in program.custom if r.protect} <= {
        "Repository",
        "Secret",
        "Bucket",
        "WorkloadIdentityPool",
        "WorkloadIdentityPoolProvider",
        "Cluster",
    }


@every_stack
def test_grants_are_additive_and_on_single_resources(stack: str) -> None:
    kinds = {r.type.split(":")[-1] for r in unedited(stack).custom}
    assert not {kind for kind in kinds if kind.endswith(("IAMPolicy", "IAMBinding", "IamPolicy", "IamBinding"))}
    grants = {(r.type, r.inputs["role"]) for r in unedited(stack).custom if "role" in r.inputs}
    assert {role for kind, role in grants if kind.startswith("gcp:projects/")} <= set(NODE_ROLES), (
        "on the project nodes of a cluster alone have roles, those for which there is no narrower resource"
    )
    assert {role for _, role in grants} - set(NODE_ROLES) <= {
        "roles/artifactregistry.reader",
        "roles/artifactregistry.writer",
        "roles/iam.serviceAccountUser",
        "roles/iam.workloadIdentityUser",
        "roles/pubsub.publisher",
        "roles/secretmanager.secretAccessor",
        "roles/storage.legacyBucketReader",
        "roles/storage.objectUser",
        "roles/storage.objectViewer",
    }


@every_stack
def test_grants_go_to_the_stacks_own_accounts_and_to_those_that_make_vms_or_keep_results_there(stack: str) -> None:
    program = unedited(stack)
    pools = [(pool.name, config.project) for config in [load_stack(the_lab(), stack)] for pool in config.pools]
    every = [load_stack(the_lab(), each) for each in STACKS]
    makers = {f"serviceAccount:{maker.email}" for name, project in pools for maker in makers_as(name, project, every)}
    results = load_stack(the_lab(), stack).results
    writers = {f"serviceAccount:{each.email}" for config in every for each in result_writers(config) if results}
    own = {
        f"serviceAccount:{a.inputs['accountId']}@{a.inputs['project']}.iam.gserviceaccount.com"
        for a in program.of("Account")
    }
    members = {r.inputs["member"] for r in program.custom if "member" in r.inputs}
    assert {member for member in members if not member.startswith("principalSet://")} <= own | makers | writers


@every_stack
def test_images_are_written_by_the_builder_alone(stack: str) -> None:
    writers = {
        r.inputs["member"]
        for r in unedited(stack).custom
        if r.inputs.get("role", "") == "roles/artifactregistry.writer"
    }
    assert all(member.startswith(f"serviceAccount:tidepool-{stack}-builder@") for member in writers)


@every_stack
def test_each_identity_has_its_part_of_the_fleet_records_and_no_other(stack: str) -> None:
    program = unedited(stack)
    fleet_bucket, config = program.outputs["manifest"]["bucket"], load_stack(the_lab(), stack)
    keys = {names.pool_account_id(stack, pool.name): f"pool/{pool.name}" for pool in config.pools}
    keys |= {names.role_account_id(stack, each): each for each in ("broker", "controller")}
    found: dict[str, set[tuple[str, str]]] = {}
    for grant in program.of("BucketIAMMember"):
        if grant.inputs["bucket"] == fleet_bucket:
            account = grant.inputs["member"].removeprefix("serviceAccount:").partition("@")[0]
            who = keys.get(account, account)
            prefix = grant.inputs.get("condition", {}).get("title", "only").removeprefix("only").strip()
            verb = {"objectViewer": "reads", "objectUser": "writes", "legacyBucketReader": "lists"}
            found.setdefault(who, set()).add((verb[grant.inputs["role"].rpartition(".")[2]], prefix))
            if prefix:
                below = f"projects/_/buckets/{fleet_bucket}/objects/{prefix}"
                assert grant.inputs["condition"]["expression"] == f'resource.name.startsWith("{below}")'
    for pool in config.pools:
        parts = found[f"pool/{pool.name}"]
        own = {("writes", f"runs/work/{pool.name}/")} if config.runs and pool.name in config.runs.pools else set()
        wanted = {("reads", "runner/"), ("writes", f"reports/{pool.name}/")} | own
        assert parts == wanted, "no manifest, no others' reports, and no count of runs"
    assert found["broker"] == {("lists", ""), ("reads", "manifests/"), ("reads", "control/"), ("writes", "broker/")}
    reads = {("reads", prefix) for prefix in ("manifests/", "runner/", "reports/", "broker/", "images/")}
    ends = {("writes", "runs/days/")} if config.runs else set()
    assert found["controller"] == {("lists", ""), ("writes", "control/"), ("writes", "runner/orders/"), *reads, *ends}
    rest = {part for who, parts in found.items() if who not in keys.values() for part in parts}
    assert rest <= {("writes", "images/"), ("reads", "images/"), ("writes", "runs/")}


@every_stack
def test_buckets_are_private_and_the_fleets_is_versioned(stack: str) -> None:
    for bucket in unedited(stack).of("Bucket"):
        assert bucket.inputs["uniformBucketLevelAccess"] is True
        assert bucket.inputs["publicAccessPrevention"] == "enforced"
    fleet_bucket = unedited(stack).outputs["manifest"]["bucket"]
    (fleet,) = (each.inputs for each in unedited(stack).of("Bucket") if each.name == fleet_bucket)
    assert fleet["versioning"] == {"enabled": True}


def test_records_of_vms_that_are_gone_go_and_those_that_a_fleet_lives_by_stay() -> None:
    program = unedited("ci")
    (fleet,) = (b.inputs for b in program.of("Bucket") if b.name == program.outputs["manifest"]["bucket"])
    days = {
        prefix: rule["condition"]["age"]
        for rule in fleet["lifecycleRules"]
        for prefix in rule["condition"].get("matchesPrefixes", ())
        if rule["condition"]["withState"] == "LIVE"
    }
    assert days == {"reports/": 30, "broker/": 400, bucket_names.stood_days_prefix("ci"): 400}
    written_once_a_making = (bucket_names.instance_object("ci", "1"), bucket_names.report_object("tpu-ci", "vm"))
    assert all(name.startswith(tuple(days)) for name in written_once_a_making)
    lived_by = (
        *(
            bucket_names.manifest_object("ci"),
            bucket_names.pointer_object(),
            bucket_names.bundle_object("0"),
            bucket_names.orders_object("vm"),
        ),
        *(
            bucket_names.memory_object("ci"),
            bucket_names.lease_object("ci"),
            bucket_names.requests_object("ci"),
            bucket_names.images_record_object(),
        ),
    )
    assert not any(name.startswith(tuple(days)) for name in lived_by)
    old = [r["condition"] for r in fleet["lifecycleRules"] if r["condition"]["withState"] == "ARCHIVED"]
    assert [(each.get("numNewerVersions"), each.get("daysSinceNoncurrentTime")) for each in old] == [
        (50, None),
        (None, 30),
    ]
    assert sorted(old[1]["matchesPrefixes"]) == sorted(days), "a record that went leaves no versions for ever"


@every_stack
def test_nothing_lets_traffic_in_but_from_the_hosts_of_ones_own_pool(stack: str) -> None:
    config = load_stack(the_lab(), stack)
    several = {
        names.account_email(names.pool_account_id(stack, pool.name), config.project)
        for pool in config.pools
        if pool.accelerator.multi_host
    }
    rules = [r.inputs for r in unedited(stack).custom if "irewall" in r.type]
    assert {rule["sourceServiceAccounts"][0] for rule in rules} == several
    for rule in rules:
        assert rule["sourceServiceAccounts"] == rule["targetServiceAccounts"]
        assert not {"sourceRanges", "sourceTags", "targetTags"} & rule.keys()
        assert [(each["protocol"], each["ports"]) for each in rule["allows"]] == [("tcp", ["1024-65535"])]
    assert all(not n.inputs["autoCreateSubnetworks"] for n in unedited(stack).of("Network") if n.custom)
    assert all(s.inputs["privateIpGoogleAccess"] for s in unedited(stack).of("Subnetwork"))


@every_stack
def test_subnets_do_not_overlap(stack: str) -> None:
    ranges = [s.inputs["ipCidrRange"] for s in unedited(stack).of("Subnetwork")]
    assert len(set(ranges)) == len(ranges)


@every_stack
def test_clean_up_policies_are_live(stack: str) -> None:
    for repository in unedited(stack).of("artifactregistry/repository:Repository"):
        assert repository.inputs["cleanupPolicyDryRun"] is False
        for policy in repository.inputs["cleanupPolicies"]:
            assert ("condition" in policy) != ("mostRecentVersions" in policy)
            assert "tagState" in policy.get("condition", {"tagState": ""}), "the service refuses a condition without it"


@every_stack
def test_a_mirror_keeps_nothing_for_ever(stack: str) -> None:
    for repository in unedited(stack).of("artifactregistry/repository:Repository"):
        if repository.inputs["mode"] == "REMOTE_REPOSITORY":
            assert {policy["action"] for policy in repository.inputs["cleanupPolicies"]} <= {"DELETE"}


@every_stack
def test_tags_may_move_since_that_block_would_never_settle(stack: str) -> None:
    assert not [
        r.name for r in unedited(stack).of("artifactregistry/repository:Repository") if "dockerConfig" in r.inputs
    ]


@every_stack
def test_every_resource_says_its_project(stack: str) -> None:
    for resource in unedited(stack).custom:
        kind = resource.type.split(":")[-1]
        if kind not in PROJECT_BY_PARENT and not resource.type.startswith("pulumi:"):
            assert resource.inputs["project"] == "hai-gcp-models", resource.name


@every_stack
def test_apis_stay_enabled_when_a_stack_goes(stack: str) -> None:
    assert all(service.inputs["disableOnDestroy"] is False for service in unedited(stack).of("Service"))


def is_component(resource: Registered) -> bool:
    return re.fullmatch(r"tidepool:[a-z_]+:[A-Z][A-Za-z]+", resource.type) is not None


@every_stack
def test_components_have_one_shape(stack: str) -> None:
    program = unedited(stack)
    for resource in program.resources.values():
        if not resource.custom:
            assert is_component(resource), resource.type
            assert program.component_outputs.get(resource.urn), f"{resource.name} registers no outputs"
        elif not resource.type.startswith("pulumi:"):
            assert is_component(program.resources[resource.parent]), f"{resource.name} stands outside a component"


@every_stack
def test_no_resource_is_told_to_ignore_changes(stack: str) -> None:
    """But of a cluster, where Google's own autoscaler counts nodes and the API returns other defaults."""
    assert {r.type for r in unedited(stack).custom if r.ignore_changes} <= {
        "gcp:container/cluster:Cluster",
        "gcp:container/nodePool:NodePool",
    }


@every_stack
def test_a_preview_registers_what_an_apply_does(stack: str) -> None:
    assert set(built(stack, text_of(stack), preview=True).resources) == set(unedited(stack).resources)


def test_outputs_say_what_pools_have() -> None:
    pools = unedited("ci").outputs["pools"]
    assert pools["tpu-ci"]["zones"]["us-west4-a"] == {
        "vms": ["tpu-ci-us-west4-a-0", "tpu-ci-us-west4-a-1"],
        "hosts": 2,
        "chips": 8,
    }
    assert (pools["tpu-ci"]["hosts"], pools["tpu-ci"]["chips"]) == (6, 24)
    assert {key: pools["tpu-v4"][key] for key in ("accelerator", "capacity", "label", "trust")} == {
        "accelerator": "v4-8",
        "capacity": "preemptible",
        "label": "tpu-v4",
        "trust": "member",
    }


def test_outputs_have_every_docker_path() -> None:
    registries = unedited("ci").outputs["registries"]
    assert registries["us-west4"]["marin-ci"] == "us-west4-docker.pkg.dev/hai-gcp-models/marin-ci"
    assert registries["europe"]["ghcr-mirror"] == "europe-docker.pkg.dev/hai-gcp-models/ghcr-mirror"


def test_outputs_name_every_identity_and_the_manifest() -> None:
    outputs = unedited("ci").outputs
    assert {"broker", "builder", "controller", "pool/tpu-ci"} <= set(outputs["identities"])
    assert outputs["manifest"] == {"bucket": "hai-gcp-models-tidepool-ci", "object": "manifests/ci.json", "version": 1}


@pytest.mark.parametrize("stack", ["nightly", "training"])
def test_a_stack_without_registries_reads_those_of_ci(stack: str) -> None:
    assert unedited(stack).outputs["registries"] == CI_REGISTRIES
    assert not unedited(stack).of("artifactregistry/repository:Repository")


def test_a_stack_whose_registries_were_never_brought_up_says_what_to_bring_up_first() -> None:
    never = {"organization/tidepool/ci": {}}
    with pytest.raises(pulumi.RunError, match=r"stack reference organization/tidepool/ci: .*pulumi up --stack ci"):
        build(lab_program, stack="nightly", config=pulumi_values(text_of("nightly")), references=never, preview=True)


@pytest.mark.parametrize("stack", STACKS)
def test_every_pool_may_pull_from_every_repository_that_its_stack_uses(stack: str) -> None:
    repositories = {
        (r.inputs["location"], r.inputs["repositoryId"])
        for r in unedited("ci").of("artifactregistry/repository:Repository")
    }
    grants = unedited(stack).of("RepositoryIamMember")
    for pool in {key for key in unedited(stack).outputs["identities"] if key.startswith("pool/")}:
        member = f"serviceAccount:{unedited(stack).outputs['identities'][pool]}"
        read = {(g.inputs["location"], g.inputs["repository"]) for g in grants if g.inputs["member"] == member}
        assert read == repositories, pool


def test_a_grant_waits_for_a_repository_that_the_same_run_makes() -> None:
    program = unedited("ci")
    for grant in program.of("RepositoryIamMember"):
        assert "Repository" in {program.resources[urn].type.split(":")[-1] for urn in grant.dependencies}


@every_stack
def test_the_manifest_would_make_the_very_vms_that_the_program_declares(stack: str) -> None:
    document = content(unedited(stack), bucket_names.manifest_object(stack))
    declared = {vm.name: vm.inputs for vm in unedited(stack).of("V2Vm")}
    slots = {slot["name"]: slot["node"] for slot in document["slots"]}
    assert set(slots) == set(declared)
    for name, inputs in declared.items():
        node = slots[name]
        assert inputs["metadata"] == node["metadata"]
        assert inputs["labels"] == node["labels"]
        assert inputs["networkConfig"] == node["networkConfig"]
        assert inputs["schedulingConfig"] == node["schedulingConfig"]
        assert inputs["serviceAccount"] == {
            "email": node["serviceAccount"]["email"],
            "scopes": node["serviceAccount"]["scope"],
        }
        same = ("acceleratorType", "runtimeVersion", "description", "tags", "shieldedInstanceConfig")
        assert {key: inputs[key] for key in same} == {key: node[key] for key in same}
