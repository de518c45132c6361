// Shard writers and the tickets of their puts.
#include <arrow/api.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "javelin/memwal/sealing.h"
#include "javelin/memwal/shard_writer.h"
#include "src/arrow_bridge.h"
#include "src/mem_wal.h"
#include "src/wake_queue.h"

namespace javelin::python {

namespace {

using memwal::ShardWriter;
using memwal::Ticket;
using Writer = Handle<ShardWriter>;
using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

using PyTicket = Handle<Ticket>;

// Longer timeouts are as good as none.
constexpr double kLongestTimeoutSeconds = 1e9;

// True when the put is done; False if `timeout_seconds` passed first. Throws what the put failed with.
bool WaitForTicket(const PyTicket& self, std::optional<double> timeout_seconds) {
  const Ticket& ticket = *self;
  Runtime& runtime = self.session()->runtime();
  TimePoint deadline = kNoDeadline;
  if (timeout_seconds.has_value() && *timeout_seconds < kLongestTimeoutSeconds) {
    const double seconds = *timeout_seconds > 0 ? *timeout_seconds : 0;
    deadline = runtime.Now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  for (;;) {
    const TimePoint slice_end = std::min(deadline, runtime.Now() + kSignalCheckInterval);
    const arrow::Status status = WithoutGil([&] { return ticket.Wait(slice_end); });
    if (status.ok()) return true;
    // A failure may be the end of the slice only; once the ticket is done, Wait answers for good.
    if (ticket.Done()) {
      Check(ticket.Wait());
      return true;
    }
    if (!HasKind(status, ErrorKind::kCancelled)) Check(status);
    if (slice_end == deadline) return false;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// All batches that hold rows.
arrow::Result<Batches> ReadRows(SourceReader& source) {
  Batches batches;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto batch, source.Next());
    if (batch == nullptr) return batches;
    if (batch->num_rows() > 0) batches.push_back(std::move(batch));
  }
}

// Sends the rows of `data` the way of `send`; None if there are none.
std::optional<PyTicket> Send(const Writer& self, const nb::object& data,
                             arrow::Result<Ticket> (ShardWriter::*send)(const Batches&, ShardWriter::Room), bool wait) {
  ShardWriter& writer = *self;
  auto source = ImportStream(data);
  auto sent = WithoutGil([&]() -> arrow::Result<std::optional<Ticket>> {
    ARROW_ASSIGN_OR_RAISE(const Batches batches, ReadRows(*source));
    if (batches.empty()) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(Ticket ticket,
                          (writer.*send)(batches, wait ? ShardWriter::Room::kWait : ShardWriter::Room::kRefuse));
    return ticket;
  });
  std::optional<Ticket> ticket = Unwrap(std::move(sent));
  if (!ticket.has_value()) return std::nullopt;
  return PyTicket(self.session(), std::make_shared<Ticket>(*std::move(ticket)));
}

Writer Open(const Handle<Dataset>& dataset, const std::string& shard_id, const nb::dict& given) {
  auto open = [dataset = dataset.object(), shard_id, options = ParseWriterOptions(given)] {
    return ShardWriter::Open(*dataset, shard_id, options);
  };
  return Writer(dataset.session(), WaitInSlices<std::shared_ptr<ShardWriter>>(dataset.session(), std::move(open)));
}

// `call` of the writer; Ctrl-C ends the wait for it.
void WaitFor(const Writer& self, arrow::Status (ShardWriter::*call)()) {
  WaitInSlices<Unit>(self.session(), [writer = self.object(), call]() -> arrow::Result<Unit> {
    ARROW_RETURN_NOT_OK((*writer.*call)());
    return Unit{};
  });
}

bool Evolve(const Writer& self) {
  return WaitInSlices<bool>(self.session(), [writer = self.object()] { return writer->Evolve(); });
}

using Manifest = memwal::ShardManifest;
using ShardCall = arrow::Result<Manifest> (*)(const Dataset&, const std::string&);

nb::dict WaitForManifest(const std::shared_ptr<Session>& session, std::function<arrow::Result<Manifest>()> work) {
  return ToDict(WaitInSlices<Manifest>(session, std::move(work)));
}

// `call` of a shard of the table.
template <ShardCall call>
nb::dict OfShard(const Handle<Dataset>& self, const std::string& shard_id) {
  return WaitForManifest(self.session(), [dataset = self.object(), shard_id] { return call(*dataset, shard_id); });
}

nb::dict Seal(const Writer& self) {
  return WaitForManifest(self.session(), [writer = self.object()] { return memwal::SealShard(*writer); });
}

nb::dict Unseal(const Writer& self) {
  return WaitForManifest(
      self.session(), [writer = self.object()] { return memwal::UnsealShard(writer->dataset(), writer->shard_id()); });
}

constexpr uint64_t kNanosecondsPerMillisecond = 1'000'000;

nb::dict Stats(const Writer& self) {
  const memwal::WriterStats stats = self->stats();
  nb::dict dict;
  dict["put_count"] = stats.put_count;
  dict["put_time_ms"] = stats.put_time_ns / kNanosecondsPerMillisecond;
  dict["wal_flush_count"] = stats.wal_flush_count;
  dict["wal_flush_bytes"] = stats.wal_flush_bytes;
  dict["wal_flush_time_ms"] = stats.wal_flush_time_ns / kNanosecondsPerMillisecond;
  dict["wal_io_count"] = stats.wal_io_count;
  dict["wal_io_time_ms"] = stats.wal_io_time_ns / kNanosecondsPerMillisecond;
  dict["index_update_count"] = stats.index_update_count;
  dict["index_update_rows"] = stats.index_update_rows;
  dict["index_update_time_ms"] = stats.index_update_time_ns / kNanosecondsPerMillisecond;
  dict["memtable_flush_count"] = stats.memtable_flush_count;
  dict["memtable_flush_rows"] = stats.memtable_flush_rows;
  dict["memtable_flush_failures"] = stats.memtable_flush_failures;
  dict["memtable_flush_time_ms"] = stats.memtable_flush_time_ns / kNanosecondsPerMillisecond;
  dict["backpressure_refusals"] = stats.backpressure_refusals;
  dict["backpressure_waits"] = stats.backpressure_waits;
  dict["backpressure_wait_ms"] = stats.backpressure_wait_ns / kNanosecondsPerMillisecond;
  dict["backpressure_warnings"] = stats.backpressure_warnings;
  return dict;
}

nb::dict MemTableStats(const Writer& self) {
  const memwal::MemTableStats stats = self->memtable_stats();
  nb::dict dict;
  dict["row_count"] = stats.row_count;
  dict["batch_count"] = stats.batch_count;
  dict["estimated_size_bytes"] = stats.estimated_size_bytes;
  dict["index_bytes"] = stats.index_bytes;
  dict["generation"] = stats.generation;
  dict["max_buffered_batch_position"] = stats.max_buffered_batch_position;
  dict["durable_batch_count"] = stats.durable_batch_count;
  dict["global_offset"] = stats.global_offset;
  dict["pending_wal_start_batch_position"] = stats.pending_wal_start_batch_position;
  dict["pending_wal_end_batch_position"] = stats.pending_wal_end_batch_position;
  dict["pending_wal_batch_count"] = stats.pending_wal_batch_count;
  dict["pending_wal_row_count"] = stats.pending_wal_row_count;
  dict["pending_wal_estimated_bytes"] = stats.pending_wal_estimated_bytes;
  dict["frozen_count"] = stats.frozen_count;
  dict["frozen_bytes"] = stats.frozen_bytes;
  dict["grace_bytes"] = stats.grace_bytes;
  dict["retained_bytes"] = stats.retained_bytes;
  return dict;
}

void RegisterTicket(nb::module_& module) {
  nb::class_<PyTicket>(module, "Ticket", "A put that was not waited for.")
      .def("wait", &WaitForTicket, nb::arg("timeout_seconds").none(), "False if the time passed first.")
      .def("done", [](const PyTicket& self) { return self->Done(); })
      .def(
          "announce",
          [](const PyTicket& self, std::shared_ptr<WakeQueue> queue, uint64_t key) {
            self->OnDone([queue = std::move(queue), key](const arrow::Status&) { queue->Push(key); });
          },
          nb::arg("queue"), nb::arg("key"), "Pushes `key` into `queue` once the ticket is done.")
      .def_prop_ro("token", [](const PyTicket& self) {
        const std::string& token = self.object()->token();
        return nb::bytes(token.data(), token.size());
      });
}

}  // namespace

void RegisterShardWriter(nb::module_& module) {
  RegisterTicket(module);
  module.def("open_shard_writer", &Open, nb::arg("dataset"), nb::arg("shard_id"), nb::arg("options"));
  module.def("seal_shard", &OfShard<memwal::SealShard>, nb::arg("dataset"), nb::arg("shard_id"));
  module.def("unseal_shard", &OfShard<memwal::UnsealShard>, nb::arg("dataset"), nb::arg("shard_id"));
  nb::class_<Writer>(module, "ShardWriter", "Streams rows into one shard.")
      .def(
          "put",
          [](const Writer& self, const nb::object& data, bool wait) {
            return Send(self, data, &ShardWriter::PutAsync, wait);
          },
          nb::arg("data"), nb::arg("wait"), "A ticket, or None if there were no rows; `wait`: for room.")
      .def(
          "delete",
          [](const Writer& self, const nb::object& keys, bool wait) {
            return Send(self, keys, &ShardWriter::DeleteAsync, wait);
          },
          nb::arg("keys"), nb::arg("wait"), "A ticket, or None if there were no rows; `wait`: for room.")
      .def("flush_wal", [](const Writer& self) { WaitFor(self, &ShardWriter::FlushWal); })
      .def("flush", [](const Writer& self) { WaitFor(self, &ShardWriter::Flush); })
      .def("close", [](const Writer& self) { WaitFor(self, &ShardWriter::Close); })
      .def("evolve", &Evolve, "Whether the columns changed.")
      .def("seal", &Seal)
      .def("unseal", &Unseal)
      .def("abort",
           [](const Writer& self) {
             ShardWriter& writer = *self;
             WithoutGil([&] { writer.Abort(); });
           })
      .def("manifest", [](const Writer& self) { return ToDict(Unwrap(self->Manifest())); })
      .def("refresh_manifest",
           [](const Writer& self) {
             ShardWriter& writer = *self;
             return ToDict(Unwrap(WithoutGil([&] { return writer.RefreshManifest(); })));
           })
      .def("stats", &Stats)
      .def("memtable_stats", &MemTableStats)
      .def_prop_ro("shard_id", [](const Writer& self) { return self.object()->shard_id(); })
      .def_prop_ro(
          "schema", [](const Writer& self) { return PySchema{self.object()->arrow_schema()}; },
          "Schema of the rows that put() takes.")
      .def_prop_ro("key_columns", [](const Writer& self) { return self.object()->key_columns(); })
      .def_prop_ro("epoch", [](const Writer& self) { return self.object()->epoch().value(); })
      .def_prop_ro("warnings", [](const Writer& self) { return self.object()->warnings(); });
}

}  // namespace javelin::python
