#include "measure/environment/pip_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace nocturne::measure {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> signs) {
  return std::ranges::any_of(signs, [text](std::string_view sign) { return text.contains(sign); });
}

/// What follows the last occurrence of `sign`, up to the end of its line.
std::string_view after(std::string_view text, std::string_view sign) {
  const std::size_t at = text.rfind(sign);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + sign.size());
  std::string_view line = rest.substr(0, rest.find('\n'));
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The last line in which pip says "ERROR:", else the last line.
std::string last_error(std::string_view text) {
  const std::string_view error = after(text, "ERROR:");
  return error.empty() ? last_line(text) : std::string(error);
}

/// "    tiny==1.0 from URL (from -r lock.txt (line 1)):\n  Expected sha256 A\n  Got  B": which, and what it is.
std::string exchanged_package(std::string_view text) {
  const std::size_t expected = text.rfind("Expected sha256");
  if (expected == std::string_view::npos) return last_error(text);
  std::string package = last_line(text.substr(0, expected));
  package.erase(0, package.find_first_not_of(' '));
  package.resize(std::min({package.size(), package.find(" (from "), package.rfind(':')}));
  const std::string_view digests = text.substr(expected);
  return fmt::format("{} has SHA-256 {}, not {}", package, after(digests, "Got"), after(digests, "Expected sha256"));
}

}  // namespace

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t begin = text.rfind('\n');
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

std::string end_of_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  text.remove_prefix(text.size() - most);
  const std::size_t line = text.find('\n');
  return std::string(line == std::string_view::npos ? text : text.substr(line + 1));
}

bool index_unreachable(std::string_view output) {
  return has_any(output, {"NewConnectionError", "Temporary failure in name resolution", "Name or service not known",
                          "Network is unreachable", "Connection refused", "Connection reset", "No route to host",
                          "ProxyError", "ConnectTimeoutError", "ReadTimeoutError", "Read timed out", "ConnectionError",
                          "IncompleteRead", "RemoteDisconnected"});
}

// The order matters: without a network pip ends by saying that no version was found.
std::string explain_pip(std::string_view output, const std::filesystem::path& disk) {
  if (has_any(output, {"No space left on device", "Disk quota exceeded"})) {
    return fmt::format("the disk of {} is full: free some space and install again; what was downloaded is kept",
                       disk.string());
  }
  if (has_any(output, {"CERTIFICATE_VERIFY_FAILED", "certificate verify failed"})) {
    return "the certificate of the package index is not trusted: behind a proxy, name its certificates with "
           "`pip config set global.cert FILE`, then install again";
  }
  if (index_unreachable(output)) {
    return "the package index cannot be reached: look at the network, the proxy and `pip config list`, then install "
           "again; what was downloaded is kept";
  }
  if (has_any(output, {"DO NOT MATCH THE HASHES"})) {
    return fmt::format(
        "a package is not the one that was asked for, so nothing was installed: {}. It was damaged on its way, or it "
        "is another file now under the same name: install again, and if it is refused again do not trust where it is "
        "from",
        exchanged_package(output));
  }
  if (has_any(output, {"require-hashes mode", "requirements to have a hash", "Hashes are required"})) {
    return "the lock has hashes for some packages and not for others: export it again where they are installed, with "
           "'nocturne env export'";
  }
  if (has_any(output, {"No matching distribution found", "Could not find a version that satisfies"})) {
    const std::string_view package = after(output, "No matching distribution found for ");
    return fmt::format(
        "the package index has no {} for this Python and processor: it was withdrawn, or the index cannot be reached "
        "or is not a full one; change the recipe's version, or install from an exported lock or bundle",
        package.empty() ? "such package" : package);
  }
  if (has_any(output, {"ResolutionImpossible", "conflicting dependencies"}))
    return fmt::format("the packages contradict one another: {}; change the recipe's versions", last_error(output));
  if (has_any(output, {"File is not a zip file", "BadZipfile", "BadZipFile", "is invalid.", "has an invalid wheel"}))
    return fmt::format("a package is damaged: {}; install again", last_error(output));
  if (has_any(output, {"Failed building wheel", "Could not build wheels", "subprocess-exited-with-error",
                       "Failed to build", "setup.py egg_info", "metadata-generation-failed"})) {
    return fmt::format(
        "a package has to be built from its source here, and that fails: {}; a Python for which there "
        "is a ready package helps",
        last_error(output));
  }
  if (has_any(output, {"requires a different Python"}))
    return fmt::format("a package does not run on this Python: {}; change the recipe's 'python'", last_error(output));
  const std::string said = last_error(output);
  return said.empty() ? "pip failed without a word" : "pip failed: " + said;
}

}  // namespace nocturne::measure
