// What the metadata of a field asks of the encodings of its column (docs/format.md, "Data files: what we write").
#pragma once

namespace javelin::file {

// As it is: nothing is asked, every page chooses by what it holds.
struct EncodingWishes {};

}  // namespace javelin::file
