"""Metrics of a worker for Prometheus, and its health check."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, Counter, Histogram, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from fonds.model.errors import ConfigurationError, FondsError
from fonds.model.message import Subscription
from fonds.model.rows import DispositionRow
from fonds.ports import Queue

BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]


class Metrics:
    """Prometheus metrics of one process. The loops of its stages call `observe`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._messages = Counter(
            "fonds_messages",
            "Messages settled, by verdict",
            ("step", "verdict", "reason"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "fonds_batch_seconds",
            "Seconds from receiving a batch to settling it",
            ("step",),
            buckets=BUCKETS_S,
            registry=self.registry,
        )

    def observe(self, step: str, rows: Sequence[DispositionRow], seconds: float) -> None:
        """Count a finished batch of a step: its disposition rows and its duration in seconds."""
        self._seconds.labels(step).observe(seconds)
        for row in rows:
            self._messages.labels(step, row.verdict, row.reason or "").inc()

    def watch(self, queue: Queue, subscriptions: Sequence[Subscription]) -> None:
        """Also export the numbers of messages of these subscriptions as a metric.

        They are read from the queue each time that Prometheus reads the metrics.
        """
        self.registry.register(_DepthCollector(queue, subscriptions))


class _DepthCollector(Collector):
    def __init__(self, queue: Queue, subscriptions: Sequence[Subscription]) -> None:
        self._queue = queue
        self._subscriptions = subscriptions

    def describe(self) -> Iterable[Metric]:
        """Return no metrics, when Prometheus' client library registers this collector.

        Otherwise the library would collect the metrics once, which reads the queue.
        """
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield one metric: the number of messages of each subscription that are ready, received,
        delayed or quarantined.

        Subscriptions that cannot be read are left out.
        """
        gauge = GaugeMetricFamily(
            "fonds_queue_messages", "Messages waiting", labels=("subscription", "state")
        )
        for subscription in self._subscriptions:
            try:
                depth = self._queue.get_depth(subscription)
            except FondsError:
                continue
            for state in ("ready", "in_hand", "delayed", "quarantined"):
                gauge.add_metric((subscription.name, state), getattr(depth, state))
        yield gauge


class _QuietRequestHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name it overrides)
        """Do not log HTTP requests for metrics."""


class MetricsServer:
    """HTTP server for the metrics (`/metrics`) and the health check (`/healthz`), in a thread.

    `troubles` returns, for each thread that waits for an unavailable store, the error text by
    thread name. If it is empty, the process is healthy.
    """

    def __init__(
        self, host: str, port: int, metrics: Metrics, troubles: Callable[[], Mapping[str, str]]
    ) -> None:
        """Start the metrics server. Port 0 chooses a free port. Raises ConfigurationError if the
        port is in use.
        """
        self._tell = make_wsgi_app(metrics.registry)
        self._troubles = troubles
        try:
            self._server = make_server(
                host,
                port,
                self._handle_request,
                ThreadingWSGIServer,
                handler_class=_QuietRequestHandler,
            )
        except OSError as error:
            raise ConfigurationError(
                f"Cannot listen on {host}:{port} ({error.strerror}). Choose another "
                "web.metrics_port."
            ) from error
        self.port = int(self._server.server_port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="watchtower", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop the metrics server and its thread."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handle_request(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            response: Iterable[bytes] = self._tell(environ, start_response)
            return response
        if path != "/healthz":
            start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"There are /metrics and /healthz.\n"]
        troubles = dict(self._troubles())
        status = "503 Service Unavailable" if troubles else "200 OK"
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps({"well": not troubles, "waiting": troubles}).encode()]
