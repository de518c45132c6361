#include "javelin/base/error.h"
#include "javelin/memwal/shard_identity_internal.h"

namespace javelin::memwal {

namespace {

// Far below the age at which versions may be pruned.
constexpr Duration kWitnessAge = std::chrono::hours(1);

// Etags alone do not tell: where they are made of the bytes, a shard that was made anew has the same.
bool SameObject(const ObjectInfo& a, const ObjectInfo& b) {
  return a.size == b.size && a.modified_ns == b.modified_ns && a.etag == b.etag;
}

}  // namespace

std::optional<ShardIdentity::Witness> ShardIdentity::witness() const {
  std::lock_guard lock(mutex_);
  return witness_;
}

bool ShardIdentity::bound() const { return witness().has_value(); }

arrow::Status ShardIdentity::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

void ShardIdentity::Advance(Witness witness) {
  std::lock_guard lock(mutex_);
  if (!witness_.has_value() || witness_->version < witness.version) witness_ = std::move(witness);
}

arrow::Result<ObjectInfo> ShardIdentity::Ask(ManifestVersion version) const {
  auto object = store_->Head(paths_.Manifest(version));
  if (object.ok() || HasKind(object.status(), ErrorKind::kNotFound)) return object;
  return WithContext(object.status(),
                     fmt::format("asking for manifest version {} of shard {} again", version, shard_.ToString()));
}

arrow::Status ShardIdentity::Lose(ManifestVersion version, std::string_view what) {
  std::lock_guard lock(mutex_);
  if (lost_.ok()) {
    lost_ = MakeError(ErrorKind::kFencedPeerClaimedEpoch,
                      fmt::format("shard {}: manifest version {}, by which it is held, {}: the table or the shard was "
                                  "removed under its writer; drop this writer and open the table again",
                                  shard_.ToString(), version, what),
                      {{"shard", shard_.ToString()}, {"version", fmt::to_string(version)}});
  }
  return lost_;
}

arrow::Status ShardIdentity::Bind(ManifestVersion claimed, uint64_t size) {
  auto object = Ask(claimed);
  if (HasKind(object.status(), ErrorKind::kNotFound)) return Lose(claimed, "is gone");
  ARROW_RETURN_NOT_OK(object);
  if (object->size != size) return Lose(claimed, "is another one");
  Advance({claimed, *std::move(object)});
  return arrow::Status::OK();
}

arrow::Status ShardIdentity::Check(std::optional<ManifestVersion> held) {
  ARROW_RETURN_NOT_OK(lost());
  const std::optional<Witness> known = witness();
  if (!known.has_value()) return arrow::Status::OK();
  // Asked for first: if the known one is there after that, both are of the same shard.
  const bool old = runtime_.WallTime() - Duration(known->object.modified_ns) >= kWitnessAge;
  std::optional<Witness> next;
  if (old && held.has_value() && *held > known->version) {
    auto object = Ask(*held);
    if (object.ok()) {
      next = Witness{*held, *std::move(object)};
    } else if (!HasKind(object.status(), ErrorKind::kNotFound)) {
      return object.status();
    }
  }
  const auto object = Ask(known->version);
  if (HasKind(object.status(), ErrorKind::kNotFound)) return Lose(known->version, "is gone");
  ARROW_RETURN_NOT_OK(object);
  if (!SameObject(*object, known->object)) return Lose(known->version, "is another one");
  if (next.has_value()) Advance(*std::move(next));
  return arrow::Status::OK();
}

}  // namespace javelin::memwal
