"""Which clusters of a clustering lie nearest to one, by the middles its model holds."""

from __future__ import annotations

from dataclasses import dataclass

from fonds.collections.names import Name
from fonds.collections.reading.curated import names_of_labels
from fonds.collections.tables import Tables


@dataclass(frozen=True, slots=True)
class Near:
    """Another cluster of the first level: its label, the cosine of the two middles, and what a person called
    it, '' where nobody did."""

    label: str
    cosine: float
    name: str = ""


def nearest(
    tables: Tables, name: Name, conf: str, timestamp: int, label: str, *, count_max: int = 5
) -> tuple[Near, ...]:
    """The clusters nearest to the one of this label, in the first level of any clustering there is, the
    nearest first; none where there is no such cluster. Reads of its model the middles alone."""
    # Who only reads clusters does without the arithmetic.
    import numpy as np

    from fonds.collections.building.models import read_middles

    found = read_middles(tables, name, conf, timestamp)
    if found is None or label not in found.labels:
        return ()
    lengths = np.linalg.norm(found.middles, axis=1, keepdims=True)
    middles = found.middles / np.where(lengths > 0, lengths, 1)
    own = found.labels.index(label)
    cosines = middles @ middles[own]
    order = [at for at in np.argsort(-cosines, kind="stable").tolist() if at != own]
    some = [found.labels[at] for at in order[:count_max]]
    names = names_of_labels(tables, name, conf, timestamp, some)
    return tuple(
        Near(label, float(cosines[at]), names.get(label, ""))
        for label, at in zip(some, order, strict=False)
    )
