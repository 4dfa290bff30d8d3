#pragma once

/// Which measured configuration answers a request: a hard filter by what the request demands, then an order by how well
/// it is known. Whatever was not chosen has its reason. Reads the database alone.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store.hpp"
#include "space/configuration.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/request/job_request.hpp"

namespace nocturne::tuner {

/// What a configuration was trained with, as far as its values say.
struct Labels {
  std::string framework;                  ///< tensorflow, pytorch, mxnet, …; else the value of `framework` itself
  std::string version;                    ///< "2.15"; empty: not known
  std::string graph_compiler;             ///< xla, ngraph, inductor, …; empty: none
  std::string accelerator = "none";       ///< nvidia, none
  std::optional<std::int64_t> threads{};  ///< empty: no parameter of it
};

/// `framework`: the value of that parameter, "tensorflow-2.21-cuda", or what the campaign's worker names.
[[nodiscard]] Labels labels_of(std::string_view framework, const space::Configuration& configuration);

/// Whether a version is in a range: "2.1" means 2.1.*, ">=2,<3" each of its bounds. An unknown one is in none.
[[nodiscard]] bool is_version_in(std::string_view version, std::string_view range);

/// Why labels are not what is demanded, a sentence without a full stop; empty: they are.
[[nodiscard]] std::string mismatch(const Labels& labels, const Demands& demands);

/// The best known first.
enum class Evidence { PairsHere, TrialsHere, TrialsOnClass, TrialsElsewhere };
[[nodiscard]] std::string_view to_text(Evidence evidence);

/// The best of one campaign that satisfies a request.
struct Fitting {
  Answer answer;  ///< its `best` is the configuration, with its own verdict
  Labels labels;
  Evidence evidence = Evidence::TrialsElsewhere;
  double seconds = 0;  ///< estimate for the campaign's primary horizon
  std::string price;   ///< what it costs that this, and not the campaign's best, was demanded; empty: nothing
};

/// A campaign that is not the answer.
struct NotChosen {
  std::string campaign;
  std::string reason;
};

struct Choice {
  std::optional<Fitting> chosen;
  std::vector<NotChosen> others;
};

/// `here`: the fingerprint of this machine. Of campaigns of one name the latest generation counts.
[[nodiscard]] Choice choose(const db::Store& store, const Demands& demands, const space::Fingerprint& here);

}  // namespace nocturne::tuner
