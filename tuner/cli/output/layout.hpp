#pragma once

/// The one place that breaks lines: pages, helps and cells of tables are laid out for a width here. Widths count
/// characters as display_width() does, without the escape sequences of colours.

#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct Context;

/// Columns a page has: what `named` ($COLUMNS) says where it is a number, else the terminal's (0: there is none), but
/// at most 120, for longer lines are hard to read, else 80. At least 40.
[[nodiscard]] std::size_t page_columns(std::string_view named, std::size_t terminal);

/// In lines of at most `width` characters, broken at spaces; a word that is longer is broken behind a comma, slash,
/// equals sign, hyphen or underscore, or anywhere. At least one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// The longest word of the text.
[[nodiscard]] std::size_t longest_word(std::string_view text);

/// Breaks the lines that are wider than `width` (0: any width will do) at their spaces. What follows is indented as the
/// text of the line: behind its leading spaces, and behind a label, which ends with two spaces or more. Words without a
/// space (paths, addresses) stay whole. A command of ours in single quotes stays on one line; a line that is a command
/// of ours, as examples are, is broken as broken_command() does.
[[nodiscard]] std::string laid_out(std::string_view text, std::size_t width);

/// Joins the lines of each paragraph: lines that follow each other and begin without a space.
[[nodiscard]] std::string filled(std::string_view text);

/// A command for a POSIX shell in lines that end in a backslash and can be pasted. `column`: where it begins on its
/// line; lines that follow are indented by four more. Quoted words stay whole. `width` 0: one line.
[[nodiscard]] std::string broken_command(std::string_view command, std::size_t column, std::size_t width);

/// Lays out each line that is written on `context.out` while it lives, for the context's columns. What is flushed
/// before the end of its line goes as it is. Errors of the stream behind it are errors of this one. Not thread-safe;
/// context and stream outlive it.
class Page : public std::ostream {
 public:
  explicit Page(Context& context);
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() override;

 private:
  class Buffer : public std::streambuf {
   public:
    Buffer(std::ostream& sink, std::size_t width) : sink_(*sink.rdbuf()), width_(width) {}

   protected:
    int_type overflow(int_type byte) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

   private:
    bool forward(std::string_view text);
    std::streambuf& sink_;
    std::size_t width_;
    std::string line_;         ///< what has no end yet
    bool broken_off_ = false;  ///< the line's beginning was flushed
  };

  Context& context_;
  std::ostream& sink_;
  Buffer buffer_;
};

/// A line of an answer page: a heading and a sentence, which may take several lines.
void print_line(const Context& context, const std::string& heading, const std::string& sentence);

/// "Apply it  nocturne apply PROFILE -- COMMAND" on context.out: a command for a shell in the column of a page's texts,
/// behind a heading of at most nine characters or none; in several lines with backslashes where the page is narrow.
void print_command(const Context& context, std::string_view heading, std::string_view command);

}  // namespace nocturne::cli
