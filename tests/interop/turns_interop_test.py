"""Both libraries in turn on the shards of one table, killed in between, against a map that knows the right answer.

A turn belongs to one library in a long-lived process of its own: it opens the writer of a shard, puts and deletes,
may flush and compact, and then closes, drops the writer, or is killed with SIGKILL in the middle of a call. After
every turn both libraries read all there is, row by row and by key, the table without its shards, and the table with
their SSTables alone. Acknowledged rows must be there; a put or delete that was under way when its process died is
there whole or not at all, and the map then takes what was found.

What happens is drawn from the seed; where exactly a kill lands is not: it is aimed at a random moment of the time that
such calls took before. Which calls were met is counted, and the last test goes on until each kind of call of either
library was. CI runs the fixed seeds and one of the commit's. One seed again: JAVELIN_SEED=N scripts/test --label turns,
or what the failed test prints.

Faults of the peer that are kept out (docs/differences.md):
- P1: the table is not changed beside its shards, since a compacted SSTable that is still listed would hide that.
- P4: a killed peer leaves staging files in the log, which it takes for entries itself. We always read first, and our
  sentinel then takes the position of such a file.
- P7: the peer scans only right after an open, when nothing of its memory is frozen.
- P10: the peer gets limits that are larger than any generation in the log.
"""

import collections
import os
import random
import statistics
import uuid

import pyarrow as pa
import pytest

from peer import Peer

pytestmark = [pytest.mark.interop, pytest.mark.turns]

TURNS = 12
TRIES = 60
CALLS = ("put", "close", "compact")
FIXED_SEEDS = range(1, 21)
MARK = "lance-schema:unenforced-primary-key"


def seeds():
    if one := os.environ.get("JAVELIN_SEED"):
        return [int(one)]
    drawn = os.environ.get("JAVELIN_SEED_START")
    return [*FIXED_SEEDS, *([int(drawn)] if drawn else [])]


# What a process of either library runs. `change`, `close`, `drop` and `read` mean the same in both.
COMMON = """
import pathlib, shutil, time
writers = {}

def seconds_of(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started

def change(shard, table):
    (writers[shard].put if "text" in table.column_names else writers[shard].delete)(table)

def change_and_report(shard, tables):
    for table in tables:
        report("begun")
        change(shard, table)
        report("acknowledged")

def close():
    for shard in list(writers):
        writers.pop(shard).close()

def snapshots(state, ShardSnapshot, without=None):
    found = []
    for shard, of_shard in state.items():
        if shard != without:
            snapshot = ShardSnapshot(shard)
            for generation, path in of_shard["sstables"]:
                snapshot.with_sstable(generation, path)
            found.append(snapshot)
    return found
"""

OURS = COMMON + """
from javelin import mem_wal

def open_writers(uri, shards, options={}):
    for shard in shards:
        writers[shard] = javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager", **options)

def drop():
    for shard in list(writers):
        writers.pop(shard)._abort()

def flush(uri, shard):
    writers[shard].flush()

def compact(uri):
    javelin.dataset(uri).compact_shards(retired_grace=0)

def buckets(uri, keys):
    dataset = javelin.dataset(uri)
    (spec,) = dataset.mem_wal_index_details()["sharding_specs"]
    return mem_wal.evaluate_sharding_spec(keys.to_batches()[0], spec, dataset.lance_schema).column(0).to_pylist()

def read(uri, shards, keys):
    open_writers(uri, shards)
    view = javelin.dataset(uri).fresh()
    held = {entry["shard_id"]: entry["compacted_through"] for entry in javelin.dataset(uri).compact_shards(dry_run=True)["shards"]}
    found = {"rows": view.to_table(), "by_key": view.get(keys), "count": view.count_rows(), "shards": {}}
    for shard, writer in writers.items():
        memory = writer.memtable_stats()
        found["shards"][shard] = {
            "sstables": [(entry["generation"], entry["path"]) for entry in writer.manifest()["sstables"]],
            "compacted": held.get(shard) or 0,
            "in_memory": memory["row_count"] + memory["frozen_count"],
        }
    drop()
    return found

def base_scan(uri):
    return javelin.dataset(uri).to_table()

def sstable_scan(uri, state):
    scanner = mem_wal.LsmScanner.from_snapshots(javelin.dataset(uri), snapshots(state, mem_wal.ShardSnapshot))
    return scanner.to_table()
"""

THEIRS = COMMON + """
from lance.mem_wal import *

def open_writers(uri, shards, options={}):
    for shard in shards:
        writers[shard] = lance.dataset(uri).mem_wal_writer(shard, max_wal_flush_interval_ms=5, **options)

def drop():
    writers.clear()

def flush(uri, shard):
    writers.pop(shard).close()
    open_writers(uri, [shard])

def compact(uri, shard, generation, on, gone, upserts):
    # As its users do it: deletions first without the mark, upserts with it last.
    if gone is not None:
        lance.dataset(uri).merge_insert(on).when_matched_delete().execute(gone)
    (lance.dataset(uri).merge_insert(on).when_matched_update_all().when_not_matched_insert_all()
     .mark_sstables_as_compacted([CompactedSsTable(shard, generation)]).execute(upserts))

def sstable_rows(uri, shard, folder):
    return lance.dataset(f"{uri}/_mem_wal/{shard}/{folder}").to_table()

def base_scan(uri):
    return lance.dataset(uri).to_table()

def sstable_scan(uri, state):
    return LsmScanner.from_snapshots(lance.dataset(uri), snapshots(state, ShardSnapshot)).to_table()

def read(uri, shards, state, filters):
    # One scan through the writer of each shard: of the others it sees SSTables only.
    open_writers(uri, shards)
    scan = lambda shard: writers[shard].lsm_scanner(snapshots(state, ShardSnapshot, shard))
    found = {shard: {"rows": scan(shard).to_table(), "count": scan(shard).count_rows(),
                     "by_key": [scan(shard).filter(each).to_table() for each in filters]} for shard in shards}
    drop()
    return found

def look_up(uri, state, values):
    planner = LsmPointLookupPlanner(lance.dataset(uri), snapshots(state, ShardSnapshot))
    return [planner.plan_lookup(value).to_table() for value in values]
"""


class Library:
    """A process of one library; started anew after it was killed. Knows how long each kind of call takes, to kill amid one."""

    def __init__(self, name, code):
        self.name, self.code, self.process = name, code, None
        self.took = {call: collections.deque(maxlen=9) for call in CALLS}
        self.landed = collections.Counter()  # kills that landed inside a running call of that kind
        self.missed = collections.Counter()
        self.aim = random.Random(1)  # beside the seed: what happens must not hang on how long it took

    def live(self):
        if self.process is None:
            self.process = Peer(self.name)
            self.process.run(self.code)
        return self.process

    def run(self, code, **names):
        self.live().run(code, **names)

    def value(self, code, **names):
        return self.live().value(code, **names)

    def timed(self, call, code, **names):
        self.took[call].append(self.value(f"seconds_of(lambda: {code})", **names))

    def run_and_kill(self, call, code, begun=0, **names):
        """Kills amid a call of that kind: the one in `code`, which reports "begun" before each (and after each something
        else). It is the `begun`-th, or one of those after it. Returns the reports; if the last is "begun", a call was met."""
        seconds = self.aim.uniform(0, statistics.median(self.took[call])) * self.aim.choice([1, 1, 0.5, 0])
        process, self.process = self.live(), None
        reports, _ = process.run_and_kill(code, seconds, after=2 * begun + 1, **names)
        (self.landed if reports[-1] == "begun" else self.missed)[call] += 1
        return reports

    def kill(self):
        if self.process is not None:
            self.process.kill()


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    both = [Library("javelin", OURS), Library("lance", THEIRS)]
    for library in both:
        Table(random.Random(0), both, tmp_path_factory.mktemp(library.name)).time_calls(library)
    yield both
    print("kills that landed (missed):", ", ".join(f"{library.name} {call} {library.landed[call]} ({library.missed[call]})"
                                                   for library in both for call in CALLS))
    for library in both:
        library.kill()


KEYS = {
    "int64": {"id": (pa.int64(), lambda n: n * 3 - 20)},
    "string": {"id": (pa.string(), lambda n: ["", "é", "key", "a longer key that is no prefix"][n % 4] + str(n))},
    "composite": {"a": (pa.int32(), lambda n: n % 5 - 2), "b": (pa.string(), lambda n: f"b{n // 5}")},
}


def changed(model, effect):
    return {key: values for key, values in {**model, **effect}.items() if values is not None}


class Table:
    """One table, its shards, and what must be in it."""

    def __init__(self, chance, libraries, folder):
        self.chance = chance
        self.ours, self.theirs = libraries
        self.uri = str(folder / "table.lance")
        self.columns = KEYS[chance.choice(list(KEYS))]
        self.on = list(self.columns)
        keyed = [pa.field(name, type, nullable=False, metadata={MARK: "true", f"{MARK}:position": str(place)})
                 for place, (name, (type, _)) in enumerate(self.columns.items(), 1)]
        self.key_schema = pa.schema(keyed)
        self.schema = pa.schema([*keyed, pa.field("text", pa.string()), pa.field("vec", pa.list_(pa.float32(), 4))])
        self.keys = [tuple(make(n) for _, make in self.columns.values()) for n in range(24)]
        self.shards = [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(chance.choice([1, 1, 2, 3]))]
        self.changes = 0
        self.model = {}
        self.unflushed = {shard: [0, 0] for shard in self.shards}  # batches and rows that may be in the log alone
        self.make()

    def make(self):
        base = self.random_rows(self.chance.sample(self.keys, 6))
        library = self.chance.choice([self.ours, self.theirs])
        options = {"unsharded": True}
        if len(self.shards) > 1:
            options = {"bucket_column": self.on[-1], "num_buckets": len(self.shards)}
        library.run(f"{library.name}.write_dataset(base, uri).initialize_mem_wal(**options)", base=self.table_of([base]),
                    uri=self.uri, options=options)
        self.model.update(base)
        places = [0] * len(self.keys)
        if len(self.shards) > 1:
            places = self.ours.value("buckets(uri, keys)", uri=self.uri, keys=self.table_of([[(key, (None, None)) for key in self.keys]]))
        self.keys_of = {shard: [key for key, place in zip(self.keys, places) if place == number]
                        for number, shard in enumerate(self.shards)}

    # ---- rows ----

    def random_rows(self, keys):
        self.changes += 1
        return [(key, (None if self.chance.random() < 0.1 else f"{self.changes}.{number}",
                       None if self.chance.random() < 0.2 else [self.changes, number, -0.5, 2.0**100]))
                for number, key in enumerate(keys)]

    def key_columns(self, keys):
        return [pa.array([key[place] for key in keys], type) for place, (type, _) in enumerate(self.columns.values())]

    def key_table(self, keys):
        return pa.Table.from_arrays(self.key_columns(keys), schema=self.key_schema)

    def table_of(self, batches):
        made = []
        for batch in batches:
            columns = [*self.key_columns([key for key, _ in batch]), *(pa.array([values[place] for _, values in batch],
                       self.schema.field(name).type) for place, name in enumerate(["text", "vec"]))]
            made.append(pa.RecordBatch.from_arrays(columns, schema=self.schema))
        return pa.Table.from_batches(made, self.schema)

    def by_key(self, table):
        found = {tuple(row[name] for name in self.on): (row["text"], row["vec"]) for row in table.to_pylist()}
        assert len(found) == table.num_rows, f"a key comes twice: {table.to_pylist()}"
        return found

    # ---- changes ----

    def random_change(self, shard):
        """A table to put (or of keys to delete), and what becomes of each key: its values, or None."""
        keys = self.keys_of[shard]
        if self.chance.random() < 0.3:
            gone = self.chance.sample(keys, min(len(keys), self.chance.randint(1, 3)))
            sizes, table, effect = [len(gone)], self.key_table(gone), dict.fromkeys(gone)
        else:
            batches = [self.random_rows(self.chance.choices(keys, k=self.chance.randint(1, 6)))
                       for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]
            sizes, table, effect = [len(batch) for batch in batches], self.table_of(batches), {}
            for batch in batches:
                effect.update(batch)
        self.unflushed[shard][0] += len(sizes)
        self.unflushed[shard][1] += sum(sizes)
        return table, effect

    def acknowledge(self, effect):
        self.model = changed(self.model, effect)

    def random_limits(self, shard):
        """Small MemTables in half of the turns; the peer needs them larger than what it replays (P10)."""
        if self.chance.random() < 0.5:
            return {}
        batches, rows = self.unflushed[shard]
        return self.chance.choice([{"max_memtable_batches": batches + self.chance.randint(4, 7)},
                                   {"max_memtable_rows": rows + self.chance.randint(20, 40)}])

    def open_writers(self, library, shard):
        library.run("open_writers(uri, [shard], options)", uri=self.uri, shard=shard, options=self.random_limits(shard))

    def random_shard(self):
        return self.chance.choice([shard for shard in self.shards if self.keys_of[shard]])

    def change(self, library, shard):
        table, effect = self.random_change(shard)
        library.timed("put", "change(shard, table)", shard=shard, table=table)
        self.acknowledge(effect)

    def turn(self):
        """Returns the effect of the change that a kill met, if any."""
        library, shard = self.chance.choice([self.ours, self.theirs]), self.random_shard()
        self.open_writers(library, shard)
        for _ in range(self.chance.randint(0, 5)):
            self.change(library, shard)
            if self.chance.random() < 0.12:
                library.run("flush(uri, shard)", uri=self.uri, shard=shard)
        end = self.chance.choice(["close", "close", "drop", "kill", "kill", "kill closing"])
        if end == "kill":
            return self.kill_amid_changes(library, shard)
        if end == "kill closing":
            self.kill_amid(library, "close", "close()")
        elif end == "close":
            library.timed("close", "close()")
        else:
            library.run("drop()")
        return None

    def kill_amid(self, library, call, code, **names):
        library.run_and_kill(call, f"report('begun'); {code}; report('done')", **names)

    def kill_amid_changes(self, library, shard):
        changes = [self.random_change(shard) for _ in range(5)]
        reports = library.run_and_kill("put", "change_and_report(shard, tables)", begun=self.chance.randint(0, 3), shard=shard,
                                       tables=[table for table, _ in changes])
        done = reports.count("acknowledged")
        for _, effect in changes[:done]:
            self.acknowledge(effect)
        return changes[done][1] if reports[-1] == "begun" else None

    # ---- one kind of call ----

    def kill_amid_one(self, library, call):
        """A turn that ends in a kill aimed at that kind of call. Returns the effect of the change that it met, if any."""
        shard = self.random_shard()
        self.open_writers(library, shard)
        if call == "put":
            return self.kill_amid_changes(library, shard)
        self.put_rows(library, shard)
        if call == "close":
            self.kill_amid(library, "close", "close()")
        else:
            library.timed("close", "close()")
            if work := self.compaction(library, self.check(None)):
                self.kill_amid(library, "compact", work[0], **work[1])
        return None

    def put_rows(self, library, shard):
        """A put whose rows make work for a close or a compaction, whatever else is in the log."""
        batch = self.random_rows(self.keys_of[shard][:4])
        self.unflushed[shard][0] += 1
        self.unflushed[shard][1] += len(batch)
        library.timed("put", "change(shard, table)", shard=shard, table=self.table_of([batch]))
        self.acknowledge(dict(batch))

    def time_calls(self, library):
        """One call of each kind, so that the first kill knows how long they take."""
        shard = self.random_shard()
        self.open_writers(library, shard)
        self.put_rows(library, shard)
        library.timed("close", "close()")
        code, names = self.compaction(library, self.check(None))
        library.timed("compact", code, **names)
        self.check(None)

    # ---- compaction ----

    def maybe_compact(self, state):
        """Either library, killed in the middle of it in some turns; the rows stay the same."""
        if self.chance.random() < 0.6:
            return
        kills = self.chance.random() < 0.25
        library = self.chance.choice([self.ours, self.theirs])
        work = self.compaction(library, state)
        if work is None:
            return
        code, names = work
        if kills and self.sstables_above_marks(state):
            self.kill_amid(library, "compact", code, **names)
        else:
            library.timed("compact", code, **names)

    def compaction(self, library, state):
        """The call and what it needs; None if the peer could not make it."""
        if library is self.ours:
            return "compact(uri)", {"uri": self.uri}
        names = self.work_of_peer(state)
        return names and ("compact(uri, shard, generation, on, gone, upserts)", names)

    def sstables_above_marks(self, state):
        """What the table does not hold yet."""
        return {shard: {"sstables": waiting} for shard, of_shard in state.items()
                if (waiting := [entry for entry in of_shard["sstables"] if entry[0] > of_shard["compacted"]])}

    def work_of_peer(self, state):
        """The newest rows of a random prefix of the SSTables of some shard; None without any row (a mark needs one)."""
        above = self.sstables_above_marks(state)
        if not above:
            return None
        shard = self.chance.choice(list(above))
        waiting, newest = above[shard]["sstables"], {}
        for generation, folder in waiting[:self.chance.randint(1, len(waiting))]:
            rows = self.theirs.value("sstable_rows(uri, shard, folder)", uri=self.uri, shard=shard, folder=folder)
            gone = {tuple(row[name] for name in self.on) for row in rows.to_pylist() if row["_tombstone"]}
            newest.update((key, None if key in gone else values) for key, values in self.by_key(rows).items())
        upserts = [(key, values) for key, values in newest.items() if values is not None]
        gone = [key for key, values in newest.items() if values is None]
        if not upserts:
            return None
        return {"uri": self.uri, "shard": shard, "generation": generation, "on": self.on, "upserts": self.table_of([upserts]),
                "gone": self.key_table(gone) if gone else None}

    # ---- checks ----

    def check(self, in_flight):
        """Both libraries read what the map holds. Returns what the shards hold."""
        found = self.ours.value("read(uri, shards, keys)", uri=self.uri, shards=self.shards, keys=self.key_table(self.keys))
        seen = self.by_key(found["rows"])
        if in_flight is not None and seen == changed(self.model, in_flight):
            self.acknowledge(in_flight)
        assert seen == self.model, "we scan something else"
        assert found["count"] == len(self.model)
        assert self.by_key(found["by_key"]) == self.model, "we look something else up"
        for shard, of_shard in found["shards"].items():
            if not of_shard["in_memory"]:
                self.unflushed[shard] = [0, 0]
        self.check_peer(found["shards"])
        self.check_without_memory(self.sstables_above_marks(found["shards"]))
        return found["shards"]

    def check_without_memory(self, above):
        """The table with MemWAL ignored, and with the SSTables alone that it does not hold, read the same in both."""
        base, merged = ([self.by_key(library.value(code, uri=self.uri, state=above)) for library in (self.ours, self.theirs)]
                        for code in ("base_scan(uri)", "sstable_scan(uri, state)"))
        assert base[0] == base[1], "the table itself reads as something else in the peer"
        assert merged[0] == merged[1], "the table with its SSTables reads as something else in the peer"
        if not above:
            assert merged[0] == base[0]

    def check_peer(self, state):
        asked = self.chance.sample(self.keys, 4)
        filters = [" and ".join(f"{name} = {value!r}" for name, value in zip(self.on, key)) for key in asked]
        in_log = any(of_shard["in_memory"] for of_shard in state.values())
        if not in_log:
            values = [self.key_table([key]).to_batches()[0] for key in asked]
            values = [value.column(0) if len(self.on) == 1 else value.to_struct_array() for value in values]
            answers = self.theirs.value("look_up(uri, state, values)", uri=self.uri, state=state, values=values)
            for key, answer in zip(asked, answers):
                assert self.by_key(answer) == self.only([key]), "the peer looks something else up"
        found = self.theirs.value("read(uri, shards, state, filters)", uri=self.uri, shards=self.shards, state=state, filters=filters)
        for shard, of_shard in found.items():
            rows = self.by_key(of_shard["rows"])
            assert self.only(self.keys_of[shard], rows) == self.only(self.keys_of[shard]), "the peer scans something else"
            assert of_shard["count"] == len(rows)
            for key, answer in zip(asked, of_shard["by_key"]):
                if key in self.keys_of[shard]:
                    assert self.by_key(answer) == self.only([key]), "the peer filters something else"

    def only(self, keys, rows=None):
        rows = self.model if rows is None else rows
        return {key: rows[key] for key in keys if key in rows}


@pytest.mark.parametrize("seed", seeds())
def test_random_turns_with_kills_agree_with_a_map(tmp_path, libraries, seed):
    print(f"again: JAVELIN_SEED={seed} scripts/test --label turns")
    table = Table(random.Random(seed), libraries, tmp_path)
    state = table.check(None)
    for turn in range(TURNS):
        print(f"turn {turn}")
        table.chance = random.Random(f"{seed}.{turn}")  # one turn must not hang on where the kills of others landed
        table.maybe_compact(state)
        state = table.check(table.turn())
    table.ours.run("open_writers(uri, shards); close(); compact(uri)", uri=table.uri, shards=table.shards)
    base = table.theirs.value("base_scan(uri)", uri=table.uri)
    assert table.by_key(base) == table.model, "the table is not what its shards were"
    assert not any(of_shard["sstables"] for of_shard in table.check(None).values()), "a compacted SSTable is listed"


def test_kills_landed_in_every_kind_of_call_of_either_library(tmp_path, libraries):
    """Over all turns above; of what none of them met, kills are repeated here until one does."""
    table = Table(random.Random(1), libraries, tmp_path)
    for library in libraries:
        for call in CALLS:
            for _ in range(TRIES):
                if not library.landed[call]:
                    table.check(table.kill_amid_one(library, call))
            assert library.landed[call], f"{library.missed[call]} kills aimed at {call} of {library.name}, none landed inside"
