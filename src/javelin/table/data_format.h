// The version of data files that a table is written in.
#pragma once

#include <arrow/result.h>

#include "javelin/file/data_file_reader.h"
#include "javelin/table/manifest.h"

namespace javelin::table {

// What new files of the table have, unless somebody asks for another; whether it can be written is another question.
// NotSupported: one that is not known here.
arrow::Result<file::FileVersion> DataFormatOf(const Manifest& manifest);

}  // namespace javelin::table
