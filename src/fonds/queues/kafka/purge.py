"""Delete the records that a Kafka consumer group has settled, for a purge."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from fonds.queues.kafka.lag import CommittedOffsets, list_partitions
from fonds.queues.kafka.topics import RESPONSE_TIMEOUT_S, load_topic_settings

DAY_MS = 24 * 3600 * 1000


def delete_read_records(
    admin: AdminClient, committed_offsets: CommittedOffsets, group: str, topics: Sequence[str]
) -> None:
    """Delete the records of Kafka topics that their only consumer group has settled.

    Kafka no longer returns them, and deletes its files when they contain no other records. Raises
    KafkaException if a request fails.
    """
    partitions = list_partitions(admin, topics)
    if not partitions:
        return
    offsets = [
        TopicPartition(*partition, offset)
        for partition, offset in committed_offsets.fetch(group, partitions).items()
        if offset > 0
    ]
    if offsets:
        for future in admin.delete_records(offsets, request_timeout=RESPONSE_TIMEOUT_S).values():
            future.result(RESPONSE_TIMEOUT_S)


def describe_remains(admin: AdminClient, broker_name: str, topics: Sequence[str]) -> list[str]:
    """Return sentences that say how long Kafka keeps the bytes of deleted records, and the records
    of the topics `topics`.

    Raises KafkaException if a request fails.
    """
    existing = sorted({partition.topic for partition in list_partitions(admin, topics)})
    names_by_retention: dict[str, list[str]] = {}
    for name, retention_ms in load_topic_settings(admin, existing, "retention.ms").items():
        names_by_retention.setdefault(retention_ms, []).append(name)
    return [
        f"Kafka at {broker_name} keeps the bytes of deleted messages until it starts a new file "
        "(`segment.ms`, 7 days by default).",
        *(
            f"Kafka at {broker_name} keeps all messages of {', '.join(names)} "
            f"{_describe_retention(int(retention_ms))}, because other programs may read them."
            for retention_ms, names in names_by_retention.items()
        ),
    ]


def _describe_retention(retention_ms: int) -> str:
    if retention_ms < 0:
        return "until they are deleted there"
    return f"for {retention_ms / DAY_MS:,.1f} days"
