// What Python sees of MemWAL: options, table details, shard writers, tickets, fresh views.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "javelin/dataset/dataset.h"
#include "javelin/memwal/shard_manifest.h"
#include "javelin/memwal/writer_options.h"

namespace javelin::python {

// The options that `given` holds, by their Python names. A name that we do not know, or a value of another type, is a
// bug of the package, which has checked them. InvalidInput: out of range.
memwal::WriterOptions ParseWriterOptions(const nanobind::dict& given);

nanobind::dict ToDict(const memwal::ShardManifest& manifest);

// Names of the primary key columns in key order; empty without a key.
std::vector<std::string> KeyColumns(const Dataset& dataset);

void RegisterMemWal(nanobind::module_& module);
void RegisterShardWriter(nanobind::module_& module);
void RegisterFreshView(nanobind::module_& module);
void RegisterSharding(nanobind::module_& module);

}  // namespace javelin::python
