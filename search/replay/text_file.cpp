#include "search/replay/text_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <vector>

#include "space/json_field.hpp"

namespace nocturne::search::replay {
namespace {

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, Close>;

constexpr unsigned kBlock = 1U << 20U;

}  // namespace

std::expected<std::string, std::string> read_text(const std::filesystem::path& file, std::size_t most) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return std::unexpected(fmt::format("{}: {}", file.string(), error ? error.message() : "no regular file"));
  // zlib reads what is not gzip as it is.
  const GzipFile opened(gzopen(file.c_str(), "rb"));
  if (!opened) return std::unexpected(fmt::format("{}: cannot be opened", file.string()));
  (void)gzbuffer(opened.get(), kBlock);
  std::string text;
  std::vector<char> block(kBlock);
  while (true) {
    const int got = gzread(opened.get(), block.data(), kBlock);
    if (got < 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return std::unexpected(fmt::format("{}: more than {} bytes unpacked", file.string(), most));
    if (static_cast<unsigned>(got) < kBlock) break;
  }
  int code = Z_OK;
  const char* message = gzerror(opened.get(), &code);
  if (code == Z_BUF_ERROR) {
    return std::unexpected(
        fmt::format("{}: it ends in the middle of its gzip data, after {} bytes unpacked", file.string(), text.size()));
  }
  if (code != Z_OK && code != Z_STREAM_END) {
    return std::unexpected(fmt::format("{}: damaged after {} bytes unpacked ({})", file.string(), text.size(),
                                       code == Z_ERRNO ? "cannot be read" : message));
  }
  return text;
}

std::string place_in(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const auto last = before.rfind('\n');
  const auto column = last == std::string_view::npos ? before.size() + 1 : before.size() - last;
  return fmt::format("{}:{}", line, column);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string excerpt(std::string_view text, std::size_t most) {
  std::string result;
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  // Not in the middle of a character of UTF-8.
  if (text.size() > most) {
    while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0xC0U) == 0x80U) result.pop_back();
    if (!result.empty() && (static_cast<unsigned char>(result.back()) & 0x80U) != 0) result.pop_back();
    result += "…";
  }
  return result;
}

std::expected<nlohmann::json, std::string> parse_json(std::string_view text, const std::filesystem::path& file) {
  if (const auto offset = space::bracket_within(text, kMaxJsonDepth)) {
    return std::unexpected(fmt::format("{}:{}: brackets are nested more than {} deep", file.string(),
                                       place_in(text, *offset), kMaxJsonDepth));
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const auto offset = error.byte == 0 ? 0 : error.byte - 1;
    if (offset >= text.size())
      return std::unexpected(
          fmt::format("{}:{}: the JSON ends here, before its end", file.string(), place_in(text, text.size())));
    return std::unexpected(fmt::format("{}:{}: no JSON: found '{}'", file.string(), place_in(text, offset),
                                       excerpt(text.substr(offset), 20)));
  } catch (const nlohmann::json::exception& error) {  // a number out of range
    return std::unexpected(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace nocturne::search::replay
