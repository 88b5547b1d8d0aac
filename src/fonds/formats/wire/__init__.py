"""What public topics carry: JSON and pictures as other programs write and read them."""

from fonds.formats.wire.contracts import CONTRACTS as CONTRACTS
from fonds.formats.wire.contracts import Contract as Contract
from fonds.formats.wire.contracts import schemas as schemas
