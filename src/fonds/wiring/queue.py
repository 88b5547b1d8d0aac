"""Open the queue, which stores large message bodies as blobs."""

from __future__ import annotations

from pathlib import Path

from fonds.config import Settings
from fonds.model.keys import THUMBNAIL_FOLDER
from fonds.model.step import Pipeline
from fonds.pipelines.runtime.binding import list_public_topics, name_topic
from fonds.ports import Blobs
from fonds.queues.large_bodies import BodyLimits, LargeBodies
from fonds.queues.messages.contracts import CONTRACTS
from fonds.queues.messages.large_field import LargeField
from fonds.stores.home_lock import create_home
from fonds.stores.split_blobs import SplitBlobs
from fonds.wiring.backends import open_backend
from fonds.wiring.flavours import build_topic_prefix, get_configured_pipeline, list_readers


def open_queue(home: Path, settings: Settings) -> LargeBodies:
    """Open the queue without the other stores. Creates the topics and addresses of the configured
    pipeline.

    Message bodies that are too large for the queue are stored as blobs.
    """
    create_home(home)
    queue = open_backend("queue", settings.queue, home)
    blobs = _open_blobs(home, settings)
    pipeline, prefix = get_configured_pipeline(settings), build_topic_prefix(settings)
    public = list_public_topics(pipeline, prefix)
    limits = BodyLimits(settings.message_max_bytes, settings.topic_message_max_bytes)
    large_bodies = LargeBodies(queue, blobs, limits, list_large_fields(pipeline, prefix))
    large_bodies.declare(list_readers(settings), public)
    return large_bodies


def _open_blobs(home: Path, settings: Settings) -> Blobs:
    blobs: Blobs = open_backend("blobs", settings.blobs, home)
    if not settings.thumbnails:
        return blobs
    return SplitBlobs(
        blobs, open_backend("thumbnails", settings.thumbnails, home), THUMBNAIL_FOLDER
    )


def list_large_fields(pipeline: Pipeline, prefix: str) -> dict[str, LargeField]:
    """Return, for each public topic, which field of its messages may be stored as a blob, by topic
    name.

    `prefix`: prefix of the topic names.

    Topics without such a field are left out.
    """
    topics = {topic for stage in pipeline.stages for topic in stage.writes if topic.public}
    contracts = {name_topic(pipeline, topic, prefix): CONTRACTS[topic.payload] for topic in topics}
    return {
        name: contract.large_field for name, contract in contracts.items() if contract.large_field
    }
