#include "kernels/cuda/settings.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

void require_refused(const nlohmann::json& configuration, const std::string& part) {
  CHECK_THROWS_MATCHES(read_settings(configuration), worker::Unsupported, MessageMatches(ContainsSubstring(part)));
}

}  // namespace

TEST_CASE("a GPU's configuration is read, and what concerns others is passed over", "[cuda]") {
  const Settings settings = read_settings({{"framework", "cudnn"},
                                           {"affinity", "close"},
                                           {"precision", "tf32"},
                                           {"layout", "nhwc"},
                                           {"algorithm", "find"},
                                           {"workspace_mib", 64},
                                           {"fusion", "auto"},
                                           {"cuda_graphs", true},
                                           {"streams", 2},
                                           {"batch", 96},
                                           {"data_threads", 3},
                                           {"prefetch", 4}});
  CHECK(settings.precision == Precision::Tf32);
  CHECK(settings.layout == Layout::Nhwc);
  CHECK(settings.algorithm == Algorithm::Find);
  CHECK(settings.workspace_mib == 64);
  CHECK(settings.fusion == Fusion::Auto);
  CHECK(settings.cuda_graphs);
  CHECK(settings.streams == 2);
  CHECK(settings.batch == 96);
  CHECK(settings.data_threads == 3);
  CHECK(settings.prefetch == 4);
  const Settings defaults = read_settings(nlohmann::json::object());
  CHECK(defaults.precision == Precision::F32);
  CHECK(defaults.layout == Layout::Nchw);
  CHECK(defaults.algorithm == Algorithm::Heuristic);
  CHECK(defaults.fusion == Fusion::Off);
  CHECK_FALSE(defaults.cuda_graphs);
  CHECK(defaults.streams == 1);
}

TEST_CASE("values that a GPU worker cannot have are refused with what is allowed", "[cuda]") {
  require_refused({{"precision", "f64"}}, "precision = \"f64\", allowed: f32, tf32, bf16, f16");
  require_refused({{"layout", "blocked"}}, "allowed: nchw, nhwc");
  require_refused({{"algorithm", "best"}}, "allowed: heuristic, find, fixed");
  require_refused({{"fusion", true}}, "allowed: off, auto");
  require_refused({{"streams", 3}}, "streams = 3, allowed: a whole number from 1 to 2");
  require_refused({{"cuda_graphs", "yes"}}, "cuda_graphs = \"yes\", allowed: true, false");
  require_refused({{"workspace_mib", 0}}, "workspace_mib = 0");
  require_refused({{"data_threads", -1}}, "from 0 to 1024");
}

TEST_CASE("each precision has its size in memory", "[cuda]") {
  CHECK(bytes_per_value(Precision::Tf32) == 4);
  CHECK(bytes_per_value(Precision::F16) == 2);
  CHECK(to_text(Precision::Bf16) == "bf16");
}

}  // namespace nocturne::cuda
