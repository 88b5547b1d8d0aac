"""What the codes of TeX's older fonts mean, for fonts that come without names or maps.

Source: The TeXbook, appendix F (OT1, OML, OMS, OMX); the Cork encoding (T1), TUGboat 11 (1990); the
User's Guide to AMSFonts (MSAM, MSBM). A blank stands for a code without a meaning of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

_ASCII = "".join(map(chr, range(0x20, 0x7F)))
_GREEK = "ΓΔΘΛΞΠΣΥΦΨΩ"
_CAPITALS = "".join(map(chr, range(0x41, 0x5B)))
_SMALL = "".join(map(chr, range(0x61, 0x7B)))


def _table(codes: str) -> Mapping[int, str]:
    return {code: sign for code, sign in enumerate(codes) if sign != " "}


_LIGATURES = {0x0B: "ff", 0x0C: "fi", 0x0D: "fl", 0x0E: "ffi", 0x0F: "ffl"}
OT1: Mapping[int, str] = {
    **_table(
        f"{_GREEK}     ıȷ`´ˇ˘¯˚¸ßæœøÆŒØ"
        " !”#$%&’()*+,-./0123456789:;¡=¿?"
        f"@{_CAPITALS}[“]ˆ˙‘{_SMALL}–—˝˜¨"
    ),
    **_LIGATURES,
}
"""Text in Computer Modern; the five ligatures are letters here."""

_CORK_HIGH = "ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§ăąćčďěęğĺľłńňŋőŕřśšşťţűůÿźžżĳ¡¿£"
_CORK_LATIN = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖŒØÙÚÛÜÝÞẞàáâãäåæçèéêëìíîïðñòóôõöœøùúûüýþß"
T1: Mapping[int, str] = {
    **_table("`´ˆ˜¨˝˚ˇ˘¯˙¸˛‚‹›“”„«»–— ₀ıȷ     ␣"),
    **_table(" " * 0x21 + _ASCII[1:].replace("'", "’").replace("`", "‘") + "-"),
    **_table(" " * 0x80 + _CORK_HIGH + _CORK_LATIN),
    0x1B: "ff",
    0x1C: "fi",
    0x1D: "fl",
    0x1E: "ffi",
    0x1F: "ffl",
}
"""Text in the EC fonts."""

OML: Mapping[int, str] = _table(
    f"{_GREEK}αβγδϵζηθικλµνξπρστυφχψωεϑϖϱςϕ↼↽⇀⇁  ▷◁0123456789.,</>⋆∂{_CAPITALS}♭♮♯⌣⌢ℓ{_SMALL}ıȷ℘⃗⁀"
)
"""Letters of formulas; mu and the two phis as the Adobe Glyph List has their names."""

OMS: Mapping[int, str] = _table(
    "−·×∗÷⋄±∓⊕⊖⊗⊘⊙◯∘∙≍≡⊆⊇≤≥⪯⪰∼≈⊂⊃≪≫≺≻"
    "←→↑↓↔↗↘≃⇐⇒⇑⇓⇔↖↙∝′∞∈∋△▽\u0338↦∀∃¬∅ℜℑ⊤⊥"
    f"ℵ{_CAPITALS}∪∩⊎∧∨⊢⊣⌊⌋⌈⌉{{}}⟨⟩|‖↕⇕\\≀√⨿∇∫⊔⊓⊑⊒§†‡¶♣♢♡♠"
)
"""Signs of formulas."""

OMX: Mapping[int, str] = _table(
    "()[]⌊⌋⌈⌉{}⟨⟩|‖/\\()()[]⌊⌋⌈⌉{}⟨⟩/\\"
    "()[]⌊⌋⌈⌉{}⟨⟩/\\/\\⎛⎞⎡⎤⎣⎦⎢⎥⎧⎫⎩⎭⎨⎬⎪⏐"
    "⎝⎠⎜⎟⟨⟩⊔⊔∮∮⊙⊙⊕⊕⊗⊗∑∏∫⋃⋂⊎⋀⋁∑∏∫⋃⋂⊎⋀⋁"
    "∐∐ˆˆˆ˜˜˜[]⌊⌋⌈⌉{}√√√√√√√‖↑↓    ⇑⇓"
)
"""Large signs of formulas, brackets of several sizes and pieces of still larger ones."""

MSAM: Mapping[int, str] = _table(
    "⊡⊞⊠□■·◇◆↻↺⇌⇋⊟⊩⊪⊨↠↞⇇⇉⇈⇊↾⇂↿⇃↣↢⇆⇄↰↱"
    "⇝↭↫↬≗≿≳⪆⊸∴∵≑≜≾≲⪅⪕⪖⋞⋟≼≦⩽≶‵ ≓≒≽≧⩾≷"
    "⊏⊐▷◁⊵⊴★≬▼▶◀→←△▲▽≖⋚⋛⪋⪌¥⇛⇚✓⊻⊼⌆∠∡∢∝"
    "⌣⌢⋐⋑⋓⋒⋏⋎⋋⋌⫅⫆≏≎⋘⋙⌜⌝®Ⓢ⋔∔∽⋍⌞⌟✠∁⊺⊚⊛⊝"
)
"""Further signs of the American Mathematical Society."""

MSBM: Mapping[int, str] = {
    **dict(zip(range(0x3F, 0x41), "∅∄", strict=True)),
    **dict(zip(range(0x66, 0x6D), "℧ð≂ℶℷℸ⋖", strict=True)),
    **dict(zip(range(0x6D, 0x80), "⋗⋉⋊∣∥∖∼≈≊⪸⪷↶↷ϝϰ𝕜ℏℏ϶", strict=True)),
}
"""The second half of them but for its letters, which are capitals under their own codes."""

STMARY: Mapping[int, str] = {0x4A: "⟦", 0x4B: "⟧"}
"""The brackets of the St Mary's Road symbols."""
