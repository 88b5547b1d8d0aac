"""Large string field of a result message, and the reference to a blob that replaces the field."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from fonds.model.archive import Blob
from fonds.model.keys import build_blob_key, parse_sha1

FIELD, BLOB, SIZE, SHA256 = (
    "fonds-field",
    "fonds-field-blob",
    "fonds-field-bytes",
    "fonds-field-sha256",
)
"""Headers of a message whose large field is a blob: name of the field, key, size in bytes, and
SHA-256 of the blob.
"""


class FieldReference(msgspec.Struct, frozen=True, kw_only=True):
    """Reference to the blob with a field that is too large for the topic."""

    key: Annotated[str, Meta(description="key in the blob store; the blob is UTF-8")]
    size_bytes: Annotated[int, Meta(ge=0)]
    sha256hex: str


@dataclass(frozen=True, slots=True)
class DetachedField:
    """Body of a message after its largest field was replaced by a reference to a blob.

    - `body`: JSON body with the reference in place of the field.
    - `headers`: additional message headers that name the blob.
    - `blob`: blob that contains the value of the field.
    """

    body: bytes
    headers: Mapping[str, str]
    blob: Blob


@dataclass(frozen=True, slots=True)
class LargeField:
    """String field of a JSON message body that may be stored as a blob.

    If it is stored as a blob, the field is null and the field `NAME_blob` refers to the blob. The
    key of the blob depends only on the topic and the message's key. So the next message with the
    same key replaces the blob.

    - `name`: name of the field.
    - `folder`, `extension`: folder and ending of the blob's key.
    - `content_type`: media type of the blob.
    """

    name: str
    folder: str
    extension: str
    content_type: str

    def build_key(self, sha1hex: str) -> str:
        """Return the key of the blob that has this field's value for the file with SHA-1
        `sha1hex`.
        """
        return build_blob_key(f"published/{self.folder}", sha1hex, self.extension)

    def find_key(self, message_key: str) -> str | None:
        """Return the key of the blob for a message with the key `message_key`.

        Returns None if the message key is not a SHA-1 in lower-case hexadecimal.
        """
        raw = parse_sha1(message_key)
        return self.build_key(message_key) if raw is not None and raw.hex() == message_key else None

    def detach(self, message_key: str, body: bytes) -> DetachedField | None:
        """Return a JSON body with this field replaced by a reference to a blob, and the blob.

        Returns None if the body has no such field or the message key is not a SHA-1.
        """
        key = self.find_key(message_key)
        if key is None:
            return None
        try:
            fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
            value = msgspec.json.decode(fields.get(self.name, b"null"), type=str | None)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if value is None:
            return None
        data = value.encode()
        sha256hex = hashlib.sha256(data).hexdigest()
        reference = FieldReference(key=key, size_bytes=len(data), sha256hex=sha256hex)
        fields[self.name] = msgspec.Raw(b"null")
        fields[f"{self.name}_blob"] = msgspec.Raw(msgspec.json.encode(reference))
        headers = {FIELD: self.name, BLOB: key, SIZE: str(len(data)), SHA256: sha256hex}
        return DetachedField(
            msgspec.json.encode(fields), headers, Blob(key, data, self.content_type)
        )
