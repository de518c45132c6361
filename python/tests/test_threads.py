"""Several threads, event loops, signals: nothing waits with the GIL held."""

import asyncio
import concurrent.futures
import gc
import os
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from support import SCHEMA, ids_of, rows, run_python, wal_entries

import javelin
from javelin import _wake, errors


def test_durable_puts_of_many_threads_share_log_entries(table, uri, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=100) as writer:
        start = threading.Barrier(16)

        def put(number):
            start.wait()
            writer.put(rows([100 + number]))

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(put, range(16)))
        assert len(wal_entries(uri, shard)) <= 4
        assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, *range(100, 116)]


def test_tickets_of_one_thread_share_log_entries(table, uri, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=100) as writer:
        tickets = [writer.put(rows([100 + number]), wait=False) for number in range(50)]
        for ticket in tickets:
            ticket.wait()
        assert len(wal_entries(uri, shard)) <= 4


def test_a_waiting_put_lets_others_run(table, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=300) as writer:
        done = threading.Event()

        def put():
            writer.put(rows([4]))
            done.set()

        thread = threading.Thread(target=put)
        thread.start()
        steps = 0
        while not done.is_set():
            steps += 1
            time.sleep(0.001)
        thread.join()
        assert steps > 10


def test_threads_that_read_write_and_look(table, shard):
    stop = threading.Event()
    failures = []

    def forever(work):
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            failures.append(error)
            stop.set()

    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=2) as writer:
        numbers = iter(range(1000, 10**9))
        lock = threading.Lock()

        def put():
            with lock:
                number = next(numbers)
            writer.put(rows([number]))

        def look():
            view = table.fresh()
            assert len(set(view.to_table()["id"].to_pylist())) == view.count_rows()
            writer.stats(), writer.memtable_stats()

        threads = [threading.Thread(target=forever, args=[work]) for work in (put, put, look, lambda: writer.lsm_scanner().to_table())]
        for thread in threads:
            thread.start()
        stop.wait(1.0)
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures


def test_dropping_writers_in_threads(table):
    """Their destructors join threads of the library, some of which may want the GIL to let go of rows of ours."""
    import uuid

    def open_and_drop(_):
        writer = table.mem_wal_writer(str(uuid.uuid4()), durable_write=False, max_wal_flush_interval_ms=1)
        ids = pa.array(np.arange(1000, 1100))
        for _ in range(5):
            writer.put(pa.table({"id": ids, "text": pa.array(["x"] * 100)}, schema=SCHEMA))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(open_and_drop, range(12)))


def test_one_reader_for_two_threads_is_refused_not_mixed_up(table):
    """Every call gives the next batch, the end or a refusal; whoever asks again after a refusal misses nothing."""
    count, threads = 500, 4
    dataset = javelin.write_dataset(rows(range(count)), table.uri, mode="overwrite")

    def read_all_of_it():
        reader = dataset._core.scan(batch_rows=1)
        start = threading.Barrier(threads)

        def read(_):
            ids, refusals = [], 0
            start.wait()
            while True:
                try:
                    batch = reader.read_next()
                except errors.InvalidInput:
                    refusals += 1
                    continue
                if batch is None:
                    return ids, refusals
                ids += pa.record_batch(batch)["id"].to_pylist()

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(read, range(threads)))
        assert all(ids == sorted(ids) for ids, _ in answers), "a thread sees the rows in their order"
        assert sorted(key for ids, _ in answers for key in ids) == list(range(count)), "every row once"
        return sum(refusals for _, refusals in answers)

    assert any(read_all_of_it() for _ in range(100)), "no two threads met"


# ---- asyncio ----


def test_await_a_ticket(writer):
    async def main():
        assert await writer.put(rows([4]), wait=False) is None
        await writer.put(rows([]), wait=False)
        done = writer.put(rows([5]), wait=False)
        done.wait()
        await done

    asyncio.run(main())
    assert ids_of(writer.lsm_scanner().to_table()) == [1, 2, 3, 4, 5]


def test_one_append_wakes_the_loop_once(table, uri, shard, monkeypatch):
    wakes = []
    wake = _wake.Waker._wake
    monkeypatch.setattr(_wake.Waker, "_wake", lambda self: (wakes.append(1), wake(self)))
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=1000) as writer:

        async def main():
            tickets = [writer.put(rows([100 + number]), wait=False) for number in range(200)]
            await asyncio.gather(*tickets)

        asyncio.run(main())
    assert 1 <= len(wakes) < 100  # the loop may take some tickets while the others of the append are being told
    assert len(wal_entries(uri, shard)) <= 4


def test_awaiting_does_not_block_the_loop(table, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=200) as writer:

        async def main():
            ticket = asyncio.ensure_future(_settle(writer.put(rows([4]), wait=False)))
            steps = 0
            while not ticket.done():
                await asyncio.sleep(0.001)
                steps += 1
            return steps

        assert asyncio.run(main()) > 10


async def _settle(ticket):
    await ticket


def test_a_cancelled_await_leaves_the_put_alone(table, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=100) as writer:

        async def main():
            ticket = writer.put(rows([4]), wait=False)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_settle(ticket), 0.01)
            await ticket

        asyncio.run(main())
        assert writer.lsm_scanner().count_rows() == 4


def test_an_awaited_ticket_raises_what_the_put_failed_with(table, shard):
    writer = table.mem_wal_writer(shard, max_wal_flush_interval_ms=100)

    async def main():
        ticket = writer.put(rows([4]), wait=False)
        with table.mem_wal_writer(shard):
            with pytest.raises(errors.Fenced):
                await ticket

    asyncio.run(main())


def test_several_loops(table, shard):
    with table.mem_wal_writer(shard, max_wal_flush_interval_ms=5) as writer:

        def run(number):
            async def main():
                for step in range(5):
                    await writer.put(rows([1000 + 10 * number + step]), wait=False)

            asyncio.run(main())

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(run, range(4)))
        assert writer.lsm_scanner().count_rows() == 23
    gc.collect()


# ---- signals ----


def test_ctrl_c_ends_a_long_wait(table, shard):
    writer = table.mem_wal_writer(shard, max_wal_flush_interval_ms=3_600_000)
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        writer.put(rows([4]))
    timer.join()
    writer.close()
    with table.mem_wal_writer(shard) as again:
        assert ids_of(again.lsm_scanner().to_table()) == [1, 2, 3, 4]


# ---- processes ----

OPEN = """
import sys, uuid, javelin
from support import rows
table = javelin.write_dataset(rows([1, 2, 3]), sys.argv[1])
table.initialize_mem_wal(unsharded=True)
shard = "00000000-0000-4000-8000-000000000001"
writer = table.mem_wal_writer(shard, max_wal_flush_interval_ms=5)
writer.put(rows([4]))
"""


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "ticket = writer.put(rows([5]), wait=False)",
        "view = table.fresh(); reader = view.scan().to_reader(); stream = pa_stream = table.__arrow_c_stream__()",
        "cycle = [writer]; cycle.append(cycle); del writer",
        "raise SystemExit(0)",
        "import threading; threading.Thread(target=lambda: [writer.put(rows([n])) for n in range(10, 30)]).start()",
        """
import threading, time
slow = table.mem_wal_writer(str(uuid.uuid4()), max_wal_flush_interval_ms=3_600_000)
threading.Thread(target=lambda: slow.put(rows([9])), daemon=True).start()
time.sleep(0.2)
""",
        """
import threading, time
def forever():
    while True:
        writer.put(rows([9]))
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
""",
        """
import asyncio
async def main():
    await writer.put(rows([5]), wait=False)
    pending = asyncio.ensure_future(wait(writer.put(rows([6]), wait=False)))
async def wait(ticket):
    await ticket
asyncio.run(main())
""",
    ],
    ids=["open writer", "pending ticket", "open readers", "cycle", "exit", "thread", "waiting daemon", "busy daemons", "loop"],
)
def test_interpreters_end_in_good_order(uri, ending):
    result = run_python(OPEN + ending, uri, check=False)
    assert result.returncode == 0, result.stderr
    assert "Fatal" not in result.stderr and "leaked" not in result.stderr
    table = javelin.dataset(uri)
    with table.mem_wal_writer("00000000-0000-4000-8000-000000000001") as writer:
        assert set(ids_of(writer.lsm_scanner().to_table())) >= {1, 2, 3, 4}


def test_handles_are_closed_in_a_forked_child(uri):
    result = run_python(
        OPEN
        + """
import os
view, ticket = table.fresh(), writer.put(rows([5]), wait=False)
reader = table.scanner().to_reader()
child = os.fork()
if child == 0:
    for name, call in dict(
        put=lambda: writer.put(rows([6])), delete=lambda: writer.delete({"id": [1]}), close=lambda: writer.close(),
        flush=lambda: writer.flush_wal(), scan=lambda: table.to_table(), count=lambda: table.count_rows(),
        fresh=lambda: table.fresh(), view=lambda: view.to_table(), get=lambda: view.get([1]), wait=lambda: ticket.wait(),
        reader=lambda: reader.read_all(), insert=lambda: table.insert(rows([7])), latest=lambda: table.latest_version,
        manifest=lambda: writer.refresh_manifest(), writer=lambda: table.mem_wal_writer(str(uuid.uuid4())),
        stats=lambda: writer.stats(),
    ).items():
        try:
            call()
            print("no error:", name, flush=True)
        except javelin.errors.Closed as error:
            pass
        except BaseException as error:
            print(name, repr(error), flush=True)
    again = javelin.dataset(sys.argv[1])
    print("child", again.count_rows(), flush=True)
    with again.mem_wal_writer(str(uuid.uuid4()), max_wal_flush_interval_ms=5) as own:
        own.put(rows([8]))
        print("own", own.lsm_scanner().count_rows(), flush=True)
    del view, ticket, reader, writer, table
    sys.exit(0)
pid, status = os.waitpid(child, 0)
print("exit", os.waitstatus_to_exitcode(status), flush=True)
writer.put(rows([9]))
print("parent", writer.lsm_scanner().count_rows())
""",
        uri,
    )
    assert result.stdout.split("\n") == ["child 3", "own 4", "exit 0", "parent 6", ""], result.stdout + result.stderr


# ---- leaks ----


def _resident_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_nothing_is_kept_for_ever(table, shard):
    """Objects of the package are freed, and so is memory, threads and file descriptors of what they did."""
    import weakref

    def use():
        with table.mem_wal_writer(shard, durable_write=False, max_wal_flush_interval_ms=1) as writer:
            writer.put(rows(range(2000)))
            writer.put(rows([1]), wait=False).wait()
            writer.lsm_scanner().to_table()
        javelin.dataset(table.uri).to_table()
        view = table.fresh()
        pa.table(view)
        view.get([1])
        return [weakref.ref(writer), weakref.ref(view)]

    for _ in range(5):
        use()
    before, descriptors = _resident_kib(), len(os.listdir("/proc/self/fd"))
    references = [reference for _ in range(40) for reference in use()]
    gc.collect()
    assert [reference for reference in references if reference() is not None] == []
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2
    assert _resident_kib() - before < 60_000


def test_failures_keep_nothing(table, writer):
    import sys

    bad = pa.table({"id": [1]})
    for _ in range(3):
        with pytest.raises(errors.InvalidInput):
            writer.put(bad)
    gc.collect()
    count = sys.getrefcount(bad)
    for _ in range(50):
        with pytest.raises(errors.InvalidInput):
            writer.put(bad)
    gc.collect()
    assert sys.getrefcount(bad) <= count + 1
    assert pa.total_allocated_bytes() < 2**28
