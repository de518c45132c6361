// All that a program needs of the library: tables, shard writers, the fresh view. What it offers is what the headers
// below say; everything else under src/javelin is of use inside the library only and may change without notice.
//
// Before the first read or write call arrow::compute::Initialize() once.
#pragma once

#include "javelin/base/error.h"            // KindOf(status): what callers decide by
#include "javelin/base/ids.h"              // TableVersion, RowAddress ... that cannot be mixed up
#include "javelin/base/resources.h"        // for programs that bring their own runtime or memory limit
#include "javelin/dataset/dataset.h"       // one version of a table: write, scan, take, commit
#include "javelin/dataset/delete_rows.h"   // rows of a condition go
#include "javelin/dataset/merge_insert.h"  // rows merged by key
#include "javelin/dataset/metadata.h"      // configuration and metadata of a table
#include "javelin/dataset/references.h"    // tags, branches, clones, versions by time
#include "javelin/dataset/scanner.h"       // scans with conditions, computed columns, an order
#include "javelin/dataset/session.h"       // what datasets of a process share
#include "javelin/dataset/update.h"        // rows of a condition get new values
#include "javelin/memwal/compactor.h"      // moves flushed rows of shards into the table
#include "javelin/memwal/fresh_view.h"     // the table and what live writers hold above it, as one
#include "javelin/memwal/initialize.h"     // turns MemWAL on for a table
#include "javelin/memwal/restore.h"        // goes back to an older version
#include "javelin/memwal/sealing.h"        // shards that take no writer any more
#include "javelin/memwal/shard_writer.h"   // streams rows into one shard
#include "javelin/memwal/sharding.h"       // which shard a row belongs to
#include "javelin/memwal/wal_tailer.h"     // follows the log of a shard without claiming it
#include "javelin/store/stores.h"          // stores and how a URI finds its own
#include "javelin/table/manifest.h"        // what a version consists of
