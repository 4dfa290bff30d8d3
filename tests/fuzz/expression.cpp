// An expression of constraints, conditions and bounds: an error with its place, or a value, or an error while it is
// evaluated; for every value of the parameters.

#include <cstdlib>
#include <vector>

#include "space/expression/expression.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {

using namespace nocturne::space;

std::vector<Parameter> parameters() {
  Parameter threads{.name = "threads", .kind = Kind::Integer, .default_value = std::int64_t{1}};
  threads.lower = 1;
  threads.steps = 8;
  Parameter precision{.name = "precision", .kind = Kind::Categorical, .default_value = std::string("f32")};
  precision.values = {std::string("f32"), std::string("bf16")};
  Parameter lto{.name = "lto", .kind = Kind::Boolean, .default_value = false};
  lto.values = {false, true};
  Parameter rate{.name = "rate", .kind = Kind::Real, .default_value = 0.5};
  rate.real_upper = 1;
  return {threads, precision, lto, rate};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Parameter> known = parameters();
  static const Facts facts(
      {{"machine.cores", std::int64_t{8}}, {"machine.isa", std::vector<std::string>{"avx2", "avx512_bf16"}}});
  const std::string_view text = nocturne::fuzz::as_text(data, size);
  const auto expression = Expression::parse(text, known, facts);
  if (!expression) {
    if (expression.error().message.empty() || expression.error().position > size) std::abort();
    static_cast<void>(expression.error().excerpt(text));
    return 0;
  }
  for (const std::int64_t threads : {std::int64_t{0}, std::int64_t{8}, INT64_MIN, INT64_MAX}) {
    for (const double rate : {0.0, -1e308, 0.5}) {
      const std::vector<Value> values = {threads, std::string("bf16"), threads == 8, rate};
      static_cast<void>(expression->evaluate(values));
      static_cast<void>(expression->holds(values));
    }
  }
  return 0;
}
