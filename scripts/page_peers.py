"""Other article extractors, for comparison only. They are installed into a temporary folder."""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PACKAGES = ("resiliparse==2.0.1", "readability-lxml==0.9")

Extractor = Callable[[str], str]


@contextmanager
def install_peers() -> Iterator[dict[str, Extractor]]:
    """Yield extractors by name. Each returns the text of markup, or "" if it finds none or fails."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="page-peers-") as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, *PACKAGES]
        subprocess.run(install, check=True)
        # At the end, so that shared dependencies come from our own environment.
        sys.path.append(folder)
        yield {**_load_trafilatura_modes(), **_load_other_extractors()}


def _load_trafilatura_modes() -> dict[str, Extractor]:
    import trafilatura

    def build_mode(**options: Any) -> Extractor:
        return lambda markup: trafilatura.extract(markup, include_comments=False, **options) or ""

    modes = {
        "trafilatura": build_mode(),
        "trafilatura fast": build_mode(fast=True),
        "trafilatura recall": build_mode(favor_recall=True),
        "trafilatura fast recall": build_mode(fast=True, favor_recall=True),
        "trafilatura precision": build_mode(favor_precision=True),
    }
    return {name: _catch_errors(extract) for name, extract in modes.items()}


def _load_other_extractors() -> dict[str, Extractor]:
    import lxml.html
    from readability import Document  # type: ignore[import-not-found]
    from resiliparse.extract.html2text import extract_plain_text  # type: ignore[import-not-found]

    def read_with_readability(markup: str) -> str:
        return str(lxml.html.fromstring(Document(markup).summary()).text_content())

    def read_with_resiliparse(markup: str) -> str:
        return str(extract_plain_text(markup, main_content=True, alt_texts=False))

    return {
        "resiliparse": _catch_errors(read_with_resiliparse),
        "readability-lxml": _catch_errors(read_with_readability),
    }


def _catch_errors(extract: Extractor) -> Extractor:
    def extract_or_nothing(markup: str) -> str:
        try:
            return extract(markup)
        except Exception:  # noqa: BLE001 The failure of a peer counts as an empty text.
            return ""

    return extract_or_nothing
