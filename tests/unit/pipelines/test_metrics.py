"""Metrics of a worker over HTTP: counts, queue depths and health."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.pipelines.runtime.metrics import Metrics, MetricsServer
from small_pipeline import RaisesOnce, Workplace


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def troubles() -> dict[str, str]:
    return {}


@pytest.fixture
def server(metrics: Metrics, troubles: dict[str, str]) -> Iterator[MetricsServer]:
    metrics_server = MetricsServer("127.0.0.1", 0, metrics, lambda: troubles)
    yield metrics_server
    metrics_server.close()


def request(server: MetricsServer, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_messages_are_counted_by_verdict(
    place: Workplace, metrics: Metrics, server: MetricsServer
) -> None:
    place.enter(1, 2)
    place.loop(observe=metrics.observe).run_once(0.0)
    metrics.watch(place.queue, place.subscriptions)
    status, text = request(server, "/metrics")
    assert status == 200
    assert 'fonds_messages_total{reason="",step="double",verdict="done"} 2.0' in text
    assert 'fonds_batch_seconds_count{step="double"} 1.0' in text
    assert 'fonds_queue_messages{state="ready",subscription="sums.keep"} 2.0' in text


def test_an_unavailable_queue_does_not_hide_other_metrics(
    place: Workplace, metrics: Metrics, server: MetricsServer
) -> None:
    failing_queue = RaisesOnce(place.queue, "get_depth", StoreUnavailableError("away"))
    metrics.watch(failing_queue, place.subscriptions)  # type: ignore[arg-type]
    status, text = request(server, "/metrics")
    assert status == 200
    assert 'subscription="sums.double"' not in text
    assert 'subscription="sums.keep"' in text


def test_health_lists_waiting_stages_and_their_cause(
    server: MetricsServer, troubles: dict[str, str]
) -> None:
    assert request(server, "/healthz") == (200, json.dumps({"well": True, "waiting": {}}))
    troubles["extract_pdf-0"] = "the records do not answer"
    status, text = request(server, "/healthz")
    assert status == 503
    assert json.loads(text)["waiting"] == troubles


def test_an_unknown_path_returns_404(server: MetricsServer) -> None:
    assert request(server, "/anything")[0] == 404


def test_a_port_in_use_raises_with_the_setting_to_change(
    server: MetricsServer, metrics: Metrics
) -> None:
    with pytest.raises(ConfigurationError, match=r"Choose another web\.metrics_port"):
        MetricsServer("127.0.0.1", server.port, metrics, dict)
