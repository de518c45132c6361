"""Runs the released peer on single data files: one JSON request on stdin, one JSON answer on stdout.

{"do": "write", "jobs": [{"arrow": path, "out": path, "version": "2.2", "data_cache_bytes": bytes buffered before a page or null}]}
{"do": "read", "jobs": [{"file": path, "arrow": path, "rows": [..] or null, "range": [first, count] or null}]}
{"do": "dataset", "jobs": [{"arrow": path, "uri": path, "version": "2.2", "rows_per_file": rows or null}]}
    answer: the data files of each dataset, in order
{"do": "filtered", "jobs": [{"arrow": path, "uri": path, "version": "2.2", "filter": text}]}
    answer: an Arrow file of the rows that a new dataset finds

The answer of each job is {"ok": ...} or {"error": text}.
"""

import json
import os
import sys

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter


def load(path):
    with pa.OSFile(path, "rb") as source:
        return pa.ipc.open_file(source).read_all()


def save(table, path):
    table = table.combine_chunks()  # an IPC file has one dictionary for a column
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def write(job):
    table = load(job["arrow"])
    with LanceFileWriter(job["out"], table.schema, version=job["version"], data_cache_bytes=job.get("data_cache_bytes")) as writer:
        for batch in table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]:
            writer.write_batch(batch)
    return True


def read(job):
    reader = LanceFileReader(job["file"])
    if job.get("rows") is not None:
        table = reader.take_rows(job["rows"]).to_table()
    elif job.get("range") is not None:
        table = reader.read_range(*job["range"]).to_table()
    else:
        table = reader.read_all().to_table()
    save(table, job["arrow"])
    return table.num_rows


def dataset(job):
    table = load(job["arrow"])
    table = table.take(list(range(table.num_rows)))  # what comes out of a file may lie at addresses the peer refuses
    made = lance.write_dataset(table, job["uri"], data_storage_version=job["version"],
                               max_rows_per_file=job.get("rows_per_file") or 1024 * 1024)
    return [os.path.join(job["uri"], "data", file.path) for fragment in made.get_fragments() for file in fragment.data_files()]


def filtered(job):
    """Rows of a new dataset by a filter, as an Arrow file beside it."""
    made = lance.write_dataset(load(job["arrow"]), job["uri"], data_storage_version=job["version"])
    out = job["uri"] + ".arrow"
    save(made.to_table(filter=job["filter"]), out)
    return out


def answer(work, job):
    try:
        return {"ok": work(job)}
    except BaseException as error:  # panics of the peer derive from BaseException
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    request = json.load(sys.stdin)
    work = {"write": write, "read": read, "dataset": dataset, "filtered": filtered}[request["do"]]
    json.dump([answer(work, job) for job in request["jobs"]], sys.stdout)


if __name__ == "__main__":
    main()
