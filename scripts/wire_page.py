"""Writes the page about public topics: their JSON Schemas, made from the code."""

from __future__ import annotations

import json
from typing import Any

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

What other programs put on the topics of Fonds and read from them. Bodies are bare: JSON with its fields at
the top level, or a picture. Names and types are those of the systems Fonds works beside; what is Fonds' own
stands beside them and may be passed over, as may any field that is not named here. How brokers carry it
is told in [brokers.md](brokers.md). This page is written by `scripts/wire_page.py`.

| topic | key | body | schema | kept |
|---|---|---|---|---|
"""
HEADERS = """
`{prefix}` is `{group}-{env}`, two settings; a topic has the same name in every pipeline. `SIZE-TYPE` is the
form of the thumbnail, `180px-jpg` and those of `pdf.more_thumbnails`. Brokers other than Kafka keep no log.

## Headers
Versions, ids and attempts are headers, never fields. None is needed of others.

| header | meaning |
|---|---|
| `fonds-id` | the id of the message, the same when the work is done again |
| `fonds-attempt` | how many failures were charged to it |
| `pipeline` | the pipeline that made it; others may name the one they mean. `-NAME`: worked already, \
for others to read |
| `entry` | the id of what entered, where it is another than the message's own |
| `about` | the SHA-1 of the file, where the key is something else |
| `run` | set when a person or `fonds catchup` sent it round again |
| `fonds-field` | the field that lies in a blob: see [Large results](#large-results) |
| `fonds-field-blob`, `fonds-field-bytes`, `fonds-field-sha256` | the blob's key, size and SHA-256 |
| `fonds-body` | between steps only: the key of the blob that holds the body |

The version of what made a result is its field `extractor`.

## Large results
A public topic carries whole messages of up to 16,000,000 bytes: body, key and headers together, less 1,024
bytes for framing. The limit is the same on every broker:

| broker | its own limit |
|---|---|
| Kafka | `max.message.bytes` of the topic, 16,000,000 where Fonds makes it. Fonds reads a smaller \
limit of an existing topic when it starts, and keeps to it. |
| RabbitMQ | `max_message_size`: 16 MiB since 4.0, 128 MiB before. Set \
`topic_message_max_bytes` where yours is lower. |
| SQLite | 1 GB; Fonds keeps to 16,000,000 bytes |

`topic_message_max_bytes` lowers the limit. In a message above the limit, one field is null: `text` on
`pdf-text`, `tei_xml` on `grobid-output`. Its value lies in the blob store. `text_blob` or `tei_xml_blob`,
and four headers, give the blob's key, its size in bytes and its SHA-256. The blob is UTF-8 and holds the
value alone. All other fields are in the message.

The blob is there before the message, and stays until the next message of the same key replaces or removes it,
or the file is taken down. If the SHA-256 differs or the blob is gone, a newer message of that key is on
the topic, or the file was taken down.

## Work for Fonds
A work object on `{prefix}.unextracted`, or one under `source` in a larger object, is taken in by every
pipeline that extracts PDFs: it is an entry of its own, its bytes are fetched by its place and identified,
file and capture are noted as those of any other source are, and then it is extracted. An object names its
place by the first of these that is all there:

| fields | place |
|---|---|
| `url`, `warc_path`, `warc_offset` | a record of a WARC: one that is on the books, else below `warc.base`, \
else below `elsewhere.task_folder`; else, with `datetime`, as the next line |
| `url`, `datetime` | a capture that the web archive `elsewhere.replay_url` replays |
| `item`, `path` | a file of a petabox item, at `elsewhere.petabox_url` |
| `path` | a file of this machine below `elsewhere.task_folder`; refused where that is not set |

The SHA-1 may stand in `sha1hex`, in `file_meta` or in the message's key; where it stands, the bytes must have
it. Without it, it is what was read. A place may be that of a revisit record: then the response it repeats
is read, if `cdx` or the same WARC has it.

| what is the matter | how the message ends |
|---|---|
| not JSON, no object, no place, fields of another type, two different SHA-1s | quarantined, `bad-message` |
| other bytes than the SHA-1 says | quarantined, `damaged-record` |
| a path outside the folders above, or an address that is private (`elsewhere.private_addresses`) \
| quarantined, `unreadable-source` |
| the file or record is not there | quarantined, `missing-source` |
| no PDF | dropped, `unsupported-type` |
| marked as work of Fonds (`pipeline`, `capture`), of a file that is not known | quarantined, `bad-message` |

The same holds for `{prefix}.ungrobided`, of pipelines that ask GROBID: the flavour `grobid`, and all that
read PDFs where `grobid.url` is set. What is put there is noted and sent to GROBID, and is not extracted.

A task that states a SHA-1 and leads to no PDF gives a message on `{prefix}.pdf-text` and a row in `pdf_meta`,
or a message on `{prefix}.grobid-output` and a row in `grobid`: `not-pdf`, `empty-blob`, `too-large`, or
`error-source` for a file that is missing, damaged or refused. Its `file_meta` is null. Without a SHA-1, and
for a `bad-message`, there is no such message.

A file that was extracted by the same extractor before is not extracted again; if the task states its SHA-1,
it is not downloaded either, whatever URL the task names. A new file is downloaded once for all steps of one
process. Results of other programs on
`pdf-text` and `grobid-output` are set apart as `bad-message`.

## Rows of other programs

The table `pdf_meta` accepts an `INSERT` with the columns of sandcrawler's DDL. Fonds adds `extractor`,
whose default is empty, and `error_msg`. A row with an empty `extractor` counts as made by another program:
Fonds reads the PDF when it gets the file. Until then `fonds audit` reports the row, because no message
accounts for it. `fonds repair` corrects the counts of rows that other programs inserted.

"""


def pages() -> dict[str, str]:
    """The page by its path from the repository's root."""
    return {"docs/wire.md": wire_page()}


def wire_page() -> str:
    """Topics, headers, and every schema."""
    topics = (UNEXTRACTED, PDF_TEXT, build_thumbnail_topic("SIZE-TYPE"), UNGROBIDED, GROBID_OUTPUT)
    parts = [TOP, *(_row(topic) for topic in topics), HEADERS, "## Schemas\n"]
    for name, schema in build_schemas().items():
        text = _printed(schema, "")
        parts.append(f"\n### {name}\n```json\n{text}\n```\n")
    return "".join(parts)


def _printed(value: Any, indent: str) -> str:
    """JSON with what is short in one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) or len(indent) + len(flat) <= LINE_MAX_CHARS:
        return flat
    inner = f"{indent}  "
    if isinstance(value, list):
        lines = [inner + _printed(one, inner) for one in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    lines = [f"{inner}{json.dumps(name)}: {_printed(one, inner)}" for name, one in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _row(topic: Topic) -> str:
    contract, traits = CONTRACTS[topic.payload], topic.traits
    body = "JSON" if contract.schema else "the picture's bytes"
    schema = f"[{contract.schema}](#{contract.schema})" if contract.schema else ""
    schema += ", from others [work-object](#work-object)" if contract.is_work_topic else ""
    kept = "newest by key" if traits.compacted else "all"
    broker = f"{traits.partitions} partitions, {traits.compression}, {kept}"
    return f"| `{{prefix}}.{topic.name}` | `sha1hex` of the PDF | {body} | {schema} | {broker} |\n"


if __name__ == "__main__":
    write(pages())
