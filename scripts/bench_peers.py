"""Plain clients that do the work of the backends, and the data of both.

Each function is a context manager. It prepares the client, for example creates a topic and joins
its group, and yields the function that does the work once.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Column

from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import CdxRow, CitationRow, FileMetaRow, PdfMetaRow, Row, TextBandRow
from fonds.model.stored_json import encode_stored
from fonds.search.index.elastic_mapping import encode_document
from fonds.stores.records.column_types import HexBytes
from fonds.stores.records.tables import get_table

BATCH = 100
Action = Callable[[], object]
WORDS_A_DOCUMENT = 500


@dataclass(frozen=True, slots=True)
class Peer:
    """Plain client: the environment variable of its URL, and the function that prepares its work."""

    variable: str
    open: Callable[..., Any]


def build_file_rows(count: int) -> list[FileMetaRow]:
    now = datetime.now(UTC)
    keys = [hashlib.sha1(b"bench %d" % number).hexdigest() for number in range(count)]
    return [
        FileMetaRow(key, key + key[:24], key[:32], 10_000, "application/pdf", key[:16], now)
        for key in keys
    ]


def build_rows(kind: type[Row], count: int) -> Sequence[Row]:
    """Return rows of one type for measurements, in the order in which captures arrive."""
    files, now = build_file_rows(count), datetime.now(UTC)
    if kind is CdxRow:
        return [
            CdxRow(
                file.capture_id,
                file.sha1hex,
                f"https://bench.example/{number}.pdf",
                f"example,bench)/{number}.pdf",
                f"example,bench)/{number}.pdf",
                "20260101120000",
                file.mimetype,
                200,
                "bench/bench-00001.warc.gz",
                file.size_bytes,
                number * 10_000,
                now,
            )
            for number, file in enumerate(files)
        ]
    if kind is PdfMetaRow:
        metadata = PdfMetadata(title="Title of a paper", author="A. Writer", producer="pdfTeX")
        return [
            PdfMetaRow(
                file.sha1hex, now, "success", True, 12, 4_000, 792.0, 612.0, file.md5hex, now, "1.5",
                metadata, "bench", None,
            )
            for file in files
        ]  # fmt: skip
    if kind is CitationRow:
        return [
            CitationRow(
                files[number // 40].sha1hex, number % 40, now, "A. Writer: Title of a work. 2001.",
                "exact", "doi", f"work_{number}", f"10.1/{number}", f"10.1/{number}", 1.0,
            )
            for number in range(count)
        ]  # fmt: skip
    if kind is TextBandRow:
        return [TextBandRow(number * 7_919, files[number // 8].sha1hex) for number in range(count)]
    return files


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


class PikaClient:
    """Publishes with Pika and waits for confirmations, then receives and acknowledges.

    A request follows the acknowledgements: its answer shows that the broker has processed them.
    Pika's blocking connection waits for the confirmation of each message, so this class uses Pika's
    callbacks.
    """

    def __init__(self, url: str) -> None:
        import pika

        self._queue = f"bare-{secrets.token_hex(5)}"
        self._properties = pika.BasicProperties(delivery_mode=2)
        self._received_tags: list[int] = []
        self._published_count = self._confirmed_count = 0
        self._connection = pika.SelectConnection(pika.URLParameters(url), self._stop_waiting)
        self._wait()
        self._publisher = self._connection.channel(on_open_callback=self._stop_waiting)
        self._wait()
        self._consumer = self._connection.channel(on_open_callback=self._stop_waiting)
        self._wait()
        self._publisher.confirm_delivery(self._confirm, callback=self._stop_waiting)
        self._wait()
        self._publisher.queue_declare(self._queue, durable=True, callback=self._stop_waiting)
        self._wait()
        self._consumer.basic_qos(prefetch_count=BATCH)
        self._consumer.basic_consume(self._queue, self._receive, callback=self._stop_waiting)
        self._wait()

    def publish(self, body: bytes, count: int) -> None:
        """Publish messages, and wait until all are confirmed."""
        for _ in range(count):
            self._publisher.basic_publish("", self._queue, body, self._properties, mandatory=True)
        self._published_count += count
        while self._confirmed_count < self._published_count:
            self._wait()

    def receive(self) -> int:
        """Receive and acknowledge what has arrived. Return the number of messages."""
        while not self._received_tags:
            self._wait()
        tags, self._received_tags = self._received_tags, []
        for tag in tags:
            self._consumer.basic_ack(tag)
        self._consumer.queue_declare(self._queue, passive=True, callback=self._stop_waiting)
        self._wait()
        return len(tags)

    def close(self) -> None:
        """Delete the queue and close the connection."""
        self._publisher.queue_delete(self._queue, callback=self._stop_waiting)
        self._wait()
        self._connection.add_on_close_callback(self._stop_waiting)
        self._connection.close()
        self._wait()

    def _wait(self) -> None:
        self._connection.ioloop.start()

    def _stop_waiting(self, *_: object) -> None:
        self._connection.ioloop.stop()

    def _confirm(self, frame: Any) -> None:
        tag, is_multiple = frame.method.delivery_tag, frame.method.multiple
        self._confirmed_count = tag if is_multiple else self._confirmed_count + 1
        self._stop_waiting()

    def _receive(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._received_tags.append(method.delivery_tag)
        self._stop_waiting()


@contextmanager
def open_rabbitmq(url: str, body: bytes, count: int) -> Iterator[Action]:
    """Publish, receive and acknowledge batches with Pika."""
    with closing(PikaClient(url)) as client:

        def travel() -> None:
            for _ in range(0, count, BATCH):
                client.publish(body, BATCH)
            missing_count = count
            while missing_count:
                missing_count -= client.receive()

        yield travel


@contextmanager
def open_kafka(url: str, body: bytes, count: int) -> Iterator[Action]:
    """Produce and flush batches with confluent-kafka, then receive and commit batches.

    The topic has the settings of topics that Fonds creates, and the messages have ids as keys.
    """
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    settings: dict[str, Any] = {"bootstrap.servers": urlsplit(url).netloc}
    topic = f"bare-{secrets.token_hex(5)}"
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(topic, 12, 1, config={"compression.type": "gzip"})])[
        topic
    ].result()
    producer = Producer({**settings, "acks": "all", "enable.idempotence": True, "linger.ms": 2})
    group_settings = {
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 50,
    }
    consumer = Consumer({**settings, **group_settings})
    consumer.subscribe([topic])

    def travel(message_count: int = count) -> None:
        for start in range(0, message_count, BATCH):
            for number in range(min(BATCH, message_count)):
                producer.produce(topic, body, f"{start + number}")
            producer.flush()
        missing_count = message_count
        while missing_count > 0:
            messages = consumer.consume(min(BATCH, missing_count), 1.0)
            if messages:
                consumer.commit(asynchronous=False)
            missing_count -= len(messages)

    travel(1)  # Joining the group takes seconds.
    yield travel
    consumer.close()
    admin.delete_topics([topic])[topic].result()


@contextmanager
def open_postgresql(url: str, kind: type[Row], rows: Sequence[Row]) -> Iterator[Action]:
    """Run an upsert with psycopg's executemany, one transaction per batch.

    The values are converted in advance, as the columns need them.
    """
    import psycopg
    from psycopg.types.json import Jsonb

    columns = get_table(kind).columns
    names = [column.name for column in columns]
    changed_names = [name for name in names if name not in kind.KEY]
    changes = ", ".join(f"{name} = excluded.{name}" for name in changed_names)
    action = f"UPDATE SET {changes}" if changes else "NOTHING"
    statement = (
        f"INSERT INTO {kind.TABLE} ({', '.join(names)})"
        f" VALUES ({', '.join('%s' for _ in names)})"
        f" ON CONFLICT ({', '.join(kind.KEY)}) DO {action}"
    )

    def convert(column: Column[Any], value: Any) -> Any:
        if isinstance(column.type, HexBytes):
            return bytes.fromhex(value)
        return Jsonb(encode_stored(value)) if isinstance(value, PdfMetadata) else value

    values = [[convert(column, getattr(row, column.name)) for column in columns] for row in rows]
    with psycopg.connect(url) as connection:

        def upsert() -> None:
            for start in range(0, len(values), BATCH):
                connection.cursor().executemany(statement, values[start : start + BATCH])
                connection.commit()

        yield upsert


@contextmanager
def open_hbase(url: str, table: str) -> Iterator[Action]:
    """Write the same rows in batches of happybase."""
    import happybase

    place, rows = urlsplit(url), build_wide_rows(2_000)
    connection = happybase.Connection(place.hostname, place.port)

    def write() -> None:
        with connection.table(table).batch(batch_size=BATCH) as batch:
            for key, cells in rows:
                batch.put(key, {name.encode(): value for name, value in cells.items()})

    yield write
    connection.close()


@contextmanager
def open_s3(url: str, data: bytes, count: int) -> Iterator[Action]:
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
    yield lambda: [obstore.put(store, key, data) for key in keys]
    obstore.delete(store, keys)


@contextmanager
def _open_bulk_helper(
    client: Any, helpers: Any, alias: str, documents: Sequence[IndexDocument]
) -> Iterator[Action]:
    """Write the fields of documents with the client's bulk helper.

    The index template of `alias` gives the index the same mapping.
    """
    index = f"{alias}-bare"
    actions = [
        {"_index": index, "_id": document.id, "_source": encode_document(document)}
        for document in documents
    ]
    yield lambda: helpers.bulk(client, actions, chunk_size=BATCH)
    client.indices.delete(index=index)
    client.close()


def open_elasticsearch(url: str, documents: Sequence[IndexDocument]) -> Any:
    """Write with the bulk helper of elasticsearch-py."""
    from elasticsearch import Elasticsearch, helpers

    place = urlsplit(url)
    client = Elasticsearch(f"http://{place.hostname}:{place.port}")
    return _open_bulk_helper(client, helpers, place.path.strip("/"), documents)


def open_opensearch(url: str, documents: Sequence[IndexDocument]) -> Any:
    """Write with the bulk helper of opensearch-py."""
    from opensearchpy import OpenSearch, helpers

    place = urlsplit(url)
    client = OpenSearch(f"http://{place.hostname}:{place.port}")
    return _open_bulk_helper(client, helpers, place.path.strip("/"), documents)


PEERS = {
    "amqp": Peer("TEST_RABBITMQ_URL", open_rabbitmq),
    "kafka": Peer("TEST_KAFKA_URL", open_kafka),
    "postgresql": Peer("TEST_POSTGRESQL_URL", open_postgresql),
    "hbase": Peer("TEST_HBASE_URL", open_hbase),
    "s3": Peer("TEST_S3_URL", open_s3),
    "elasticsearch": Peer("TEST_ELASTICSEARCH_URL", open_elasticsearch),
    "opensearch": Peer("TEST_OPENSEARCH_URL", open_opensearch),
}
