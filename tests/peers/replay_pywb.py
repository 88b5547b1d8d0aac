"""Index a WARC with pywb, or use an index, and replay captures. Runs in the environment of pywb.

    python replay_pywb.py FOLDER WARC [CDXJ] < captures.json > answers.json

`captures.json` is a list of [14 digits, URL]; `answers.json` has [status, SHA-1 of the body] of each.
"""

import hashlib
import http.client
import json
import logging
import os
import shutil
import sys
from pathlib import Path
from string import printable
from urllib.parse import quote

from pywb.apps.frontendapp import FrontEndApp
from pywb.manager.manager import main as manage
from pywb.utils.geventserver import GeventServer


def create_collection(warc: Path, index: Path | None) -> None:
    """Create a collection with the WARC and the index; without `index`, pywb creates one."""
    manage(["init", "ours"])
    manage(["add", "ours", str(warc)])
    if index is not None:
        shutil.copy(index, Path("collections/ours/indexes/index.cdxj"))


def replay(port: int, moment: str, url: str) -> tuple[int, str]:
    """Return status and SHA-1 of a replayed capture; `id_` requests the body as archived."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        path = f"/ours/{moment}id_/{quote(url, safe=printable)}"
        connection.request("GET", path, headers={"Accept-Encoding": "identity"})
        response = connection.getresponse()
        return response.status, hashlib.sha1(response.read()).hexdigest()
    finally:
        connection.close()


def main(folder: str, warc: str, index: str | None = None) -> None:
    os.chdir(folder)
    logging.disable(logging.CRITICAL)
    output, sys.stdout = sys.stdout, sys.stderr
    create_collection(Path(warc), Path(index) if index else None)
    server = GeventServer(FrontEndApp(), port=0, hostname="127.0.0.1")
    answers = [replay(server.port, moment, url) for moment, url in json.load(sys.stdin)]
    server.stop()
    json.dump(answers, output)


if __name__ == "__main__":
    main(*sys.argv[1:])
