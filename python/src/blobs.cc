#include "src/blobs.h"

#include <arrow/api.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "javelin/dataset/blobs.h"
#include "src/arrow_bridge.h"
#include "src/uint64_memory.h"

namespace javelin::python {

namespace {

constexpr size_t kNumbersOfRange = 2;    // offset, length
constexpr size_t kNumbersOfRequest = 3;  // row, offset, length

RowSelector ParseSelector(const std::string& selector) {
  if (selector == "ids") return RowSelector::kRowIds;
  if (selector == "addresses") return RowSelector::kAddresses;
  if (selector == "indices") return RowSelector::kIndices;
  Check(InvalidInput("selector must be 'ids', 'addresses' or 'indices', got '{}'", selector));
  return RowSelector::kIndices;
}

nb::object ToPython(const BufferPtr& bytes) {
  if (bytes == nullptr) return nb::none();
  return nb::bytes(bytes->data(), static_cast<size_t>(bytes->size()));
}

nb::list TakeBlobHandles(const Handle<Dataset>& self, const std::string& column, const std::string& selector,
                         const nb::object& rows) {
  const Dataset& dataset = *self;
  const RowSelector parsed = ParseSelector(selector);
  const UInt64Memory numbers(rows);
  const std::span<const uint64_t> values = numbers.values();
  const auto blobs = Unwrap(WithoutGil([&] { return TakeBlobs(dataset, column, parsed, values); }));
  nb::list handles;
  for (const auto& blob : blobs) {
    if (blob == nullptr) {
      handles.append(nb::none());
    } else {
      handles.append(nb::cast(Handle<Blob>(self.session(), std::const_pointer_cast<Blob>(blob))));
    }
  }
  return handles;
}

nb::list ReadRanges(const Handle<Blob>& self, const nb::object& ranges) {
  const Blob& blob = *self;
  const UInt64Memory numbers(ranges);
  const std::span<const uint64_t> values = numbers.values();
  std::vector<ByteRange> asked;
  for (size_t i = 0; i + kNumbersOfRange <= values.size(); i += kNumbersOfRange)
    asked.push_back({values[i], values[i + 1]});
  nb::list parts;
  for (const BufferPtr& bytes : Unwrap(WithoutGil([&] { return blob.Read(asked); }))) parts.append(ToPython(bytes));
  return parts;
}

// Answers some at a time. One thread at a time.
class Answers {
 public:
  Answers(std::shared_ptr<Session> session, std::unique_ptr<BlobReader> reader)
      : reader_(std::move(session), std::shared_ptr<BlobReader>(std::move(reader))) {}

  nb::list Next() {
    BlobReader& reader = *reader_;
    nb::list answers;
    for (const auto& [request, row, bytes] : Unwrap(WithoutGil([&] { return reader.Next(); })))
      answers.append(nb::make_tuple(request, row.packed(), ToPython(bytes)));
    return answers;
  }

 private:
  Handle<BlobReader> reader_;
};

Answers OpenBlobs(const Handle<Dataset>& self, const std::string& column, const std::string& selector,
                  const nb::object& rows, uint64_t io_buffer_bytes) {
  const Dataset& dataset = *self;
  const RowSelector parsed = ParseSelector(selector);
  const UInt64Memory numbers(rows);
  const std::span<const uint64_t> values = numbers.values();
  return {self.session(), Unwrap(WithoutGil([&] {
            return BlobReader::OpenWhole(dataset, column, parsed, values, {.io_buffer_bytes = io_buffer_bytes});
          }))};
}

Answers OpenBlobRanges(const Handle<Dataset>& self, const std::string& column, const std::string& selector,
                       const nb::object& requests, uint64_t io_buffer_bytes) {
  const Dataset& dataset = *self;
  const RowSelector parsed = ParseSelector(selector);
  const UInt64Memory numbers(requests);
  const std::span<const uint64_t> values = numbers.values();
  std::vector<BlobRequest> asked;
  for (size_t i = 0; i + kNumbersOfRequest <= values.size(); i += kNumbersOfRequest)
    asked.push_back({values[i], {values[i + 1], values[i + 2]}});
  return {self.session(), Unwrap(WithoutGil([&] {
            return BlobReader::OpenRanges(dataset, column, parsed, asked, {.io_buffer_bytes = io_buffer_bytes});
          }))};
}

PyBatch ReadBlobBytes(const Handle<Dataset>& self, const nb::object& rows) {
  const Dataset& dataset = *self;
  const auto batch = ImportBatch(rows);
  return PyBatch{Unwrap(WithoutGil([&] { return ReadBlobs(dataset, batch); }))};
}

int64_t RowsWithBlobs(const Handle<Dataset>& self, const nb::object& rows, std::optional<uint64_t> batch_bytes) {
  const Dataset& dataset = *self;
  const auto batch = ImportBatch(rows);
  return Unwrap(WithoutGil(
      [&] { return RowsThatFitWithBlobs(dataset, *batch, batch_bytes.value_or(ScanOptions{}.batch_bytes)); }));
}

}  // namespace

void RegisterBlobs(nb::module_& module) {
  nb::class_<Handle<Blob>>(module, "Blob", "One blob that is not null, of which nothing was read yet.")
      .def_prop_ro("size", [](const Handle<Blob>& self) { return self.object()->size(); })
      .def("read_ranges", &ReadRanges, nb::arg("ranges"),
           "The bytes of each range; memory of uint64: offset and length, one after the other.");
  nb::class_<Answers>(module, "BlobAnswers", "The bytes of many blobs.")
      .def("next", &Answers::Next, "Some (request, row address, bytes or None), in no order; an empty list: all came.");
}

void DefineBlobs(nb::class_<Handle<Dataset>>& dataset) {
  dataset
      .def("take_blobs", &TakeBlobHandles, nb::arg("column"), nb::arg("selector"), nb::arg("rows"),
           "`rows`: memory of uint64 (buffer protocol). A list of Blob or None.")
      .def("open_blobs", &OpenBlobs, nb::arg("column"), nb::arg("selector"), nb::arg("rows"),
           nb::arg("io_buffer_bytes"), "`rows`: memory of uint64. `io_buffer_bytes` 0 = the library's choice.")
      .def("open_blob_ranges", &OpenBlobRanges, nb::arg("column"), nb::arg("selector"), nb::arg("requests"),
           nb::arg("io_buffer_bytes"), "`requests`: memory of uint64: row, offset and length, one after the other.")
      .def("rows_with_blobs", &RowsWithBlobs, nb::arg("rows"), nb::arg("batch_bytes").none(),
           "How many of the rows of such a batch, from the first on, fit a batch with the bytes of their blobs.")
      .def("read_blobs", &ReadBlobBytes, nb::arg("rows"),
           "A batch of this version with `_rowaddr`, its descriptions of blobs replaced by their bytes.");
}

}  // namespace javelin::python
