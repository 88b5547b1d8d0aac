"""Generate texts on themes: each theme has its own words, and all share some."""

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
    """Generate English texts and the number of each one's theme.

    The same seed gives the same texts.
    """
    generator = random.Random(seed)
    names = list(THEMES)[:themes]
    texts, theme_numbers = [], []
    for _ in range(documents):
        theme = generator.randrange(len(names))
        theme_words = THEMES[names[theme]].split()
        text_words = [
            generator.choice(generator.choices((theme_words, SHARED, FILLING), (4, 3, 4))[0])
            for _ in range(words)
        ]
        texts.append(" ".join(text_words).capitalize() + ".")
        theme_numbers.append(theme)
    return texts, theme_numbers
