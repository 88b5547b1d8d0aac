"""Print every record of a WARC as FastWARC reads it, as JSON lines. Runs in its environment."""

import hashlib
import json
import sys

from fastwarc.warc import ArchiveIterator


def main(path: str) -> None:
    for record in ArchiveIterator(path, parse_http=False):
        is_valid = record.verify_block_digest(consume=False)
        if record.is_http:
            record.parse_http()
        print(
            json.dumps(
                {
                    "type": record.headers.get("WARC-Type"),
                    "url": record.headers.get("WARC-Target-URI"),
                    "sha1": hashlib.sha1(record.reader.read()).hexdigest(),
                    "digest": is_valid,
                }
            )
        )


if __name__ == "__main__":
    main(sys.argv[1])
