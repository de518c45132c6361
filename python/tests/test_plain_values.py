"""Plain Python values become what they are or are refused; none is cut to fit."""

import datetime
import decimal
import math

import numpy as np
import pandas
import pyarrow as pa
import pytest
from support import KEY, ids_of, run_python

import javelin
from javelin import errors
from javelin._data import Source

DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 13, 14, 15)
FINE_MOMENT = MOMENT.replace(microsecond=1)
ZONED = MOMENT.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
TIME = datetime.time(13, 14, 15)
FINE_TIME = TIME.replace(microsecond=1)
SPAN = datetime.timedelta(days=2, seconds=3)
FINE_SPAN = datetime.timedelta(microseconds=1)
EVERY_VALUE = [True, 5, 5.5, "5", b"5", decimal.Decimal("5"), decimal.Decimal("5.5"), DAY, MOMENT, FINE_MOMENT, ZONED, TIME,
               FINE_TIME, SPAN, FINE_SPAN, [5], {"a": 5}, object(), np.bool_(True), np.float64(5.5), math.nan]

# By type: what it holds as it is. All others of EVERY_VALUE, and what is listed as refused, must be refused.
HOLDS = {
    pa.bool_(): [True, np.bool_(True)],
    pa.int8(): [5, np.int64(-128)],
    pa.int64(): [5, -(2**63), np.uint8(7)],
    pa.uint64(): [5, 2**64 - 1],
    pa.float16(): [5, 5.5, math.inf, np.float64(5.5), math.nan],
    pa.float32(): [5, 5.5, 0.1, math.inf, 2**24, np.float64(5.5), math.nan],
    pa.float64(): [5, 5.5, 2**53, np.float64(5.5), math.nan],
    pa.decimal128(6, 1): [5, decimal.Decimal("5"), decimal.Decimal("5.5")],
    pa.string(): ["5", "", "é", np.str_("x")],
    pa.large_string(): ["5"],
    pa.binary(): [b"5", bytearray(b"x"), memoryview(b"y")],
    pa.binary(1): [b"5"],
    pa.date32(): [DAY],
    pa.date64(): [DAY],
    pa.timestamp("s"): [MOMENT, pandas.Timestamp(MOMENT)],
    pa.timestamp("us"): [MOMENT, FINE_MOMENT],
    pa.timestamp("us", "UTC"): [ZONED],
    pa.time32("s"): [TIME],
    pa.time64("us"): [TIME, FINE_TIME],
    pa.duration("s"): [SPAN],
    pa.duration("us"): [SPAN, FINE_SPAN],
    pa.list_(pa.int8()): [[5], [], [None], np.array([5], np.int8)],
    pa.list_(pa.float32(), 1): [[5], [5.5], np.array([0.1], np.float32)],
    pa.struct([("a", pa.int8())]): [{"a": 5}, {}],
}
REFUSED = {
    pa.int8(): [128, np.int64(-129)],
    pa.int64(): [2**63, np.float64(5.0), np.timedelta64(5, "s")],
    pa.uint64(): [-1, 2**64],
    pa.float16(): [70000.0],
    pa.float32(): [1e39, 2**24 + 1],
    pa.float64(): [2**53 + 1],
    pa.decimal128(6, 1): [decimal.Decimal("5.55"), 10**6],
    pa.string(): ["\udc80"],
    pa.binary(1): [b"55"],
    pa.timestamp("us"): [pandas.Timestamp(1), np.datetime64("2024-02-29T13", "h")],
    pa.time64("us"): [TIME.replace(tzinfo=datetime.timezone.utc)],
    pa.list_(pa.int8()): [[5.5], [128], ["5"], [True], np.array([5.5])],
    pa.list_(pa.float32(), 1): [[1e39], [1.0, 2.0], ["5"], np.array([1e39])],
    pa.struct([("a", pa.int8())]): [{"a": 5.5}, {"a": 128}, {"a": 5, "b": 5}, {"A": 5}],
    pa.list_(pa.struct([("a", pa.int8())])): [[{"a": 5}, {"b": 5}]],
}


def is_same(value, held):
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return math.isnan(held)
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value == held.astimezone(value.tzinfo)
    if value == {}:
        return held == {"a": None}
    return held == value or bool(np.isclose(np.float64(held), np.float64(value)))


@pytest.mark.parametrize("type", HOLDS, ids=str)
def test_a_type_holds_a_value_as_it_is_or_refuses_it(type):
    schema = pa.schema([pa.field("c", type)])
    for value in HOLDS[type]:
        table = Source([{"c": None}, {"c": value}], types=schema).stream
        assert table.schema == schema and table["c"][0].as_py() is None
        assert is_same(value, table["c"][1].as_py()), (value, table["c"][1])
    held = [(python_type(value), str(value)) for value in HOLDS[type]]
    others = [value for value in EVERY_VALUE if (python_type(value), str(value)) not in held]
    for value in others + REFUSED.get(type, []):
        with pytest.raises(errors.InvalidInput, match="column 'c', row 1") as refusal:
            Source([{"c": None}, {"c": value}], types=schema)
        assert repr(value)[:20] in str(refusal.value)


def python_type(value):
    return value.__class__


@pytest.fixture
def numbers(uri, shard):
    """A writer of a table of numbers with rows 1 to 9."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False, metadata=KEY), pa.field("n", pa.int32())])
    dataset = javelin.write_dataset({"id": list(range(1, 10)), "n": list(range(1, 10))}, uri, schema=schema)
    dataset.initialize_mem_wal()
    with dataset.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        yield dataset, writer


@pytest.mark.parametrize("wrong", [9.7, 9.0, decimal.Decimal("9.7"), "9", True, b"9", 2**70, DAY])
def test_a_wrong_key_or_value_changes_nothing_and_finds_nothing(numbers, wrong):
    dataset, writer = numbers
    attempts = [
        lambda: writer.delete([{"id": 1}, {"id": wrong}]),
        lambda: writer.delete({"id": [1, wrong]}),
        lambda: writer.delete([1, wrong]),
        lambda: writer.put([{"id": 1, "n": 7}, {"id": wrong, "n": 1}]),
        lambda: dataset.fresh().get([1, wrong]),
        lambda: dataset.fresh().get([{"id": 1}, {"id": wrong}]),
    ]
    for attempt in attempts:
        with pytest.raises(errors.InvalidInput, match="column 'id', row 1") as refusal:
            attempt()
        assert repr(wrong) in str(refusal.value)
    for attempt in (writer.put, lambda data: dataset.insert(data, schema=dataset.schema)):
        with pytest.raises(errors.InvalidInput, match="column 'n', row 0"):
            attempt({"id": [1], "n": [wrong]})
    assert writer.stats()["put_count"] == 0
    assert ids_of(writer.lsm_scanner().to_table()) == list(range(1, 10)) and dataset.count_rows() == 9


def test_values_without_a_type_need_one_in_common(uri):
    for values in ([1, "a"], [DAY, MOMENT], [["a"], [1]], ["a", b"b"]):
        with pytest.raises(errors.InvalidInput, match="column 'c'"):
            javelin.write_dataset({"c": values}, uri)
    assert javelin.write_dataset({"c": [1, 2.5, None]}, uri).to_table()["c"].to_pylist() == [1.0, 2.5, None]


def test_a_thread_that_outlives_the_main_thread_puts(uri, shard):
    javelin.write_dataset([{"id": 1}], uri).initialize_mem_wal(unsharded=True)
    result = run_python("""
        import sys, threading
        import javelin

        def run():
            threading.main_thread().join()
            writer = javelin.dataset(sys.argv[1]).mem_wal_writer(sys.argv[2], commit_mode="eager")
            writer.put([{"id": 2}])
            print(writer.lsm_scanner().count_rows(), flush=True)

        threading.Thread(target=run).start()
    """, uri, shard)
    assert result.stdout == "2\n", result.stderr
