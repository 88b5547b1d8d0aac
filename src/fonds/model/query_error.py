"""What is wrong with a query, for people, and where."""

from __future__ import annotations


class QueryError(ValueError):
    """A sentence for people about a query. `start` and `end` say where in its text the bad token stands, in
    characters; both are 0 where it is about the whole.
    """

    def __init__(self, told: str, start: int = 0, end: int = 0) -> None:
        super().__init__(told)
        self.start = start
        self.end = end
