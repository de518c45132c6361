"""Sharding specs over rows, and schemas with ids. Values of the transforms: the C++ tests; equality with the released peer:
tests/interop."""

import pyarrow as pa
import pytest
from support import KEY, rows

import javelin
from javelin.mem_wal import ShardingField, ShardingSpec, evaluate_sharding_spec

SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False, metadata=KEY),
    pa.field("text", pa.string()),
    pa.field("place", pa.struct([pa.field("city", pa.string())]), metadata={"unit": "none"}),
], metadata={"made": "here"})
BATCH = pa.RecordBatch.from_pylist([
    {"id": 1, "text": "a", "place": {"city": "X"}},
    {"id": 2, "text": None, "place": None},
], schema=SCHEMA)
IDS = javelin.schema.LanceSchema.from_pyarrow(SCHEMA)


def evaluate(*fields, batch=BATCH, schema=IDS):
    return evaluate_sharding_spec(batch, ShardingSpec(1, list(fields)), schema)


def bucket(source=0, **parameters):
    return ShardingField("bucket", [source], transform="bucket", result_type="int32", parameters=parameters or {"num_buckets": "16"})


def test_columns_in_the_order_of_the_spec():
    found = evaluate(bucket(), ShardingField("city", [3], "identity"), ShardingField("all", [], "unsharded"))
    assert isinstance(found, pa.RecordBatch)
    assert found.schema == pa.schema([pa.field("bucket", pa.int32(), False), ("city", pa.string()), pa.field("all", pa.int32(), False)])
    assert found["bucket"][0].as_py() == 4 and found["city"].to_pylist() == ["X", None] and found["all"].to_pylist() == [0, 0]


def test_the_spec_of_a_table(uri):
    table = javelin.write_dataset(rows([1, 2, 3]), uri)
    table.initialize_mem_wal(bucket_column="id", num_buckets=4)
    (spec,) = table.mem_wal_index_details()["sharding_specs"]
    batch = rows([1, 2, 3]).to_batches()[0]
    found = evaluate_sharding_spec(batch, spec, table.lance_schema)
    assert found["bucket"].to_pylist() == evaluate_sharding_spec(
        batch, ShardingSpec(spec["spec_id"], [ShardingField(**field) for field in spec["fields"]]), table.lance_schema
    )["bucket"].to_pylist()
    assert set(found["bucket"].to_pylist()) <= {0, 1, 2, 3}


def test_what_cannot_be_evaluated():
    for fields, word in (
        ([ShardingField("x", [0], "year")], "year"),
        ([ShardingField("x", [0], "identity", "id + 1")], "id \\+ 1"),
        ([ShardingField("x", [9], "identity")], "9"),
        ([ShardingField("x", [], "identity")], "0 source"),
        ([ShardingField("x", [2], "bucket", parameters={"num_buckets": "4"})], "struct"),
        ([bucket(num_buckets="0")], "'0'"),
        ([bucket(num_buckets="4", column="nope")], "nope"),
        ([], "no field"),
    ):
        with pytest.raises(javelin.errors.InvalidInput, match=word):
            evaluate(*fields)
    with pytest.raises(ValueError, match="'id'"):
        evaluate(bucket(), batch=BATCH.select(["text"]))


def test_what_is_no_spec():
    whole = {"field_id": "x", "source_ids": [0], "transform": "identity", "expression": None, "result_type": "int64", "parameters": {}}
    assert evaluate_sharding_spec(BATCH, {"spec_id": 1, "fields": [whole]}, IDS)["x"].to_pylist() == [1, 2]
    for name in whole:
        with pytest.raises(javelin.errors.InvalidInput, match=name):
            evaluate_sharding_spec(BATCH, {"spec_id": 1, "fields": [{k: v for k, v in whole.items() if k != name}]}, IDS)
    for spec in ({"fields": [whole]}, {"spec_id": 1}):
        with pytest.raises(javelin.errors.InvalidInput, match="ShardingSpec lacks"):
            evaluate_sharding_spec(BATCH, spec, IDS)
    for name, wrong in (("field_id", 1), ("source_ids", ["0"]), ("transform", 1), ("expression", 1), ("result_type", None),
                        ("parameters", {"num_buckets": 4})):
        with pytest.raises(TypeError):
            evaluate_sharding_spec(BATCH, {"spec_id": 1, "fields": [{**whole, name: wrong}]}, IDS)
    for arguments in ((BATCH.to_pylist(), {}, IDS), (pa.table(BATCH.to_pydict()), {}, IDS), (BATCH, {}, SCHEMA), (BATCH, [], IDS),
                      (BATCH, {"spec_id": "1", "fields": []}, IDS), (BATCH, {"spec_id": 1, "fields": "x"}, IDS)):
        with pytest.raises(TypeError):
            evaluate_sharding_spec(*arguments)
    with pytest.raises(javelin.errors.InvalidInput, match="spec_id"):
        evaluate_sharding_spec(BATCH, {"spec_id": 2**32, "fields": [whole]}, IDS)


def test_schemas_know_ids(uri):
    schema = IDS
    flat = rows([1])
    assert javelin.write_dataset(flat, uri).lance_schema == javelin.schema.LanceSchema.from_pyarrow(flat.schema)
    assert schema == javelin.schema.LanceSchema.from_pyarrow(SCHEMA) and schema != javelin.schema.LanceSchema.from_pyarrow(BATCH.select(["id"]).schema) and schema != 1
    assert schema.to_pyarrow().equals(SCHEMA, check_metadata=True)
    assert [(field.name(), field.id()) for field in schema.fields()] == [("id", 0), ("text", 1), ("place", 2)]
    key, text, place = schema.fields()
    assert [(field.name(), field.id()) for field in place.children()] == [("city", 3)]
    assert place.metadata == {"unit": "none"} and place.to_arrow().equals(SCHEMA.field("place"), check_metadata=True)
    assert [field.name() for field in schema.unenforced_primary_key()] == ["id"]
    assert key.is_unenforced_primary_key() and not text.is_unenforced_primary_key()
    assert key.unenforced_primary_key_position() is None
    assert "id=3" in repr(place.children()[0]) and "id=0" in repr(schema)
    with pytest.raises(TypeError):
        javelin.schema.LanceSchema.from_pyarrow("id")
    with pytest.raises(javelin.errors.InvalidInput):
        javelin.schema.LanceSchema.from_pyarrow(pa.schema([("a.b", pa.int8())]))
