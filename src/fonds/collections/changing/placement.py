"""A document in a cluster, or in none for a stated reason."""

from __future__ import annotations

from dataclasses import dataclass

SHORT = "short"
LANGUAGE = "language"
VECTOR = "vector"
FIELD = "field"
EMPTY = "empty"
OUTLIER = "outlier"
EXCLUDED = "excluded"
REASONS = {
    SHORT: "shorter than the configuration asks for",
    LANGUAGE: "in a language the configuration leaves out",
    FIELD: "with other fields than the configuration asks for",
    VECTOR: "without a vector of the length the configuration asks for",
    EMPTY: "without any term the others have",
    OUTLIER: "out of reach of every cluster",
    EXCLUDED: "taken out of a cluster by a person, and within reach of no other",
}
"""Why a document is in no cluster: labels of the rows it is counted in."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A document in a cluster of a level, or apart; `score` as its cells say it, `original` the document it
    is a near-duplicate of, '' for one that is of none."""

    conf: str
    label: str
    score: bytes
    original: str = ""
