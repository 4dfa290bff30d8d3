#pragma once

/// What expressions may know of the machine: machine.cores, machine.memory_bytes, machine.isa, machine.compilers, …

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nocturne::space {

using Fact = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// A plain value: full names ("machine.cores") to facts. Who measures the machine fills it.
class Facts {
 public:
  using Map = std::map<std::string, Fact, std::less<>>;

  Facts() = default;
  explicit Facts(Map facts) : facts_(std::move(facts)) {}

  void set(std::string_view name, Fact fact) { facts_.insert_or_assign(std::string(name), std::move(fact)); }
  [[nodiscard]] const Fact* find(std::string_view name) const {
    const auto found = facts_.find(name);
    return found == facts_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Map& all() const { return facts_; }

  friend bool operator==(const Facts&, const Facts&) = default;

 private:
  Map facts_;
};

}  // namespace nocturne::space
