"""Producing in batches: every record acknowledged by all replicas, in order, none doubled by a retry."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as KafkaRecord

from fonds.model.errors import StoreUnavailableError
from fonds.model.message import Message
from fonds.queues.kafka.coding import to_headers, to_key
from fonds.queues.kafka.faults import explained, undelivered
from fonds.queues.kafka.topics import MESSAGE_MAX_BYTES

FRAMING_BYTES = 4_096
"""What the client counts with a message beyond body, key and headers; the topic's own limit decides."""

GIVE_UP_MS = 25_000
ANSWER_MAX_S = 30.0


class Outbox:
    """The producer of one process; a new one takes its place when Kafka gave it up."""

    def __init__(self, settings: Mapping[str, Any], where: str) -> None:
        self._settings = {
            **settings,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 2,
            "message.max.bytes": MESSAGE_MAX_BYTES + FRAMING_BYTES,
            "message.timeout.ms": GIVE_UP_MS,
            "topic.metadata.propagation.max.ms": GIVE_UP_MS // 2,
            "queue.buffering.max.kbytes": 256 * 1024,
        }
        self._where = where
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def put(self, topic: str, messages: Sequence[Message], due_ms: int | None) -> None:
        """Return when all are safe. Raises StoreUnavailableError, and ConfigurationError when refused."""
        batch, producer = _Batch(len(messages)), self._ready()
        deadline = time.monotonic() + ANSWER_MAX_S
        for message in messages:
            key, headers = to_key(message), to_headers(message, due_ms)
            while True:
                try:
                    producer.produce(
                        topic, message.body, key, headers=headers, on_delivery=batch.ended
                    )
                    break
                except BufferError:
                    self._wait(producer, deadline)
                except KafkaException as error:
                    self._noticed(error.args[0])
                    raise explained(error.args[0], self._where) from error
        while batch.left:
            self._wait(producer, deadline)
        if batch.error is not None:
            raise undelivered(batch.error, topic, self._where)

    def close(self) -> None:
        """Wait for what is on its way."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            producer.flush(ANSWER_MAX_S)

    def _ready(self) -> Producer:
        with self._lock:
            if self._producer is None:
                self._producer = Producer(self._settings | {"error_cb": self._noticed})
            return self._producer

    def _wait(self, producer: Producer, deadline: float) -> None:
        producer.poll(0.05)
        if time.monotonic() > deadline:
            raise StoreUnavailableError(f"Kafka at {self._where} does not take messages")

    def _noticed(self, error: KafkaError) -> None:
        """After a fatal error an idempotent producer does nothing more."""
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._producer = None


class _Batch:
    """Counts how many records of a batch have no end yet; the first error is kept."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.error: KafkaError | None = None
        self._lock = threading.Lock()

    def ended(self, error: KafkaError | None, record: KafkaRecord) -> None:
        with self._lock:
            self.left -= 1
            self.error = self.error or error
