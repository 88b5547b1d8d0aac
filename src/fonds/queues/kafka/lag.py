"""How far a group is behind: by its offsets, or where it selects, by looking at what lies there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from fonds.queues.kafka.buffer import Partition
from fonds.queues.kafka.records import matches_pipeline

ANSWER_MAX_S = 20.0
SCAN_COUNT_MAX, SCAN_MAX_S, SCAN_BATCH = 5_000, 5.0, 500
Spans = dict[Partition, tuple[int, int]]
"""Of each partition the first offset that is not settled, and the one behind the last there is."""
LOOKING: Mapping[str, Any] = {
    "group.id": "fonds-looks",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "queued.max.messages.kbytes": 4 * 1024,
    "fetch.wait.max.ms": 10,
}


def list_spans(admin: AdminClient, group: str, topics: Sequence[str]) -> Spans:
    """Where the records lie that the group has not committed; raises as the client does."""
    known = admin.list_topics(timeout=ANSWER_MAX_S).topics
    partitions = [
        TopicPartition(topic, number)
        for topic in topics
        if topic in known
        for number in known[topic].partitions
    ]
    if not partitions:
        return {}
    ends = _list_offsets(admin, partitions, OffsetSpec.latest())
    starts = _list_offsets(admin, partitions, OffsetSpec.earliest())
    request = [ConsumerGroupTopicPartitions(group, partitions)]
    answer = admin.list_consumer_group_offsets(request, request_timeout=ANSWER_MAX_S)
    committed = answer[group].result(ANSWER_MAX_S).topic_partitions
    reached = {(one.topic, one.partition): one.offset for one in committed}
    return {
        place: (max(reached.get(place, -1), starts[place]), end)
        for place, end in ends.items()
        if end > max(reached.get(place, -1), starts[place])
    }


def count_all(spans: Spans) -> int:
    """How many offsets there are."""
    return sum(end - start for start, end in spans.values())


def count_others(
    settings: Mapping[str, Any], spans: Spans, read_to: Mapping[Partition, int], pipeline: str
) -> int:
    """How many records the selector passes over, of those behind what was read here (`read_to`).

    At most `SCAN_COUNT_MAX` are looked at, for at most `SCAN_MAX_S`; the rest is taken to be like them.
    """
    unread = {
        place: (max(start, read_to.get(place, start)), end)
        for place, (start, end) in spans.items()
        if end > max(start, read_to.get(place, start))
    }
    total = count_all(unread)
    if not total:
        return 0
    seen, others = _scan_batch(settings, unread, pipeline)
    return min(total, others if seen >= total else round(total * others / seen)) if seen else 0


def _scan_batch(settings: Mapping[str, Any], unread: Spans, pipeline: str) -> tuple[int, int]:
    """How many offsets were looked at, and how many of them the selector passes over."""
    looker = Consumer({**settings, **LOOKING})
    at = {place: start for place, (start, _) in unread.items()}
    seen = others = 0
    deadline = time.monotonic() + SCAN_MAX_S
    try:
        looker.assign([TopicPartition(*place, start) for place, (start, _) in unread.items()])
        while at and seen < SCAN_COUNT_MAX and time.monotonic() < deadline:
            for record in looker.consume(SCAN_BATCH, 0.2):
                place = (record.topic() or "", record.partition() or 0)
                error, offset = record.error(), record.offset() or 0
                if place not in at or (
                    error is not None and error.code() != KafkaError._PARTITION_EOF
                ):
                    continue
                end = unread[place][1]
                reached = min(end, offset + (error is None))
                # Offsets that lead nowhere were compacted away.
                seen += max(0, reached - at[place])
                if error is None and offset < end:
                    others += not matches_pipeline(pipeline, record)
                at[place] = max(at[place], reached)
                if at[place] >= end:
                    del at[place]
    finally:
        looker.close()
    return seen, others


def _list_offsets(
    admin: AdminClient, partitions: Sequence[TopicPartition], spec: OffsetSpec
) -> dict[Partition, int]:
    answer = admin.list_offsets(dict.fromkeys(partitions, spec), request_timeout=ANSWER_MAX_S)
    return {
        (one.topic, one.partition): int(future.result(ANSWER_MAX_S).offset)
        for one, future in answer.items()
    }
