"""Two-letter language codes, and the two-letter codes that replace withdrawn or longer codes.

Source: ISO 639-1; BCP 47 (RFC 5646), section 2.2.1, as in langcodes.
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
"""Languages without a two-letter code of their own, and the two-letter code used for them.

Norwegian Bokmål has a code (`nb`), but pages, models and CLDR use `no` for both.
"""


def find_two_letter_code(label: str) -> str | None:
    """Return the two-letter code of a language (ISO 639-1), given any of its codes in lower case.

    A withdrawn or longer code becomes the two-letter code that replaces it. Returns None if the
    language has no two-letter code.
    """
    if (code := _COVERED.get(label, label)) in ISO_639_1:
        return code
    import langcodes  # 25 ms, which commands that only search save

    try:
        code = langcodes.standardize_tag(label)
    except ValueError:
        return None
    return code if code in ISO_639_1 else None
