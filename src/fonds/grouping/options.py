"""How a collection is grouped: the parameters of a configuration, each with its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CLUSTERS_MAX = 2000


class Algorithm(StrEnum):
    """The families by name."""

    TOPICS = "topics"
    STORIES = "stories"
    FACTORS = "factors"
    DENSITY = "density"


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of a grouping.

    `clusters`: how many topics or factors, None to have it chosen between 2 and `clusters_max`.
    `granularities`: further numbers of topics, of the same pass. `threshold`: the least cosine between a
    story and its leader. `half_life_s`: after so many seconds without a document a story must be twice as
    near to take another; None where time does not count. `size_min`: smaller stories, and groups of
    density, are no clusters. `seed`: whatever is drawn is drawn by it.
    """

    algorithm: Algorithm = Algorithm.TOPICS
    clusters: int | None = None
    clusters_max: int = 50
    granularities: tuple[int, ...] = ()
    threshold: float = 0.4
    half_life_s: float | None = None
    size_min: int = 2
    seed: int = 0


def checked(options: Options) -> Options:
    """The options themselves. Raises ValueError where one is beyond its bounds."""
    one = 1 if options.clusters is None else options.clusters
    asked = (*options.granularities, options.clusters_max, one)
    if not all(1 <= count <= CLUSTERS_MAX for count in asked) or len(options.granularities) > 10:
        raise ValueError(f"between 1 and {CLUSTERS_MAX} clusters, and 10 granularities at most")
    if not 0 < options.threshold < 1 or options.size_min < 1:
        raise ValueError("a threshold is between 0 and 1, a size 1 or more")
    if options.half_life_s is not None and not options.half_life_s > 0:
        raise ValueError("a half-life is more than 0 seconds")
    return options
