"""Blobs of single rows: as files, whole, and in parts."""

from __future__ import annotations

import array
import io
import threading
from typing import Any, List, Optional, Sequence, Tuple, Union

import pyarrow as pa

from . import _arguments, errors
from ._row_numbers import row_numbers
from ._table import Table

#: Bytes that a :class:`BlobFile` reads ahead.
DEFAULT_BLOB_BUFFER_SIZE = 512 * 1024

_LARGEST = 2**64 - 1

Rows = Union[Sequence[int], pa.Array]


class BlobFile(io.BufferedIOBase):
    """A blob as a file for reading, from :meth:`LanceDataset.take_blobs`. Safe to use from several threads.

    :meth:`read` and its like go forward from a position, through a buffer that is filled by one request at a time;
    :meth:`read_range` and :meth:`read_ranges` do without both. Reading what was closed raises
    :class:`javelin.errors.ClosedFile`.
    """

    def __init__(self, inner: Any, buffer_size: int = DEFAULT_BLOB_BUFFER_SIZE) -> None:
        super().__init__()
        self._core = inner
        self._size: int = inner.size
        self._buffer_size = _arguments.whole_number("buffer_size", buffer_size)
        self._lock = threading.RLock()
        self._position = 0
        self._ahead = b""  # bytes that were read already, and where they begin
        self._ahead_from = 0

    def __repr__(self) -> str:
        return f"<BlobFile size={self._size}>"

    def close(self) -> None:
        """Let go of what was read ahead. No error if it is closed already."""
        super().close()
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def size(self) -> int:
        """Bytes of the blob; asks nobody, and answers also when the file is closed."""
        return self._size

    def tell(self) -> int:
        """The position, in bytes from the start."""
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to `offset` bytes from the start, the position (``io.SEEK_CUR``) or the end (``io.SEEK_END``); the new position.
        Behind the end there is nothing to read; before the start is :class:`javelin.errors.InvalidInput`."""
        self._check_open()
        starts = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        if whence not in starts:
            raise errors.InvalidInput(f"whence must be 0, 1 or 2, got {whence!r}")
        with self._lock:
            position = (self._position if whence == io.SEEK_CUR else starts[whence]) + _arguments.integer("offset", offset)
            if position < 0:
                raise errors.InvalidInput(f"a position must not be negative, it would be {position}")
            self._position = position
            return position

    def read(self, size: Optional[int] = -1) -> bytes:
        """The next `size` bytes, fewer at the end; all that are left without a number or with a negative one."""
        self._check_open()
        with self._lock:
            left = max(self._size - self._position, 0)
            wanted = left if size is None or _arguments.integer("size", size) < 0 else min(size, left)
            parts = []
            while wanted > 0:
                parts.append(self._next(wanted))
                wanted -= len(parts[-1])
            return parts[0] if len(parts) == 1 and isinstance(parts[0], bytes) else b"".join(parts)

    def read1(self, size: int = -1) -> bytes:
        """At most `size` bytes (8 KiB without a number), by at most one request; none at the end only."""
        self._check_open()
        wanted = io.DEFAULT_BUFFER_SIZE if size is None or _arguments.integer("size", size) < 0 else size
        with self._lock:
            return bytes(self._next(wanted)) if wanted else b""

    def readall(self) -> bytes:
        """All bytes from the position on."""
        return self.read()

    def readinto(self, b: Any) -> int:
        """Fill memory that can be written, as far as there are bytes; how many it were."""
        self._check_open()
        target = memoryview(b).cast("B")
        if target.readonly:
            raise _arguments.wrong_type("b", "memory that can be written", b)
        data = self.read(len(target))
        target[: len(data)] = data
        return len(data)

    def read_range(self, offset: int, length: int) -> bytes:
        """The bytes at [offset, offset + length). Raises :class:`javelin.errors.InvalidInput` past the end."""
        return self.read_ranges([(offset, length)])[0]

    def read_ranges(self, ranges: Sequence[Tuple[int, int]]) -> List[bytes]:
        """The bytes of each (offset, length), in their order; near ones by one request. Raises
        :class:`javelin.errors.InvalidInput` for one past the end."""
        self._check_open()
        return self._core.read_ranges(_numbers("ranges", ranges, ("offset", "length")))

    def _check_open(self) -> None:
        if self.closed:
            raise errors.ClosedFile("the blob file is closed; take the blob anew")

    # At most `most` bytes at the position, which moves behind them; at least one unless it is at the end.
    def _next(self, most: int) -> Any:
        within = self._position - self._ahead_from
        if not 0 <= within < len(self._ahead):
            left = max(self._size - self._position, 0)
            data = self.read_range(self._position, min(max(most, self._buffer_size), left)) if left else b""
            if len(data) <= most:  # nothing is left over of it
                self._position += len(data)
                return data
            self._ahead, self._ahead_from, within = data, self._position, 0
        part = memoryview(self._ahead)[within : within + most]
        self._position += len(part)
        return part


class Blobs(Table):
    """The methods of a dataset that read blobs of single rows.

    `blob_column` is the name of a column of blobs, or the path of one inside structs (``"c.b"``). Rows are given by row id,
    address or position in a full scan: one of the three."""

    def take_blobs(
        self,
        blob_column: str,
        ids: Optional[Rows] = None,
        addresses: Optional[Rows] = None,
        indices: Optional[Rows] = None,
        *,
        buffer_size: int = DEFAULT_BLOB_BUFFER_SIZE,
    ) -> List[Optional[BlobFile]]:
        """Blobs as files, one for each row in the order asked; None for a null, a file of no bytes for an empty one.

        Reads where they lie, and of the blobs what their files are asked for. For whole blobs :meth:`read_blobs` takes fewer
        requests. `buffer_size`: bytes that a file reads ahead; 0: none.

        Raises
        ------
        javelin.errors.InvalidInput
            No such row, or it is deleted; no column of blobs; not exactly one of `ids`, `addresses` and `indices`.
        javelin.errors.NotSupported
            A blob outside of the table whose object is not read: it lies outside of the table's base paths, its store is not known,
            or it is managed.
        javelin.errors.Corruption, javelin.errors.NotFound
            A blob lies outside of its object; its object is gone.
        """
        buffer_size = _arguments.whole_number("buffer_size", buffer_size)
        selector, rows = _selection(ids, addresses, indices)
        handles = self._core.take_blobs(_arguments.text("blob_column", blob_column), selector, rows)
        return [None if handle is None else BlobFile(handle, buffer_size) for handle in handles]

    def read_blobs(
        self,
        blob_column: str,
        ids: Optional[Rows] = None,
        addresses: Optional[Rows] = None,
        indices: Optional[Rows] = None,
        *,
        io_buffer_size: Optional[int] = None,
        preserve_order: Optional[bool] = None,
    ) -> List[Tuple[int, Optional[bytes]]]:
        """Whole blobs: (address of the row, bytes or None), one for each row in the order asked.

        Requests are sent for `io_buffer_size` bytes at once, at least for one blob (without it: 64 MiB, or an eighth of the memory
        budget where that is less). `preserve_order` changes nothing, since the order asked is the order of the list. Raises as
        :meth:`take_blobs`.
        """
        _arguments.optional_flag("preserve_order", preserve_order)
        selector, rows = _selection(ids, addresses, indices)
        answers = self._core.open_blobs(_arguments.text("blob_column", blob_column), selector, rows, _io_bytes(io_buffer_size))
        return [(address, data) for _, address, data in _collect(answers)]

    def read_blob_ranges(
        self,
        blob_column: str,
        requests: Sequence[Tuple[int, int, int]],
        *,
        selector: str,
        io_buffer_size: Optional[int] = None,
        preserve_order: Optional[bool] = None,
    ) -> List[Tuple[int, int, Optional[bytes]]]:
        """Parts of blobs: (number of the request, address of the row, bytes or None), one for each request in their order.

        A request is (row, offset, length), the row named as `selector` says: ``"ids"``, ``"addresses"`` or ``"indices"``. A row may be
        asked for any number of times, its ranges may lie in any order. A null is None whatever is asked of it; an empty range of
        another blob is ``b""`` without a request. Near ranges of an object are read by one request; `io_buffer_size` and
        `preserve_order`: :meth:`read_blobs`. Raises as :meth:`take_blobs`, and :class:`javelin.errors.InvalidInput` for a range that
        ends behind its blob.
        """
        _arguments.optional_flag("preserve_order", preserve_order)
        answers = self._core.open_blob_ranges(
            _arguments.text("blob_column", blob_column),
            _arguments.text("selector", selector),
            _numbers("requests", requests, ("row", "offset", "length")),
            _io_bytes(io_buffer_size),
        )
        return _collect(answers)


def _selection(ids: Any, addresses: Any, indices: Any) -> Tuple[str, Any]:
    given = [(name, rows) for name, rows in (("ids", ids), ("addresses", addresses), ("indices", indices)) if rows is not None]
    if len(given) != 1:
        raise errors.InvalidInput(f"give exactly one of ids, addresses and indices, not {len(given)} of them")
    return given[0][0], row_numbers(given[0][1])


def _io_bytes(io_buffer_size: Optional[int]) -> int:
    return _arguments.optional_whole_number("io_buffer_size", io_buffer_size, least=1) or 0


# Answers of the extension, which come in no order, as a list in the order of the requests.
def _collect(answers: Any) -> List[Tuple[int, int, Optional[bytes]]]:
    every: List[Tuple[int, int, Optional[bytes]]] = []
    for some in iter(answers.next, []):
        every.extend(some)
    every.sort(key=lambda answer: answer[0])
    return every


# Tuples of whole numbers as the memory of uint64 one after another.
def _numbers(name: str, tuples: Any, parts: Tuple[str, ...]) -> array.array:
    numbers = array.array("Q")
    for index, one in enumerate(tuples):
        if not isinstance(one, (tuple, list)) or len(one) != len(parts):
            raise errors.WrongType(f"{name} must be tuples ({', '.join(parts)}), number {index} is {one!r}")
        numbers.extend(_arguments.whole_number(f"{part} of {name}[{index}]", value, most=_LARGEST) for part, value in zip(parts, one))
    return numbers
