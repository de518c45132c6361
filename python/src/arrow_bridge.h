// Data to and from Python through the Arrow C data interface: capsules only, never pyarrow's C++ API, so that any Arrow
// library on the Python side works.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>
#include <nanobind/nanobind.h>

#include "src/handle.h"

namespace javelin::python {

// A stream of batches from outside. Failures of the producer become InvalidInput; batches are checked before anyone
// reads them.
class SourceReader final : public arrow::RecordBatchReader {
 public:
  explicit SourceReader(std::shared_ptr<arrow::RecordBatchReader> inner) : inner_(std::move(inner)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return inner_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override;
  // True once anything was asked for: the stream cannot be used again from its start.
  bool touched() const { return touched_; }

 private:
  std::shared_ptr<arrow::RecordBatchReader> inner_;
  bool touched_ = false;
};

// Takes the stream of any object with __arrow_c_stream__. Call with the GIL; read without it.
std::unique_ptr<SourceReader> ImportStream(const nb::object& source);
// One batch of any object with __arrow_c_array__.
std::shared_ptr<arrow::RecordBatch> ImportBatch(const nb::object& source);
// A schema of any object with __arrow_c_schema__.
std::shared_ptr<arrow::Schema> ImportSchema(const nb::object& source);

// Python `Schema`: has __arrow_c_schema__.
struct PySchema {
  std::shared_ptr<arrow::Schema> schema;
};
// Python `Batch`: has __arrow_c_array__.
struct PyBatch {
  std::shared_ptr<arrow::RecordBatch> batch;
};
// Python `Reader`: typed errors through read_next(); or, once, __arrow_c_stream__ for other libraries.
class PyReader {
 public:
  PyReader(std::shared_ptr<Session> session, std::shared_ptr<arrow::RecordBatchReader> reader)
      : reader_(std::make_unique<Handle<arrow::RecordBatchReader>>(std::move(session), std::move(reader))) {}
  PySchema schema() const;
  std::optional<PyBatch> ReadNext();
  nb::object ExportStream();

 private:
  Handle<arrow::RecordBatchReader>& reader() const;
  std::unique_ptr<Handle<arrow::RecordBatchReader>> reader_;  // null once exported
  bool reading_ = false;                                      // by a thread that let go of the GIL
};

void RegisterArrowBridge(nb::module_& module);

}  // namespace javelin::python
