#include "tuner/campaign/kept/kept_document.hpp"

#include <sys/stat.h>

#include <fmt/format.h>

#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/json_field.hpp"
#include "space/write_file.hpp"

namespace nocturne::tuner {
namespace {

constexpr std::size_t kLargestKept = 4 << 20;  // a page of a space with hundreds of levels has some hundred KiB

/// Which program this is: another one may work it out differently. Empty: the system does not tell.
std::string program_identity() {
  struct ::stat status{};
  if (::stat("/proc/self/exe", &status) != 0) return {};
  return fmt::format("{}:{}:{}:{}.{:09}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

}  // namespace

std::filesystem::path kept_file(const std::filesystem::path& database, std::string_view subject,
                                db::CampaignId campaign) {
  return database.string() + fmt::format("-{}-{}.json", subject, campaign);
}

KeptDocument::KeptDocument(const db::Store& store, const db::CampaignSummary& campaign, std::string_view subject,
                           std::string_view question)
    : store_(store),
      campaign_(campaign),
      question_(question),
      file_(kept_file(store.path(), subject, campaign.id)),
      basis_(basis()) {}

std::string KeptDocument::basis() const {
  const std::string program = program_identity();
  if (program.empty()) return {};
  const nlohmann::json all = {program,        store_.learning_digest(campaign_.id),
                              question_,      campaign_.generation,
                              campaign_.spec, campaign_.strategy,
                              campaign_.seed, campaign_.fingerprint};
  return space::sha256(all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::optional<nlohmann::json> KeptDocument::read() const {
  if (basis_.empty()) return std::nullopt;
  const auto text = space::read_file(file_, kLargestKept + 1);
  if (!text || text->size() > kLargestKept || space::is_nested_too_deep(*text)) return std::nullopt;
  nlohmann::json file = nlohmann::json::parse(*text, nullptr, false);
  if (!file.is_object() || file.value("basis", nlohmann::json()) != nlohmann::json(basis_) ||
      !file.contains("document")) {
    return std::nullopt;
  }
  return std::move(file["document"]);
}

void KeptDocument::write(const nlohmann::json& document) const {
  if (basis_.empty() || basis() != basis_) return;
  const nlohmann::json file = {{"basis", basis_}, {"document", document}};
  const std::string text = file.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  static_cast<void>(space::write_file(file_, text));  // what cannot be kept is worked out again
}

}  // namespace nocturne::tuner
