// What the encoders of a column's pages are told besides the rows.
#pragma once

#include <arrow/type_fwd.h>

#include "javelin/file/data_file_reader.h"
#include "javelin/file/encoding_wishes_internal.h"

namespace javelin::file {

// One per leaf column, the same for all its pages.
struct PageOptions {
  FileVersion version{2, 2};
  EncodingWishes wishes;
  arrow::MemoryPool* pool = nullptr;  // never null where pages are encoded
};

}  // namespace javelin::file
