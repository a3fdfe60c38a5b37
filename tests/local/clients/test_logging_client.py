"""google-cloud-logging, by its HTTP transport, walks the life of a metric."""

from __future__ import annotations

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import logging


def test_a_metric_lives_from_create_to_delete(google):
    options = {"api_endpoint": google.url}
    client = logging.Client(
        project="client-lab", credentials=AnonymousCredentials(), _use_grpc=False, client_options=options
    )
    metric = client.metric("errors", filter_="severity>=ERROR", description="all of them")
    metric.create()
    client.metric("warnings", filter_="severity>=WARNING").create()
    assert [each.name for each in client.list_metrics(page_size=1)] == ["errors", "warnings"]
    metric.description = "most of them"
    metric.update()
    again = client.metric("errors")
    again.reload()
    assert (again.filter_, again.description) == ("severity>=ERROR", "most of them")
    again.delete()
    assert not metric.exists()
    with pytest.raises(exceptions.NotFound):
        again.delete()
    client.close()
