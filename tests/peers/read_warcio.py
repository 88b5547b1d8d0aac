"""Print every record of a WARC as warcio reads it, as JSON lines. Runs in its environment."""

import hashlib
import json
import sys
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


def main(path: str) -> None:
    with Path(path).open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests=True):
            body = record.content_stream().read()
            print(
                json.dumps(
                    {
                        "type": record.rec_type,
                        "url": record.rec_headers.get_header("WARC-Target-URI"),
                        "sha1": hashlib.sha1(body).hexdigest(),
                        "digest": record.digest_checker.passed,
                    }
                )
            )


if __name__ == "__main__":
    main(sys.argv[1])
