"""google-cloud-logging, by its HTTP transport, reads the entries that it wrote."""

from __future__ import annotations

from datetime import UTC, datetime

from google.auth.credentials import AnonymousCredentials
from google.cloud import logging


def test_entries_are_listed_by_resource_and_time_a_page_at_a_time(google):
    options = {"api_endpoint": google.url}
    client = logging.Client(
        project="client-lab", credentials=AnonymousCredentials(), _use_grpc=False, client_options=options
    )
    log = client.logger("serial")
    for second, vm in ((2, "a"), (1, "a"), (3, "b")):
        resource = logging.Resource(type="tpu_worker", labels={"node_id": vm})
        at = datetime(2026, 11, 20, 9, 0, second, tzinfo=UTC)
        log.log_text(f"{vm}{second}", resource=resource, timestamp=at, severity="INFO")
    log.log_struct({"message": "of none"})
    # Without a time the client asks for the last day; it writes an object of its own beside them.
    lately = 'timestamp>="2026-11-20T00:00:00Z" AND textPayload:*'
    of_a = f'resource.type="tpu_worker" AND resource.labels.node_id="a" AND {lately}'
    assert [each.payload for each in client.list_entries(filter_=of_a, page_size=1)] == ["a1", "a2"]
    of_all = f'resource.type="tpu_worker" AND {lately}'
    newest = client.list_entries(filter_=of_all, order_by=logging.DESCENDING, max_results=2)
    assert [each.payload for each in newest] == ["b3", "a2"]
    assert len(list(client.list_entries(filter_=of_a))) == 2
    client.close()
