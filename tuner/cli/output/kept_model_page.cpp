// The page of `model`, member by member, as it is kept beside the database.

#include "tuner/campaign/kept/expectations_members.hpp"
#include "tuner/cli/output/model_page.hpp"

namespace nocturne::tuner {

template <>
struct Members<cli::ModelPage::Effect> {
  static auto of(auto& it) {
    auto& [parameter, reference, share, values] = it;
    return std::tie(parameter, reference, share, values);
  }
};

template <>
struct Members<cli::ModelPage::Pair> {
  static auto of(auto& it) {
    auto& [first, second, strength, share] = it;
    return std::tie(first, second, strength, share);
  }
};

template <>
struct Members<cli::ModelPage::PrunedLevel> {
  static auto of(auto& it) {
    auto& [parameter, value, sentence, margin] = it;
    return std::tie(parameter, value, sentence, margin);
  }
};

template <>
struct Members<search::model::ShareInterval> {
  static auto of(auto& it) {
    auto& [lower, upper] = it;
    return std::tie(lower, upper);
  }
};

template <>
struct Members<search::model::MemoryModel::Coefficients> {
  static auto of(auto& it) {
    auto& [fixed_bytes, bytes_each] = it;
    return std::tie(fixed_bytes, bytes_each);
  }
};

template <>
struct Members<search::model::MemoryModel::Largest> {
  static auto of(auto& it) {
    auto& [lower, expected, upper] = it;
    return std::tie(lower, expected, upper);
  }
};

template <>
struct Members<cli::MemoryLine> {
  static auto of(auto& it) {
    auto& [group, peaks, out_of_memory, limit_bytes, line, largest] = it;
    return std::tie(group, peaks, out_of_memory, limit_bytes, line, largest);
  }
};

template <>
struct Members<cli::ModelPage> {
  static auto of(auto& it) {
    auto& [worked, failed, horizons, primary_epochs, without, effects, interactions, aliased, pruned, drawn,
           pruned_levels, audits, audit_failures, audit_misses, miss_rate, widening, held, left_out, typical_error,
           noise, memory, history, continuing] = it;
    return std::tie(worked, failed, horizons, primary_epochs, without, effects, interactions, aliased, pruned, drawn,
                    pruned_levels, audits, audit_failures, audit_misses, miss_rate, widening, held, left_out,
                    typical_error, noise, memory, history, continuing);
  }
};

}  // namespace nocturne::tuner

namespace nocturne::cli {

std::expected<ModelPage, std::string> model_page_of(const db::Store& store, const db::CampaignSummary& campaign) {
  return tuner::kept_result<ModelPage>(store, campaign, "model", "", [&]() -> std::expected<ModelPage, std::string> {
    auto learned = tuner::learn_from(store, campaign);
    if (!learned) return std::unexpected(learned.error());
    return make_model_page(**learned);
  });
}

}  // namespace nocturne::cli
