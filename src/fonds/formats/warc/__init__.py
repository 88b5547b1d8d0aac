"""Records of WARC and ARC files: a scan of their heads, and one record's payload by its offset."""

from fonds.formats.warc.read import RecordReader, read_record
from fonds.formats.warc.scan import UNDATED, Damage, RecordHead, read_heads

__all__ = ["UNDATED", "Damage", "RecordHead", "RecordReader", "read_heads", "read_record"]
