"""From the bytes of a page to its text: what is declared, what the bytes say, and what is text at all."""

from fonds.extract.charset.decoding import (
    Decoded,
    canonical_charset,
    declared_charset,
    decode,
    decode_page,
)

__all__ = ["Decoded", "canonical_charset", "declared_charset", "decode", "decode_page"]
