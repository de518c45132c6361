#include "javelin/dataset/references.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "javelin/table/branches.h"
#include "javelin/table/tags.h"
#include "src/versions.h"

namespace javelin::python {

namespace {

using Options = std::map<std::string, std::string>;
// A number, the name of a tag, or (branch, number).
using Given = std::variant<uint64_t, std::string, std::pair<std::optional<std::string>, std::optional<uint64_t>>>;

VersionReference ToReference(const Given& given) {
  if (const auto* number = std::get_if<uint64_t>(&given)) return TableVersion(*number);
  if (const auto* tag = std::get_if<std::string>(&given)) return *tag;
  const auto& [branch, number] = std::get<2>(given);
  return OnBranch{branch, number ? std::optional(TableVersion(*number)) : std::nullopt};
}

std::optional<VersionReference> ToReference(const std::optional<Given>& given) {
  return given ? std::optional(ToReference(*given)) : std::nullopt;
}

// ---- datasets ----

Handle<Dataset> CheckoutGiven(const Handle<Dataset>& self, const Given& given) {
  const Dataset& dataset = *self;
  const VersionReference reference = ToReference(given);
  return Handle<Dataset>(self.session(), Unwrap(WithoutGil([&] { return Checkout(dataset, reference); })));
}

Handle<Dataset> MakeBranch(const Handle<Dataset>& self, const std::string& name, const std::optional<Given>& given) {
  const Dataset& dataset = *self;
  const auto reference = ToReference(given);
  return Handle<Dataset>(self.session(), Unwrap(WithoutGil([&] { return CreateBranch(dataset, name, reference); })));
}

Handle<Dataset> MakeClone(const Handle<Dataset>& self, const std::string& target_uri, const std::optional<Given>& given,
                          const std::optional<Options>& storage_options) {
  const Dataset& dataset = *self;
  const auto reference = ToReference(given);
  auto clone = WithoutGil([&] { return ShallowClone(dataset, target_uri, reference, storage_options); });
  return Handle<Dataset>(self.session(), Unwrap(std::move(clone)));
}

// ---- tags ----

nb::dict ToDict(const table::Tag& tag) {
  nb::dict dict;
  dict["branch"] = tag.branch;
  dict["version"] = tag.version.value();
  dict["created_at"] = tag.created_at;
  dict["updated_at"] = tag.updated_at;
  dict["manifest_size"] = tag.manifest_size;
  dict["metadata"] = tag.metadata;
  return dict;
}

nb::dict Tags(const Handle<Dataset>& self) {
  const Dataset& dataset = *self;
  nb::dict tags;
  for (const auto& [name, tag] : Unwrap(WithoutGil([&] { return table::ListTags(RootOf(dataset)); })))
    tags[name.c_str()] = ToDict(tag);
  return tags;
}

uint64_t TagVersion(const Handle<Dataset>& self, const std::string& name) {
  const Dataset& dataset = *self;
  return Unwrap(WithoutGil([&] { return table::LoadTag(RootOf(dataset), name); })).version.value();
}

void MakeTag(const Handle<Dataset>& self, const std::string& name, const std::optional<Given>& given) {
  const Dataset& dataset = *self;
  const auto reference = ToReference(given);
  Unwrap(WithoutGil([&] { return CreateTag(dataset, name, reference); }));
}

void MoveTag(const Handle<Dataset>& self, const std::string& name, const std::optional<Given>& given) {
  const Dataset& dataset = *self;
  const auto reference = ToReference(given);
  Unwrap(WithoutGil([&] { return UpdateTag(dataset, name, reference); }));
}

void SetTagMetadata(const Handle<Dataset>& self, const std::string& name, const Options& metadata) {
  const Dataset& dataset = *self;
  Unwrap(WithoutGil([&] { return table::ReplaceTagMetadata(RootOf(dataset), name, metadata); }));
}

void RemoveTag(const Handle<Dataset>& self, const std::string& name) {
  const Dataset& dataset = *self;
  Check(WithoutGil([&] { return table::DeleteTag(RootOf(dataset), name); }));
}

// ---- branches ----

nb::dict ToDict(const table::Branch& branch) {
  nb::list identifier;
  for (const auto& [version, id] : branch.version_mapping) identifier.append(nb::make_tuple(version.value(), id));
  nb::dict dict;
  dict["parent_branch"] = branch.parent_branch;
  dict["branch_identifier"] = identifier;
  dict["parent_version"] = branch.parent_version.value();
  dict["create_at"] = branch.created_at_s;
  dict["manifest_size"] = branch.manifest_size;
  dict["metadata"] = branch.metadata;
  return dict;
}

nb::dict Branches(const Handle<Dataset>& self) {
  const Dataset& dataset = *self;
  nb::dict branches;
  for (const auto& [name, branch] : Unwrap(WithoutGil([&] { return table::ListBranches(RootOf(dataset)); })))
    branches[name.c_str()] = ToDict(branch);
  return branches;
}

void SetBranchMetadata(const Handle<Dataset>& self, const std::string& name, const Options& metadata) {
  const Dataset& dataset = *self;
  Unwrap(WithoutGil([&] { return table::ReplaceBranchMetadata(RootOf(dataset), name, metadata); }));
}

void RemoveBranch(const Handle<Dataset>& self, const std::string& name) {
  const Dataset& dataset = *self;
  Check(WithoutGil([&] { return table::DeleteBranch(RootOf(dataset), name); }));
}

// ---- opening ----

Handle<Dataset> OpenGiven(const Handle<Session>& session, const std::string& uri, const Given& given,
                          const Options& storage_options) {
  Check(session.session()->runtime().CheckProcess());
  const VersionReference reference = ToReference(given);
  auto opened = WithoutGil([&] { return OpenReference(session.session(), uri, reference, storage_options); });
  return Handle<Dataset>(session.session(), Unwrap(std::move(opened)));
}

Handle<Dataset> OpenAtTime(const Handle<Session>& session, const std::string& uri, int64_t time_ns,
                           const Options& storage_options) {
  Check(session.session()->runtime().CheckProcess());
  auto opened = WithoutGil([&] { return OpenAsOf(session.session(), uri, time_ns, storage_options); });
  return Handle<Dataset>(session.session(), Unwrap(std::move(opened)));
}

}  // namespace

void DefineReferences(nb::class_<Handle<Dataset>>& dataset) {
  dataset.def("checkout", &CheckoutGiven, nb::arg("reference"), "A number, the name of a tag, or (branch, number).")
      .def("create_branch", &MakeBranch, nb::arg("name"), nb::arg("reference").none())
      .def("shallow_clone", &MakeClone, nb::arg("target_uri"), nb::arg("reference").none(),
           nb::arg("storage_options").none())
      .def("tags", &Tags, "By name; times in RFC 3339.")
      .def("tag_version", &TagVersion, nb::arg("name"))
      .def("create_tag", &MakeTag, nb::arg("name"), nb::arg("reference").none())
      .def("update_tag", &MoveTag, nb::arg("name"), nb::arg("reference").none())
      .def("replace_tag_metadata", &SetTagMetadata, nb::arg("name"), nb::arg("metadata"))
      .def("delete_tag", &RemoveTag, nb::arg("name"))
      .def("branches", &Branches, "By name.")
      .def("replace_branch_metadata", &SetBranchMetadata, nb::arg("name"), nb::arg("metadata"))
      .def("delete_branch", &RemoveBranch, nb::arg("name"));
}

void DefineOpenings(nb::class_<Handle<Session>>& session) {
  session
      .def("open_reference", &OpenGiven, nb::arg("uri"), nb::arg("reference"), nb::arg("storage_options"),
           "A number, the name of a tag, or (branch, number).")
      .def("open_as_of", &OpenAtTime, nb::arg("uri"), nb::arg("time_ns"), nb::arg("storage_options"),
           "The newest version at or before this time, in nanoseconds since the Unix epoch.");
}

}  // namespace javelin::python
