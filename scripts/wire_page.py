"""Write the page about public topics, with their JSON Schemas."""

from __future__ import annotations

import json

from fonds.model.step import Topic
from fonds.pipelines.flavours.stages import (
    GROBID_OUTPUT,
    PDF_TEXT,
    UNEXTRACTED,
    UNGROBIDED,
    build_thumbnail_topic,
)
from fonds.queues.messages.contracts import CONTRACTS, build_schemas
from written_pages import write

LINE_MAX_CHARS = 120
TOP = """\
# Public topics on the wire

Other programs write to these topics and read from them. The body of a message is a JSON object without an
envelope, or a picture. Names and types of fields are those of the systems that Fonds replaces or complements.
Consumers may ignore the fields that Fonds adds, and all fields that are not on this page.
[brokers.md](brokers.md) describes the transport. `scripts/wire_page.py` generates this page.

| topic | key | body | schema | partitions, compression, retention |
|---|---|---|---|---|
"""
HEADERS = """
`{prefix}` is `{group}-{env}`, from the settings `group` and `env`. A topic has the same name in every
pipeline. `SIZE-TYPE` is the form of the thumbnail: `180px-jpg`, or one of the setting `pdf.more_thumbnails`.
Brokers other than Kafka do not retain consumed messages.

## Headers
Ids, attempts and other metadata of a message are headers, not fields of its body. Other programs need not set
any header.

| header | meaning |
|---|---|
| `fonds-id` | the id of the message; repeated work produces the same id |
| `fonds-attempt` | the number of failed attempts |
| `pipeline` | the pipeline that sent the message, or the one that should receive it. `-NAME`: the \
pipeline NAME sent the message for other programs only |
| `entry` | the id of the entry, if it is not the id of the message |
| `about` | the SHA-1 of the file, if the key is something else |
| `run` | set if a person or `fonds catchup` sent the message again |
| `fonds-field` | the name of the field that is stored in a blob: see [Large results](#large-results) |
| `fonds-field-blob`, `fonds-field-bytes`, `fonds-field-sha256` | the key, size in bytes and SHA-256 of that \
blob |
| `fonds-body` | between steps only: the key of the blob that contains the body |
| `format` | between steps only: the version of the format of the body, 1 if the header is missing. A worker \
of an older version puts the message back on the queue unread |
| `deferrals` | how often workers put the message back on the queue without counting an attempt |

The field `extractor` of a result contains the name and version of the program that made it.

## Large results
A message on a public topic has at most 16,000,000 bytes, of which 1,024 are reserved for framing. Body, key
and headers count. The limit is the same on every broker:

| broker | its own limit |
|---|---|
| Kafka | `max.message.bytes` of the topic, 16,000,000 if Fonds creates the topic. Fonds reads a \
smaller limit of an existing topic when it starts, and observes it |
| RabbitMQ | `max_message_size`: 16 MiB since version 4.0, 128 MiB before. If yours is lower, \
set `topic_message_max_bytes` |
| SQLite | 1 GB; Fonds observes 16,000,000 bytes |

The setting `topic_message_max_bytes` lowers the limit. If a message would exceed the limit, one of its fields
is null: `text` on `pdf-text`, or `tei_xml` on `grobid-output`. Its value is in the blob store. The field
`text_blob` or `tei_xml_blob` contains the blob's key, its size in bytes and its SHA-256, and so do four
headers. The blob is UTF-8 and contains only the value. All other fields are in the message. If other programs
on the same machine read blobs, set `blobs = "file:blobs"`: each blob is then the file `blobs/KEY`. With the
default, `local:blobs`, texts up to 64 KiB are in an SQLite file.

The blob is stored before the message is sent. It stays until the next message with the same key replaces or
removes it, or the file is taken down. If the SHA-256 differs or the blob is missing, the topic has a newer
message with that key, or the file was taken down.

## Work for Fonds
Every pipeline that extracts PDFs accepts work objects on `{prefix}.unextracted`. A work object can also be
the field `source` of a larger object. Each work object is an entry. Fonds fetches its bytes from its place,
identifies them, records file and capture as for any other source, and extracts the file. The place of an
object is the first of these whose fields are complete:

| fields | place |
|---|---|
| `url`, `warc_path`, `warc_offset` | a record of a WARC: a known WARC, else below `warc.base`, else below \
`elsewhere.task_folder`; else, with `datetime`, as in the next row |
| `url`, `datetime` | a capture that the web archive `elsewhere.replay_url` replays |
| `item`, `path` | a file of a petabox item, at `elsewhere.petabox_url` |
| `path` | a local file below `elsewhere.task_folder`; refused if that setting is empty |

`sha1hex`, `file_meta` or the key of the message can state the SHA-1. The bytes must then have this SHA-1. If
the place is that of a revisit record, Fonds reads the response that the record refers to, if `cdx` or the
same WARC has it.

| problem | outcome of the message |
|---|---|
| not a JSON object, no place, fields with a wrong type, two different SHA-1s | quarantined, `bad-message` |
| bytes with another SHA-1 | quarantined, `damaged-record` |
| a path outside the folders above, or a private address (`elsewhere.private_addresses`) \
| quarantined, `unreadable-source` |
| the file or record is missing | quarantined, `missing-source` |
| not a PDF | dropped, `unsupported-type` |
| marked as work of Fonds (`pipeline`, `capture`), but about an unknown file | quarantined, `bad-message` |

The same applies to `{prefix}.ungrobided` in pipelines that use GROBID: the flavour `grobid`, and all that
read PDFs if `grobid.url` is set. Files on this topic are recorded and sent to GROBID, but not extracted.

If a work object states a SHA-1 but leads to no PDF, Fonds writes a row and sends a message: a row in
`pdf_meta` and a message on `{prefix}.pdf-text`, or a row in `grobid` and a message on
`{prefix}.grobid-output`. The status is `not-pdf`, `empty-blob`, `too-large`, or `error-source` for a file
that is missing, damaged or refused. `file_meta` is null. Without a SHA-1, and for a `bad-message`, Fonds
sends no such message.

A file that was extracted by the same extractor before is not extracted again. If the work object states its
SHA-1, the file is not downloaded either, whatever its URL. A new file is downloaded once for all steps of one
process. Results of other programs on `pdf-text` and `grobid-output` are quarantined as `bad-message`.

## Rows of other programs

The table `pdf_meta` accepts an `INSERT` with the columns of sandcrawler's DDL. Fonds adds `extractor`,
whose default is empty, and `error_msg`. A row with an empty `extractor` counts as made by another program:
Fonds reads the PDF when it gets the file. Until then `fonds audit` reports the row, because no message
accounts for it. `fonds repair` corrects the counts of rows that other programs inserted.

"""


def build_pages() -> dict[str, str]:
    """Return the page by its path from the root of the repository."""
    return {"docs/wire.md": build_wire_page()}


def build_wire_page() -> str:
    """Return the page: topics, headers and all schemas."""
    topics = (UNEXTRACTED, PDF_TEXT, build_thumbnail_topic("SIZE-TYPE"), UNGROBIDED, GROBID_OUTPUT)
    parts = [TOP, *(_format_row(topic) for topic in topics), HEADERS, "## Schemas\n"]
    for name, schema in build_schemas().items():
        text = _format_json(schema, "")
        parts.append(f"\n### {name}\n```json\n{text}\n```\n")
    return "".join(parts)


def _format_json(value: object, indent: str) -> str:
    """Return indented JSON, with each value that fits on one line. `json.dumps` would put every
    item of a list on its own line and make the page three times as long.
    """
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(text) <= LINE_MAX_CHARS:
        return text
    inner = f"{indent}  "
    if isinstance(value, list):
        lines = [inner + _format_json(item, inner) for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    lines = [
        f"{inner}{json.dumps(name)}: {_format_json(item, inner)}" for name, item in value.items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _format_row(topic: Topic) -> str:
    contract, traits = CONTRACTS[topic.payload], topic.traits
    body = "JSON" if contract.schema else "the picture's bytes"
    schema = f"[{contract.schema}](#{contract.schema})" if contract.schema else ""
    schema += ", from others [work-object](#work-object)" if contract.is_work_topic else ""
    retention = "newest by key" if traits.compacted else "all"
    log = f"{traits.partitions} partitions, {traits.compression}, {retention}"
    return f"| `{{prefix}}.{topic.name}` | `sha1hex` of the PDF | {body} | {schema} | {log} |\n"


if __name__ == "__main__":
    write(build_pages())
