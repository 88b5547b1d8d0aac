"""Runs in an environment of its own: every record of files as warcio or FastWARC reads it, as JSON lines.

    python foreign_records.py warcio|fastwarc < paths > records.jsonl

A line has `path type url sha1`, the SHA-1 of the record's block; or `path error`.
"""

import contextlib
import hashlib
import io
import json
import sys
from pathlib import Path


def with_warcio(path):
    from warcio.archiveiterator import ArchiveIterator

    with Path(path).open("rb") as stream:
        for record in ArchiveIterator(stream, no_record_parse=True):
            body = record.raw_stream.read()
            url = record.rec_headers.get_header("WARC-Target-URI") or record.rec_headers.get_header(
                "uri"
            )
            yield record.rec_type, url, body


def with_fastwarc(path):
    from fastwarc.warc import ArchiveIterator

    with Path(path).open("rb") as stream:
        for record in ArchiveIterator(stream, parse_http=False):
            yield (
                record.headers.get("WARC-Type"),
                record.headers.get("WARC-Target-URI"),
                record.reader.read(),
            )


READERS = {"warcio": with_warcio, "fastwarc": with_fastwarc}


def main(name):
    for path in sys.stdin.read().splitlines():
        told = []
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                for kind, url, body in READERS[name](path):
                    told.append({"type": kind, "url": url, "sha1": hashlib.sha1(body).hexdigest()})
        except Exception as error:  # noqa: BLE001 (whatever ends its reading is told)
            told.append({"error": f"{type(error).__name__}: {error}"[:200]})
        for one in told:
            print(json.dumps({"path": path, **one}))


if __name__ == "__main__":
    main(sys.argv[1])
