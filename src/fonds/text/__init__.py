"""Texts: words, stems, stop words, sentences, language, similarity; decoding of bodies and XML."""
