#include "src/handle.h"

#include <cxxabi.h>
#include <unistd.h>

namespace javelin::python {

GilRelease::~GilRelease() {
  try {
    PyEval_RestoreThread(state_);
  } catch (const abi::__forced_unwind&) {
    for (;;) pause();
  }
}

void LetGo(std::shared_ptr<Session> session, std::shared_ptr<void> object) {
  if (!session->runtime().CheckProcess().ok()) {
    new std::pair(std::move(session), std::move(object));  // leaked on purpose
    return;
  }
  WithoutGilIfHeld([&] {
    object.reset();
    session.reset();
  });
}

}  // namespace javelin::python
