#include "javelin/table/data_format.h"

#include "javelin/base/error.h"

namespace javelin::table {

arrow::Result<file::FileVersion> DataFormatOf(const Manifest& manifest) {
  const std::string& name = manifest.data_format_version;
  const auto version = file::ParseFileVersion(name);
  if (version.ok()) return version;
  return NotSupported("the table's data files have version '{}', which is not known here; use a newer version", name);
}

}  // namespace javelin::table
