"""Blobs of single rows: as files, whole, and in parts."""

import io
import random
import threading

import pyarrow as pa
import pytest

import javelin
from javelin import errors

VALUES = [b"hello", None, b"", bytes(range(256)) * 300, b"y" * (5 << 20), b"last"]


def write(uri, values, **options):
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("id", pa.int64()), field])
    table = pa.table([pa.array(range(len(values)), pa.int64()), pa.array(values, pa.large_binary())], schema=schema)
    return javelin.write_dataset(table, uri, **options)


@pytest.fixture(params=["2.0", "2.1", "2.2"])
def blobs(request, tmp_path):
    return write(str(tmp_path / "blobs"), VALUES, data_storage_version=request.param, max_rows_per_file=4)


def test_files_whole_ones_and_ranges(blobs):
    rows = [5, 0, 1, 2, 3, 4, 0]
    expected = [VALUES[row] for row in rows]
    files = blobs.take_blobs("b", indices=rows)
    assert [None if file is None else file.read() for file in files] == expected
    assert [None if file is None else file.size() for file in files] == [None if value is None else len(value) for value in expected]
    addresses = [row % 4 + (row // 4 << 32) for row in rows]
    assert blobs.read_blobs("b", indices=rows) == list(zip(addresses, expected))
    for name in ("addresses", "ids"):
        assert blobs.read_blobs("b", **{name: pa.array(addresses)}) == list(zip(addresses, expected))
    requests = [(4, 5 << 20, 0), (1, 9, 9), (0, 1, 3), (3, 255, 2), (0, 1, 3), (2, 0, 0), (0, 0, 5)]
    answers = [b"", None, b"ell", b"\xff\x00", b"ell", b"", b"hello"]
    for options in ({}, {"io_buffer_size": 1}, {"io_buffer_size": 4, "preserve_order": False}, {"preserve_order": True}):
        found = blobs.read_blob_ranges("b", requests, selector="indices", **options)
        assert [index for index, _, _ in found] == list(range(len(requests)))
        assert [data for _, _, data in found] == answers
        assert [address for _, address, _ in found] == [row % 4 + (row // 4 << 32) for row, _, _ in requests]
    assert blobs.take_blobs("b", indices=[]) == blobs.read_blobs("b", ids=[]) == []
    assert blobs.read_blob_ranges("b", [], selector="addresses") == []


@pytest.mark.parametrize("buffer_size", [0, 1, 7, 4096, 512 * 1024])
def test_a_file_is_as_the_bytes_are(blobs, buffer_size):
    draw = random.Random(buffer_size)
    for row in (0, 2, 3):
        value = VALUES[row]
        file, model = blobs.take_blobs("b", indices=[row], buffer_size=buffer_size)[0], io.BytesIO(value)
        assert isinstance(file, io.BufferedIOBase) and file.readable() and file.seekable() and not file.writable()
        for _ in range(300):
            size = draw.choice([0, 1, 3, 10, 100, 5000, 100_000])
            step = draw.randrange(8)
            if step == 0:
                assert file.read(size) == model.read(size)
            elif step == 1:
                position = draw.randrange(len(value) + 10)
                assert file.seek(position) == model.seek(position)
            elif step == 2:
                back = draw.randrange(model.tell() + 1)
                assert file.seek(-back, io.SEEK_CUR) == model.seek(-back, io.SEEK_CUR)
            elif step == 3:
                back = draw.randrange(len(value) + 1)
                assert file.seek(-back, io.SEEK_END) == model.seek(-back, io.SEEK_END)
            elif step == 4:
                ours, theirs = bytearray(size), bytearray(size)
                assert file.readinto(ours) == model.readinto(theirs) and ours == theirs
            elif step == 5:
                some = file.read1(size)
                assert model.read(len(some)) == some and (some or not size or model.tell() >= len(value))
            elif step == 6:
                assert file.readline() == model.readline()
            else:
                before, offset = file.tell(), draw.randrange(len(value) + 1)
                length = draw.randrange(len(value) - offset + 1)
                assert file.read_range(offset, length) == value[offset : offset + length]
                assert file.read_ranges([(offset, length), (0, 0), (offset, length)]) == [value[offset : offset + length], b"", value[offset : offset + length]]
                assert file.tell() == before
            assert file.tell() == model.tell()
        file.seek(0)
        assert file.read(None) == value and file.read() == b"" and file.read1() == b""
        file.seek(1)
        assert file.readall() == value[1:]


def test_closed_files(blobs):
    with blobs.take_blobs("b", indices=[0])[0] as file:
        assert file.read(2) == b"he"
    file.close()
    assert file.closed and file.size() == 5 and repr(file) == "<BlobFile size=5>"
    for call in (file.read, file.readall, file.read1, file.tell, lambda: file.seek(0), lambda: file.read_range(0, 1),
                 lambda: file.read_ranges([]), lambda: file.readinto(bytearray(1))):
        with pytest.raises(errors.ClosedFile) as raised:
            call()
        assert isinstance(raised.value, ValueError) and isinstance(raised.value, errors.Closed)
    with pytest.raises(ValueError):
        file.__enter__()


def test_what_is_asked_is_checked(blobs):
    file = blobs.take_blobs("b", indices=[0])[0]
    for call in (
        lambda: blobs.take_blobs("b"),
        lambda: blobs.take_blobs("b", ids=[0], indices=[0]),
        lambda: blobs.take_blobs("b", indices=[6]),
        lambda: blobs.take_blobs("b", indices=[-1]),
        lambda: blobs.take_blobs("b", addresses=[99 << 32]),
        lambda: blobs.take_blobs("b", ids=[50]),
        lambda: blobs.take_blobs("b", indices=[0], buffer_size=-1),
        lambda: blobs.take_blobs("id", indices=[0]),
        lambda: blobs.take_blobs("none", indices=[0]),
        lambda: blobs.read_blobs("b", indices=[0], io_buffer_size=0),
        lambda: blobs.read_blob_ranges("b", [(0, 0, 6)], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [(0, 6, 0)], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [(1, 2**64 - 1, 2)], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [(0, 2**64, 1)], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [(0, -1, 1)], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [(0, 0, 1)], selector="rows"),
        lambda: file.read_range(4, 2),
        lambda: file.read_range(2**64 - 1, 2),
        lambda: file.read_ranges([(0, 1), (0, 6)]),
        lambda: file.seek(-1),
        lambda: file.seek(0, 3),
    ):
        with pytest.raises(errors.InvalidInput):
            call()
    for call in (
        lambda: blobs.take_blobs(3, indices=[0]),
        lambda: blobs.take_blobs("b", indices=[1.0]),
        lambda: blobs.read_blobs("b", indices=[0], preserve_order=1),
        lambda: blobs.read_blob_ranges("b", [(0, 0)], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [0], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [(0, 0.5, 1)], selector="indices"),
        lambda: blobs.read_blob_ranges("b", [(0, 0, 1)], selector=None),
        lambda: file.read("1"),
        lambda: file.seek(0.5),
        lambda: file.readinto(b"no room"),
    ):
        with pytest.raises(TypeError):
            call()


def test_what_is_read_at_once_is_bounded(tmp_path):
    session = javelin.Session(memory_limit_bytes=24 << 20)
    values = [bytes([i + 1]) * (6 << 20) for i in range(8)]
    dataset = write(str(tmp_path / "t"), values, session=session)
    assert [data for _, data in dataset.read_blobs("b", indices=range(8), io_buffer_size=7 << 20)] == values
    assert [data for _, data in dataset.read_blobs("b", indices=range(8))] == values
    with pytest.raises(errors.OutOfMemory):
        dataset.read_blobs("b", indices=range(8), io_buffer_size=1 << 30)
    assert session.memory_used_bytes < 1 << 20


def test_one_file_in_many_threads(blobs):
    file = blobs.take_blobs("b", indices=[3], buffer_size=100)[0]
    parts = []

    def work():
        while True:
            data = file.read(97)
            parts.append(len(data))
            assert file.read_range(10, 5) == VALUES[3][10:15]
            if len(data) < 97:
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(parts) == len(VALUES[3])


def test_a_file_outlives_its_dataset(tmp_path):
    file = write(str(tmp_path / "t"), [b"here"]).take_blobs("b", indices=[0])[0]
    assert file.read() == b"here"
