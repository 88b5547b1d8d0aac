"""Lists of references as they are printed: found in a text, parted into entries, and those into fields."""

from fonds.bibliography.references.entries import entries_of as entries_of
from fonds.bibliography.references.parsing import parse_reference as parse_reference
