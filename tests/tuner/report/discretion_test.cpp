#include "tuner/report/html/discretion.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;

const report::Discretion& discretion() {
  static const report::Discretion made(
      {.users = {"anna"}, .hosts = {"node17", "vm"}, .home = "/srv/people/anna", .parameters = {"TF_ONEDNN"}});
  return made;
}

}  // namespace

TEST_CASE("words that look like secrets are left out of a page that is handed on", "[report]") {
  for (const std::string text :
       {"python train.py --hf-token hunter2x", "python train.py --password=hunter2x", "api_key: hunter2x",
        "python train.py --wandb-api-key 'hunter2x y'", "https://anna:hunter2x@example.org/simple",
        "HF_HOME=hunter2x python train.py", "env MY_VARIABLE='hunter2x' ./train", "push with ghp_hunter2xhunter2x",
        "curl -H hunter2xQR7bTaLQ93xZ81b", "python train.py --auth hunter2x"}) {
    CAPTURE(text);
    CHECK_THAT(discretion().text(text), !ContainsSubstring("hunter2x"));
    CHECK_THAT(discretion().text(text), ContainsSubstring("…"));
    CHECK(report::Discretion().text(text) == text);
  }
  CHECK(discretion().text("key 0123456789abcdef0123456789abcdef") == "key …");
}

TEST_CASE("what a result is about stays in a page that is handed on", "[report]") {
  for (const std::string text :
       {"1.59 times as fast as the default (+59.1 %, +29.3 to +95.7 %, 6 pairs of fresh processes)",
        "python3 train.py --epochs 1 --max-tokens 512 --tokenizer gpt2", "TF_ONEDNN=1", "threads=2 precision=bf16",
        "environments/pytorch-2.15-58b707965ca3/bin/python", "20261125T090710-3354f4943df9",
        "the token bucket is empty", "annabel and vmap are other words, and anna.py is a file"}) {
    CHECK(discretion().text(text) == text);
  }
}

TEST_CASE("users, hosts and folders of users are left out", "[report]") {
  CHECK(discretion().text("written by anna on node17") == "written by (user) on (host)");
  CHECK(discretion().text("anna@node17.example.org: no") == "(user)@(host).example.org: no");
  CHECK(discretion().text("on vm.") == "on (host).");
  CHECK(discretion().text("/srv/people/anna/profiles/mnist.json") == "~/profiles/mnist.json");
  CHECK(discretion().text("cd /home/berta/x && ls '/home/carl'") == "cd ~/x && ls '~'");
  CHECK(discretion().text("/data/home/berta") == "/data/home/berta");
}

TEST_CASE("a document keeps its keys, and its texts are left out as any", "[report]") {
  const nlohmann::json document = {{"anna", {{{"reason", "anna's --token hunter2x"}, {"n", 3}}, nullptr, true}}};
  const nlohmann::json shown = discretion().document(document);
  CHECK(shown["anna"][0]["reason"] == "(user)'s --token …");
  CHECK(shown["anna"][0]["n"] == 3);
  CHECK(shown["anna"][1].is_null());
}

}  // namespace nocturne::test
