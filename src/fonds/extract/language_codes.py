"""Codes of languages: which there are, and the one to use for those that are withdrawn or longer.

Source: ISO 639-1; BCP 47 (RFC 5646), section 2.2.1.
"""

from __future__ import annotations

import re

UNDETERMINED = "und"

ISO_639_1 = frozenset(
    re.findall(
        "..",
        "aaabaeafakamanarasavayazbabebgbhbibmbnbobrbscacechcocrcscucvcydadedvdzeeeleneoeseteufafffifjfofrfyga"
        "gdglgngugvhahehihohrhthuhyhziaidieigiiikioisitiujajvkakgkikjkkklkmknkokrkskukvkwkylalblglilnloltlulv"
        "mgmhmimkmlmnmrmsmtmynanbndnengnlnnnonrnvnyocojomorospapiplpsptqurmrnrorurwsascsdsesgsiskslsmsnsosqsr"
        "ssstsusvswtatetgthtitktltntotrtstttwtyugukuruzvevivowawoxhyiyozazhzu",
    )
)
_PREFERRED_CODES = """
    iw:he in:id ji:yi jw:jv mo:ro sh:sr eng:en deu:de ger:de fra:fr fre:fr spa:es por:pt ita:it nld:nl
    dut:nl rus:ru ukr:uk pol:pl tur:tr ara:ar heb:he fas:fa per:fa hin:hi urd:ur ben:bn zho:zh chi:zh
    jpn:ja kor:ko vie:vi tha:th ind:id ell:el gre:el swe:sv dan:da nor:no fin:fi hun:hu ces:cs cze:cs
    ron:ro rum:ro bul:bg srp:sr hrv:hr
"""
PREFERRED = dict(pair.split(":") for pair in _PREFERRED_CODES.split())
"""Codes withdrawn or longer than they need be, and the one to use."""

_COVERED = {
    "fil": "tl",
    "cmn": "zh",
    "yue": "zh",
    "wuu": "zh",
    "arz": "ar",
    "ary": "ar",
    "uzs": "uz",
}
"""Languages without a two-letter code, and the code that covers them."""


def two_letters(label: str) -> str | None:
    """The ISO 639-1 code of a code in lower case, or that which covers it; None where there is none."""
    code = _COVERED.get(label) or PREFERRED.get(label, label)
    return code if code in ISO_639_1 else None
