#include "javelin/file/bit_packing_kernel_internal.h"

namespace javelin::file {
JAVELIN_INSTANTIATE_BIT_PACKING(uint16_t)
}  // namespace javelin::file
