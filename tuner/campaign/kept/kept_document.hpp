#pragma once

/// What was worked out from a stored campaign and took long, kept for whoever asks the same again: one small JSON file
/// a subject, beside the database.
///
/// A file says what its document rests on: a digest of all that the campaign's model learns from (db::Store), the
/// campaign as the caller read it, and the program. Where one of them differs it is read as none at all, so what is
/// kept is never older than the database. A courtesy, like the heartbeat: where it cannot be written, or is torn,
/// the next one works it out anew.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"

namespace nocturne::tuner {

/// DATABASE-SUBJECT-ID.json
[[nodiscard]] std::filesystem::path kept_file(const std::filesystem::path& database, std::string_view subject,
                                              db::CampaignId campaign);

class KeptDocument {
 public:
  /// `question`: what the document depends on besides the campaign. Reads the database once; the store and the campaign
  /// must outlive it.
  KeptDocument(const db::Store& store, const db::CampaignSummary& campaign, std::string_view subject,
               std::string_view question);

  /// Empty: it must be worked out.
  [[nodiscard]] std::optional<nlohmann::json> read() const;
  /// Does nothing where the database has changed since: nobody knows of which state the document is.
  void write(const nlohmann::json& document) const;

 private:
  [[nodiscard]] std::string basis() const;

  const db::Store& store_;
  const db::CampaignSummary& campaign_;
  std::string question_;
  std::filesystem::path file_;
  std::string basis_;  ///< empty: not known, nothing is kept
};

// Results as KeptDocument has them: plain structs member by member, numbers to the last bit.
//
// A struct is kept by naming its members once, in their order: NOCTURNE_MEMBERS(Interval, lower, upper).

template <typename T>
struct Members;

/// In namespace nocturne::tuner. Members are bound, so that one more is an error of the compiler and never forgotten.
#define NOCTURNE_MEMBERS(type, ...) \
  template <>                       \
  struct Members<type> {            \
    static auto of(auto& it) {      \
      auto& [__VA_ARGS__] = it;     \
      return std::tie(__VA_ARGS__); \
    }                               \
  }

template <typename T>
struct KeptForm;  ///< to(value) and from(json): throws nlohmann::json::exception where it is another type's

template <typename T>
  requires std::is_arithmetic_v<T> || std::same_as<T, std::string>
struct KeptForm<T> {
  static nlohmann::json to(const T& value) { return value; }
  static T from(const nlohmann::json& json) { return json.get<T>(); }
};

template <typename Rep, typename Period>
struct KeptForm<std::chrono::duration<Rep, Period>> {
  static nlohmann::json to(const std::chrono::duration<Rep, Period>& value) { return value.count(); }
  static std::chrono::duration<Rep, Period> from(const nlohmann::json& json) {
    return std::chrono::duration<Rep, Period>(json.get<Rep>());
  }
};

template <typename T>
struct KeptForm<std::optional<T>> {
  static nlohmann::json to(const std::optional<T>& value) {
    return value ? nlohmann::json::array({KeptForm<T>::to(*value)}) : nlohmann::json::array();
  }
  static std::optional<T> from(const nlohmann::json& json) {
    return json.empty() ? std::nullopt : std::optional<T>(KeptForm<T>::from(json.at(0)));
  }
};

template <typename T>
struct KeptForm<std::vector<T>> {
  static nlohmann::json to(const std::vector<T>& values) {
    nlohmann::json list = nlohmann::json::array();
    for (const T& each : values) list.push_back(KeptForm<T>::to(each));
    return list;
  }
  static std::vector<T> from(const nlohmann::json& json) {
    std::vector<T> values;
    for (std::size_t i = 0; i < json.size(); ++i) values.push_back(KeptForm<T>::from(json.at(i)));
    return values;
  }
};

template <typename T>
  requires requires(T& value) { Members<T>::of(value); }
struct KeptForm<T> {
  static nlohmann::json to(const T& value) {
    return std::apply(
        [](const auto&... each) {
          nlohmann::json list = nlohmann::json::array();
          (list.push_back(KeptForm<std::remove_cvref_t<decltype(each)>>::to(each)), ...);
          return list;
        },
        Members<T>::of(value));
  }
  static T from(const nlohmann::json& json) {
    T value{};
    std::apply(
        [&](auto&... each) {
          std::size_t index = 0;
          ((each = KeptForm<std::remove_cvref_t<decltype(each)>>::from(json.at(index++))), ...);
        },
        Members<T>::of(value));
    return value;
  }
};

/// What is kept of a subject, else what `make` gives, kept from then on; its error is not.
template <typename T, typename Make>
[[nodiscard]] std::expected<T, std::string> kept_result(const db::Store& store, const db::CampaignSummary& campaign,
                                                        std::string_view subject, std::string_view question,
                                                        const Make& make) {
  const KeptDocument kept(store, campaign, subject, question);
  if (const auto document = kept.read()) {
    try {
      return KeptForm<T>::from(*document);
    } catch (const nlohmann::json::exception&) {  // not what we wrote
    }
  }
  std::expected<T, std::string> made = make();
  if (made) kept.write(KeptForm<T>::to(*made));
  return made;
}

}  // namespace nocturne::tuner
