#include "javelin/table/manifest.h"

namespace javelin::table {

const IndexEntry* Manifest::FindIndex(std::string_view name) const {
  for (const IndexEntry& index : indices) {
    if (index.name == name) return &index;
  }
  return nullptr;
}

ManifestSummary Summarize(const Manifest& manifest) {
  ManifestSummary summary;
  for (const Fragment& fragment : manifest.fragments) {
    ++summary.fragments;
    summary.data_files += fragment.files.size();
    for (const DataFile& file : fragment.files) summary.data_file_bytes += file.size_bytes;
    summary.data_file_rows += fragment.physical_rows;
    if (!fragment.deletion_file.has_value()) continue;
    ++summary.deletion_files;
    summary.deleted_rows += fragment.deletion_file->num_deleted_rows;
  }
  summary.rows = summary.data_file_rows - std::min(summary.deleted_rows, summary.data_file_rows);
  return summary;
}

}  // namespace javelin::table
