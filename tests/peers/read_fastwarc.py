"""Runs in FastWARC's own environment: every record of a WARC as FastWARC reads it, as JSON lines."""

import hashlib
import json
import sys

from fastwarc.warc import ArchiveIterator


def main(path: str) -> None:
    for record in ArchiveIterator(path, parse_http=False):
        right = record.verify_block_digest(consume=False)
        if record.is_http:
            record.parse_http()
        print(
            json.dumps(
                {
                    "type": record.headers.get("WARC-Type"),
                    "url": record.headers.get("WARC-Target-URI"),
                    "sha1": hashlib.sha1(record.reader.read()).hexdigest(),
                    "digest": right,
                }
            )
        )


if __name__ == "__main__":
    main(sys.argv[1])
