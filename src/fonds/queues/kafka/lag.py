"""Lag of a Kafka consumer group: the number of records that it has not settled.

The lag is computed from offsets. If a subscription selects the messages of one pipeline, a sample
of the records is read to estimate how many are selected.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from fonds.queues.kafka.buffer import Partition
from fonds.queues.kafka.errors import retry_during_election
from fonds.queues.kafka.records import matches_pipeline

RESPONSE_TIMEOUT_S = 20.0
SCAN_COUNT_MAX, SCAN_MAX_S, SCAN_BATCH = 5_000, 5.0, 500
Spans = dict[Partition, tuple[int, int]]
"""Offsets that a consumer group has not committed: (first, end) for each partition.

The end is the offset after the last record.
"""
SCANNER_SETTINGS: Mapping[str, Any] = {
    "group.id": "fonds-looks",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "queued.max.messages.kbytes": 4 * 1024,
    "fetch.wait.max.ms": 10,
}


class CommittedOffsets:
    """Reads the offsets that Kafka consumer groups have committed.

    It keeps one open consumer for each group. `AdminClient.list_consumer_group_offsets` would need
    no consumer. But it ends the process with a segmentation fault while a broker takes over the
    group (librdkafka 2.16.1, issue 5040).
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._consumers: dict[str, Consumer] = {}

    def fetch(self, group: str, partitions: list[TopicPartition]) -> dict[Partition, int]:
        """Return the committed offset of each partition for a group; negative if the group
        committed none.

        Raises KafkaException if the request fails.
        """
        with self._lock:
            if group not in self._consumers:
                self._consumers[group] = Consumer({**self._settings, "group.id": group})
            consumer = self._consumers[group]
        return {
            (committed_partition.topic, committed_partition.partition): committed_partition.offset
            for committed_partition in fetch_committed(consumer, partitions)
        }

    def close(self) -> None:
        """Close the Kafka consumers of all groups."""
        with self._lock:
            consumers, self._consumers = self._consumers, {}
        for consumer in consumers.values():
            consumer.close()


def fetch_committed(consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions with the offset and metadata that the consumer's group has committed.

    The request is repeated while another broker takes over the group. Raises KafkaException if it
    fails, or for the first partition with an error.
    """

    def fetch() -> list[TopicPartition]:
        committed_partitions: list[TopicPartition] = consumer.committed(
            partitions, timeout=RESPONSE_TIMEOUT_S
        )
        for partition in committed_partitions:
            if partition.error is not None:
                raise KafkaException(partition.error)
        return committed_partitions

    return retry_during_election(fetch, RESPONSE_TIMEOUT_S)


def list_spans(
    admin: AdminClient, committed_offsets: CommittedOffsets, group: str, topics: Sequence[str]
) -> Spans:
    """Return the offsets of records that a consumer group has not committed: (first, end) per
    partition.

    Topics that do not exist and partitions without such records are omitted. Raises KafkaException
    if a request fails.
    """
    partitions = list_partitions(admin, topics)
    if not partitions:
        return {}
    ends = _list_offsets(admin, partitions, OffsetSpec.latest())
    starts = _list_offsets(admin, partitions, OffsetSpec.earliest())
    group_offsets = committed_offsets.fetch(group, partitions)
    return {
        partition: (max(group_offsets.get(partition, -1), starts[partition]), end)
        for partition, end in ends.items()
        if end > max(group_offsets.get(partition, -1), starts[partition])
    }


def list_partitions(admin: AdminClient, topics: Sequence[str]) -> list[TopicPartition]:
    """Return all partitions of those of the Kafka topics that exist.

    Raises KafkaException if Kafka does not answer.
    """
    cluster_topics = admin.list_topics(timeout=RESPONSE_TIMEOUT_S).topics
    return [
        TopicPartition(topic, number)
        for topic in topics
        if topic in cluster_topics
        for number in cluster_topics[topic].partitions
    ]


def count_all(spans: Spans) -> int:
    """Return the total number of offsets in `spans`, which has an offset range for each Kafka
    partition.
    """
    return sum(end - start for start, end in spans.values())


def count_others(
    settings: Mapping[str, Any], spans: Spans, read_to: Mapping[Partition, int], pipeline: str
) -> int:
    """Estimate how many unread Kafka records are for other pipelines than `pipeline`.

    `spans` are the uncommitted offsets, by partition. `read_to` is the offset that this process
    reads next, by partition; records before it are not counted. At most about `SCAN_COUNT_MAX`
    records are read, for at most `SCAN_MAX_S` seconds. The number is extrapolated from this sample.
    """
    unread_spans = {
        partition: (max(start, read_to.get(partition, start)), end)
        for partition, (start, end) in spans.items()
        if end > max(start, read_to.get(partition, start))
    }
    total = count_all(unread_spans)
    if not total:
        return 0
    scanned_count, skipped_count = _scan_batch(settings, unread_spans, pipeline)
    return (
        min(
            total,
            skipped_count
            if scanned_count >= total
            else round(total * skipped_count / scanned_count),
        )
        if scanned_count
        else 0
    )


def _scan_batch(settings: Mapping[str, Any], unread_spans: Spans, pipeline: str) -> tuple[int, int]:
    """Read a sample of unread Kafka records. Return the number of offsets scanned, and how many of
    the records are for other pipelines than `pipeline`.
    """
    scanner = Consumer({**settings, **SCANNER_SETTINGS})
    positions = {partition: start for partition, (start, _) in unread_spans.items()}
    scanned_count = skipped_count = 0
    deadline = time.monotonic() + SCAN_MAX_S
    try:
        scanner.assign(
            [TopicPartition(*partition, start) for partition, (start, _) in unread_spans.items()]
        )
        while positions and scanned_count < SCAN_COUNT_MAX and time.monotonic() < deadline:
            for record in scanner.consume(SCAN_BATCH, 0.2):
                partition = (record.topic() or "", record.partition() or 0)
                error, offset = record.error(), record.offset() or 0
                if partition not in positions or (
                    error is not None and error.code() != KafkaError._PARTITION_EOF
                ):
                    continue
                end = unread_spans[partition][1]
                reached_offset = min(end, offset + (error is None))
                # Missing offsets were compacted away.
                scanned_count += max(0, reached_offset - positions[partition])
                if error is None and offset < end:
                    skipped_count += not matches_pipeline(pipeline, record)
                positions[partition] = max(positions[partition], reached_offset)
                if positions[partition] >= end:
                    del positions[partition]
    finally:
        scanner.close()
    return scanned_count, skipped_count


def _list_offsets(
    admin: AdminClient, partitions: Sequence[TopicPartition], spec: OffsetSpec
) -> dict[Partition, int]:
    def fetch() -> dict[Partition, int]:
        answer = admin.list_offsets(
            dict.fromkeys(partitions, spec), request_timeout=RESPONSE_TIMEOUT_S
        )
        return {
            (topic_partition.topic, topic_partition.partition): int(
                future.result(RESPONSE_TIMEOUT_S).offset
            )
            for topic_partition, future in answer.items()
        }

    return retry_during_election(fetch, RESPONSE_TIMEOUT_S)
