"""PNG files of figures, in a quarter of the time that an encoder for photographs takes."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP = 2  # filter of a row of pixels: the difference to the row above, which is nothing wherever a figure is flat
_LEVEL = 3


def encode_png(pixels: NDArray[Any], dpi: float) -> bytes:
    """Return pixels (red, green, blue, opacity), of shape (height, width, 4), as the content of a PNG file.

    PNG (third edition), sections 9.2 (filters) and 11 (chunks).
    """
    height, width, _ = pixels.shape
    rows = pixels.reshape(height, 4 * width)
    filtered = np.empty((height, 4 * width + 1), dtype=np.uint8)
    filtered[:, 0] = _UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])  # modulo 256
    per_meter = round(dpi / 0.0254)
    return _SIGNATURE + b"".join(
        [
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)),  # four times 8 bits
            _chunk(b"pHYs", struct.pack(">IIB", per_meter, per_meter, 1)),
            _chunk(b"IDAT", zlib.compress(filtered.data, _LEVEL)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
