"""Parse a page of the web interface: its heading, links and text."""

from __future__ import annotations

import re
from typing import Any

from lxml import html
from starlette.testclient import TestClient

WEB_LINK = re.compile(r"https?://")


class PageRead:
    """A parsed HTML response."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree: Any = html.document_fromstring(text)

    @property
    def heading(self) -> str:
        return self.words("//h1")

    def words(self, path: str = "//main") -> str:
        """Return the text below `path` with normalized spaces."""
        return " ".join(
            " ".join(element.text_content() for element in self.tree.xpath(path)).split()
        )

    def links(self, path: str = "//main") -> dict[str, str]:
        """Return the text of every link below `path`, by URL."""
        texts_by_url = {}
        for link in self.tree.xpath(f"{path}//a[@href]"):
            texts_by_url[link.get("href")] = " ".join(link.text_content().split())
        return texts_by_url


def read(client: TestClient, path: str, status: int = 200) -> PageRead:
    """Request a page that must have `status` and be HTML."""
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return PageRead(answer.text)
