#include "src/arrow_bridge.h"

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <nanobind/stl/optional.h>

namespace javelin::python {

namespace {

// ---- C structs inside capsules ----

template <typename Struct>
struct CapsuleName;
template <>
struct CapsuleName<ArrowSchema> {
  static constexpr char value[] = "arrow_schema";
};
template <>
struct CapsuleName<ArrowArray> {
  static constexpr char value[] = "arrow_array";
};
template <>
struct CapsuleName<ArrowArrayStream> {
  static constexpr char value[] = "arrow_array_stream";
};

template <typename Struct>
Struct* InCapsule(PyObject* capsule) {
  return static_cast<Struct*>(PyCapsule_GetPointer(capsule, CapsuleName<Struct>::value));
}

// A capsule that owns a C struct; releases what nobody has taken.
template <typename Struct, typename Fill>
nb::object MakeCapsule(const Fill& fill) {
  auto content = std::make_unique<Struct>();
  content->release = nullptr;
  Check(fill(content.get()));
  PyObject* capsule = PyCapsule_New(content.get(), CapsuleName<Struct>::value, [](PyObject* self) {
    std::unique_ptr<Struct> content(InCapsule<Struct>(self));
    if (content->release != nullptr) content->release(content.get());
  });
  if (capsule == nullptr) {
    if (content->release != nullptr) content->release(content.get());
    throw nb::python_error();
  }
  content.release();
  return nb::steal(capsule);
}

// The struct in a capsule of that kind; TypeError for anything else.
template <typename Struct>
Struct* Borrow(const nb::object& capsule, const char* method) {
  if (!PyCapsule_IsValid(capsule.ptr(), CapsuleName<Struct>::value)) {
    throw nb::type_error(
        fmt::format("{}() must return capsules of type '{}'", method, CapsuleName<Struct>::value).c_str());
  }
  return InCapsule<Struct>(capsule.ptr());
}

struct ImportedArray {
  nb::object schema_capsule, array_capsule;  // keep the structs alive until the import has moved them out
  ArrowSchema* schema;
  ArrowArray* array;
};

ImportedArray BorrowArray(const nb::object& source) {
  nb::tuple pair = nb::cast<nb::tuple>(source.attr("__arrow_c_array__")());
  if (nb::len(pair) != 2) throw nb::type_error("__arrow_c_array__() must return a pair of capsules");
  ImportedArray imported{nb::object(pair[0]), nb::object(pair[1]), nullptr, nullptr};
  imported.schema = Borrow<ArrowSchema>(imported.schema_capsule, "__arrow_c_array__");
  imported.array = Borrow<ArrowArray>(imported.array_capsule, "__arrow_c_array__");
  return imported;
}

// Arrow's own complaint about what a caller handed in.
arrow::Status BadInput(const arrow::Status& status, std::string_view what) {
  if (status.ok()) return status;
  const ErrorKind kind = KindOf(status);
  return AsKind(status, kind == ErrorKind::kInternal ? ErrorKind::kInvalidInput : kind, what);
}

// Takes a reader across the C interface: its last reference may go on any thread.
class ExportedReader final : public arrow::RecordBatchReader {
 public:
  explicit ExportedReader(std::unique_ptr<Handle<arrow::RecordBatchReader>> reader) : reader_(std::move(reader)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->object()->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    ARROW_RETURN_NOT_OK(reader_->session()->runtime().CheckProcess());
    return WithoutGilIfHeld([&] { return reader_->object()->ReadNext(batch); });
  }

 private:
  std::unique_ptr<Handle<arrow::RecordBatchReader>> reader_;
};

}  // namespace

arrow::Status SourceReader::ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) {
  touched_ = true;
  ARROW_RETURN_NOT_OK(BadInput(inner_->ReadNext(batch), "reading the data that was handed in"));
  if (*batch == nullptr) return arrow::Status::OK();
  return BadInput((*batch)->Validate(), "the data that was handed in is malformed");
}

std::unique_ptr<SourceReader> ImportStream(const nb::object& source) {
  nb::object capsule = source.attr("__arrow_c_stream__")();
  auto* stream = Borrow<ArrowArrayStream>(capsule, "__arrow_c_stream__");
  // Importing asks the producer for its schema, which may run code of any kind.
  auto reader = WithoutGil([&] { return arrow::ImportRecordBatchReader(stream); });
  Check(BadInput(reader.status(), "the data that was handed in is no stream of record batches"));
  return std::make_unique<SourceReader>(std::move(reader).ValueUnsafe());
}

std::shared_ptr<arrow::RecordBatch> ImportBatch(const nb::object& source) {
  ImportedArray imported = BorrowArray(source);
  auto batch = arrow::ImportRecordBatch(imported.array, imported.schema);
  Check(BadInput(batch.status(), "the data that was handed in is no record batch"));
  Check(BadInput((*batch)->Validate(), "the data that was handed in is malformed"));
  return std::move(batch).ValueUnsafe();
}

std::shared_ptr<arrow::Schema> ImportSchema(const nb::object& source) {
  nb::object capsule = source.attr("__arrow_c_schema__")();
  auto schema = arrow::ImportSchema(Borrow<ArrowSchema>(capsule, "__arrow_c_schema__"));
  Check(BadInput(schema.status(), "the schema that was handed in is none"));
  return std::move(schema).ValueUnsafe();
}

Handle<arrow::RecordBatchReader>& PyReader::reader() const {
  if (reader_ == nullptr) Check(Closed("this reader was handed over as a stream; read the stream instead"));
  if (reading_)
    Check(InvalidInput("this reader is being read by another thread; give every thread a reader of its own"));
  return *reader_;
}

PySchema PyReader::schema() const { return PySchema{reader().object()->schema()}; }

std::optional<PyBatch> PyReader::ReadNext() {
  arrow::RecordBatchReader& source = *reader();
  reading_ = true;  // read and written with the GIL held only
  auto next = WithoutGil([&] { return source.Next(); });
  reading_ = false;
  auto batch = Unwrap(std::move(next));
  if (batch == nullptr) return std::nullopt;
  return PyBatch{std::move(batch)};
}

nb::object PyReader::ExportStream() {
  reader();
  auto exported = std::make_shared<ExportedReader>(std::move(reader_));
  return MakeCapsule<ArrowArrayStream>(
      [&](ArrowArrayStream* out) { return arrow::ExportRecordBatchReader(std::move(exported), out); });
}

void RegisterArrowBridge(nb::module_& module) {
  nb::class_<PySchema>(module, "Schema", "A schema that crosses by __arrow_c_schema__.")
      .def("__arrow_c_schema__", [](const PySchema& self) {
        return MakeCapsule<ArrowSchema>([&](ArrowSchema* out) { return arrow::ExportSchema(*self.schema, out); });
      });
  nb::class_<PyBatch>(module, "Batch", "A record batch that crosses by __arrow_c_array__.")
      .def(
          "__arrow_c_array__",
          [](const PyBatch& self, const nb::object& requested_schema) {
            // What was asked for is a wish by the protocol; the caller casts.
            nb::object schema = MakeCapsule<ArrowSchema>(
                [&](ArrowSchema* out) { return arrow::ExportSchema(*self.batch->schema(), out); });
            nb::object array =
                MakeCapsule<ArrowArray>([&](ArrowArray* out) { return arrow::ExportRecordBatch(*self.batch, out); });
            return nb::make_tuple(std::move(schema), std::move(array));
          },
          nb::arg("requested_schema") = nb::none());
  nb::class_<PyReader>(module, "Reader", "A stream of record batches.")
      .def_prop_ro("schema", &PyReader::schema)
      .def("read_next", &PyReader::ReadNext, "The next batch, or None at the end. Blocks without the GIL.")
      .def(
          "__arrow_c_stream__", [](PyReader& self, const nb::object& requested_schema) { return self.ExportStream(); },
          nb::arg("requested_schema") = nb::none(), "Hands the stream over; this reader is used up.");
}

}  // namespace javelin::python
