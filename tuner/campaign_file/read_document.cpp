#include <utility>

#include <fmt/format.h>

#include "tuner/campaign_file/document_positions.hpp"
#include "tuner/campaign_file/syntax_error.hpp"
#include "tuner/campaign_file/text_cursor.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

/// Builds the value and its places from the parser's events; each event is one token, which the cursor steps over.
class PlacingReader final : public nlohmann::json_sax<Json> {
 public:
  PlacingReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)), cursor_(text) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(std::int64_t v) override { return value(v); }
  bool number_unsigned(std::uint64_t v) override { return value(v); }
  bool number_float(double v, const std::string&) override { return value(v); }
  bool string(std::string& v) override { return short_enough(v) && value(std::move(v)); }
  bool binary(Json::binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    Open& object = open_.back();
    const std::size_t offset = cursor_.next_token();
    if (!short_enough(name)) return false;
    object.key = name;
    object.key_offset = offset;
    const std::string pointer = pointer_to(object.pointer, name);
    if (const auto earlier = document_.places.find(pointer); earlier != document_.places.end()) {
      refuse(offset, pointer,
             fmt::format("key {} stands here for the second time; first on line {}", shown(name),
                         earlier->second.key_line),
             "each key once");
    }
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string&, const Json::exception& error) override {
    problems_.push_back(syntax_problem({.message = error.what(),
                                        .bytes_read = bytes_read,
                                        .pointer = open_.empty() ? "" : open_.back().pointer,
                                        .opened_at = open_.empty() ? std::string_view::npos : open_.back().offset},
                                       cursor_, text_, file_));
    return false;
  }

  std::expected<Document, std::vector<Problem>> result() {
    if (!problems_.empty()) return std::unexpected(std::move(problems_));
    return std::move(document_);
  }

 private:
  struct Open {
    Json* container;
    std::string pointer;
    std::size_t offset;  ///< where its bracket stands
    std::string key{};   ///< last key read, of an object
    std::size_t key_offset = 0;
  };

  /// Puts `v` where it belongs and notes its place; null where the document grows too large.
  Json* place(Json v, std::size_t offset) {
    if (document_.places.size() >= kMostValues) {
      refuse(offset, open_.back().pointer, fmt::format("more than {} values", kMostValues), "a smaller file");
      return nullptr;
    }
    Json* target = &document_.value;
    std::string pointer;
    std::size_t key_offset = offset;
    if (!open_.empty() && open_.back().container->is_array()) {
      Json& array = *open_.back().container;
      pointer = pointer_to(open_.back().pointer, array.size());
      array.push_back(std::move(v));
      target = &array.back();
    } else if (!open_.empty()) {
      pointer = pointer_to(open_.back().pointer, open_.back().key);
      key_offset = open_.back().key_offset;
      target = &(*open_.back().container)[open_.back().key];
      *target = std::move(v);
    } else {
      *target = std::move(v);
    }
    const LineColumn at = cursor_.position(offset), key_at = cursor_.position(key_offset);
    document_.places.insert_or_assign(pointer, Place{file_, pointer, at.line, at.column, key_at.line, key_at.column});
    last_pointer_ = std::move(pointer);
    return target;
  }

  bool value(Json v) { return place(std::move(v), cursor_.next_token()) != nullptr; }

  bool open(Json container) {
    const std::size_t offset = cursor_.next_token();
    if (open_.size() >= kDeepestNesting) {
      refuse(offset, open_.back().pointer, fmt::format("more than {} brackets inside each other", kDeepestNesting), {});
      return false;
    }
    Json* const placed = place(std::move(container), offset);
    if (placed == nullptr) return false;
    open_.push_back({.container = placed, .pointer = last_pointer_, .offset = offset});
    return true;
  }

  bool close() {
    cursor_.next_token();
    open_.pop_back();
    return true;
  }

  bool short_enough(const std::string& text) {
    if (text.size() <= kLongestStringBytes) return true;
    TextCursor ahead = cursor_;
    refuse(ahead.next_token(), open_.empty() ? "" : open_.back().pointer,
           fmt::format("a text of {} bytes", text.size()), fmt::format("at most {} bytes", kLongestStringBytes));
    return false;
  }

  void refuse(std::size_t offset, const std::string& pointer, std::string found, std::string allowed) {
    const LineColumn at = cursor_.position(offset);
    problems_.push_back({.file = file_,
                         .pointer = pointer,
                         .line = at.line,
                         .column = at.column,
                         .found = std::move(found),
                         .allowed = std::move(allowed)});
  }

  std::string_view text_;
  std::string file_;
  TextCursor cursor_;
  Document document_;
  std::vector<Open> open_;
  std::string last_pointer_;
  std::vector<Problem> problems_;
};

}  // namespace

std::expected<Document, std::vector<Problem>> read_document(std::string_view text, const std::string& file) {
  const auto refused = [&](std::string found, std::string allowed) {
    return std::unexpected(
        std::vector{Problem{.file = file, .found = std::move(found), .allowed = std::move(allowed)}});
  };
  if (text.size() > kLargestFileBytes) {
    return refused("the file is too large", fmt::format("at most {} bytes", kLargestFileBytes));
  }
  // The parser takes a zero byte for the end of the text and would not see what stands behind it.
  if (text.find('\0') != std::string_view::npos) return refused("the file contains a zero byte", "text in UTF-8");
  PlacingReader reader(text, file);
  Json::sax_parse(text.begin(), text.end(), &reader, nlohmann::detail::input_format_t::json, true, true);
  return reader.result();
}

}  // namespace nocturne::tuner
