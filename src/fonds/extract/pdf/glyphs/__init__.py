"""What the glyphs of old fonts mean where the file does not say, written into it as it would."""
