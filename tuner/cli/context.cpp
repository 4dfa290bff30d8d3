#include "tuner/cli/context.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "tuner/cli/output/layout.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string, std::less<>> process_environment() {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

/// 0: no terminal, or one that does not know.
std::size_t terminal_columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::optional<std::string> Context::variable(std::string_view name) const {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

fs::path Context::data_folder() const {
  if (!data_option.empty()) return fs::absolute(data_option).lexically_normal();
  if (const auto named = variable("NOCTURNE_DATA")) return fs::absolute(*named).lexically_normal();
  // The XDG base directory specification: a relative path in XDG_DATA_HOME is to be ignored.
  if (const auto shared = variable("XDG_DATA_HOME"); shared && fs::path(*shared).is_absolute())
    return (fs::path(*shared) / "nocturne").lexically_normal();
  const auto home = variable("HOME");
  return (fs::path(home.value_or("/")) / ".local/share/nocturne").lexically_normal();
}

fs::path Context::database() const {
  if (!database_option.empty()) return fs::absolute(database_option).lexically_normal();
  return data_folder() / "nocturne.db";
}

fs::path Context::configuration_folder() const {
  if (const auto named = variable("XDG_CONFIG_HOME"); named && fs::path(*named).is_absolute())
    return (fs::path(*named) / "nocturne").lexically_normal();
  const auto home = variable("HOME");
  return home ? (fs::path(*home) / ".config/nocturne").lexically_normal() : fs::path();
}

fs::path Context::recipes_folder() const {
  const fs::path folder = configuration_folder();
  return folder.empty() ? folder : folder / "recipes";
}

fs::path Context::image_recipes_folder() const {
  const fs::path folder = configuration_folder();
  return folder.empty() ? folder : folder / "images";
}

bool Context::colour_out() const {
  return out_is_terminal && !variable("NO_COLOR") && variable("TERM").value_or("") != "dumb";
}

bool Context::colour_err() const {
  return err_is_terminal && !variable("NO_COLOR") && variable("TERM").value_or("") != "dumb";
}

std::expected<void, std::string> Context::make_folders() const {
  std::error_code error;
  const fs::path folder = data_folder();
  const bool is_new = !fs::exists(folder, error);
  for (const fs::path& each : {folder, runs_folder(), builds_folder(), profiles_folder()}) {
    fs::create_directories(each, error);
    if (error) return std::unexpected(fmt::format("cannot make the folder {}: {}", each.string(), error.message()));
  }
  if (is_new) {
    fs::permissions(folder, fs::perms::owner_all, error);
    if (error) return std::unexpected(fmt::format("cannot keep {} private: {}", folder.string(), error.message()));
  }
  return {};
}

Context process_context() {
  Context context;
  context.in = &std::cin;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  context.err_is_terminal = isatty(STDERR_FILENO) == 1;
  context.environment = process_environment();
  context.columns = page_columns(context.variable("COLUMNS").value_or(""),
                                 terminal_columns(context.out_is_terminal ? STDOUT_FILENO : STDERR_FILENO));
  return context;
}

}  // namespace nocturne::cli
