"""Texts: words, stems, stop words, sentences, language, similarity. Also decoding of bodies and
XML.
"""
