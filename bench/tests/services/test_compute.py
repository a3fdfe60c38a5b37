"""Networks of Compute Engine through Google's own client, in `v1` and in the provider's `beta`."""

from __future__ import annotations

import ipaddress
import itertools

import pytest
from google.auth.credentials import AnonymousCredentials
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from hypothesis import given, settings
from hypothesis import strategies as st

REGION = "us-central1"
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def compute(client):
    return client("compute")


@pytest.fixture(scope="module")
def done(compute, settled):
    """Run a request and wait for its operation, wherever it lives."""

    def run(request, project):
        begun = request.execute()
        assert begun["kind"] == "compute#operation"
        if "region" in begun:
            region = begun["region"].rpartition("/")[2]
            poll = lambda name: compute.regionOperations().get(project=project, region=region, operation=name)  # noqa: E731
        else:
            poll = lambda name: compute.globalOperations().wait(project=project, operation=name)  # noqa: E731
        return settled(begun, poll)

    return run


@pytest.fixture
def lab(compute, done):
    """A project with one network `lab`, its own for every test."""
    project = f"lab-{next(NUMBERS)}"
    body = {"name": "lab", "autoCreateSubnetworks": False, "routingConfig": {"routingMode": "GLOBAL"}}
    done(compute.networks().insert(project=project, body=body), project)
    return project


def _subnet(project, name="sub", cidr="10.0.0.0/16", **more):
    # The provider sends the region this way.
    region = f"projects/{project}/global/regions/{REGION}"
    return {
        "name": name,
        "network": f"projects/{project}/global/networks/lab",
        "ipCidrRange": cidr,
        "region": region,
        **more,
    }


def test_a_network_gives_back_what_it_was_sent_and_links_to_itself(compute, lab, google):
    got = compute.networks().get(project=lab, network="lab").execute()
    assert got["autoCreateSubnetworks"] is False
    assert got["routingConfig"]["routingMode"] == "GLOBAL"
    assert got["selfLink"] == f"{google.url}/compute/v1/projects/{lab}/global/networks/lab"
    assert got["mtu"] == 1460


def test_each_version_links_to_itself(client, lab, google):
    got = client("compute", "beta").networks().get(project=lab, network="lab").execute()
    assert got["selfLink"] == f"{google.url}/compute/beta/projects/{lab}/global/networks/lab"


def test_an_operation_names_its_target_and_ends_once_the_clock_moved(compute, cloud, refused):
    """With a clock that stands still nothing ends, and nothing may be built on what is not ready."""
    options = {"api_endpoint": f"{cloud.url}/compute/v1/"}
    still = build("compute", "v1", credentials=AnonymousCredentials(), client_options=options, static_discovery=True)
    body = {"name": "lab", "autoCreateSubnetworks": False}
    begun = still.networks().insert(project="p-still", body=body).execute()
    assert begun["status"] == "RUNNING"
    assert begun["targetLink"].endswith("/projects/p-still/global/networks/lab")
    error = refused(400, still.subnetworks().insert(project="p-still", region=REGION, body=_subnet("p-still")))
    assert error["errors"][0]["reason"] == "resourceNotReady"
    cloud.wall.advance(60)
    ended = still.globalOperations().get(project="p-still", operation=begun["name"]).execute()
    assert (ended["status"], ended["progress"]) == ("DONE", 100)
    still.subnetworks().insert(project="p-still", region=REGION, body=_subnet("p-still")).execute()
    still.close()


def test_a_network_is_patched_in_place_and_its_name_is_not(compute, done, lab, refused):
    patch = {"name": "lab", "routingConfig": {"routingMode": "REGIONAL"}, "mtu": 1500}
    done(compute.networks().patch(project=lab, network="lab", body=patch), lab)
    got = compute.networks().get(project=lab, network="lab").execute()
    assert (got["routingConfig"]["routingMode"], got["mtu"]) == ("REGIONAL", 1500)
    refused(400, compute.networks().patch(project=lab, network="lab", body={"autoCreateSubnetworks": True}))


def test_a_subnetwork_shows_network_region_gateway_and_fingerprint(compute, done, lab, google):
    ranges = [{"rangeName": "pods", "ipCidrRange": "10.64.0.0/16"}]
    body = _subnet(lab, privateIpGoogleAccess=True, secondaryIpRanges=ranges, logConfig={"enable": True})
    done(compute.subnetworks().insert(project=lab, region=REGION, body=body), lab)
    got = compute.subnetworks().get(project=lab, region=REGION, subnetwork="sub").execute()
    assert got["network"] == f"{google.url}/compute/v1/projects/{lab}/global/networks/lab"
    assert got["region"] == f"{google.url}/compute/v1/projects/{lab}/regions/{REGION}"
    assert (got["gatewayAddress"], got["privateIpGoogleAccess"]) == ("10.0.0.1", True)
    assert got["secondaryIpRanges"] == ranges
    assert got["logConfig"]["metadata"]
    assert got["fingerprint"]
    network = compute.networks().get(project=lab, network="lab").execute()
    assert network["subnetworks"] == [got["selfLink"]]


def test_a_subnetwork_changes_access_range_and_the_rest_by_three_ways(compute, done, lab, refused):
    subnetworks, where = compute.subnetworks(), {"project": lab, "region": REGION, "subnetwork": "sub"}
    done(subnetworks.insert(project=lab, region=REGION, body=_subnet(lab)), lab)
    done(subnetworks.setPrivateIpGoogleAccess(**where, body={"privateIpGoogleAccess": True}), lab)
    assert subnetworks.get(**where).execute()["privateIpGoogleAccess"] is True
    done(subnetworks.setPrivateIpGoogleAccess(**where, body={}), lab)
    assert subnetworks.get(**where).execute()["privateIpGoogleAccess"] is False
    done(subnetworks.expandIpCidrRange(**where, body={"ipCidrRange": "10.0.0.0/15"}), lab)
    for smaller in ("10.0.0.0/16", "10.0.0.0/15", "10.4.0.0/14"):
        refused(400, subnetworks.expandIpCidrRange(**where, body={"ipCidrRange": smaller}))
    old = subnetworks.get(**where).execute()
    change = {"logConfig": {"enable": True}, "fingerprint": old["fingerprint"]}
    done(subnetworks.patch(**where, body=change), lab)
    refused(412, subnetworks.patch(**where, body=change))
    assert subnetworks.get(**where).execute()["ipCidrRange"] == "10.0.0.0/15"


def test_a_subnetwork_needs_its_network_and_a_free_range(compute, done, lab, refused):
    insert = lambda body: compute.subnetworks().insert(project=lab, region=REGION, body=body)  # noqa: E731
    missing = {**_subnet(lab), "network": f"projects/{lab}/global/networks/nowhere"}
    assert "nowhere" in refused(404, insert(missing))["message"]
    refused(400, insert({**_subnet(lab), "network": "lab"}))
    refused(400, insert(_subnet(lab, cidr="10.0.0.1/16")))
    refused(400, insert(_subnet(lab, name="Upper")))
    done(insert(_subnet(lab)), lab)
    assert "conflicts" in refused(400, insert(_subnet(lab, name="other", cidr="10.0.128.0/24")))["message"]
    refused(409, insert(_subnet(lab)))


def test_a_network_in_use_cannot_be_deleted(compute, done, lab, refused):
    done(compute.subnetworks().insert(project=lab, region=REGION, body=_subnet(lab)), lab)
    router = {"name": "r", "network": f"projects/{lab}/global/networks/lab"}
    done(compute.routers().insert(project=lab, region=REGION, body=router), lab)
    delete = compute.networks().delete(project=lab, network="lab")
    error = refused(400, delete)
    assert error["errors"][0]["reason"] == "resourceInUseByAnotherResource"
    done(compute.subnetworks().delete(project=lab, region=REGION, subnetwork="sub"), lab)
    assert "/routers/r" in refused(400, delete)["message"]
    done(compute.routers().delete(project=lab, region=REGION, router="r"), lab)
    done(delete, lab)
    refused(404, compute.networks().get(project=lab, network="lab"))


def test_a_subnetwork_with_a_tpu_vm_cannot_be_deleted(compute, client, done, lab, refused):
    done(compute.subnetworks().insert(project=lab, region=REGION, body=_subnet(lab)), lab)
    paths = {
        "network": f"projects/{lab}/global/networks/lab",
        "subnetwork": f"projects/{lab}/regions/{REGION}/subnetworks/sub",
    }
    node = {"acceleratorType": "v5p-8", "runtimeVersion": "v2-alpha-tpuv5", "networkConfig": paths}
    zone = f"projects/{lab}/locations/{REGION}-a"
    client("tpu", "v2").projects().locations().nodes().create(parent=zone, nodeId="vm", body=node).execute()
    error = refused(400, compute.subnetworks().delete(project=lab, region=REGION, subnetwork="sub"))
    assert "/nodes/vm" in error["message"]


def test_a_nat_is_an_entry_of_its_router(compute, done, lab, google):
    routers, where = compute.routers(), {"project": lab, "region": REGION, "router": "r"}
    network = f"projects/{lab}/global/networks/lab"
    done(routers.insert(project=lab, region=REGION, body={"name": "r", "network": network}), lab)
    nat = {
        "name": "nat",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
    }
    done(routers.patch(**where, body={"nats": [nat]}), lab)
    done(routers.patch(**where, body={"description": "kept"}), lab)
    got = routers.get(**where).execute()
    assert got["nats"] == [nat]
    assert got["network"] == f"{google.url}/compute/v1/{network}"
    done(routers.patch(**where, body={"nats": []}), lab)
    assert "nats" not in routers.get(**where).execute()


def test_a_nat_of_listed_subnetworks_takes_links_of_any_form(compute, done, lab, google, refused):
    done(compute.subnetworks().insert(project=lab, region=REGION, body=_subnet(lab)), lab)
    link = f"https://www.googleapis.com/compute/v1/projects/{lab}/regions/{REGION}/subnetworks/sub"
    nat = {
        "name": "nat",
        "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
        "subnetworks": [{"name": link, "sourceIpRangesToNat": ["ALL_IP_RANGES"]}],
    }
    router = {"name": "r", "network": f"projects/{lab}/global/networks/lab", "nats": [nat]}
    done(compute.routers().insert(project=lab, region=REGION, body=router), lab)
    got = compute.routers().get(project=lab, region=REGION, router="r").execute()
    shown = f"{google.url}/compute/v1/projects/{lab}/regions/{REGION}/subnetworks/sub"
    assert got["nats"][0]["subnetworks"][0]["name"] == shown
    nat["subnetworks"][0]["name"] = link.replace("/sub", "/other")
    refused(404, compute.routers().patch(project=lab, region=REGION, router="r", body={"nats": [nat]}))


def test_one_network_and_region_has_one_nat_for_all_subnetworks(compute, done, lab, refused):
    nat = {"name": "nat", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}
    router = {"network": f"projects/{lab}/global/networks/lab", "nats": [nat]}
    done(compute.routers().insert(project=lab, region=REGION, body={**router, "name": "one"}), lab)
    refused(400, compute.routers().insert(project=lab, region=REGION, body={**router, "name": "two"}))
    done(compute.routers().insert(project=lab, region="us-east1", body={**router, "name": "two"}), lab)


def test_a_firewall_rule_has_the_service_s_defaults(compute, done, lab, refused):
    rule = {"name": "ssh", "network": f"projects/{lab}/global/networks/lab"}
    refused(400, compute.firewalls().insert(project=lab, body=rule))
    rule["allowed"] = [{"IPProtocol": "tcp", "ports": ["22"]}]
    done(compute.firewalls().insert(project=lab, body=rule), lab)
    got = compute.firewalls().get(project=lab, firewall="ssh").execute()
    assert (got["direction"], got["priority"], got["sourceRanges"]) == ("INGRESS", 1000, ["0.0.0.0/0"])
    done(compute.firewalls().patch(project=lab, firewall="ssh", body={"sourceRanges": ["35.235.240.0/20"]}), lab)
    assert compute.firewalls().list(project=lab).execute()["items"][0]["sourceRanges"] == ["35.235.240.0/20"]
    refused(400, compute.networks().delete(project=lab, network="lab"))


def test_every_project_begins_with_a_default_network(compute):
    listed = compute.networks().list(project="fresh-lab").execute()["items"]
    assert [each["name"] for each in listed] == ["default"]
    regions = compute.regions().list(project="fresh-lab").execute()["items"]
    assert len(listed[0]["subnetworks"]) == len(regions)
    one = compute.subnetworks().get(project="fresh-lab", region="us-west4", subnetwork="default").execute()
    assert ipaddress.IPv4Network(one["ipCidrRange"]).subnet_of(ipaddress.IPv4Network("10.128.0.0/9"))


def test_a_deleted_default_network_does_not_come_back(compute, done, refused):
    done(compute.networks().delete(project="bare-lab", network="default"), "bare-lab")
    assert "items" not in compute.networks().list(project="bare-lab").execute()
    refused(404, compute.subnetworks().get(project="bare-lab", region="us-west4", subnetwork="default"))


def test_places_and_projects_are_known(compute, client, refused):
    zone = compute.zones().get(project="p-lab", zone="us-central2-b").execute()
    assert zone["region"].endswith("/regions/us-central2")
    assert compute.regions().get(project="p-lab", region="us-central2").execute()["status"] == "UP"
    refused(404, compute.zones().get(project="p-lab", zone="us-central2-z"))
    refused(404, compute.networks().get(project="p-lab", network="nope"))
    named = client("compute", "beta").projects().get(project="p-lab").execute()
    # A new bucket asks for its project by the number alone.
    assert client("compute", "beta").projects().get(project=named["id"]).execute()["name"] == "p-lab"


@st.composite
def blocks(draw):
    prefix, index = draw(st.integers(12, 20)), draw(st.integers(0, 7))
    return ipaddress.IPv4Network((int(ipaddress.IPv4Address("10.0.0.0")) + index * 2 ** (32 - prefix), prefix))


@settings(deadline=None, max_examples=15)
@given(wanted=st.lists(blocks(), min_size=2, max_size=6))
def test_subnetworks_of_a_network_never_overlap_and_each_free_range_is_given(compute, done, wanted):
    project = f"overlap-lab-{next(NUMBERS)}"
    done(compute.networks().insert(project=project, body={"name": "lab", "autoCreateSubnetworks": False}), project)
    held = []
    for index, block in enumerate(wanted):
        body = _subnet(project, f"s{index}", str(block))
        request = compute.subnetworks().insert(project=project, region=REGION, body=body)
        if any(block.overlaps(other) for other in held):
            with pytest.raises(HttpError, match="conflicts"):
                request.execute()
        else:
            done(request, project)
            held.append(block)
    listed = compute.subnetworks().list(project=project, region=REGION).execute()["items"]
    shown = {each["ipCidrRange"] for each in listed if each["network"].endswith("/lab")}
    assert shown == {str(block) for block in held}
