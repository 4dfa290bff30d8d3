#pragma once

/// A search by ask and tell: `auto` (or another strategy) for whoever measures the objective himself.
///
/// It lives in a folder, whose database is its only memory: asks and tells are stored in their order before anybody
/// hears of them, and are replayed when the folder is opened again, by this process or by another. What was asked and
/// not told is pending, and the strategy knows.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "search/rescaled_search.hpp"
#include "space/space.hpp"
#include "tuner/ask_tell/answer_line.hpp"
#include "tuner/campaign_file/space_file.hpp"

namespace nocturne::tuner {

/// Where the folder keeps it. Readable as any database of ours.
[[nodiscard]] std::filesystem::path search_database(const std::filesystem::path& folder);

/// How a search stands.
struct SearchStanding {
  std::int64_t finished = 0, failed = 0, pending = 0;
  std::optional<space::Trial> best{};  ///< with the user's own value
};

/// Not thread-safe; other processes wait while one has the folder open. Throws db::Error where the database is when
/// something fails.
class AskTell {
 public:
  enum class Refused { NoSearch, OtherSpace, Busy };
  struct Error {
    Refused kind;
    std::string sentence;
  };
  /// Opens the search of a folder, or begins it with `file` (null: it must be there already). Where another process
  /// has it open, waits for it up to `patience`. The errors are sentences.
  [[nodiscard]] static std::expected<std::unique_ptr<AskTell>, Error> open(const std::filesystem::path& folder,
                                                                           const SpaceFile* file,
                                                                           std::chrono::milliseconds patience);
  AskTell(const AskTell&) = delete;  // the strategy refers to the space
  AskTell& operator=(const AskTell&) = delete;
  ~AskTell();

  /// Up to `count` configurations that were never asked, one after the other, each stored. Empty: nothing is left.
  /// The first of all is the default, where the space file names one.
  [[nodiscard]] std::vector<db::AskAnswer> ask(std::size_t count);
  /// Stores an answer and gives the number of its trial; may come again and replaces the earlier one. The error is a
  /// sentence.
  [[nodiscard]] std::expected<std::int64_t, std::string> tell(const AnswerLine& answer);

  [[nodiscard]] SearchStanding standing() const;
  [[nodiscard]] const space::Space& space() const { return space_; }
  /// Sentences: what a user should know of how it goes on from before; each is given once.
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  AskTell(db::Store store, const db::CampaignRecord& record, db::CampaignHandle handle, space::Space space);
  /// The strategy, brought to where it was.
  search::Strategy& strategy();
  [[nodiscard]] std::unique_ptr<search::Strategy> make_strategy() const;
  void record_ask(const db::AskAnswer& asked, const std::string& strategy);
  [[nodiscard]] std::vector<space::Configuration> in_flight() const;
  /// The number to be told: what was asked, or a new one for a configuration that nobody asked for.
  [[nodiscard]] std::expected<std::int64_t, std::string> number_of(const AnswerLine& answer);

  db::Store store_;
  db::CampaignId campaign_;
  std::string strategy_name_;
  std::int64_t seed_;
  search::ValueRule values_;
  bool names_default_;
  space::Space space_;
  std::unique_ptr<search::Strategy> strategy_;
  std::int64_t next_number_ = 0;
  std::map<std::int64_t, space::Configuration> pending_;
  std::map<std::int64_t, space::Trial> told_;
  std::vector<std::string> notes_;
};

}  // namespace nocturne::tuner
