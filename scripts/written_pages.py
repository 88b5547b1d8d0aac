"""Writes pages of the documentation that are made from the package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write(pages: Mapping[str, str]) -> None:
    """Write texts to their paths from the repository's root, and say which changed."""
    for name, text in pages.items():
        path = ROOT / name
        before = path.read_text("utf-8") if path.exists() else ""
        path.write_text(text, "utf-8")
        print(f"{name}: {'unchanged' if text == before else 'written'}")
