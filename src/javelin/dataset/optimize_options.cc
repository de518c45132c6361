// Options of an optimize: what is asked for, what the table's config says, defaults.
#include <charconv>

#include "javelin/base/error.h"
#include "javelin/dataset/optimize_internal.h"

namespace javelin::internal {

namespace {

constexpr std::string_view kConfigPrefix = "lance.compaction.";

template <typename Number>
std::optional<Number> ParseNumber(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> ParseFlag(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<OptimizeMode> ParseMode(const std::string& text) {
  if (text == "reencode") return OptimizeMode::kReencode;
  if (text == "try_binary_copy") return OptimizeMode::kTryBinaryCopy;
  if (text == "force_binary_copy") return OptimizeMode::kForceBinaryCopy;
  return std::nullopt;
}

std::optional<file::FileVersion> ParseVersion(const std::string& text) {
  auto version = file::ParseFileVersion(text);
  return version.ok() ? std::optional(*version) : std::nullopt;
}

class Resolver {
 public:
  explicit Resolver(const std::map<std::string, std::string>& config) : config_(config) {}

  template <typename Value, typename Parse>
  arrow::Status FromConfig(std::string_view name, Parse parse, std::optional<Value>& option) const {
    if (option) return arrow::Status::OK();
    const auto found = config_.find(fmt::format("{}{}", kConfigPrefix, name));
    if (found == config_.end()) return arrow::Status::OK();
    option = parse(found->second);
    if (option) return arrow::Status::OK();
    return InvalidInput("the table's config says {} = '{}', which is no such value; give the option, or correct it",
                        found->first, found->second);
  }

 private:
  const std::map<std::string, std::string>& config_;
};

arrow::Status AtLeastOne(std::string_view name, const std::optional<uint64_t>& value) {
  if (value != 0u) return arrow::Status::OK();
  return InvalidInput("{} must be at least 1, or not given", name);
}

arrow::Status Check(const OptimizeOptions& options) {
  ARROW_RETURN_NOT_OK(AtLeastOne("target_rows_per_fragment", options.target_rows_per_fragment));
  ARROW_RETURN_NOT_OK(AtLeastOne("max_bytes_per_file", options.max_bytes_per_file));
  ARROW_RETURN_NOT_OK(AtLeastOne("batch_size", options.batch_rows));
  ARROW_RETURN_NOT_OK(AtLeastOne("max_source_fragments", options.max_source_fragments));
  ARROW_RETURN_NOT_OK(AtLeastOne("max_source_rows", options.max_source_rows));
  ARROW_RETURN_NOT_OK(AtLeastOne("max_source_bytes", options.max_source_bytes));
  const double threshold = *options.materialize_deletions_threshold;
  if (!(threshold >= 0 && threshold <= 1))
    return InvalidInput("materialize_deletions_threshold must be from 0 to 1, it is {}", threshold);
  if (options.max_commit_retries < 0)
    return InvalidInput("max_commit_retries must not be negative, it is {}", options.max_commit_retries);
  if (*options.mode == OptimizeMode::kForceBinaryCopy)
    return NotSupported("compaction_mode \"force_binary_copy\": values are always encoded again; leave it out");
  if (*options.defer_index_remap)
    return NotSupported("defer_index_remap: no map from old to new rows is kept for indexes; leave it out");
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<OptimizeOptions> ResolveOptimizeOptions(const OptimizeOptions& options,
                                                      const std::map<std::string, std::string>& config) {
  OptimizeOptions out = options;
  const Resolver from(config);
  const auto number = ParseNumber<uint64_t>;
  ARROW_RETURN_NOT_OK(from.FromConfig("target_rows_per_fragment", number, out.target_rows_per_fragment));
  ARROW_RETURN_NOT_OK(from.FromConfig("max_bytes_per_file", number, out.max_bytes_per_file));
  ARROW_RETURN_NOT_OK(from.FromConfig("materialize_deletions", ParseFlag, out.materialize_deletions));
  ARROW_RETURN_NOT_OK(
      from.FromConfig("materialize_deletions_threshold", ParseNumber<double>, out.materialize_deletions_threshold));
  ARROW_RETURN_NOT_OK(from.FromConfig("defer_index_remap", ParseFlag, out.defer_index_remap));
  ARROW_RETURN_NOT_OK(from.FromConfig("batch_size", number, out.batch_rows));
  ARROW_RETURN_NOT_OK(from.FromConfig("compaction_mode", ParseMode, out.mode));
  ARROW_RETURN_NOT_OK(from.FromConfig("max_source_fragments", number, out.max_source_fragments));
  ARROW_RETURN_NOT_OK(from.FromConfig("max_source_rows", number, out.max_source_rows));
  ARROW_RETURN_NOT_OK(from.FromConfig("max_source_bytes", number, out.max_source_bytes));
  ARROW_RETURN_NOT_OK(from.FromConfig("data_storage_version", ParseVersion, out.data_storage_version));
  out.target_rows_per_fragment = out.target_rows_per_fragment.value_or(1'048'576);
  out.max_bytes_per_file = out.max_bytes_per_file.value_or(WriteOptions{}.max_bytes_per_file);
  out.materialize_deletions = out.materialize_deletions.value_or(true);
  out.materialize_deletions_threshold = out.materialize_deletions_threshold.value_or(0.1);
  out.defer_index_remap = out.defer_index_remap.value_or(false);
  out.batch_rows = out.batch_rows.value_or(ScanOptions{}.batch_rows);
  out.mode = out.mode.value_or(OptimizeMode::kReencode);
  ARROW_RETURN_NOT_OK(Check(out));
  return out;
}

}  // namespace javelin::internal
