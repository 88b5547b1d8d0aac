"""Produce records to Kafka in batches.

All in-sync replicas acknowledge each record. Retries keep the order and add no duplicates.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as KafkaRecord

from fonds.model.errors import StoreUnavailableError
from fonds.model.message import Message
from fonds.queues.kafka.errors import explain_error, explain_undelivered
from fonds.queues.kafka.records import encode_headers, encode_key
from fonds.queues.kafka.topics import MESSAGE_MAX_BYTES

FRAMING_BYTES = 4_096
"""Bytes that the Kafka client adds to the body, key and headers of a message. The size limit of the
topic applies to the sum.
"""

SEND_TIMEOUT_MS = 25_000
RESPONSE_TIMEOUT_S = 30.0
FLUSH_S = 0.01
"""Maximum seconds of one wait for records. It is short, because a flush waits for the records of
other threads too.
"""


class Outbox:
    """Kafka producer of this process. It is created at the first use, and again after a fatal
    error.
    """

    def __init__(self, settings: Mapping[str, Any], broker_name: str) -> None:
        self._settings = {
            **settings,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 2,
            "message.max.bytes": MESSAGE_MAX_BYTES + FRAMING_BYTES,
            "message.timeout.ms": SEND_TIMEOUT_MS,
            "topic.metadata.propagation.max.ms": SEND_TIMEOUT_MS // 2,
            "queue.buffering.max.kbytes": 256 * 1024,
        }
        self._broker_name = broker_name
        self._lock = threading.Lock()
        self._producer: Producer | None = None

    def put(self, topic: str, messages: Sequence[Message], due_ms: int | None) -> None:
        """Produce messages to a Kafka topic, and wait until all are stored.

        `due_ms` is the due time of delayed messages in Unix milliseconds, or None. Raises
        StoreUnavailableError if Kafka does not answer, and ConfigurationError if it refuses a
        record. After an error, some messages may have been stored.
        """
        batch, producer = _DeliveryBatch(len(messages)), self._get_producer()
        deadline = time.monotonic() + RESPONSE_TIMEOUT_S
        for message in messages:
            key, headers = encode_key(message), encode_headers(message, due_ms)
            while True:
                try:
                    producer.produce(
                        topic, message.body, key, headers=headers, on_delivery=batch.finish_one
                    )
                    break
                except BufferError:
                    self._wait(producer, deadline)
                except KafkaException as error:
                    self._handle_error(error.args[0])
                    raise explain_error(error.args[0], self._broker_name) from error
        while batch.remaining:
            self._wait(producer, deadline)
        if batch.error is not None:
            raise explain_undelivered(batch.error, topic, self._broker_name)

    def close(self) -> None:
        """Wait at most `RESPONSE_TIMEOUT_S` seconds until Kafka has stored the records in
        transmission.
        """
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            producer.flush(RESPONSE_TIMEOUT_S)

    def _get_producer(self) -> Producer:
        with self._lock:
            if self._producer is None:
                self._producer = Producer(self._settings | {"error_cb": self._handle_error})
            return self._producer

    def _wait(self, producer: Producer, deadline: float) -> None:
        # Unlike `poll`, `flush` sends at once what waits for more records (`linger.ms`).
        producer.flush(FLUSH_S)
        if time.monotonic() > deadline:
            raise StoreUnavailableError(f"Kafka at {self._broker_name} does not accept messages")

    def _handle_error(self, error: KafkaError) -> None:
        """Discard the Kafka producer after a fatal error, because an idempotent producer cannot
        continue.
        """
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._producer = None


class _DeliveryBatch:
    """Kafka records that are produced together: the number of unconfirmed records, and the first
    error.
    """

    def __init__(self, remaining: int) -> None:
        self.remaining = remaining
        self.error: KafkaError | None = None
        self._lock = threading.Lock()

    def finish_one(self, error: KafkaError | None, record: KafkaRecord) -> None:
        with self._lock:
            self.remaining -= 1
            self.error = self.error or error
