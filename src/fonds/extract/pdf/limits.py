"""Limits for the extraction of one PDF, and the name of the extractor. Quick to import, unlike the
extraction itself, which runs in child processes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256

from fonds.model.pdf import PAGE0_FORM


@dataclass(frozen=True, slots=True)
class PdfLimits:
    """Limits for the extraction of one PDF.

    - `size_max_bytes`: maximum size of the PDF.
    - `pages_max`: maximum number of pages to read; 0 extracts no text.
    - `text_max_chars`: maximum length of the text.
    - `text_max_s`: seconds after which no further page is read. The text read until then is kept;
      it would be lost if the process reached its own time limit.
    - `pixels_max`: maximum number of pixels of a thumbnail.
    - `xmp_max_bytes`: maximum size of the XMP packet (metadata in XML).
    - `thumbnails`: formats of the thumbnails, such as `180px-jpg`; empty for no thumbnails.
    """

    size_max_bytes: int = 256 * 2**20
    pages_max: int = 2_000
    text_max_chars: int = 10_000_000
    text_max_s: float = 40.0
    pixels_max: int = 50_000_000
    xmp_max_bytes: int = 1_000_000
    thumbnails: tuple[str, ...] = (PAGE0_FORM,)


def name_extractor(limits: PdfLimits) -> str:
    """Return a name for the extractor: the names and versions of its programs, and a hash of the
    limits.

    Two extractions of a PDF by extractors with the same name have equal results. If a change of
    Fonds changes results, raise the number after `fonds-pdf/`.
    """
    # Imported here because native libraries are slow to load.
    import pikepdf
    import pypdfium2

    programs = (
        f"fonds-pdf/6 (pdfium {pypdfium2.PDFIUM_INFO.build}, pikepdf {pikepdf.__version__}, "
        f"qpdf {pikepdf.__libqpdf_version__})"
    )
    limits_text = ", ".join(f"{name}={value}" for name, value in sorted(asdict(limits).items()))
    return f"{programs} limits/{sha256(limits_text.encode()).hexdigest()[:12]}"
