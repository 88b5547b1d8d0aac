"""Extract data from bytes: file type, text and thumbnails of PDFs, article, language and date of
pages. All functions are pure.
"""
