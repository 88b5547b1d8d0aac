"""Reads a page as a person or a crawler would: its heading, its links, its words."""

from __future__ import annotations

import re
from typing import Any

from lxml import html
from starlette.testclient import TestClient

WEB_LINK = re.compile(r"https?://")


class PageRead:
    """A parsed answer."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree: Any = html.document_fromstring(text)

    @property
    def heading(self) -> str:
        return self.words("//h1")

    def words(self, path: str = "//main") -> str:
        return " ".join(" ".join(one.text_content() for one in self.tree.xpath(path)).split())

    def links(self, path: str = "//main") -> dict[str, str]:
        """Address -> words of every link below `path`."""
        found = {}
        for one in self.tree.xpath(f"{path}//a[@href]"):
            found[one.get("href")] = " ".join(one.text_content().split())
        return found


def read(client: TestClient, path: str, status: int = 200) -> PageRead:
    """Open a page; it must answer with `status` and be HTML."""
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return PageRead(answer.text)
