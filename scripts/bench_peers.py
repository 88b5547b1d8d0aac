"""Plain clients that do the work of the backends, and the data of both."""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.rows import FileMetaRow

BATCH = 100
WORDS_A_DOCUMENT = 500


@dataclass(frozen=True, slots=True)
class Peer:
    """Plain client: the environment variable of its URL, and a function that returns items per second."""

    variable: str
    measure: Callable[..., float]


def build_file_rows(count: int) -> list[FileMetaRow]:
    now = datetime.now(UTC)
    keys = [hashlib.sha1(b"bench %d" % number).hexdigest() for number in range(count)]
    return [
        FileMetaRow(key, key + key[:24], key[:32], 10_000, "application/pdf", key[:16], now)
        for key in keys
    ]


def build_wide_rows(count: int) -> list[tuple[bytes, dict[str, bytes]]]:
    """Return rows in the layout of the journal: five cells, 1.2 kB."""
    cells = {f"file:{name}": secrets.token_bytes(200) for name in ("cdx", "meta", "mime", "size")}
    return [
        (hashlib.sha1(b"bench %d" % number).digest(), {**cells, "f:c": secrets.token_bytes(400)})
        for number in range(count)
    ]


def build_documents(count: int) -> list[IndexDocument]:
    chance, now = random.Random(7), datetime.now(UTC)
    lexicon = [f"w{number:05}" for number in range(20_000)]
    rows = []
    for number in range(count):
        key = hashlib.sha1(b"bench %d" % number).hexdigest()
        text = " ".join(chance.choices(lexicon, k=WORDS_A_DOCUMENT))
        url = f"https://bench.example/{number}"
        rows.append(
            IndexDocument(
                key, key, Kind.STORY, url, "bench.example", None, "en", f"Title {number}", text, now
            )
        )
    return rows


def _measure_s(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def measure_rabbitmq(url: str, body: bytes, count: int) -> float:
    """Publish with confirms over Pika's blocking connection, then consume and acknowledge."""
    import pika

    channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
    channel.confirm_delivery()
    queue = channel.queue_declare(f"bare-{secrets.token_hex(5)}", durable=True).method.queue
    properties = pika.BasicProperties(delivery_mode=2)

    def travel() -> None:
        for _ in range(count):
            channel.basic_publish("", queue, body, properties, mandatory=True)
        channel.basic_qos(prefetch_count=BATCH)
        for number, (method, _, _) in enumerate(channel.consume(queue), 1):
            channel.basic_ack(method.delivery_tag)
            if number == count:
                break

    seconds = _measure_s(travel)
    channel.cancel()
    channel.queue_delete(queue)
    channel.connection.close()
    return count / seconds


def measure_kafka(url: str, body: bytes, count: int) -> float:
    """Produce and flush in batches with confluent-kafka, then consume and commit each batch."""
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    settings: dict[str, Any] = {"bootstrap.servers": urlsplit(url).netloc}
    topic = f"bare-{secrets.token_hex(5)}"
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(topic, 12, 1)])[topic].result()
    producer = Producer({**settings, "acks": "all", "enable.idempotence": True, "linger.ms": 2})
    group_settings = {
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer({**settings, **group_settings})

    def travel() -> None:
        for start in range(0, count, BATCH):
            for number in range(BATCH):
                producer.produce(topic, body, f"{start + number}")
            producer.flush()
        consumer.subscribe([topic])
        missing_count = count
        while missing_count > 0:
            messages = consumer.consume(BATCH, 1.0)
            if messages:
                consumer.commit(asynchronous=False)
            missing_count -= len(messages)

    seconds = _measure_s(travel)
    consumer.close()
    admin.delete_topics([topic])[topic].result()
    return count / seconds


def measure_postgresql(url: str) -> float:
    """Run the same upserts with psycopg's executemany, one transaction per batch."""
    import psycopg

    rows = [tuple(asdict(row).values()) for row in build_file_rows(5_000)]
    names = list(asdict(build_file_rows(1)[0]))
    columns = ", ".join(names)
    values = ", ".join("%s" for _ in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    statement = (
        f"INSERT INTO file_meta ({columns}) VALUES ({values})"
        f" ON CONFLICT (sha1hex) DO UPDATE SET {changes}"
    )
    with psycopg.connect(url) as connection:

        def upsert() -> None:
            for start in range(0, len(rows), BATCH):
                connection.cursor().executemany(statement, rows[start : start + BATCH])
                connection.commit()

        seconds = _measure_s(upsert)
        keys = [row[0] for row in rows]
        connection.execute("DELETE FROM file_meta WHERE sha1hex = ANY(%s)", [keys])
    return len(rows) / seconds


def measure_hbase(url: str, table: str) -> float:
    """Write the same rows in batches of happybase."""
    import happybase

    place, rows = urlsplit(url), build_wide_rows(2_000)
    connection = happybase.Connection(place.hostname, place.port)

    def write() -> None:
        with connection.table(table).batch(batch_size=BATCH) as batch:
            for key, cells in rows:
                batch.put(key, {name.encode(): value for name, value in cells.items()})

    seconds = _measure_s(write)
    connection.close()
    return len(rows) / seconds


def measure_s3(url: str, data: bytes, count: int) -> float:
    """Put objects one after the other with obstore's S3Store."""
    import obstore
    from obstore.store import S3Store

    place = urlsplit(url)
    store = S3Store(
        place.path.strip("/").split("/")[0],
        endpoint=f"http://{place.hostname}:{place.port}",
        access_key_id=place.username,
        secret_access_key=place.password,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    keys = [f"bare/{secrets.token_hex(8)}" for _ in range(count)]
    seconds = _measure_s(lambda: [obstore.put(store, key, data) for key in keys])
    obstore.delete(store, keys)
    return count / seconds


def _build_actions(index: str, batch: Sequence[IndexDocument]) -> list[dict[str, Any]]:
    return [
        {"_index": index, "_id": document.id, "_source": asdict(document)} for document in batch
    ]


def measure_elasticsearch(url: str, batch: Sequence[IndexDocument]) -> float:
    """Write with the bulk helper of elasticsearch-py to an index without our mapping."""
    from elasticsearch import Elasticsearch, helpers

    index, place = f"bare-{secrets.token_hex(5)}", urlsplit(url)
    client = Elasticsearch(f"http://{place.hostname}:{place.port}")
    actions = _build_actions(index, batch)
    seconds = _measure_s(lambda: helpers.bulk(client, actions, chunk_size=BATCH))
    client.indices.delete(index=index)
    client.close()
    return len(batch) / seconds


def measure_opensearch(url: str, batch: Sequence[IndexDocument]) -> float:
    """Write with the bulk helper of opensearch-py to an index without our mapping."""
    from opensearchpy import OpenSearch, helpers

    index, place = f"bare-{secrets.token_hex(5)}", urlsplit(url)
    client = OpenSearch(f"http://{place.hostname}:{place.port}")
    actions = _build_actions(index, batch)
    seconds = _measure_s(lambda: helpers.bulk(client, actions, chunk_size=BATCH))
    client.indices.delete(index=index)
    client.close()
    return len(batch) / seconds


PEERS = {
    "amqp": Peer("TEST_RABBITMQ_URL", measure_rabbitmq),
    "kafka": Peer("TEST_KAFKA_URL", measure_kafka),
    "postgresql": Peer("TEST_POSTGRESQL_URL", measure_postgresql),
    "hbase": Peer("TEST_HBASE_URL", measure_hbase),
    "s3": Peer("TEST_S3_URL", measure_s3),
    "elasticsearch": Peer("TEST_ELASTICSEARCH_URL", measure_elasticsearch),
    "opensearch": Peer("TEST_OPENSEARCH_URL", measure_opensearch),
}
