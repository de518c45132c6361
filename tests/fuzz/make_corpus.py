"""Makes the first inputs of fuzz_schema, fuzz_page, fuzz_encoding and fuzz_data_file anew: files of the whole matrix of
types, encodings and versions, of the peer and ours, taken apart by split_file; small ones also whole.

    python tests/fuzz/make_corpus.py     needs build/fuzz/tests/fuzz/split_file and a file_tool
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pyarrow as pa

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "interop"))

import file_interop_test as files  # noqa: E402

TARGETS = ["fuzz_schema", "fuzz_page", "fuzz_encoding", "fuzz_data_file"]
WHOLE = ["int64", "string", "bool", "null", "matrix", "vector64", "packed", "runs", "nulls", "all_null", "same_text", "dictionary_text", "fsst_small",
         "long", "null_items", "arrow_dictionary", "list", "list_of_text", "list_of_lists", "list_of_vectors", "struct", "list_of_structs",
         "empty_struct", "map", "vectors_of_structs", "zstd_text", "lz4_reals", "blob", "blobs_in_lists", "packed_struct", "packed_text"]
MOST_BYTES = 6000  # of a file that is kept whole


def metadata(column, **wishes):
    return pa.field("c", column.type, metadata={f"lance-encoding:{key.replace('_', '-')}": value for key, value in wishes.items()}), column


def columns(version):
    """Field and column by name: every type small, then what makes each layout and encoding."""
    source = files.Columns("corpus")
    text = [f"some words and number {i % 7} of {i * i}" for i in range(2000)]
    few = [None if i % 7 == 0 else i % 3 for i in range(200)]
    made = {name: source.make(name, 40) for name in [*files.FIXED, *files.STRINGS, "vector3", "vector64", "matrix", "bits", "bool", "null"]}
    made |= {
        "packed": pa.array([i % 100 for i in range(1030)], pa.int32()),
        "packed_tiny": pa.array([i % 3 for i in range(1030)], pa.uint8()),
        "runs": pa.array([i // 60 for i in range(600)], pa.int32()),
        "nulls": pa.array(few, pa.int64()),
        "all_null": pa.nulls(50, pa.int32()),
        "same": pa.array([7] * 40, pa.int64()),
        "same_text": pa.array(["same"] * 40),
        "same_or_null": pa.array([None if i % 3 else "same" for i in range(40)]),
        "dictionary_text": pa.array([f"name {i % 4}" for i in range(220)]),
        "dictionary_numbers": pa.array([float(i % 3) for i in range(220)], pa.float64()),
        "fsst": pa.array(text),
        "long_fsst": pa.array([line * 12 for line in text[:300]]),
        "long": pa.array(["abcdefghij" * 60, None, "x" * 700, "klm" * 300]),
        "null_items": pa.array([[None, 1.0, None], None, [2.0, 3.0, 4.0]] * 10, pa.list_(pa.float32(), 3)),
        "no_items": pa.array([[None] * 80] * 6, pa.list_(pa.float32(), 80)),
        "arrow_dictionary": pa.array([None if i % 9 == 0 else f"v{i % 5}" for i in range(60)]).dictionary_encode(),
        "arrow_dictionary_numbers": pa.array([i % 5 for i in range(60)], pa.int64()).dictionary_encode(),
        "list": pa.array([[1, 2], None, [], [3]] * 20, pa.list_(pa.int32())),
        "list_of_text": pa.array([["a", "bc"], None, [], [None, "d"]] * 20, pa.list_(pa.string())),
        "list_of_lists": pa.array([[[1], [], None], None, [], [[2, 3]]] * 20, pa.list_(pa.list_(pa.int16()))),
        "large_list": pa.array([[True, None], [], [False]] * 20, pa.large_list(pa.bool_())),
        "no_values": pa.array([[], None, []] * 20, pa.list_(pa.int32())),
        "list_of_vectors": pa.array([[[1.0] * 40, [2.0] * 40], None, []] * 3, pa.list_(pa.list_(pa.float32(), 40))),
        "list_of_long": pa.array([["abc" * 200, "x"], None, [None]] * 2, pa.list_(pa.string())),
        "struct": pa.array([{"a": i, "b": None if i % 3 else "t"} if i % 5 else None for i in range(60)], pa.struct([("a", pa.int32()), ("b", pa.string())])),
        "list_of_structs": pa.array([[{"a": 1, "b": [2]}], None, []] * 20, pa.list_(pa.struct([("a", pa.int32()), ("b", pa.list_(pa.int8()))]))),
        "empty_struct": pa.array([{}] * 20, pa.struct([])),
    }
    if version == "2.2":
        made["map"] = pa.array([[("k", 1), ("l", None)], None, []] * 20, pa.map_(pa.string(), pa.int32()))
        made["vectors_of_structs"] = pa.array([[{"a": 1}, {"a": None}], None] * 10, pa.list_(pa.struct([("a", pa.int32())]), 2))
    fields = {name: (pa.field("c", column.type), column) for name, column in made.items()}
    numbers, reals = pa.array([i * 1001 for i in range(300)], pa.int64()), pa.array([i / 8 for i in range(300)], pa.float32())
    for scheme in ["zstd", "lz4"]:
        fields[f"{scheme}_numbers"] = metadata(numbers, compression=scheme)
        fields[f"{scheme}_reals"] = metadata(reals, compression=scheme, bss="on")
        fields[f"{scheme}_text"] = metadata(pa.array(text[:200]), compression=scheme)
        fields[f"{scheme}_long"] = metadata(made["long"], compression=scheme)
        fields[f"{scheme}_vectors"] = metadata(made["vector3"], compression=scheme)
        fields[f"{scheme}_lists"] = metadata(made["list"], compression=scheme)
    fields["fsst_small"] = metadata(pa.array(text[:110]), compression="fsst")
    # Numbers of 40 bits in a dictionary, which is a packed block of more than 1024.
    distinct = [i * 7919 % 1100 * 700_000_001 for i in range(2300)]
    fields["dictionary_packed"] = metadata(pa.array(distinct, pa.int64()), dict_size_ratio="1.0", dict_divisor="1")
    fields["plain_text"] = metadata(pa.array(text[:40]), compression="none")
    fields["full_zip"] = metadata(made["vector3"], structural_encoding="fullzip")
    fields["full_zip_numbers"] = metadata(made["int32"], structural_encoding="fullzip")
    blobs_in_lists = pa.list_(pa.field("item", pa.large_binary(), metadata={"lance-encoding:blob": "true"}))
    fields["blobs_in_lists"] = metadata(pa.array([[b"a" * 50, None], None, [], [b""]] * 4, blobs_in_lists))
    fields["blob"] = metadata(pa.array([b"a" * 50, None, b"", b"b" * 300], pa.large_binary()), blob="true")
    packed = pa.struct([pa.field("x", pa.int32(), False), pa.field("y", pa.float64(), False)])
    fields["packed_struct"] = metadata(pa.array([{"x": i, "y": i / 2} for i in range(40)], packed), packed="true")
    if version != "2.0":
        variable = pa.struct([pa.field("x", pa.int32(), False), pa.field("y", pa.string(), False)])
        fields["packed_text"] = metadata(pa.array([{"x": i, "y": "ab" * i} for i in range(20)], variable), packed="true")
    return fields


def make_files(folder):
    """The files; what one of the two cannot write is left out and named."""
    tool = files.built_tool("file_tool")
    made = []
    for version in files.VERSIONS:
        jobs = []
        for name, (field, column) in columns(version).items():
            arrow = files.save(pa.table([column], schema=pa.schema([field])), folder / f"{name}-{version}.arrow")
            jobs.append({"arrow": arrow, "out": str(folder / f"peer{version}_{name}.lance"), "version": version})
            out = folder / f"ours{version}_{name}.lance"
            answer = files.ours(tool, "write", arrow, out, "--version", version)
            if isinstance(answer, dict):
                print(f"not written by us: {name} {version}: {answer['message']}")
            else:
                made.append(out)
        for job, answer in zip(jobs, files.peer("write", jobs)):
            if "ok" in answer:
                made.append(job["out"])
            else:
                print(f"not written by the peer: {job['out']}: {answer['error'][:200]}")
    return made


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        made = make_files(folder)
        split = os.environ.get("JAVELIN_SPLIT_FILE", ROOT / "build" / "fuzz" / "tests" / "fuzz" / "split_file")
        subprocess.run([split, folder / "corpus", *made], check=True)
        whole = folder / "corpus" / "fuzz_data_file"
        whole.mkdir()
        for path in map(pathlib.Path, made):
            if path.stem.partition("_")[2] in WHOLE and path.stat().st_size <= MOST_BYTES:
                shutil.copy(path, whole / path.stem)
        for target in TARGETS:
            kept = HERE / "corpus" / target
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder / "corpus" / target, kept)
            inputs = list(kept.iterdir())
            print(f"{target}: {len(inputs)} inputs, {sum(path.stat().st_size for path in inputs)} bytes")


if __name__ == "__main__":
    main()
