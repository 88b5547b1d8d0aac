"""Public topics on real brokers: plain clients send work objects and read the results."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pika
import pytest
from confluent_kafka import Consumer, Producer

from contract.queue_reading import take
from fixtures import rabbit_cleanup
from fonds.config import Settings
from fonds.model.message import PIPELINE
from fonds.wiring.flavours import list_readers
from fonds.wiring.queue import open_queue
from foreign_work import (
    WAIT_MAX_S,
    check_books,
    check_result,
    prepare_tasks,
    run_pipeline,
    wait_until_processed,
)
from published_results import PIPELINE_NAME, read_text, result
from real_servers import url_of

pytestmark = pytest.mark.servers

RABBITMQ, KAFKA = "TEST_RABBITMQ_URL", "TEST_KAFKA_URL"
Read = tuple[str, bytes, dict[str, Any]]
"""Key, body and headers as a plain client receives them."""


@dataclass
class Client:
    """A program that knows only a broker and the names of topics."""

    send: Callable[[str, Sequence[tuple[str, bytes]]], None]
    take: Callable[[str, int], list[Read]]


@contextmanager
def open_kafka_client(topics: Sequence[str]) -> Iterator[Client]:
    servers = {"bootstrap.servers": url_of(KAFKA).partition("//")[2]}

    def send(topic: str, messages: Sequence[tuple[str, bytes]]) -> None:
        producer = Producer(servers)
        for key, body in messages:
            producer.produce(topic, key=key or None, value=body)
        assert producer.flush(WAIT_MAX_S) == 0

    def take(topic: str, count: int) -> list[Read]:
        group = {"group.id": os.urandom(5).hex(), "auto.offset.reset": "earliest"}
        reader = Consumer({**servers, **group})
        reader.subscribe([topic])
        records: list[Read] = []
        deadline = time.monotonic() + WAIT_MAX_S
        while len(records) < count:
            assert time.monotonic() < deadline, f"{len(records)} of {count} arrived"
            for record in reader.consume(count, 1.0):
                assert record.error() is None, record.error()
                records.append(
                    (record.key().decode(), record.value(), dict(record.headers() or ()))
                )
        reader.close()
        return records

    yield Client(send, take)


@contextmanager
def open_rabbit_client(topics: Sequence[str]) -> Iterator[Client]:
    with closing(pika.BlockingConnection(pika.URLParameters(url_of(RABBITMQ)))) as connection:
        channel = connection.channel()
        queues = {topic: channel.queue_declare("", exclusive=True).method.queue for topic in topics}
        for topic, queue in queues.items():
            channel.queue_bind(queue, f"{topic}-out")

        def send(topic: str, messages: Sequence[tuple[str, bytes]]) -> None:
            for key, body in messages:
                channel.basic_publish(f"{topic}-out", key, body)

        def take(topic: str, count: int) -> list[Read]:
            records: list[Read] = []
            for method, properties, body in channel.consume(
                queues[topic], auto_ack=True, inactivity_timeout=WAIT_MAX_S
            ):
                assert method is not None, f"{len(records)} of {count} arrived"
                records.append((properties.headers["fonds-key"], body, properties.headers))
                if len(records) == count:
                    break
            channel.cancel()
            return records

        yield Client(send, take)


@pytest.mark.parametrize(
    ("variable", "open_client"),
    [(RABBITMQ, open_rabbit_client), (KAFKA, open_kafka_client)],
    ids=["rabbit", "kafka"],
)
def test_plain_clients_send_tasks_and_read_the_results(
    variable: str, open_client: Callable[[Sequence[str]], Any], tmp_path: Path
) -> None:
    home, env = tmp_path / "home", f"w{os.urandom(5).hex()}"
    with prepare_tasks(tmp_path / "crawl") as tasks:
        settings = Settings().replace_values(**tasks.settings, queue=url_of(variable), env=env)
        topics = [f"fonds-{env}.{name}" for name in ("pdf-text", "pdf-thumbnail-180px-jpg")]
        leftovers = open_queue(home, settings)
        try:
            with open_client(topics) as client, run_pipeline(home, settings) as stores:
                client.send(f"fonds-{env}.unextracted", tasks.messages)
                results = client.take(topics[0], len(tasks.pdfs) + len(tasks.statuses))
                texts = [text for text in results if text[0] not in tasks.statuses]
                pictures = client.take(topics[1], len(tasks.pdfs))
                wait_until_processed(stores, len(tasks.messages))
                check_books(stores, tasks, f"fonds-{env}.unextracted", settings)
        finally:
            rabbit_cleanup.close_queue(leftovers._queue)
    assert {check_result(body, tasks) for _, body, _ in texts} == tasks.sha1hexes.keys()
    assert {key for key, _, _ in texts} == {key for key, _, _ in pictures} == tasks.sha1hexes.keys()
    assert all(body.startswith(b"\xff\xd8\xff") for _, body, _ in pictures)
    for _, _, headers in (*texts, *pictures):
        assert headers[PIPELINE] in ("-library", b"-library")
        assert {"fonds-id", "fonds-attempt"} <= headers.keys()


@pytest.mark.parametrize(
    ("variable", "open_client"),
    [(RABBITMQ, open_rabbit_client), (KAFKA, open_kafka_client)],
    ids=["rabbit", "kafka"],
)
def test_plain_clients_read_results_of_any_size(
    variable: str, open_client: Callable[[Sequence[str]], Any], tmp_path: Path
) -> None:
    home, env = tmp_path / "home", f"w{os.urandom(5).hex()}"
    settings = Settings().replace_values(queue=url_of(variable), env=env)
    topic = f"fonds-{env}.pdf-text"
    sent = {f"r{size}": "words " * (size // 6) for size in (600, 5_300_000, 18_000_000)}
    queue = open_queue(home, settings)
    try:
        with open_client([topic]) as client:
            queue.put(topic, [result(id_, text) for id_, text in sent.items()])
            for reader in list_readers(settings):
                if reader.topic == topic:
                    deliveries = take(queue, reader.incoming, len(sent))
                    assert {delivery.message.headers[PIPELINE] for delivery in deliveries} == {
                        PIPELINE_NAME
                    }
                    queue.settle(deliveries)
            read = client.take(topic, len(sent))
            texts = [read_text(body, headers, queue.blobs) for _, body, headers in read]
    finally:
        rabbit_cleanup.close_queue(queue._queue)
    assert sorted(texts) == sorted(sent.values())
    assert sorted("text_blob" in json.loads(body) for _, body, _ in read) == [False, False, True]
