#include "javelin/dataset/session.h"

namespace javelin {

std::shared_ptr<Session> Session::Make() { return std::make_shared<Session>(MakeResources(MakeThreadRuntime())); }

}  // namespace javelin
