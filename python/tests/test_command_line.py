"""The command line, through processes of its own."""

import csv
import io
import json
import pathlib
import shutil
import subprocess

import pyarrow as pa
import pytest
from support import BUILD, KEY, SCHEMA, rows

import javelin

PROGRAM = BUILD.parent / "cli" / "javelin"


def run(*arguments, text=True):
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=text, timeout=60, check=False)


def output(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def logged(table, shard):
    """The table with two entries that only the log of a shard holds: its writer was not closed."""
    writer = table.mem_wal_writer(shard, max_wal_flush_interval_ms=5)
    writer.put(rows([4]))
    writer.put(rows([5]))
    writer._abort()
    return table


# ---- inspect ----


def test_inspect_as_json(logged, uri, shard):
    document = json.loads(output("inspect", uri, "--json"))
    assert (document["version"], document["rows"], document["data_storage_version"]) == (2, 3, "2.2")
    assert document["schema"][0] == {"name": "id", "type": "int64", "nullable": False, "id": 0, "primary_key": True}
    assert document["schema"][1]["primary_key"] is False
    assert [entry["version"] for entry in document["versions"]] == [1, 2]
    assert [(fragment["id"], fragment["physical_rows"], fragment["deleted_rows"]) for fragment in document["fragments"]] == [(0, 3, 0)]
    assert document["fragments"][0]["files"][0]["size_bytes"] > 0
    assert [index["name"] for index in document["indexes"]] == ["__lance_mem_wal"]
    assert document["mem_wal"]["num_shards"] == 1
    assert document["mem_wal"]["sharding_specs"][0]["fields"][0]["transform"] == "unsharded"
    assert document["shards"] == [
        {"shard_id": shard, "status": "active", "manifest_version": 1, "writer_epoch": 1, "current_generation": 1,
         "replay_after": 0, "wal_tip": 2, "wal_backlog_entries": 2, "sstables": [],
         "retired_folders": []}
    ]


def test_inspect_as_text(logged, uri, shard):
    text = output("inspect", uri)
    assert "id: int64 not null, primary key" in text
    assert f"{shard}: active, epoch 1, generation 1" in text and "backlog 2 entries with rows" in text


def test_what_a_closed_writer_wrote_is_shown(table, uri, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        writer.put(rows([4]))
        writer.delete([{"id": 1}])
    document = json.loads(output("inspect", uri, "--json"))
    assert [sstable["generation"] for sstable in document["shards"][0]["sstables"]] == [1]
    assert document["shards"][0]["wal_backlog_entries"] == 0
    result = run("scan", uri, "--format", "jsonl")
    assert (sorted(row["id"] for row in json_lines(result.stdout)), result.stderr) == ([2, 3, 4], "")
    assert json_lines(output("get", uri, 4, 1, "--format", "jsonl"))[0]["id"] == 4


def test_inspect_without_mem_wal(uri):
    javelin.write_dataset(rows([1]), uri)
    document = json.loads(output("inspect", uri, "--json"))
    assert document["mem_wal"] is None and document["shards"] == []
    assert "not initialised" in output("inspect", uri)


def test_inspect_warns_of_a_mark_on_what_was_never_flushed(table, uri, shard):
    with table.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([4]))
    assert json.loads(output("inspect", uri, "--json"))["warnings"] == []
    assert "WARNING" not in output("inspect", uri)
    table.compact_shards()
    shutil.rmtree(pathlib.Path(uri, "_mem_wal", shard))
    with pytest.raises(javelin.errors.Corruption):
        table.mem_wal_writer(shard)
    # Somebody else makes the shard anew under its old id.
    other = str(pathlib.Path(uri).with_name("other.lance"))
    fresh = javelin.write_dataset(rows([1]), other)
    fresh.initialize_mem_wal(unsharded=True)
    fresh.mem_wal_writer(shard).close()
    shutil.copytree(pathlib.Path(other, "_mem_wal", shard), pathlib.Path(uri, "_mem_wal", shard))
    (warning,) = json.loads(output("inspect", uri, "--json"))["warnings"]
    assert shard in warning and "generation 1 was never flushed" in warning
    assert f"WARNING: {warning}\n" in output("inspect", uri)
    for read in (["scan", uri], ["get", uri, 4]):
        assert "never flushed" in assert_fails(read, "Corruption")


def test_inspect_leaves_a_writer_alone(table, uri, writer):
    writer.put(rows([4]))
    assert json.loads(output("inspect", uri, "--json"))["shards"][0]["writer_epoch"] == writer.epoch
    writer.put(rows([5]))


def test_inspect_shows_sstables(table, uri, shard):
    for ids in ([4, 5], [6]):
        with table.mem_wal_writer(shard, commit_mode="eager") as writer:
            writer.put(rows(ids))
    (state,) = json.loads(output("inspect", uri, "--json"))["shards"]
    manifest = writer.refresh_manifest()
    assert state["sstables"] == [
        {name: sstable[name] for name in ("generation", "path", "physical_rows", "in_memory_bytes")} for sstable in manifest["sstables"]
    ]
    assert [(sstable["generation"], sstable["physical_rows"]) for sstable in state["sstables"]] == [(1, 2), (2, 1)]
    assert all(sstable["in_memory_bytes"] > 0 for sstable in state["sstables"]) and state["wal_backlog_entries"] == 0
    text = output("inspect", uri)
    assert "2 SSTables" in text and "generation 1: 2 rows, " in text and state["sstables"][1]["path"] in text
    table.seal_shard(shard)
    assert json.loads(output("inspect", uri, "--json"))["shards"][0]["status"] == "sealed"


def test_inspect_shows_folders_that_are_not_listed_any_more(table, uri, shard):
    def folders():
        (state,) = json.loads(output("inspect", uri, "--json"))["shards"]
        return state["retired_folders"]

    for ids in ([4, 5], [6]):
        with table.mem_wal_writer(shard, commit_mode="eager") as writer:
            writer.put(rows(ids))
    paths = sorted(sstable["path"] for sstable in writer.manifest()["sstables"])
    assert folders() == []
    table.compact_shards()
    sizes = {path: sum(file.stat().st_size for file in pathlib.Path(uri, "_mem_wal", shard, path).rglob("*") if file.is_file()) for path in paths}
    assert folders() == [{"path": path, "bytes": sizes[path]} for path in paths]
    assert f"\n    SSTable folders not listed any more: 2, {sum(sizes.values())} bytes; " in output("inspect", uri)
    table.compact_shards(retired_grace=0)
    assert folders() == [] and "not listed" not in output("inspect", uri)


# ---- wal ----


def test_wal_as_json(logged, uri, shard):
    with logged.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([6, 7]))
    files = {path.name: path for path in pathlib.Path(uri, "_mem_wal", shard, "wal").iterdir()}
    sizes = [files[f"{n:064b}"[::-1] + ".arrow"].stat().st_size for n in range(1, 5)]
    before = {path: path.stat().st_mtime_ns for path in pathlib.Path(uri).rglob("*")}
    document = json.loads(output("wal", uri, shard, "--json"))
    assert {path: path.stat().st_mtime_ns for path in pathlib.Path(uri).rglob("*")} == before, "it only reads"
    assert document["shard_id"] == shard
    entry = {"position": 1, "writer_epoch": 1, "generation": 1, "rows": 1, "batches": 1, "bytes": sizes[0], "sentinel": False}
    assert document["entries"] == [
        entry,
        {**entry, "position": 2, "bytes": sizes[1]},
        {"position": 3, "writer_epoch": 2, "generation": None, "rows": 0, "batches": 0, "bytes": sizes[2], "sentinel": True},
        {**entry, "position": 4, "writer_epoch": 2, "rows": 2, "bytes": sizes[3]},
    ]
    manifest = writer.refresh_manifest()
    assert [version["manifest_version"] for version in document["manifests"]] == list(range(1, manifest["version"] + 1))
    assert document["manifests"][0] == {"manifest_version": 1, "status": "active", "writer_epoch": 1, "current_generation": 1,
                                        "replay_after": 0, "sstables": []}
    newest = document["manifests"][-1]
    assert (newest["replay_after"], newest["current_generation"], newest["sstables"][0]["physical_rows"]) == (4, 2, 4)


def test_wal_as_text(logged, uri, shard):
    logged.seal_shard(shard)
    lines = output("wal", uri, shard).splitlines()
    assert lines[0] == "manifest versions (3)" and lines[1].startswith("  1: active, epoch 1, generation 1, replay after 0")
    assert lines[3].startswith("  3: sealed, epoch 2") and lines[4] == "log entries (3)"
    assert lines[5].startswith("  1: epoch 1, generation 1, 1 rows, ") and lines[7].startswith("  3: epoch 2, fence sentinel, ")


def test_wal_leaves_a_writer_alone(table, uri, writer):
    writer.put(rows([4]))
    assert len(json.loads(output("wal", uri, writer.shard_id, "--json"))["entries"]) == 1
    writer.put(rows([5]))


def test_wal_shows_what_is_wrong_in_its_place_and_fails(logged, uri, shard):
    with logged.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([6]))
    wal = pathlib.Path(uri, "_mem_wal", shard, "wal")
    names = [f"{n:064b}"[::-1] + ".arrow" for n in range(5)]
    (wal / (names[1] + ".tmp")).write_bytes(b"left behind")
    (wal / names[2]).unlink()
    (wal / names[4]).write_bytes(b"torn")
    result = run("wal", uri, shard, "--json")
    assert result.returncode == 1 and result.stderr.startswith("error: WalGap: ") and result.stderr.count("\n") == 1
    entries = json.loads(result.stdout)["entries"]
    assert [entry["position"] for entry in entries] == [1, 2, 3, 4]
    assert entries[1]["error"].startswith("WalGap") and entries[3]["error"].startswith("WalCorrupt")
    manifest = pathlib.Path(uri, "_mem_wal", shard, "manifest", f"{1:064b}"[::-1] + ".binpb")
    manifest.write_bytes(b"\xff")
    result = run("wal", uri, shard)
    assert result.returncode == 1 and result.stderr.startswith("error: Corruption: ")
    assert "  1: Corruption: " in result.stdout and "  2: active" in result.stdout


def test_wal_of_no_shard(table, uri, tmp_path):
    assert_fails(["wal", uri, "no uuid"], "InvalidInput")
    assert "`javelin inspect`" in assert_fails(["wal", uri, "00000000-0000-4000-8000-000000000000"], "NotFound")
    assert_fails(["wal", tmp_path / "none.lance", "00000000-0000-4000-8000-000000000000"], "NotFound")


# ---- scan ----


def test_scan_says_what_it_does_not_show(logged, uri, shard):
    result = run("scan", uri, "--format", "jsonl")
    assert [row["id"] for row in json_lines(result.stdout)] == [1, 2, 3]
    assert result.returncode == 0
    assert result.stderr == (f"note: shard {shard}: 2 log entries with puts or deletes are not in this view; a writer that is opened "
                             "on the shard takes it over and shows them\n")
    assert run("scan", uri, "--format", "jsonl", "--base").stderr == ""


def test_entries_that_only_fence_are_not_counted(logged, uri, shard):
    def says(command="scan"):
        return run(command, uri, *(["4"] if command == "get" else [])).stderr

    def backlog():
        (state,) = json.loads(output("inspect", uri, "--json"))["shards"]
        return state["wal_tip"], state["wal_backlog_entries"]

    for tip in (3, 4):  # a writer that is opened and stopped leaves an entry that tells nobody anything
        logged.mem_wal_writer(shard)._abort()
        assert "2 log entries with puts or deletes" in says() and backlog() == (tip, 2)
    logged.mem_wal_writer(shard).close()
    assert (says(), says("get"), backlog()) == ("", "", (5, 0))
    logged.mem_wal_writer(shard)._abort()
    assert (says(), says("get"), backlog()) == ("", "", (6, 0))
    with logged.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.delete([1])
        writer._abort()
    assert "1 log entry with puts or deletes is not in this view; " in says() and "shows it\n" in says("get")


def test_scan_of_a_plain_table_says_nothing(uri):
    javelin.write_dataset(rows([1]), uri)
    assert run("scan", uri).stderr == ""


def test_scan_columns_limit_offset(table, uri):
    assert json_lines(output("scan", uri, "--format", "jsonl", "--columns", "text,id", "--limit", "1", "--offset", "1")) == [
        {"text": "base 2", "id": 2}
    ]
    assert json_lines(output("scan", uri, "--base", "--format", "jsonl", "--offset", "2", "--columns", "id")) == [{"id": 3}]


MANY_TYPES = pa.schema([
    ("i", pa.int64()), ("u", pa.uint64()), ("f", pa.float64()), ("g", pa.float32()), ("b", pa.bool_()), ("s", pa.string()), ("x", pa.binary()),
    ("v", pa.list_(pa.float32(), 2)), ("d", pa.date32()), ("t", pa.timestamp("us")),
])
VALUES = [
    {"i": 2**62 + 1, "u": 2**64 - 1, "f": 0.1, "g": 0.1, "b": True, "s": 'a "q", é\nline', "x": b"\x00\xff", "v": [0.5, -1.0],
     "d": 17486, "t": 1510871468000000},
    {"i": None, "u": None, "f": float("nan"), "g": float("-inf"), "b": None, "s": "", "x": None, "v": None, "d": None, "t": None},
]


@pytest.fixture
def many_types(uri):
    javelin.write_dataset(pa.Table.from_pylist(VALUES, schema=MANY_TYPES), uri)
    return uri


def test_json_lines(many_types):
    first, second = json_lines(output("scan", many_types, "--format", "jsonl"))
    assert first == {"i": 2**62 + 1, "u": 2**64 - 1, "f": 0.1, "g": 0.1, "b": True, "s": 'a "q", é\nline', "x": "AP8=",
                     "v": [0.5, -1.0], "d": "2017-11-16", "t": "2017-11-16 22:31:08.000000"}
    assert {name: value for name, value in second.items() if value is not None} == {"f": "NaN", "g": "-Infinity", "s": ""}


def test_csv(many_types):
    text = output("scan", many_types, "--format", "csv")
    header, first, second = csv.reader(io.StringIO(text))
    assert header == MANY_TYPES.names
    assert first == [str(2**62 + 1), str(2**64 - 1), "0.1", "0.1", "true", 'a "q", é\nline', "AP8=", "[0.5,-1.0]",
                     "2017-11-16", "2017-11-16 22:31:08.000000"]
    assert second[2:4] == ["NaN", "-Infinity"] and second[0] == ""
    assert text.splitlines()[-1] == ',,NaN,-Infinity,,"",,,,'  # null and the empty string differ


def test_arrow(table, uri):
    result = run("scan", uri, "--format", "arrow", text=False)
    assert result.returncode == 0
    assert pa.ipc.open_stream(result.stdout).read_all() == table.to_table()


def test_table(uri):
    javelin.write_dataset(pa.table({"n": [1, 22], "text": ["é" * 3, "x" * 100], "null": pa.array([None, 5])}), uri)
    assert output("scan", uri).splitlines() == [
        "n   text" + " " * 58 + "null",
        "--  " + "-" * 60 + "  ----",
        "1   ééé" + " " * 59 + "null",
        "22  " + "x" * 57 + "...  5",
    ]
    javelin.write_dataset(pa.table({"n": pa.array([], pa.int64())}), uri, mode="overwrite")
    assert output("scan", uri).splitlines() == ["n", "-"]


def test_output_ends_early_without_a_fuss(uri):
    javelin.write_dataset(pa.table({"n": range(200_000)}), uri)
    result = subprocess.run(f"{PROGRAM} scan {uri} --format jsonl | head -n 1", shell=True, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ('{"n":0}\n', "")


def test_output_that_cannot_be_written_is_a_failure(uri):
    javelin.write_dataset(pa.table({"n": range(1000)}), uri)
    for form in ("jsonl", "csv", "table", "arrow"):
        result = subprocess.run(f"{PROGRAM} scan {uri} --format {form} > /dev/full", shell=True, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr.count("\n")) == (1, 1) and result.stderr.startswith("error: IO: "), form


# ---- get ----


def test_get(table, uri):
    assert json_lines(output("get", uri, 3, 9, 1, "--format", "jsonl")) == [{"id": 3, "text": "base 3"}, {"id": 1, "text": "base 1"}]
    assert json_lines(output("get", uri, 2, "--columns", "text", "--format", "jsonl")) == [{"text": "base 2"}]
    assert output("get", uri, 9, "--format", "csv") == "id,text\n"


def test_get_says_what_it_does_not_see(logged, uri):
    result = run("get", uri, 4, "--format", "jsonl")
    assert (result.stdout, result.returncode) == ("", 0)
    assert "2 log entries with puts or deletes are not in this view" in result.stderr


def test_get_by_a_key_of_two_columns(uri):
    schema = pa.schema([
        pa.field("tenant", pa.string(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "1"}),
        pa.field("n", pa.int32(), nullable=False, metadata={**KEY, "lance-schema:unenforced-primary-key:position": "2"}),
    ])
    javelin.write_dataset(pa.table({"tenant": ["a", "b"], "n": [1, -2]}, schema=schema), uri)
    assert json_lines(output("get", uri, '{"tenant": "b", "n": -2}', '{"n": 1, "tenant": "a"}', "--format", "jsonl")) == [{"tenant": "b", "n": -2}, {"tenant": "a", "n": 1}]
    for key in ("b", '{"tenant": "b"}', '{"tenant": "b", "n": 1, "m": 1}', '{"tenant": "b", "n": "one"}', '{"tenant": "b", "n": null}'):
        assert_fails(["get", uri, key], "InvalidInput")


def test_get_by_other_keys(tmp_path):
    for number, (type_, values, keys) in enumerate([
        (pa.string(), ["x y", "-z"], ["x y", "-z"]),
        (pa.binary(), [b"\x00", b"b"], ["AA==", "Yg=="]),
        (pa.bool_(), [True, False], ["true", "false"]),
        (pa.uint64(), [2**64 - 1, 0], [str(2**64 - 1), "0"]),
    ]):
        uri = tmp_path / f"{number}.lance"
        schema = pa.schema([pa.field("k", type_, nullable=False, metadata=KEY), pa.field("n", pa.int64())])
        javelin.write_dataset(pa.table({"k": values, "n": [1, 2]}, schema=schema), uri)
        assert [row["n"] for row in json_lines(output("get", "--format", "jsonl", "--columns", "n", uri, "--", *keys[::-1]))] == [2, 1]


# ---- failures ----


def assert_fails(arguments, kind):
    result = run(*arguments)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith(f"error: {kind}: ") and result.stderr.count("\n") == 1
    return result.stderr


def test_failures(table, uri, tmp_path):
    for command in (["inspect"], ["scan"], ["scan", "--base"], ["get"]):
        assert "none.lance" in assert_fails([*command, tmp_path / "none.lance", *(["1"] if command == ["get"] else [])], "NotFound")
    assert "nope" in assert_fails(["scan", uri, "--columns", "nope"], "InvalidInput")
    assert "one" in assert_fails(["get", uri, "one"], "InvalidInput")
    assert_fails(["inspect", "nowhere://x"], "NotSupported")
    plain = str(tmp_path / "plain.lance")
    javelin.write_dataset(pa.table({"n": [1]}), plain)
    assert "primary key" in assert_fails(["get", plain, 1], "InvalidInput")


@pytest.mark.parametrize(
    "arguments",
    [[], ["nope"], ["scan"], ["get", "x"], ["scan", "x", "--format", "xml"], ["scan", "x", "--limit", "-1"], ["scan", "x", "--limit", "many"],
     ["inspect", "x", "y"], ["inspect", "x", "--nope"], ["wal", "x"], ["wal", "x", "y", "z"],
     ["compact", "x", "--max-bytes", "-1"], ["compact", "x", "--max-bytes", str(2**64)], ["compact", "x", "--retired-grace", "1.5"]],
)
def test_wrong_usage(arguments):
    result = run(*arguments)
    assert result.returncode == 2 and result.stdout == "" and result.stderr != ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], "no command 'nope'; the commands are inspect, wal, scan, get, compact"),
        ([], "a command is missing; the commands are inspect"),
        (["scan", "x", "--format", "xml"], "--format: must be table, jsonl, csv or arrow; got 'xml'"),
        (["scan", "x", "--limit", "-1"], "--limit: must be a whole number, 0 or more, below 2^64; got '-1'"),
        (["wal", "x"], "SHARD is required\nRun with --help for more information.\n`javelin inspect x` lists the ids of its shards.\n"),
        (["compact", "x", "--retired-grace", "soon"], "--retired-grace: must be a whole number, 0 or more, below 2^64; got 'soon'"),
        (["scan", "x", "--offset", "1.5"], "--offset: must be a whole number, 0 or more, below 2^64; got '1.5'"),
    ],
)
def test_wrong_usage_says_what_to_give(arguments, words):
    assert words in run(*arguments).stderr


def test_help_and_version():
    text = output("--help")
    assert all(word in text for word in ("inspect", "wal", "scan", "get", "Exit code"))
    for command, words in {"inspect": ["--json"], "wal": ["SHARD", "--json"], "scan": ["--columns", "--limit", "--offset", "--format", "--base", "jsonl"],
                           "get": ["KEY", "--columns", "--format"], "compact": ["--max-bytes", "--retired-grace", "--dry-run", "--shard"]}.items():
        text = output(command, "--help")
        assert all(word in text for word in words) and "Exit code" in text
    assert output("--version").strip() == f"javelin {javelin.__version__}"


# ---- compact ----


@pytest.fixture
def flushed(table, shard):
    """The table with an SSTable: 2 and 4 written, 1 deleted."""
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:
        writer.put(rows([2, 4], "new"))
        writer.delete(pa.table({"id": [1]}))
    return table


def test_compact_as_json(flushed, uri, shard):
    document = json.loads(output("compact", uri, "--json"))
    assert document == {
        "uri": document["uri"], "version": flushed.version + 1, "dry_run": False,
        "shards": [{
            "shard_id": shard, "passes": 1, "generations": [1], "rows_read": 3, "rows_upserted": 2, "rows_deleted": 1,
            "compacted_through": 1, "retired": [1], "awaiting_indexes": 0, "folders_deleted": 0, "skipped": None,
        }],
    }
    found = [json.loads(line) for line in output("scan", uri, "--base", "--format", "jsonl").splitlines()]
    assert sorted((row["id"], row["text"]) for row in found) == [(2, "new 2"), (3, "base 3"), (4, "new 4")]
    assert json.loads(output("inspect", uri, "--json"))["mem_wal"]["compacted_sstables"] == [{"shard_id": shard, "generation": 1}]
    again = json.loads(output("compact", uri, "--json"))["shards"][0]
    assert again["passes"] == 0 and again["skipped"]


def test_compact_as_text(flushed, uri, shard):
    text = output("compact", uri, "--dry-run")
    assert f"{shard}: would move 1 SSTables of 3 rows" in text
    assert javelin.dataset(uri).version == flushed.version
    text = output("compact", uri, "--shard", shard)
    assert f"{shard}: moved 1 SSTables of 3 rows in 1 commits: 2 keys written, 1 deleted; 1 retired, 0 folders deleted" in text
    assert "nothing to move" in output("compact", uri)


def test_compact_options(flushed, uri, shard):
    with flushed.mem_wal_writer(shard, commit_mode="eager") as writer:
        writer.put(rows([5]))

    def files():
        return [path for path in pathlib.Path(uri, "_mem_wal", shard).glob("*_gen_*/**/*") if path.is_file()]

    flushed_files = files()
    assert flushed_files
    (state,) = json.loads(output("compact", uri, "--json", "--max-bytes", 1, "--retired-grace", 3600))["shards"]
    assert (state["passes"], state["generations"], state["folders_deleted"]) == (2, [1, 2], 0)
    (state,) = json.loads(output("compact", uri, "--json", "--retired-grace", 0, "--dry-run"))["shards"]
    assert state["folders_deleted"] == 2 and files() == flushed_files
    (state,) = json.loads(output("compact", uri, "--json", "--retired-grace", 0))["shards"]
    assert state["folders_deleted"] == 2 and files() == []
    assert_fails(["compact", uri, "--max-bytes", 0], "InvalidInput")
    assert "9000000000" in assert_fails(["compact", uri, "--retired-grace", 9_000_000_001], "InvalidInput")
    assert_fails(["compact", uri, "--retired-grace", 2**64 - 1], "InvalidInput")
    output("compact", uri, "--retired-grace", 9_000_000_000, "--max-bytes", 2**64 - 1)


def test_compact_refusals(flushed, uri, tmp_path):
    result = run("compact", uri, "--shard", "nothing")
    assert result.returncode == 1 and result.stderr.startswith("error: InvalidInput: ")
    result = run("compact", uri, "--shard", "00000000-0000-4000-8000-000000000001")
    assert result.returncode == 1 and result.stderr.startswith("error: NotFound: ")
    javelin.write_dataset(rows([1]), str(tmp_path / "plain.lance"))
    result = run("compact", tmp_path / "plain.lance")
    assert result.returncode == 1 and "MemWAL" in result.stderr
    assert run("compact").returncode == 2
