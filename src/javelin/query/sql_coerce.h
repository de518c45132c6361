// Which type two sides of an operator meet in, and which literals a column's type can hold.
#pragma once

#include <memory>

#include <arrow/scalar.h>
#include <arrow/type.h>

namespace javelin::query {

// The literal as a value of the type, exactly; null if the type cannot hold it. Whole numbers fit integers (in range),
// floats and decimals; other numbers floats only; text fits text, binary binary of the right width, and so on.
std::shared_ptr<arrow::Scalar> CoerceLiteral(const std::shared_ptr<arrow::Scalar>& literal,
                                             const std::shared_ptr<arrow::DataType>& type);

// The type in which two values are compared; null if there is none. Both are types of SqlTypeOf.
std::shared_ptr<arrow::DataType> CommonType(const std::shared_ptr<arrow::DataType>& a,
                                            const std::shared_ptr<arrow::DataType>& b);

// The type in which two numbers are added and so on; null if one is no number. Integers wrap in it; a decimal with a
// float is a float.
std::shared_ptr<arrow::DataType> CommonNumber(const std::shared_ptr<arrow::DataType>& a,
                                              const std::shared_ptr<arrow::DataType>& b);

// The decimal that holds every value of an integer type.
std::shared_ptr<arrow::DataType> DecimalOfInteger(const arrow::DataType& type);

}  // namespace javelin::query
