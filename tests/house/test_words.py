"""One word for each concept: the glossary's, in the code as in the documents."""

from __future__ import annotations

import re

import pytest

from house.tree import ROOT, modules

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
LINE = re.compile(r"^\| \*\*(?P<term>[^*]+)\*\* \| (?P<meaning>.+?) \| (?P<instead>.*?) \|$", re.M)
ENTRIES = [match.groupdict() for match in LINE.finditer(GLOSSARY)]
INSTEAD = {
    word: entry["term"]
    for entry in ENTRIES
    for word in re.findall(r"`([a-z_]+)`", entry["instead"])
}

# What a server's own protocol calls a thing keeps its name beside that server.
THEIRS = {
    "channel": "src/fonds/queues/rabbit/",
    "consumer": "src/fonds/queues/",
    "producer": "src/fonds/queues/kafka/",
}


def test_the_glossary_can_be_read() -> None:
    assert len(ENTRIES) > 20
    assert len(INSTEAD) > 20


TEXT = "\n".join(module.text.lower() for module in modules())
NAMES = sorted(
    (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower(), f"{module.place}: {name}")
    for module in modules()
    for name in module.names()
)


@pytest.mark.parametrize("term", [entry["term"] for entry in ENTRIES])
def test_a_term_of_the_glossary_is_used_by_the_code(term: str) -> None:
    words = r"[\s_]+".join(map(re.escape, term.lower().split()))
    assert re.search(rf"(?<![a-z]){words}(?![a-rt-z])", TEXT)


@pytest.mark.parametrize("word", sorted(INSTEAD))
def test_no_identifier_uses_another_word_for_a_concept(word: str) -> None:
    other = re.compile(rf"(?:^|_){word}s?(?:_|$)")
    theirs = THEIRS.get(word, "nowhere")
    found = [
        place
        for name, place in NAMES
        if word in name and other.search(name) and not place.startswith(theirs)
    ]
    assert found == [], f"the word for it is {INSTEAD[word]!r}"


def test_no_term_is_another_ones_synonym() -> None:
    terms = {entry["term"].lower().replace(" ", "_") for entry in ENTRIES}
    assert terms & INSTEAD.keys() == set()
