#include "javelin/file/inspect.h"

#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

#include "lanceproto/encodings_v2_0.pb.h"
#include "lanceproto/encodings_v2_1.pb.h"

#include "javelin/file/container_internal.h"

namespace javelin::file {

namespace {

using nlohmann::json;

json DescribeEncoding(const PageMetadata& page) {
  lance::encodings21::PageLayout layout;
  lance::encodings::ArrayEncoding array;
  google::protobuf::Message* message = &layout;
  if (page.encoding_name == array.GetTypeName()) message = &array;
  std::string text;
  if (!message->ParseFromString(page.encoding) || !google::protobuf::util::MessageToJsonString(*message, &text).ok()) {
    return page.encoding_name;
  }
  return json::parse(text);
}

}  // namespace

arrow::Result<std::string> InspectDataFile(const Resources& resources, ObjectStore& store, const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(Container container, OpenContainer(resources, store, key, {}));
  json columns = json::array();
  for (const ColumnMetadata& column : container.columns) {
    json pages = json::array();
    for (const PageMetadata& page : column.pages) {
      json sizes = json::array();
      for (const ByteRange& buffer : page.buffers) sizes.push_back(buffer.length);
      pages.push_back({{"rows", page.num_rows}, {"buffer_sizes", sizes}, {"encoding", DescribeEncoding(page)}});
    }
    columns.push_back({{"rows", column.num_rows}, {"pages", pages}});
  }
  const json file = {{"version", ToString(container.version)},
                     {"bytes", container.file_size},
                     {"rows", container.num_rows},
                     {"schema", container.schema.ToArrow()->ToString()},
                     {"columns", columns}};
  return file.dump(2);
}

}  // namespace javelin::file
