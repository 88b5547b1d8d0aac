"""Records of WARC and ARC files: a scan of their heads, one record by its offset, all of them checked."""

from fonds.formats.warc.checking import CheckedRecord, check_records
from fonds.formats.warc.read import RecordReader, read_record, record_bytes
from fonds.formats.warc.scan import UNDATED, Damage, RecordHead, read_heads

__all__ = [
    "UNDATED",
    "CheckedRecord",
    "Damage",
    "RecordHead",
    "RecordReader",
    "check_records",
    "read_heads",
    "read_record",
    "record_bytes",
]
