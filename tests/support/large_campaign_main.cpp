// nocturne-large-campaign DATABASE TRIALS: makes the database that costs of reading are measured with, by hand.

#include <cstdio>
#include <exception>
#include <string>

#include "tests/support/large_campaign.hpp"

int main(int argc, char** argv) {
  using namespace nocturne;
  if (argc != 3) {
    std::fputs("usage: nocturne-large-campaign DATABASE TRIALS\n", stderr);
    return 2;
  }
  try {
    auto store = db::Store::open(argv[1], db::Mode::ReadWrite);
    const auto campaign = test::fill(store, {.trials = std::stoul(argv[2])});
    std::printf("%s: campaign %s, %lld trials\n", argv[1], campaign.name.c_str(),
                static_cast<long long>(campaign.trials));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
