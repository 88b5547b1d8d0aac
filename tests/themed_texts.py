"""Texts on themes, made by drawing words: each theme has words of its own, and all share some."""

from __future__ import annotations

import random

THEMES = {
    "harbour": "harbour vessel cargo anchor captain pilot quay crane freight tide mooring tugboat",
    "kitchen": "recipe oven butter flour saucepan simmer garlic roast pastry whisk dough platter",
    "orchestra": "violin concerto conductor symphony cello soprano rehearsal overture quartet opera",
    "glacier": "glacier moraine summit crevasse avalanche icefall ridge meltwater alpine sherpa",
    "parliament": "parliament ballot minister coalition senator referendum treaty cabinet bill veto",
}
SHARED = ("people", "morning", "city", "number", "report", "answer", "window", "season", "paper")
FILLING = ("the", "of", "and", "was", "with", "from", "this", "have", "they", "which")


def themed_texts(
    documents: int, *, seed: int = 1, words: int = 30, themes: int = 5
) -> tuple[list[str], list[int]]:
    """English texts and the number of each one's theme; the same seed gives the same ones."""
    draw = random.Random(seed)
    names = list(THEMES)[:themes]
    texts, truth = [], []
    for _ in range(documents):
        theme = draw.randrange(len(names))
        own = THEMES[names[theme]].split()
        drawn = [
            draw.choice(draw.choices((own, SHARED, FILLING), (4, 3, 4))[0]) for _ in range(words)
        ]
        texts.append(" ".join(drawn).capitalize() + ".")
        truth.append(theme)
    return texts, truth
