#include "kernels/onednn/settings.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "kernels/onednn/options.hpp"
#include "kernels/onednn/plan/builder.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::onednn {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

void require_refused(const nlohmann::json& configuration, const std::string& part) {
  CHECK_THROWS_MATCHES(read_settings(configuration), worker::Unsupported, MessageMatches(ContainsSubstring(part)));
}

}  // namespace

TEST_CASE("a configuration is read, and what concerns others is passed over", "[onednn]") {
  const Settings settings = read_settings({{"framework", "onednn"},
                                           {"compiler", "g++"},
                                           {"affinity", "compact"},
                                           {"precision", "bf16"},
                                           {"threads", 2},
                                           {"data_threads", 3},
                                           {"prefetch", 4},
                                           {"batch", 64.0},
                                           {"layout", "plain"},
                                           {"isa", "avx2"}});
  CHECK(settings.precision == Precision::Bf16);
  CHECK(settings.threads == 2);
  CHECK(settings.data_threads == 3);
  CHECK(settings.prefetch == 4);
  CHECK(settings.batch == 64);
  CHECK(settings.layout == Layout::Plain);
  CHECK(settings.isa == "avx2");
  const Settings defaults = read_settings(nlohmann::json::object());
  CHECK(defaults.precision == Precision::F32);
  CHECK(defaults.batch == 128);
  CHECK(defaults.threads == 0);
  CHECK(defaults.data_threads == 0);
  CHECK(defaults.isa == "auto");
}

TEST_CASE("impossible values are refused with key, value and what is allowed", "[onednn]") {
  require_refused({{"precision", "f16"}}, "precision = \"f16\", allowed: f32, bf16");
  require_refused({{"layout", "nchw"}}, "layout = \"nchw\", allowed: blocked, plain");
  require_refused({{"threads", 0}}, "threads = 0");
  require_refused({{"threads", 1.5}}, "threads = 1.5");
  require_refused({{"threads", "two"}}, "threads = \"two\"");
  require_refused({{"batch", -1}}, "batch = -1");
  require_refused({{"data_threads", -1}}, "data_threads = -1, allowed: a whole number from 0");
  require_refused({{"prefetch", 0}}, "prefetch = 0");
  require_refused({{"batch", 1e12}}, "batch");
  require_refused({{"isa", "AVX1024"}}, "isa = \"AVX1024\", allowed: auto, none, SSE41");
  require_refused({{"isa", 512}}, "isa = 512");
}

TEST_CASE("reference implementations are known by their names", "[onednn]") {
  CHECK(is_reference("ref:any"));
  CHECK(is_reference("gemm:ref"));
  CHECK_FALSE(is_reference("jit:avx512_core"));
  CHECK_FALSE(is_reference("brgconv:avx512_core_bf16"));
}

TEST_CASE("a reference implementation is chosen only where there is no other", "[onednn]") {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Candidate none = [] { return dnnl::primitive_desc_base(); };
  CHECK_THROWS_MATCHES(choose("conv9 forward", {none, none}), worker::Unsupported,
                       MessageMatches(ContainsSubstring("conv9 forward")));
  using dnnl::memory;
  const memory::desc plain({2, 16, 8, 8}, memory::data_type::f32, memory::format_tag::nchw);
  const memory::desc blocked({2, 16, 8, 8}, memory::data_type::f32, memory::format_tag::nChw16c);
  const Candidate reorder = [&] {
    return dnnl::primitive_desc_base(dnnl::reorder::primitive_desc(engine, plain, engine, blocked, attributes()));
  };
  CHECK(choose("reorder", {none, reorder}).impl_info_str() == std::string(reorder().impl_info_str()));
}

TEST_CASE("the command line is checked before anything runs", "[onednn]") {
  CHECK_THROWS_AS(parse_options({"--trian"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--train"}), UsageError);  // without data
  CHECK_THROWS_AS(parse_options({"--train", "--data", "d", "--batch", "many"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--train", "--data"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--request", "r.json"}), UsageError);
  const Options options = parse_options({"--train", "--epochs", "12", "--batch", "64", "--precision", "bf16", "--seed",
                                         "7", "--data", "folder", "--partial-batch", "train"});
  CHECK(options.command == Command::Train);
  CHECK(options.request.epochs == 12);
  CHECK(options.request.seed == 7);
  CHECK(options.request.accuracy);
  CHECK(options.request.partial_batch == protocol::PartialBatch::Train);
  CHECK(read_settings(options.request.configuration).batch == 64);
  CHECK(parse_options({"--train", "--data", "d", "--steps", "9"}).request.epochs == 0);
}

TEST_CASE("by hand a network brings its data set and its optimizer", "[onednn]") {
  const Options residual = parse_options({"--train", "--network", "resnet50", "--learning-rate", "0.05",
                                          "--label-smoothing", "0.1", "--profile", "--peak", "233.5"});
  CHECK(residual.request.data == "synthetic");
  CHECK(residual.request.optimizer == "sgd_momentum");
  CHECK_FALSE(residual.request.accuracy);
  CHECK(residual.request.momentum.learning_rate == 0.05);
  CHECK(residual.request.momentum.momentum == 0.9);
  CHECK(residual.request.label_smoothing == 0.1);
  CHECK(residual.peak_gflops == 233.5);
  CHECK(parse_options({"--train", "--network", "resnet50", "--data", "d"}).request.data == "folder");
  CHECK(parse_options({"--train", "--data", "d"}).request.data == "mnist");
  CHECK_THROWS_AS(parse_options({"--train", "--network", "resnet51"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--train", "--network", "resnet50", "--label-smoothing", "1"}), UsageError);
  CHECK_THROWS_AS(parse_options({"--train", "--network", "resnet50", "--peak", "fast"}), UsageError);
}

TEST_CASE("build.json lists every source of the worker", "[onednn]") {
  const std::filesystem::path root = NOCTURNE_SOURCE_DIR;
  std::ifstream file(root / "kernels/onednn/build.json");
  const nlohmann::json recipe = nlohmann::json::parse(file);
  const auto sources = recipe.at("sources").get<std::vector<std::string>>();
  for (const std::string& source : sources) CHECK(std::filesystem::exists(root / source));
  for (const char* folder :
       {"kernels/data", "kernels/networks", "kernels/onednn", "kernels/worker", "measure/protocol"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string name = entry.path().lexically_relative(root).string();
      INFO(name);
      CHECK(std::find(sources.begin(), sources.end(), name) != sources.end());
    }
  }
}

}  // namespace nocturne::onednn
