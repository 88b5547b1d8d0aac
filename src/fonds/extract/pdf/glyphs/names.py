"""What glyph names mean that TeX's fonts use, those that pdfium does not know and those it does.

Source: the encoding vectors of Computer Modern, Latin Modern and AMSFonts in Type 1; Adobe Glyph List.
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
_KNOWN = """
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
_ALL: Mapping[str, str] = {**_read(_KNOWN), **_TEX}
_SIZES = ("big", "Big", "bigg", "Bigg", "display", "text", "wide", "wider", "widest")
TEX_NAMES = frozenset(_TEX) | {name + size for name in _ALL for size in _SIZES}
"""The names of TeX's fonts that are not in the Adobe Glyph List."""


def meaning(name: str) -> str | None:
    """What a glyph of this name shows, large or small; None when nobody here knows."""
    if _LETTER.fullmatch(name):
        return name
    found = _ALL.get(name)
    if found is None and (sized := _SIZED.fullmatch(name)):
        found = _ALL.get(sized[1])
    return found


def is_tex_name(name: str) -> bool:
    """Whether it is a name of TeX's fonts that is not in the Adobe Glyph List, which readers know."""
    return name in TEX_NAMES
