"""`fonds queue` and `fonds topics`: inspect and edit the message queue, and list its topics."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.table import Table

from fonds.cli.context import (
    App,
    build_global_options,
    command,
    echo_json,
    open_console,
    pipeline_option,
    print_note,
)
from fonds.cli.inputs import open_named_file
from fonds.cli.names import CommandGroup, SuggestingChoice
from fonds.ingest.queued_stories import QueuedStories
from fonds.model.disposition import Reason
from fonds.model.encoding import pluralize
from fonds.model.message import Delivery, Depth, Message, Subscription, TopicTraits
from fonds.model.secrets import redact_secrets
from fonds.model.step import Topic
from fonds.pipelines.runtime import queue_dump as dumping
from fonds.pipelines.runtime.quarantine import release as release_quarantine
from fonds.ports import Queue, Stores
from fonds.queues.messages.contracts import CONTRACTS

if TYPE_CHECKING:
    from fonds.config import Settings

EXCERPT_CHARS = 300
RENEW_MAX = 1000
TOPICS_WIDTH = 200


class BacklogAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of messages waiting for a pipeline step."""

    subscription: Annotated[str, Meta(description="name of the subscription")]
    topic: Annotated[str, Meta(description="topic it reads")]
    depth: Annotated[Depth, Meta(description="number of messages by state")]


class MessageAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a message that waits in the queue."""

    id: Annotated[str, Meta(description="message id")]
    key: Annotated[str, Meta(description="ordering key")]
    attempt: Annotated[int, Meta(description="earlier attempts")]
    redelivered: Annotated[int, Meta(description="how often it was delivered before")]
    headers: Annotated[Mapping[str, str], Meta(description="message headers")]
    body: Annotated[str | msgspec.UnsetType, Meta(description="body, if it is UTF-8")] = (
        msgspec.UNSET
    )
    body_base64: Annotated[
        str | msgspec.UnsetType, Meta(description="body, if it is not UTF-8")
    ] = msgspec.UNSET


class CountAnswer(msgspec.Struct, frozen=True):
    """JSON answer: number of messages that a command moved."""

    messages: Annotated[int, Meta(description="number of messages")]


class TopicAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a topic and the pipeline step that reads it."""

    name: Annotated[str, Meta(description="step that reads the topic")]
    topic: Annotated[str, Meta(description="name of the topic")]
    traits: Annotated[TopicTraits, Meta(description="how messages are stored")]
    pipeline: Annotated[str, Meta(description="selector; empty if none")]
    schema: Annotated[str | None, Meta(description="name of the payload's JSON Schema")]


@click.group("queue", cls=CommandGroup)
@click.pass_context
def queue(ctx: click.Context, /, **flags: Any) -> None:
    """Inspect the queue, and move messages to a file and back.

    ADDRESS is a step (NAME or NAME-in) or its quarantine (NAME-quar).

    \b
    fonds queue list
    fonds queue peek extract_pdf-quar
    fonds queue dump extract_pdf-quar stuck.warc.gz
    fonds queue load stuck.warc.gz --to extract_pdf
    """
    ctx.obj = ctx.obj.with_flags(**flags)


queue.params += build_global_options()


@command("list", answers={"one for each subscription": BacklogAnswer})
@pipeline_option
def list_(app: App, **flags: Any) -> int:
    """Show the number of messages waiting for each step.

    \b
    fonds queue list
    fonds queue list --json
    """
    queue, subscriptions = _open(app, flags)
    depths = [(subscription, queue.get_depth(subscription)) for subscription in subscriptions]
    if app.is_json:
        for reader, depth in depths:
            echo_json(BacklogAnswer(reader.name, reader.topic, depth))
        return 0
    table = Table(box=None, pad_edge=False)
    table.add_column("Step")
    for title in ("Ready", "In progress", "Delayed", "Quarantined"):
        table.add_column(title, justify="right")
    for reader, depth in depths:
        counts = (depth.ready, depth.in_hand, depth.delayed, depth.quarantined)
        table.add_row(reader.name, *(f"{count:,}" for count in counts))
    open_console().print(table)
    return 0


@command("peek", answers={"one for each message": MessageAnswer})
@pipeline_option
@click.argument("address")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True)
def peek(app: App, address: str, count: int, **flags: Any) -> int:
    """Show the first waiting messages without removing them.

    Each call counts as a delivery. A message that is delivered 20 times without being settled goes
    to the quarantine of its step.

    \b
    fonds queue peek parse_story
    fonds queue peek extract_pdf-quar --count 20 --json
    """
    queue, subscriptions = _open(app, flags)
    queue_address = dumping.resolve_address(address, subscriptions)
    ready_count = _count_ready(queue, queue_address, subscriptions)
    deliveries = dumping.peek(queue, queue_address, count)
    for delivery in deliveries:
        _print_delivery(app, delivery)
    if not deliveries and not app.is_json:
        open_console().print(f"No messages are ready at {queue_address}.")
    if len(deliveries) < ready_count:
        print_note(
            f"{len(deliveries):,} of about {ready_count:,} ready messages at {queue_address}"
        )
    return 0


def _open_stories(queue_address: str, stores: Stores, settings: Settings) -> dumping.FindStory:
    """Return the converter that turns the messages at a queue address into stories, for a WARC
    dump.
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.flavours import get_configured_pipeline, list_readers

    read_by = zip(list_readers(settings), get_configured_pipeline(settings).stages, strict=True)
    topic = next(
        stage.reads
        for reader, stage in read_by
        if queue_address in (reader.incoming, reader.quarantine)
    )
    return QueuedStories(topic, stores.archive)


def _count_ready(queue: Queue, queue_address: str, subscriptions: Iterable[Subscription]) -> int:
    """Return the number of messages at a queue address of a subscription.

    These are the quarantined messages if `queue_address` is the quarantine address, otherwise those
    that are ready for delivery.
    """
    reader = next(
        subscription
        for subscription in subscriptions
        if queue_address in (subscription.incoming, subscription.quarantine)
    )
    depth = queue.get_depth(reader)
    return depth.quarantined if queue_address == reader.quarantine else depth.ready


@command("dump", answers={"one": CountAnswer})
@pipeline_option
@click.argument("address")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--max", "count_max", type=click.IntRange(1), help="Maximum number of messages.")
@click.option("--keep", is_flag=True, help="Leave the messages on the queue (at most 1,000).")
def dump(
    app: App, address: str, file: Path, count_max: int | None, keep: bool, **flags: Any
) -> int:
    """Move messages from the queue to a WARC file.

    A message is removed from the queue once it is on disk. Messages about stories have the format
    of Media Cloud's `dump_archives`, so its `StoryArchiveReader` can read the file. `fonds queue
    load` accepts all messages. Until they are loaded again, `fonds audit` reports them as missing.

    \b
    fonds queue dump extract_pdf-quar stuck.warc.gz
    fonds queue dump parse_story sample.warc.gz --max 100 --keep
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.flavours import list_readers

    settings = app.load_settings(**flags)
    stores, subscriptions = app.open_stores(settings), list_readers(settings)
    queue = stores.queue
    queue_address = dumping.resolve_address(address, subscriptions)
    if keep:
        count_max = min(count_max or RENEW_MAX, RENEW_MAX)
    try:
        with file.open("xb") as out:
            ready_count = _count_ready(queue, queue_address, subscriptions)
            batches = dumping.dump(
                queue,
                queue_address,
                out,
                count_max=count_max,
                releases=keep,
                find_story=_open_stories(queue_address, stores, settings),
                filename=file.name,
            )
            count = _report_count(app, batches, f"written to {file}")
    except FileExistsError:
        raise click.UsageError(f"{file} already exists. Choose another name.") from None
    except OSError as error:
        raise click.UsageError(f"Cannot write {file}: {error.strerror}") from error
    if count < ready_count:
        print_note(f"{count:,} of about {ready_count:,} ready messages at {queue_address}")
    return 0


@command("load", answers={"one": CountAnswer})
@pipeline_option
@click.argument("file", metavar="FILE|URL")
@click.option(
    "--to", metavar="ADDRESS", help="Address to send them to, instead of the original one."
)
def load(app: App, file: str, to: str | None, **flags: Any) -> int:
    """Send the messages of a dump to the queue again. Repeating it does no harm.

    \b
    fonds queue load stuck.warc.gz --to extract_pdf
    """
    with open_named_file(file, app) as path:
        if not path.is_file():
            raise click.UsageError(f"{file}: no such file")
        queue, subscriptions = _open(app, flags)
        _report_count(app, dumping.load(queue, path, subscriptions, to), "sent to the queue")
    return 0


@command("purge", answers={"one": CountAnswer})
@pipeline_option
@click.argument("address")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def purge(app: App, address: str, yes: bool, **flags: Any) -> int:
    """Delete waiting messages. Each is dropped with the reason `purged`.

    \b
    fonds queue purge extract_pdf-quar --yes
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.flavours import list_readers
    from fonds.wiring.stores import get_utc_now

    settings = app.load_settings(**flags)
    stores, subscriptions = app.open_stores(settings), list_readers(settings)
    queue_address = dumping.resolve_address(address, subscriptions)
    purged_subscription = next(
        subscription
        for subscription in subscriptions
        if queue_address in (subscription.incoming, subscription.quarantine)
    )
    if not yes:
        count = _count_ready(stores.queue, queue_address, subscriptions)
        click.confirm(f"Delete about {pluralize(count, 'message')} at {queue_address}?", abort=True)
    batches = dumping.purge(
        stores.queue, stores.ledger, queue_address, purged_subscription, get_utc_now
    )
    _report_count(app, batches, "deleted")
    return 0


@command("release", answers={"one": CountAnswer})
@pipeline_option
@click.argument("step")
@click.option("--reason", type=SuggestingChoice("reason", map(str, Reason)), metavar="REASON")
def release(app: App, step: str, reason: str | None, **flags: Any) -> int:
    """Requeue the quarantined messages of a step for the workers.

    `fonds failures retry` also processes them itself.

    \b
    fonds queue release extract_pdf --reason timeout
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.flavours import list_readers
    from fonds.wiring.stores import get_utc_now

    settings = app.load_settings(**flags)
    stores, subscriptions = app.open_stores(settings), list_readers(settings)
    queue_address = dumping.resolve_address(step.removesuffix("-quar"), subscriptions)
    reader = next(
        subscription for subscription in subscriptions if subscription.incoming == queue_address
    )

    def wanted(message: Message) -> bool:
        return reason in (None, message.headers.get("reason"))

    count = release_quarantine(stores.queue, stores.ledger, reader, wanted, get_utc_now)
    _report_count(app, [count], "requeued")
    return 0


for subcommand in (list_, peek, dump, load, purge, release):
    queue.add_command(subcommand)


@command("topics", answers={"one for each subscription": TopicAnswer})
@pipeline_option
@click.argument("action", type=SuggestingChoice("action", ["list", "create"]), default="list")
def topics(app: App, action: str, **flags: Any) -> int:
    """List the topics with their readers and schemas, or create them on the queue.

    The schemas are described in `docs/wire.md`. A topic without a schema is internal or carries
    pictures.

    Every command creates the topics it needs. Use `create` to create them in advance, for example
    if the workers have no permission to do so. Repeating it does no harm.

    \b
    fonds topics
    fonds topics create --set queue=kafka://broker:9092
    """
    # Imported here because the stores are slow to import.
    from fonds.wiring.flavours import get_configured_pipeline, list_readers

    settings = app.load_settings(**flags)
    subscriptions = list_readers(settings)
    schemas = [_find_schema(stage.reads) for stage in get_configured_pipeline(settings).stages]
    if action == "create":
        app.open_queue(settings)
    if app.is_json:
        for reader, schema in zip(subscriptions, schemas, strict=True):
            echo_json(
                TopicAnswer(reader.name, reader.topic, reader.traits, reader.pipeline, schema)
            )
        return 0
    table = Table(box=None, pad_edge=False)
    for title in ("Topic", "Read by", "Schema", "Partitions", "Compression", "Retention"):
        table.add_column(title, no_wrap=True)
    for reader, schema in zip(subscriptions, schemas, strict=True):
        traits = reader.traits
        retention = "newest by key" if traits.compacted else "all"
        facts = (str(traits.partitions), traits.compression, retention)
        table.add_row(reader.topic, reader.name, schema or "", *facts)
    screen = open_console()
    # A narrow window must not cut names, because scripts read them too.
    screen.width = max(screen.width, TOPICS_WIDTH)
    screen.print(table, crop=False)
    if action == "create":
        screen.print(f"\nAll of them exist on {redact_secrets(settings.queue)}.")
    return 0


def _find_schema(topic: Topic) -> str | None:
    """Return the name of the JSON Schema of a topic's messages; None if it has none."""
    contract = CONTRACTS.get(topic.payload)
    return contract.schema if contract else None


def _open(app: App, flags: dict[str, Any]) -> tuple[Queue, list[Subscription]]:
    # Imported here because the stores are slow to import.
    from fonds.wiring.flavours import list_readers

    settings = app.load_settings(**flags)
    return app.open_queue(settings), list_readers(settings)


def _report_count(app: App, batches: Iterable[int], action: str) -> int:
    """Print how many messages a command moved, and return the number.

    - `batches`: number of messages in each batch.
    - `action`: words that end the printed sentence, such as "requeued".
    """
    count = sum(batches)
    if app.is_json:
        echo_json(CountAnswer(count))
    else:
        open_console().print(f"{count:,} {'message' if count == 1 else 'messages'} {action}.")
    return count


def _build_message_answer(delivery: Delivery) -> MessageAnswer:
    message = delivery.message
    answer = MessageAnswer(
        message.id, message.key, message.attempt, delivery.redelivered, dict(message.headers)
    )
    try:
        return msgspec.structs.replace(answer, body=message.body.decode("utf-8"))
    except UnicodeDecodeError:
        encoded_body = base64.b64encode(message.body).decode("ascii")
        return msgspec.structs.replace(answer, body_base64=encoded_body)


def _print_delivery(app: App, delivery: Delivery) -> None:
    message = delivery.message
    if app.is_json:
        echo_json(_build_message_answer(delivery))
        return
    screen = open_console()
    screen.print(
        f"[bold]{escape(message.id)}[/bold] {escape(message.key)} attempt {message.attempt},"
        f" {pluralize(len(message.body), 'byte')}"
    )
    for name, value in message.headers.items():
        screen.print(f"  {escape(name)}: {escape(value[:EXCERPT_CHARS])}")
    text = message.body[: 4 * EXCERPT_CHARS].decode("utf-8", "replace")[:EXCERPT_CHARS]
    screen.print("  " + escape("".join(c if c.isprintable() else "·" for c in text)))
