// The command line `javelin`: parses arguments, runs one command, turns a failure into one line and an exit code.
#include <charconv>
#include <cstdio>
#include <iostream>
#include <map>

#include <arrow/compute/initialize.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "javelin/base/error.h"

namespace javelin::cli {

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

const std::map<std::string, RowFormat> kFormats = {{"table", RowFormat::kTable},
                                                   {"jsonl", RowFormat::kJsonLines},
                                                   {"csv", RowFormat::kCsv},
                                                   {"arrow", RowFormat::kArrow}};

constexpr char kFooter[] =
    "URI is a path or file://...\n"
    "Exit code: 0 success, 1 failure (one line `error: <Kind>: message` on standard error), 2 wrong usage.";

constexpr char kViewNote[] =
    "Reads the base table and the published rows of its shards. Rows that are only in the log of a shard belong\n"
    "to the writer of that shard; this command claims no shard, so it does not see them, and says on standard\n"
    "error how many log entries with puts or deletes it left out.";

// The checks of the parser's own print the limits of its number types, and its numbers end at their limit unnoticed;
// this says what to give instead.
CLI::Validator WholeNumber() {
  return CLI::Validator(
      [](std::string& text) {
        uint64_t number = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, number);
        const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
        return is_number ? std::string() : "must be a whole number, 0 or more, below 2^64; got '" + text + "'";
      },
      "");
}

RowFormat ParseFormat(const std::string& name) {
  const auto found = kFormats.find(name);
  if (found == kFormats.end())
    throw CLI::ValidationError("--format", "must be table, jsonl, csv or arrow; got '" + name + "'");
  return found->second;
}

// What is wrong with the first argument as the name of a command; empty if nothing.
std::string WrongCommand(const CLI::App& app, int argc, char** argv) {
  const std::string given = argc > 1 ? argv[1] : "";
  if (given.starts_with("-")) return "";
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == given) return "";
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return (given.empty() ? "a command is missing" : "there is no command '" + given + "'") + "; the commands are " +
         names;
}

constexpr char kCompactNote[] =
    "One commit takes the newest row of each key of flushed rows in, and deleted keys out. Writers may be at\n"
    "work; rows that are only in the log of a shard stay there. Folders of SSTables that are not needed any more\n"
    "stay for readers with an older view, for ten minutes or what --retired-grace says; the next run after that\n"
    "deletes them.";

void AddRowOptions(CLI::App& command, RowOptions& options) {
  command.add_option("URI", options.uri, "The table")->required();
  command
      .add_option_function<std::string>(
          "--columns", [&options](const std::string& names) { options.columns = CLI::detail::split(names, ','); },
          "Columns of the result, separated by commas; all by default")
      ->type_name("NAME,...");
  command
      .add_option_function<std::string>(
          "--format", [&options](const std::string& name) { options.format = ParseFormat(name); },
          "table (default; cuts long values), jsonl, csv, or arrow (an IPC stream)")
      ->type_name("table|jsonl|csv|arrow");
}

int Report(const arrow::Status& status) {
  std::cout.flush();
  if (!status.ok()) {
    std::string message = status.message();
    std::replace(message.begin(), message.end(), '\n', ' ');
    std::cerr << "error: " << ToString(KindOf(status)) << ": " << message << std::endl;
    return kFailed;
  }
  if (!std::cout.good()) {
    std::cerr << "error: IO: standard output could not be written" << std::endl;
    return kFailed;
  }
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Streams rows into Lance tables and reads them back.", "javelin");
  app.set_version_flag("--version", "javelin " JAVELIN_VERSION);
  app.footer(kFooter);
  app.require_subcommand(1);

  InspectOptions inspect;
  CLI::App* inspect_command =
      app.add_subcommand("inspect", "Print schema, versions, fragments, indexes and shards of a table");
  inspect_command->add_option("URI", inspect.uri, "The table")->required();
  inspect_command->add_flag("--json", inspect.json, "Print one JSON object");
  inspect_command->footer(kFooter);

  WalOptions wal;
  CLI::App* wal_command = app.add_subcommand("wal", "List the manifest versions and log entries of a shard");
  wal_command->add_option("URI", wal.uri, "The table")->required();
  wal_command->add_option("SHARD", wal.shard, "Id of the shard, as `javelin inspect` shows it")->required();
  wal_command->add_flag("--json", wal.json, "Print one JSON object");
  wal_command->footer(kFooter);

  ScanCommandOptions scan;
  CLI::App* scan_command = app.add_subcommand("scan", "Print rows of a table");
  AddRowOptions(*scan_command, scan.rows);
  scan_command->add_option("--limit", scan.limit, "Rows at most")->check(WholeNumber())->type_name("N");
  scan_command->add_option("--offset", scan.offset, "Rows to leave out first")->check(WholeNumber())->type_name("N");
  scan_command->add_flag("--base", scan.base_only, "Read the base table alone, without its shards");
  scan_command->footer(std::string(kViewNote) + "\n" + kFooter);

  GetCommandOptions get;
  CLI::App* get_command = app.add_subcommand("get", "Print rows by primary key, in the order asked");
  AddRowOptions(*get_command, get.rows);
  get_command
      ->add_option("KEY", get.keys,
                   "A value of the key column (binary as base64); for a key of several columns a JSON object of them")
      ->required();
  get_command->footer(std::string(kViewNote) + "\n" + kFooter);

  CompactCommandOptions compact;
  CLI::App* compact_command = app.add_subcommand("compact", "Move the flushed rows of shards into the table");
  compact_command->add_option("URI", compact.uri, "The table")->required();
  compact_command->add_option("--shard", compact.shard, "Only this shard; all by default")->type_name("UUID");
  compact_command
      ->add_option("--max-bytes", compact.max_bytes,
                   "SSTables of one commit, by the memory that their rows took (one always fits); 256 MiB by default")
      ->check(WholeNumber())
      ->type_name("N");
  compact_command
      ->add_option("--retired-grace", compact.retired_grace_seconds,
                   "How long the folders of retired SSTables stay; 600 by default, 0 = this run deletes them")
      ->check(WholeNumber())
      ->type_name("SECONDS");
  compact_command->add_flag("--dry-run", compact.dry_run, "Print what there is to do; change nothing");
  compact_command->add_flag("--json", compact.json, "Print one JSON object");
  compact_command->footer(std::string(kCompactNote) + "\n" + kFooter);

  if (const std::string wrong = WrongCommand(app, argc, argv); !wrong.empty()) {
    std::cerr << wrong << "\nRun with --help for more information.\n";
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool failed = app.exit(error) != 0;
    if (failed && wal_command->parsed() && wal.shard.empty())
      std::cerr << "`javelin inspect " << (wal.uri.empty() ? "URI" : wal.uri) << "` lists the ids of its shards.\n";
    return failed ? kUsage : 0;
  }

  const arrow::Status ready = arrow::compute::Initialize();
  if (!ready.ok()) return Report(ready);
  const auto session = Session::Make();
  if (inspect_command->parsed()) return Report(Inspect(session, inspect));
  if (wal_command->parsed()) return Report(Wal(session, wal));
  if (scan_command->parsed()) return Report(Scan(session, scan));
  if (compact_command->parsed()) return Report(Compact(session, compact));
  return Report(Get(session, get));
}

}  // namespace

}  // namespace javelin::cli

int main(int argc, char** argv) { return javelin::cli::Main(argc, argv); }
