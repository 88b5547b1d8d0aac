"""The nouns of Fonds as frozen typed values, and the errors; no input or output, no clock."""
