"""What a TPU node refers to must be there: its networks, its subnetworks and its service account.

Owns that check alone; the resources are their own services'. Accounts of other projects and Google's own accounts
are taken as they are.
"""

from __future__ import annotations

from infra.local.cloud.cloud import Cloud
from infra.local.cloud.errors import invalid
from infra.local.cloud.registry import JsonObject
from infra.local.cloud.services import compute_subnetworks as subnetworks
from infra.local.cloud.services.policies import SERVICE_ACCOUNT_KIND, account_name


def check_node(cloud: Cloud, project: str, node: JsonObject) -> None:
    """Raises 400 for the first network, subnetwork or account of the project that does not exist.

    node: as it was sent. Short names and links of any form are read; what was not sent is not looked for.
    """
    subnetworks.begin_project(cloud, project)
    for config in (node.get("networkConfig", {}), *node.get("networkConfigs", [])):
        for field, kind in (("network", subnetworks.NETWORK), ("subnetwork", subnetworks.SUBNETWORK)):
            link = config.get(field, "")
            if link.startswith(f"projects/{project}/") and cloud.store.find(kind, link) is None:
                raise invalid(f"The {field} '{link}' was not found.", field=f"node.network_config.{field}")
    email = node.get("serviceAccount", {}).get("email", "")
    if email.endswith(f"@{project}.iam.gserviceaccount.com"):
        name = account_name(project, email)
        if cloud.store.find(SERVICE_ACCOUNT_KIND, name) is None:
            raise invalid(f"Service account {email} does not exist.", field="node.service_account.email")
