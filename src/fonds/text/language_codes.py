"""Language codes: the two-letter codes in use, and the one to use for withdrawn or longer codes.

Source: ISO 639-1; BCP 47 (RFC 5646), section 2.2.1, as langcodes has it."""

from __future__ import annotations

import re

import langcodes

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
_COVERED = {
    "fil": "tl",
    "cmn": "zh",
    "yue": "zh",
    "wuu": "zh",
    "arz": "ar",
    "ary": "ar",
    "uzs": "uz",
    "nb": "no",
    "nob": "no",
}
"""Languages without a two-letter code, and the code that covers them. Norwegian Bokmål has one, but so has
Norwegian, which pages and models use for the same: CLDR takes `no` for both."""


def find_two_letter_code(label: str) -> str | None:
    """The ISO 639-1 code of a code in lower case, or that which covers it; None where there is none."""
    # Loading it takes longer than a search.

    try:
        code = _COVERED.get(label) or langcodes.standardize_tag(label)
    except ValueError:
        return None
    return code if code in ISO_639_1 else None
