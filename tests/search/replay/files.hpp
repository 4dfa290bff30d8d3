#pragma once

/// Small files for the readers of recorded spaces, in a folder of their own.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "search/replay/load.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {

class Files {
 public:
  /// The path of a new file.
  std::filesystem::path write(const std::string& name, std::string_view text) const;
  std::filesystem::path write_gzip(const std::string& name, std::string_view text) const;
  /// A folder with space.json and results.csv.
  std::filesystem::path write_space(const std::string& name, std::string_view description,
                                    std::string_view results) const;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

/// The one space in these files; fails the test where it cannot be read.
search::replay::RecordedSpace loaded(const std::vector<std::filesystem::path>& paths);
/// Why they cannot be read; fails the test where they can.
std::string refusal(const std::vector<std::filesystem::path>& paths);

/// A space with four rows: a in 1, 2, 4; b in x, y; a * 10 < 40 or b == 'x'; (2, y) failed to compile.
///   (1, x) 8   (1, y) 2   (2, x) 4   (2, y) failed   (4, x) 16
inline constexpr std::string_view kTinyDescription = R"({
  "name": "tiny", "kind": "made-up", "parameters": [
    {"name": "a", "type": "ordinal", "values": [1, 2, 4]},
    {"name": "b", "type": "categorical", "values": ["x", "y"]}],
  "fixed": {"limit": 40}, "constraints": ["a * 10 < limit or b == 'x'"], "constraints_exact": true})";
inline constexpr std::string_view kTinyResults =
    "a,b,objective,status,cost_ms,times\n"
    "1,x,8,ok,100,7.5;8.5\n"
    "1,y,2,ok,50,2\n"
    "2,x,4,ok,,\n"
    "2,y,,compile,10,\n"
    "4,x,16,ok,100,16;16;16\n";

}  // namespace nocturne::test
