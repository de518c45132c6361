#include "javelin/memwal/base_keys_internal.h"

namespace javelin::memwal {

arrow::Status ForEachBaseKey(const Dataset& base, const std::vector<std::string>& key_names,
                             const index::KeyEncoder& keys,
                             const std::function<void(const std::string& key, RowAddress address)>& visit) {
  ScanOptions options;
  options.columns = key_names;
  options.with_row_address = true;
  ARROW_ASSIGN_OR_RAISE(const auto reader, base.Scan(options));
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) return arrow::Status::OK();
    const auto columns = batch->columns();
    std::vector<std::string> encoded;
    ARROW_RETURN_NOT_OK(keys.Encode({columns.begin(), columns.end() - 1}, &encoded));
    const auto& addresses = static_cast<const arrow::UInt64Array&>(*columns.back());
    for (size_t row = 0; row < encoded.size(); ++row)
      visit(encoded[row], RowAddress(addresses.Value(static_cast<int64_t>(row))));
  }
}

}  // namespace javelin::memwal
