"""Write generated pages of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write(pages: Mapping[str, str]) -> None:
    """Write texts to their paths from the root of the repository, and print which changed."""
    for name, text in pages.items():
        path = ROOT / name
        before = path.read_text("utf-8") if path.exists() else ""
        path.write_text(text, "utf-8")
        print(f"{name}: {'unchanged' if text == before else 'written'}")
