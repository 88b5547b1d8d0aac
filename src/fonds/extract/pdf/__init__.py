"""Everything Fonds learns from one PDF: text, metadata and thumbnail."""

from fonds.extract.pdf.extraction import PdfLimits, extract_pdf, extract_pdf_bytes, extractor

__all__ = ["PdfLimits", "extract_pdf", "extract_pdf_bytes", "extractor"]
