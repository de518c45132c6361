// What the cheapest durable write costs: one put-if-absent of our store.
//
//   create_timer FOLDER FILE true|false      for each line on standard input, creates one object of FILE's bytes below
//                                            FOLDER (synced or not) and answers with the nanoseconds that it took
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "javelin/javelin.h"

namespace {

arrow::Status Run(const std::string& folder, const std::string& file, const std::string& sync) {
  std::ifstream input(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(input), {}};
  if (!input.good()) return javelin::NotFound("'{}' cannot be read", file);
  const auto session = javelin::Session::Make();
  ARROW_ASSIGN_OR_RAISE(const auto place, session->stores().Resolve(folder, {{"sync", sync}}));
  const auto buffer = arrow::Buffer::FromString(bytes);
  std::string line;
  for (int number = 0; std::getline(std::cin, line); ++number) {
    const std::string key = fmt::format("{}/{}.arrow", place.root, number);
    const javelin::TimePoint started = session->runtime().Now();
    ARROW_RETURN_NOT_OK(place.store->PutIfAbsent(key, buffer));
    std::cout << (session->runtime().Now() - started).count() << std::endl;
  }
  return arrow::Status::OK();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::cerr << "usage: create_timer FOLDER FILE true|false\n";
    return 2;
  }
  const arrow::Status status = Run(arguments[1], arguments[2], arguments[3]);
  if (!status.ok()) std::cerr << status.ToString() << std::endl;
  return status.ok() ? 0 : 1;
}
