#include "tuner/campaign_file/extends.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// ---- reading -------------------------------------------------------------------------------------------------------

/// What stands at the path instead of a file with bytes; opening or reading it might never end.
std::string_view no_file(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "is a folder";
    case fs::file_type::fifo:
      return "is a pipe (FIFO), no file";
    case fs::file_type::socket:
      return "is a socket, no file";
    case fs::file_type::character:
    case fs::file_type::block:
      return "is a device, no file";
    default:
      return "";
  }
}

/// At most one byte more than is allowed is read, so that an endless file ends here.
std::expected<std::string, std::string> read_bounded(const fs::path& path) {
  std::error_code ignored;
  if (const auto other = no_file(fs::status(path, ignored).type()); !other.empty())
    return std::unexpected(std::string(other));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::unexpected(fmt::format("cannot be read: {}", std::strerror(errno != 0 ? errno : ENOENT)));
  std::string text(kLargestFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return std::unexpected("cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

using DocumentResult = std::expected<Document, std::vector<Problem>>;

DocumentResult read_chain(std::string_view text, const std::string& name, const fs::path& folder,
                          std::vector<fs::path>& chain);

/// The file that `extends` names, read and merged with its own bases.
DocumentResult read_base(const Document& document, const fs::path& folder, const std::string& name,
                         std::vector<fs::path>& chain) {
  const auto refused = [&](std::string found, std::string allowed) -> DocumentResult {
    return std::unexpected(
        std::vector{problem_at(document, "/extends", At::Value, std::move(found), std::move(allowed))});
  };
  const Json& extends = document.value["extends"];
  if (!extends.is_string()) return refused(fmt::format("found {}", shown(extends)), "the path of a campaign file");
  const fs::path written = extends.get<std::string>();
  const fs::path path = written.is_absolute() ? written : folder / written;
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(path, error);
  if (error) canonical = path;
  if (std::ranges::find(chain, canonical) != chain.end()) {
    return refused(fmt::format("{} extends itself, directly or through the files it extends", shown(extends)),
                   "a file that does not lead back to this one");
  }
  if (chain.size() >= kLongestChain)
    return refused("a longer chain of files", fmt::format("at most {} files", kLongestChain));
  const auto text = read_bounded(path);
  if (!text)
    return refused(fmt::format("{} {}", shown(extends), text.error()),
                   "the path of a campaign file, relative to this one");
  chain.push_back(canonical);
  // Named as the user would find it: from where the first file's name starts.
  const fs::path named = written.is_absolute() ? written : fs::path(name).parent_path() / written;
  return read_chain(*text, named.lexically_normal().string(), path.parent_path(), chain);
}

DocumentResult read_chain(std::string_view text, const std::string& name, const fs::path& folder,
                          std::vector<fs::path>& chain) {
  DocumentResult document = read_document(text, name);
  if (!document || !document->value.is_object() || !document->value.contains("extends")) return document;
  const DocumentResult base = read_base(*document, folder, name, chain);
  if (!base) return base;
  document->value.erase("extends");
  document->places.erase("/extends");
  // A base that is no object is left for the schema to refuse.
  return base->value.is_object() ? merge_documents(*base, *document) : base;
}

// ---- merging -------------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kDomainKeys = {"type", "values", "range", "step", "scale"};
constexpr std::array<std::string_view, 3> kDomainStarters = {"type", "values", "range"};

/// A value of a document together with where it stands in it.
struct Part {
  const Document& document;
  const Json& value;
  std::string pointer;
};

class Merger {
 public:
  Document take() { return std::move(result_); }

  /// Writes the merge of both to `target`, which stands at `pointer` of the result.
  void merge(const Part& base, const Part& over, Json& target, const std::string& pointer) {
    if (base.value.is_object() && over.value.is_object())
      merge_objects(base, over, target, pointer);
    else if (pointer == kParametersPointer && base.value.is_array() && over.value.is_array())
      merge_parameters(base, over, target, pointer);
    else
      copy(over, target, pointer);
  }

 private:
  static Part member(const Part& parent, const std::string& key) {
    return {parent.document, parent.value.at(key), pointer_to(parent.pointer, key)};
  }
  static Part element(const Part& parent, std::size_t index) {
    return {parent.document, parent.value.at(index), pointer_to(parent.pointer, index)};
  }

  void set_place(const Part& from, const std::string& pointer) {
    result_.places.insert_or_assign(pointer, from.document.place(from.pointer));
  }

  void copy(const Part& from, Json& target, const std::string& pointer) {
    target = from.value;
    set_place(from, pointer);
    const std::string prefix = from.pointer + "/";
    for (auto it = from.document.places.lower_bound(prefix);
         it != from.document.places.end() && it->first.starts_with(prefix); ++it) {
      result_.places.insert_or_assign(pointer + it->first.substr(from.pointer.size()), it->second);
    }
  }

  void merge_objects(const Part& base, const Part& over, Json& target, const std::string& pointer) {
    target = Json::object();
    set_place(over, pointer);
    for (const auto& [key, ignored] : base.value.items()) {
      const std::string inner = pointer_to(pointer, key);
      if (over.value.contains(key)) {
        if (over.value.at(key).is_null()) continue;
        merge(member(base, key), member(over, key), target[key], inner);
      } else {
        copy(member(base, key), target[key], inner);
      }
    }
    for (const auto& [key, ignored] : over.value.items())
      if (!base.value.contains(key)) copy(member(over, key), target[key], pointer_to(pointer, key));
  }

  static std::optional<std::size_t> index_of(const Json& parameters, const Json& parameter) {
    if (!parameter.is_object() || !parameter.contains("name")) return std::nullopt;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Json& candidate = parameters[i];
      if (candidate.is_object() && candidate.contains("name") && candidate["name"] == parameter["name"]) return i;
    }
    return std::nullopt;
  }

  void merge_parameters(const Part& base, const Part& over, Json& target, const std::string& pointer) {
    target = Json::array();
    set_place(over, pointer);
    const auto append = [&](auto&& write) {
      target.push_back(nullptr);
      write(target.back(), pointer_to(pointer, target.size() - 1));
    };
    for (std::size_t i = 0; i < base.value.size(); ++i) {
      const auto again = index_of(over.value, base.value[i]);
      append([&](Json& out, const std::string& at) {
        if (again)
          merge_parameter(element(base, i), element(over, *again), out, at);
        else
          copy(element(base, i), out, at);
      });
    }
    for (std::size_t i = 0; i < over.value.size(); ++i) {
      // One of two parameters of the same name in `over` would be lost here: it is copied, and the checks object.
      const auto first = index_of(over.value, over.value[i]);
      if (first == i && index_of(base.value, over.value[i])) continue;
      append([&](Json& out, const std::string& at) { copy(element(over, i), out, at); });
    }
  }

  void merge_parameter(const Part& base, const Part& over, Json& target, const std::string& pointer) {
    merge_objects(base, over, target, pointer);
    const auto given = [&](std::string_view key) { return over.value.contains(key); };
    if (std::ranges::none_of(kDomainStarters, given)) return;
    for (const std::string_view key : kDomainKeys)
      if (!given(key)) target.erase(std::string(key));
  }

  Document result_;
};

}  // namespace

Document merge_documents(const Document& base, const Document& over) {
  Merger merger;
  Document result;
  Json value;
  merger.merge({base, base.value, ""}, {over, over.value, ""}, value, "");
  result = merger.take();
  result.value = std::move(value);
  return result;
}

std::expected<Document, std::vector<Problem>> read_with_bases(const fs::path& path) {
  const auto text = read_bounded(path);
  if (!text) return std::unexpected(std::vector{Problem{.file = path.string(), .found = text.error()}});
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(path, error);
  std::vector<fs::path> chain{error ? path : canonical};
  return read_chain(*text, path.string(), path.parent_path(), chain);
}

std::expected<Document, std::vector<Problem>> read_text_with_bases(std::string_view text, const std::string& name,
                                                                   const fs::path& folder) {
  std::vector<fs::path> chain{folder / name};
  return read_chain(text, name, folder, chain);
}

}  // namespace nocturne::tuner
