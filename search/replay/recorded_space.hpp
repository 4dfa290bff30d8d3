#pragma once

/// A space whose every configuration was measured by someone: what strategies are judged on without measuring.
///
/// A loader (load.hpp) makes it; replay.hpp runs strategies on it. Immutable once made: may be read by all threads.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "space/configuration.hpp"
#include "space/counting/row_table.hpp"
#include "space/facts.hpp"
#include "space/outcome.hpp"
#include "space/parameter.hpp"
#include "space/space.hpp"

namespace nocturne::search::replay {

/// What a space is created from; kept, so that a wider one can be made (with_dummies()).
struct SpaceDescription {
  std::vector<space::ParameterSpec> parameters;
  std::vector<space::ConstraintSpec> constraints;
  space::Facts facts;                       ///< parameters with one value, which constraints name
  std::optional<space::RowTableSpec> rows;  ///< instead of constraints: only the recorded rows are valid
};

/// The measurements, one entry a row. Rows have no repeated configuration.
struct Rows {
  std::size_t columns = 0;         ///< recorded parameters, those of the space without dummies
  std::vector<space::Cell> cells;  ///< row after row: number of each value
  std::vector<double> objectives;  ///< NaN where it failed
  std::vector<space::Outcome> outcomes;
  std::vector<double> cost_ms;          ///< what the evaluation cost its author; empty, or NaN where not known
  std::vector<float> times;             ///< single measurements of all rows; empty where not recorded
  std::vector<std::size_t> first_time;  ///< index in `times` where each row's begin, one more at the end; or empty

  [[nodiscard]] std::size_t size() const { return objectives.size(); }
  [[nodiscard]] std::span<const space::Cell> row(std::size_t number) const {
    return std::span(cells).subspan(number * columns, columns);
  }
  [[nodiscard]] std::span<const float> times_of(std::size_t number) const;
};

/// The table constraint that admits exactly the rows.
[[nodiscard]] space::RowTableSpec table_of(const SpaceDescription& description, const Rows& rows);

class RecordedSpace {
 public:
  /// Creates the space and checks that the rows are its valid configurations. Where constraints are given and the rows
  /// are others than they allow, the rows are taken as a table and notes() says what differs.
  /// Error: one sentence, without the name of a file: no rows, no row that is ok, a row twice, an objective that is not
  /// a positive finite number, what Space::create() refuses. `notes` come first in notes().
  [[nodiscard]] static std::expected<RecordedSpace, std::string> create(std::string name, std::string kind,
                                                                        SpaceDescription description, Rows rows,
                                                                        std::vector<std::string> notes = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& kind() const { return kind_; }  ///< a word of the source: "gpu-kernel"; or empty
  /// Whether a search chose its rows: they are better than the space is, so that random search among them is no
  /// measure.
  [[nodiscard]] bool chosen_by_search() const { return kind_ == kSearched; }
  static constexpr std::string_view kSearched = "searched-campaign";
  [[nodiscard]] const space::Space& space() const { return *space_; }
  [[nodiscard]] const Rows& rows() const { return rows_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }  ///< sentences a user should read
  /// What one unit of the objectives is, in seconds; 1 where the source does not say.
  [[nodiscard]] double seconds_per_unit() const { return seconds_per_unit_; }
  void set_seconds_per_unit(double seconds) { seconds_per_unit_ = seconds; }
  /// The file or folder it was read from, by its last name; empty: none.
  [[nodiscard]] const std::string& source() const { return source_; }
  void set_source(const std::filesystem::path& path) { source_ = path.filename().string(); }
  /// Objectives of the rows that are ok, ascending; not empty.
  [[nodiscard]] const std::vector<double>& ordered() const { return ordered_; }
  [[nodiscard]] double optimum() const { return ordered_.front(); }

  /// A configuration of the space: its row, and which of the added parameters are set (bit i: dummy i).
  struct Place {
    std::uint32_t row = 0;
    std::uint32_t dummies = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  /// Empty: not in the space. Some hundred nanoseconds, no allocation.
  [[nodiscard]] std::optional<Place> find(const space::Configuration& configuration) const;
  [[nodiscard]] space::Configuration configuration(std::size_t row) const;
  [[nodiscard]] space::Configuration configuration(Place place) const;  ///< includes the added parameters

  static constexpr std::size_t kMaxDummies = 32;
  /// The same rows in a space with so many more boolean parameters (dummy_1, dummy_2, …) that do nothing.
  [[nodiscard]] std::expected<RecordedSpace, std::string> with_dummies(std::size_t count) const;

 private:
  RecordedSpace() = default;
  std::expected<void, std::string> make_space();
  std::expected<void, std::string> choose_default();
  std::expected<void, std::string> index_rows();
  [[nodiscard]] std::expected<void, std::string> check_rows() const;

  std::string name_;
  std::string kind_;
  std::string source_;
  SpaceDescription description_;
  std::optional<space::Space> space_;
  Rows rows_;
  std::vector<std::uint32_t> slots_;  // open addressing: number of a row by the hash of its cells
  std::vector<double> ordered_;
  std::vector<std::string> notes_;
  std::size_t dummies_ = 0;
  double seconds_per_unit_ = 1;
};

}  // namespace nocturne::search::replay
