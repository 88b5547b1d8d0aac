"""Two texts beside each other, paragraph by paragraph, as far as the same paragraphs end in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fonds.library.reading.word_diff import Kind, Stretch

GAP = "\n\n"


@dataclass(slots=True)
class Pair:
    """What stands beside each other: `before` without what was added, `after` without what was removed.
    `left_out` counts the words of a pair that is not shown, 0 for one that is.
    """

    before: list[Stretch] = field(default_factory=list)
    after: list[Stretch] = field(default_factory=list)
    left_out: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands on either side."""
        return not (self.before or self.after or self.left_out)


def side_by_side(stretches: Sequence[Stretch]) -> list[Pair]:
    """The pairs of a difference; each ends where a gap between paragraphs is in both texts."""
    pairs = [Pair()]
    for one in stretches:
        if one.kind is Kind.LEFT_OUT:
            pairs += [Pair(left_out=one.words), Pair()]
        elif one.kind is Kind.ADDED:
            pairs[-1].after.append(one)
        elif one.kind is Kind.REMOVED:
            pairs[-1].before.append(one)
        else:
            _add_same(pairs, one)
    return [pair for pair in pairs if not pair.is_empty]


def _add_same(pairs: list[Pair], one: Stretch) -> None:
    for number, text in enumerate(one.text.split(GAP)):
        if number:
            pairs.append(Pair())
        if text:
            part = Stretch(Kind.SAME, text, len(text.split()))
            pairs[-1].before.append(part)
            pairs[-1].after.append(part)
