"""Glyph names of TeX's fonts with their characters, and character tables of TeX's older fonts.

Source: the encoding vectors of Computer Modern, Latin Modern and AMSFonts in Type 1; Adobe Glyph
List.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_UNKNOWN = """
epsilon1 ϵ rho1 ϱ lscript ℓ vector ⃗ tie ⁀ star ⋆ flat ♭ natural ♮ sharp ♯ slurbelow ⌣
slurabove ⌢ harpoonleftup ↼ harpoonleftdown ↽ harpoonrightup ⇀ harpoonrightdown ⇁ triangleright ▷
triangleleft ◁ diamondmath ⋄ minusplus ∓ circleminus ⊖ circledivide ⊘ circledot ⊙ circlecopyrt ◯
openbullet ∘ equivasymptotic ≍ precedesequal ⪯ followsequal ⪰ lessmuch ≪ greatermuch ≫ precedes ≺
follows ≻ arrownortheast ↗ arrowsoutheast ↘ similarequal ≃ arrownorthwest ↖ arrowsouthwest ↙ prime ′
primesolid ′ owner ∋ triangleinv ▽ negationslash ̸ mapsto ↦ latticetop ⊤ unionmulti ⊎ turnstileleft ⊢
turnstileright ⊣ floorleft ⌊ floorright ⌋ ceilingleft ⌈ ceilingright ⌉ angbracketleft ⟨ angbracketright ⟩
bardbl ‖ arrowbothv ↕ arrowdblbothv ⇕ wreathproduct ≀ coproduct ∐ nabla ∇ unionsq ⊔ intersectionsq ⊓
subsetsqequal ⊑ supersetsqequal ⊒ contintegral ∮ vextendsingle | vextenddouble ‖ parenlefttp ⎛
parenrighttp ⎞ bracketlefttp ⎡ bracketrighttp ⎤ bracketleftbt ⎣ bracketrightbt ⎦ bracketleftex ⎢
bracketrightex ⎥ bracelefttp ⎧ bracerighttp ⎫ braceleftbt ⎩ bracerightbt ⎭ braceleftmid ⎨ bracerightmid ⎬
braceex ⎪ arrowvertex ⏐ parenleftbt ⎝ parenrightbt ⎠ parenleftex ⎜ parenrightex ⎟ radicalbt √
radicalvertex √ radicaltp √ arrowvertexdbl ‖ arrowtp ↑ arrowbt ↓ arrowdbltp ⇑ arrowdblbt ⇓
lessorequalslant ⩽ greaterorequalslant ⩾ lessorsimilar ≲ greaterorsimilar ≳ squaredot ⊡ square □
squaresolid ■ lozengesolid ◆ because ∵ definesdelta ≜ defines ≜ leqslant ⩽ geqslant ⩾ lesssim ≲ gtrsim ≳
precsim ≾ succsim ≿ preccurlyeq ≼ succcurlyeq ≽ trianglerightequal ⊵ triangleleftequal ⊴ checkmark ✓
maltese ✠ complement ∁ planckover2pi ℏ planckover2pi1 ℏ nexists ∄ varnothing ∅
"""
_KNOWN_GLYPHS = """
dotlessj ȷ ff ff ffi ffi ffl ffl fi fi fl fl
omega1 ϖ phi1 ϕ sigma1 ς theta1 ϑ weierstrass ℘ asteriskmath ∗
plusminus ± circleplus ⊕ circlemultiply ⊗ equivalence ≡ reflexsubset ⊆ reflexsuperset ⊇ lessequal ≤
greaterequal ≥ similar ∼ approxequal ≈ propersubset ⊂ propersuperset ⊃ arrowleft ← arrowright → arrowup ↑
arrowdown ↓ arrowboth ↔ arrowdblleft ⇐ arrowdblright ⇒ arrowdblup ⇑ arrowdbldown ⇓ arrowdblboth ⇔
proportional ∝ infinity ∞ element ∈ triangle △ universal ∀ existential ∃ logicalnot ¬ emptyset ∅
Rfractur ℜ Ifractur ℑ perpendicular ⊥ aleph ℵ union ∪ intersection ∩ logicaland ∧ logicalor ∨ braceleft {
braceright } bar | backslash \\ radical √ integral ∫ section § dagger † daggerdbl ‡ paragraph ¶ club ♣
diamond ♢ heart ♡ spade ♠ minus − multiply × divide ÷ periodcentered · bullet • partialdiff ∂ gradient ∇
summation ∑ product ∏ slash / parenleft ( parenright ) bracketleft [ bracketright ] hat ˆ tilde ˜
lozenge ◇ therefore ∴
Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω alpha α beta β gamma γ
delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu µ nu ν xi ξ pi π rho ρ sigma σ tau τ
upsilon υ phi φ chi χ psi ψ omega ω dotlessi ı grave ` acute ´ caron ˇ breve ˘ macron ¯ ring ˚ cedilla ¸
germandbls ß ae æ oe œ oslash ø AE Æ OE Œ Oslash Ø quotedblright ” quotedblleft “ quoteright ’ quoteleft ‘
exclamdown ¡ questiondown ¿ circumflex ˆ dotaccent ˙ endash – emdash — hungarumlaut ˝ dieresis ¨
exclam ! numbersign # dollar $ percent % ampersand & comma , hyphen - period . colon : semicolon ; less <
equal = greater > question ? at @ plus + asterisk * zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7
eight 8 nine 9 underscore _ asciicircum ^ asciitilde ~ quotedbl " quotesingle '
"""
_SIZED = re.compile(r"(.+?)(?:[bB]igg?|display|text|wide(?:r|st)?)", re.ASCII)
_LETTER = re.compile(r"[A-Za-z]", re.ASCII)


def _read(pairs: str) -> Mapping[str, str]:
    words = pairs.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_TEX: Mapping[str, str] = _read(_UNKNOWN)
_ALL: Mapping[str, str] = {**_read(_KNOWN_GLYPHS), **_TEX}
_SIZES = ("big", "Big", "bigg", "Bigg", "display", "text", "wide", "wider", "widest")
TEX_NAMES = frozenset(_TEX) | {name + size for name in _ALL for size in _SIZES}
"""Glyph names of TeX's fonts that are not in the Adobe Glyph List."""


def find_glyph_text(name: str) -> str | None:
    """Return the character for a glyph name, ignoring a size suffix such as `big`; None if the name
    is unknown.
    """
    if _LETTER.fullmatch(name):
        return name
    text = _ALL.get(name)
    if text is None and (size_match := _SIZED.fullmatch(name)):
        text = _ALL.get(size_match[1])
    return text


def is_tex_name(name: str) -> bool:
    """Return whether a glyph name is used by TeX's fonts and missing in the Adobe Glyph List, which
    PDF readers know.
    """
    return name in TEX_NAMES


# Codes of TeX's older fonts, for fonts without names or maps.
#
# Source: The TeXbook, appendix F (OT1, OML, OMS, OMX); the Cork encoding (T1), TUGboat 11 (1990);
# the User's Guide to AMSFonts (MSAM, MSBM). A blank marks a code without a meaning of its own.


_ASCII = "".join(map(chr, range(0x20, 0x7F)))
_GREEK = "ΓΔΘΛΞΠΣΥΦΨΩ"
_CAPITALS = "".join(map(chr, range(0x41, 0x5B)))
_SMALL = "".join(map(chr, range(0x61, 0x7B)))


def _build_table(codes: str) -> Mapping[int, str]:
    return {code: sign for code, sign in enumerate(codes) if sign != " "}


_LIGATURES = {0x0B: "ff", 0x0C: "fi", 0x0D: "fl", 0x0E: "ffi", 0x0F: "ffl"}
OT1: Mapping[int, str] = {
    **_build_table(
        f"{_GREEK}     ıȷ`´ˇ˘¯˚¸ßæœøÆŒØ"
        " !”#$%&’()*+,-./0123456789:;¡=¿?"
        f"@{_CAPITALS}[“]ˆ˙‘{_SMALL}–—˝˜¨"
    ),
    **_LIGATURES,
}
"""Character of each code in Computer Modern text fonts. The five ligatures are written as separate
letters.
"""

_CORK_HIGH = "ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§ăąćčďěęğĺľłńňŋőŕřśšşťţűůÿźžżĳ¡¿£"
_CORK_LATIN = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖŒØÙÚÛÜÝÞẞàáâãäåæçèéêëìíîïðñòóôõöœøùúûüýþß"
T1: Mapping[int, str] = {
    **_build_table("`´ˆ˜¨˝˚ˇ˘¯˙¸˛‚‹›“”„«»–— ₀ıȷ     ␣"),
    **_build_table(" " * 0x21 + _ASCII[1:].replace("'", "’").replace("`", "‘") + "-"),
    **_build_table(" " * 0x80 + _CORK_HIGH + _CORK_LATIN),
    0x1B: "ff",
    0x1C: "fi",
    0x1D: "fl",
    0x1E: "ffi",
    0x1F: "ffl",
}
"""Character of each code in TeX's EC text fonts."""

OML: Mapping[int, str] = _build_table(
    f"{_GREEK}αβγδϵζηθικλµνξπρστυφχψωεϑϖϱςϕ↼↽⇀⇁  ▷◁0123456789.,</>⋆∂{_CAPITALS}♭♮♯⌣⌢ℓ{_SMALL}ıȷ℘⃗⁀"
)
"""Character of each code in fonts for letters in formulas. Mu and the two phis are as in the Adobe
Glyph List.
"""

OMS: Mapping[int, str] = _build_table(
    "−·×∗÷⋄±∓⊕⊖⊗⊘⊙◯∘∙≍≡⊆⊇≤≥⪯⪰∼≈⊂⊃≪≫≺≻"
    "←→↑↓↔↗↘≃⇐⇒⇑⇓⇔↖↙∝′∞∈∋△▽\u0338↦∀∃¬∅ℜℑ⊤⊥"
    f"ℵ{_CAPITALS}∪∩⊎∧∨⊢⊣⌊⌋⌈⌉{{}}⟨⟩|‖↕⇕\\≀√⨿∇∫⊔⊓⊑⊒§†‡¶♣♢♡♠"
)
"""Character of each code in fonts for signs in formulas."""

OMX: Mapping[int, str] = _build_table(
    "()[]⌊⌋⌈⌉{}⟨⟩|‖/\\()()[]⌊⌋⌈⌉{}⟨⟩/\\"
    "()[]⌊⌋⌈⌉{}⟨⟩/\\/\\⎛⎞⎡⎤⎣⎦⎢⎥⎧⎫⎩⎭⎨⎬⎪⏐"
    "⎝⎠⎜⎟⟨⟩⊔⊔∮∮⊙⊙⊕⊕⊗⊗∑∏∫⋃⋂⊎⋀⋁∑∏∫⋃⋂⊎⋀⋁"
    "∐∐ˆˆˆ˜˜˜[]⌊⌋⌈⌉{}√√√√√√√‖↑↓    ⇑⇓"
)
"""Character of each code in fonts for large signs in formulas: brackets in several sizes and pieces
of larger ones.
"""

MSAM: Mapping[int, str] = _build_table(
    "⊡⊞⊠□■·◇◆↻↺⇌⇋⊟⊩⊪⊨↠↞⇇⇉⇈⇊↾⇂↿⇃↣↢⇆⇄↰↱"
    "⇝↭↫↬≗≿≳⪆⊸∴∵≑≜≾≲⪅⪕⪖⋞⋟≼≦⩽≶‵ ≓≒≽≧⩾≷"
    "⊏⊐▷◁⊵⊴★≬▼▶◀→←△▲▽≖⋚⋛⪋⪌¥⇛⇚✓⊻⊼⌆∠∡∢∝"
    "⌣⌢⋐⋑⋓⋒⋏⋎⋋⋌⫅⫆≏≎⋘⋙⌜⌝®Ⓢ⋔∔∽⋍⌞⌟✠∁⊺⊚⊛⊝"
)
"""Character of each code in the first symbol font of the American Mathematical Society."""

MSBM: Mapping[int, str] = {
    **dict(zip(range(0x3F, 0x41), "∅∄", strict=True)),
    **dict(zip(range(0x66, 0x6D), "℧ð≂ℶℷℸ⋖", strict=True)),
    **dict(zip(range(0x6D, 0x80), "⋗⋉⋊∣∥∖∼≈≊⪸⪷↶↷ϝϰ𝕜ℏℏ϶", strict=True)),
}
"""Character of each code in the second symbol font of the American Mathematical Society, without
its capital letters, whose codes are those of the letters.
"""

STMARY: Mapping[int, str] = {0x4A: "⟦", 0x4B: "⟧"}
"""Character of each code for brackets in the St Mary's Road symbol font."""
