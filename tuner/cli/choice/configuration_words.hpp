#pragma once

/// A configuration as the user writes it on the command line: "precision=bf16,threads=4".

#include <expected>
#include <string>
#include <string_view>

#include "space/configuration.hpp"
#include "space/space.hpp"

namespace nocturne::cli {

/// What is not named is as in `base`; inactive parameters are dropped. Where that is not allowed, one parameter that
/// was not named gives way: the first, at the first of its values, with which all constraints hold
/// ("framework=pytorch-2.15" of a base whose layout is our own trainer's). An option of a user's own command may be
/// named as the command has it ("--batch-size=64"). The error is a sentence: an unknown
/// parameter with the nearest name, a value outside its domain, a constraint that is violated.
[[nodiscard]] std::expected<space::Configuration, std::string> read_configuration(const space::Space& space,
                                                                                  space::Configuration base,
                                                                                  std::string_view words);

}  // namespace nocturne::cli
