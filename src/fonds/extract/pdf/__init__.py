"""Everything Fonds learns from one PDF: text, metadata and thumbnail."""

from fonds.extract.pdf.extraction import EXTRACTOR, PdfLimits, extract_pdf, extract_pdf_bytes

__all__ = ["EXTRACTOR", "PdfLimits", "extract_pdf", "extract_pdf_bytes"]
