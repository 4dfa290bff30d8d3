#include "tuner/cli/output/layout.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "space/parse_number.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
namespace {

constexpr std::size_t kLeastColumns = 40, kUsualColumns = 80, kMostColumns = 120;
constexpr std::string_view kProgram = "nocturne ";

/// Bytes of the character or escape sequence (ESC [ … letter) at the beginning of the text.
struct Glyph {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

Glyph first_glyph(std::string_view text) {
  std::size_t end = 1;
  if (text.starts_with("\x1b[")) {
    end = 2;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return {.bytes = std::min(end + 1, text.size()), .columns = 0};
  }
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
  return {.bytes = end, .columns = 1};
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

/// Bytes of the most characters that fit in `width` columns.
std::size_t bytes_within(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  for (std::size_t columns = 0; bytes < text.size();) {
    const Glyph glyph = first_glyph(text.substr(bytes));
    columns += glyph.columns;
    if (columns > width) break;
    bytes += glyph.bytes;
  }
  return bytes;
}

std::string_view without_spaces_before(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::string_view without_spaces_behind(std::string_view text) {
  const auto last = text.find_last_not_of(' ');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// How much of a word that is too long stays in a line of `width`: up to a comma, slash, equals sign, hyphen or
/// underscore in its second half, else all that fits.
std::size_t part_of_word(std::string_view word, std::size_t width) {
  // At least one character, or a narrow terminal would never get to the end.
  const std::size_t fits = std::max<std::size_t>(bytes_within(word, width), first_glyph(word).bytes);
  const auto mark = word.substr(0, fits).find_last_of(",/=-_");
  return mark != std::string_view::npos && mark >= fits / 2 ? mark + 1 : fits;
}

/// The end of a command of ours in single quotes that begins here, closing quote included; 0: none does.
std::size_t quoted_command(std::string_view text) {
  if (!text.starts_with('\'')) return 0;
  const auto end = text.find('\'', 1);
  if (end == std::string_view::npos) return 0;
  const std::string_view inside = text.substr(1, end - 1);
  const auto program = inside.substr(0, inside.find(' '));
  return program == "nocturne" || program.ends_with("/nocturne") ? end + 1 : 0;
}

/// Where a line of `room` columns is best broken: at the last space before it is full, else at the first behind. Not
/// before `from`, and not within a command that fits on a line. npos: nowhere.
std::size_t break_of(std::string_view text, std::size_t from, std::size_t room) {
  std::size_t found = std::string_view::npos, columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t command = quoted_command(text.substr(i)); command > 0 && command <= room) {
      columns += columns_of(text.substr(i, command));
      i += command;
      continue;
    }
    if (text[i] == ' ' && i >= from) {
      if (columns <= room) found = i;
      if (columns > room) return found == std::string_view::npos ? i : found;
    }
    const Glyph glyph = first_glyph(text.substr(i));
    columns += glyph.columns;
    i += glyph.bytes;
  }
  return found;
}

struct Hanging {
  std::size_t from = 0;  ///< byte of the line where its text begins
  std::string indent;    ///< indent of the lines that follow
};

Hanging hanging_of(std::string_view line, std::size_t width) {
  const std::size_t leading = std::min(line.find_first_not_of(' '), line.size());
  Hanging hanging{.from = leading, .indent = std::string(leading, ' ')};
  if (line.substr(leading).starts_with("| ")) return {.from = leading + 2, .indent = hanging.indent + "| "};
  // Two spaces part a label from its text, and a column from the next: what follows hangs below the text.
  for (auto gap = line.find("  ", leading); gap != std::string_view::npos;) {
    const auto text = line.find_first_not_of(' ', gap);
    if (text == std::string_view::npos || columns_of(line.substr(0, text)) > width / 2) break;
    hanging = {.from = text, .indent = std::string(columns_of(line.substr(0, text)), ' ')};
    if (leading == 0) break;  // a label; what is indented may be a row with several columns
    gap = line.find("  ", text);
  }
  return hanging;
}

/// A line of examples: spaces, a command of ours, and perhaps, behind two spaces, what it does.
std::string laid_out_example(std::string_view line, std::size_t leading, std::size_t width) {
  const auto gap = line.find("  ", leading);
  const std::string indent(leading, ' ');
  std::string text = indent + broken_command(line.substr(leading, gap - leading), leading, width);
  if (gap != std::string_view::npos)
    text += '\n' + laid_out(indent + "    " + std::string(without_spaces_before(line.substr(gap))), width);
  return text;
}

std::string laid_out_line(std::string_view line, std::size_t width) {
  if (columns_of(line) <= width) return std::string(line);
  const Hanging hanging = hanging_of(line, width);
  const std::size_t leading = std::min(line.find_first_not_of(' '), line.size());
  if (leading > 0 && hanging.from == leading && line.substr(leading).starts_with(kProgram))
    return laid_out_example(line, leading, width);
  std::string text;
  std::size_t from = hanging.from, room = width;
  while (columns_of(line) > room) {
    const std::size_t at = break_of(line, from, room);
    // A shell command goes on behind a backslash: alone on a line it would end the command there.
    if (at == std::string_view::npos || without_spaces_before(line.substr(at)) == "\\") break;
    text.append(without_spaces_behind(line.substr(0, at))).append("\n").append(hanging.indent);
    line = without_spaces_before(line.substr(at));
    from = 0;
    room = width - std::min(width, columns_of(hanging.indent));
  }
  return text.append(line);
}

/// Calls `use` with each line, without its end, and whether it has one.
template <typename Use>
void each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    use(text.substr(0, end), end != std::string_view::npos);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

/// Words of a shell command, quotes and all.
std::vector<std::string_view> command_words(std::string_view command) {
  std::vector<std::string_view> words;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= command.size(); ++i) {
    if (i < command.size()) {
      const char byte = command[i];
      if (byte == '\\' && quote != '\'') {
        ++i;
        continue;
      }
      if (quote != 0) {
        quote = byte == quote ? '\0' : quote;
        continue;
      }
      if (byte == '\'' || byte == '"') quote = byte;
      if (byte != ' ') continue;
    }
    if (i > begin && begin < command.size()) words.push_back(command.substr(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

}  // namespace

std::size_t page_columns(std::string_view named, std::size_t terminal) {
  std::size_t columns = space::parse_number<std::size_t>(named).value_or(0);
  if (columns == 0) columns = terminal > 0 ? std::min(terminal, kMostColumns) : kUsualColumns;
  return std::max(columns, kLeastColumns);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!lines.back().empty()) {
      if (display_width(lines.back()) + 1 + display_width(word) <= width) {
        lines.back().append(" ").append(word);
        continue;
      }
      lines.emplace_back();
    }
    while (display_width(word) > width) {
      const std::size_t part = part_of_word(word, width);
      lines.back() = word.substr(0, part);
      lines.emplace_back();
      word.remove_prefix(part);
    }
    lines.back() = word;
  }
  return lines;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    longest = std::max(longest, display_width(word));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return longest;
}

std::string laid_out(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string page;
  each_line(text, [&](std::string_view line, bool ends) {
    page += laid_out_line(line, width);
    if (ends) page += '\n';
  });
  return page;
}

std::string filled(std::string_view text) {
  const auto is_text = [](std::string_view line) { return !line.empty() && line.front() != ' '; };
  std::string paragraphs;
  bool joins = false;
  each_line(text, [&](std::string_view line, bool ends) {
    if (!paragraphs.empty()) paragraphs += joins && is_text(line) ? ' ' : '\n';
    paragraphs += line;
    joins = is_text(line) && ends;
  });
  return text.ends_with('\n') ? paragraphs + '\n' : paragraphs;
}

std::string broken_command(std::string_view command, std::size_t column, std::size_t width) {
  if (width == 0 || column + columns_of(command) <= width) return std::string(command);
  constexpr std::string_view kGoesOn = " \\\n";
  const std::string indent(column + 4, ' ');
  std::string text;
  std::size_t used = column;
  for (const std::string_view word : command_words(command)) {
    const std::size_t needed = columns_of(word);
    if (text.empty()) {
      text = word;
      used += needed;
    } else if (used + 1 + needed + 2 <= width) {  // two for " \"
      text.append(" ").append(word);
      used += 1 + needed;
    } else {
      text.append(kGoesOn).append(indent).append(word);
      used = indent.size() + needed;
    }
  }
  return text;
}

Page::Page(Context& context)
    : std::ostream(nullptr), context_(context), sink_(*context.out), buffer_(sink_, context.columns) {
  rdbuf(&buffer_);
  // Some output must not be laid out (JSON, a script): it goes there directly.
  context.behind_page = &sink_;
  context.out = this;
}

Page::~Page() {
  flush();
  context_.out = &sink_;
  context_.behind_page = nullptr;
}

bool Page::Buffer::forward(std::string_view text) {
  return sink_.sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
         static_cast<std::streamsize>(text.size());
}

std::streamsize Page::Buffer::xsputn(const char* text, std::streamsize size) {
  std::string_view rest(text, static_cast<std::size_t>(size));
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    line_ += rest.substr(0, end);
    if (end == std::string_view::npos) break;
    const std::string whole = (broken_off_ ? line_ : laid_out(line_, width_)) + '\n';
    line_.clear();
    broken_off_ = false;
    if (!forward(whole)) return 0;
    rest.remove_prefix(end + 1);
  }
  return size;
}

Page::Buffer::int_type Page::Buffer::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char one = traits_type::to_char_type(byte);
  return xsputn(&one, 1) == 1 ? byte : traits_type::eof();
}

int Page::Buffer::sync() {
  const bool done = line_.empty() || forward(line_);
  broken_off_ = broken_off_ || !line_.empty();
  line_.clear();
  return done && sink_.pubsync() == 0 ? 0 : -1;
}

void print_line(const Context& context, const std::string& heading, const std::string& sentence) {
  constexpr std::size_t kIndent = 10;
  const std::size_t width = context.columns;
  const auto lines = wrapped(sentence, width > 2 * kIndent ? width - kIndent : sentence.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    *context.out << fmt::format("{:<{}}{}\n", i == 0 ? heading : "", kIndent, lines[i]);
}

void print_command(const Context& context, std::string_view heading, std::string_view command) {
  constexpr std::size_t kColumn = 10;
  *context.out << fmt::format("{:<{}}{}\n", heading, kColumn,
                              printable(broken_command(command, kColumn, context.columns)));
}

}  // namespace nocturne::cli
