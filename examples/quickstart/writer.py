"""The process that streams speeches and is killed for it: `writer.py URI SHARD FIRST LAST ACKNOWLEDGED`.

Puts the speeches [FIRST, LAST) in small durable batches from several threads through one shard writer, and notes the
ids of every batch in the file ACKNOWLEDGED after, and only after, its put has returned.
"""

import os
import sys
import threading

import javelin

import corpus

ROWS_PER_BATCH = 8
THREADS = 4


def batches(speeches):
    return [speeches[i:i + ROWS_PER_BATCH] for i in range(0, len(speeches), ROWS_PER_BATCH)]


def stream(writer, speeches, on_acknowledged):
    """Durable puts from THREADS threads at once; `on_acknowledged(batch)` after each put. Raises the first failure."""
    work = iter(batches(speeches))
    lock = threading.Lock()
    failures = []

    def run():
        try:
            while not failures:
                with lock:
                    batch = next(work, None)
                if batch is None:
                    return
                writer.put(corpus.to_batch(batch))
                on_acknowledged(batch)
        except Exception as failure:  # handed to the caller below
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def main():
    uri, shard, first, last, acknowledged = sys.argv[1:]
    log = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    writer = javelin.dataset(uri).mem_wal_writer(shard, commit_mode="eager")
    stream(writer, corpus.load()[int(first):int(last)],
           lambda batch: os.write(log, "".join(f"{speech.id}\n" for speech in batch).encode()))
    writer.close()


if __name__ == "__main__":
    main()
