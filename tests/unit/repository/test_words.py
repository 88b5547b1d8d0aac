"""The glossary lists words that the code uses."""

from __future__ import annotations

import re

from unit.repository.tree import ROOT, list_modules

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
TERMS = re.findall(r"^\| \*\*([^*]+)\*\* \|", GLOSSARY, re.MULTILINE)


def test_the_code_uses_every_term_of_the_glossary() -> None:
    assert len(TERMS) > 20
    text = "\n".join(module.text.lower() for module in list_modules())
    unused = []
    for term in TERMS:
        words = r"[\s_]+".join(map(re.escape, term.lower().split()))
        if not re.search(rf"(?<![a-z]){words}(?![a-rt-z])", text):
            unused.append(term)
    assert unused == []
