#pragma once

/// A machine as the campaign files of the tests and examples see it.

#include "space/facts.hpp"

namespace nocturne::test {

inline space::Facts sample_facts() {
  space::Facts facts;
  facts.set("machine.cores", std::int64_t{8});
  facts.set("machine.threads", std::int64_t{16});
  facts.set("machine.sockets", std::int64_t{1});
  facts.set("machine.numa_nodes", std::int64_t{1});
  facts.set("machine.memory_bytes", std::int64_t{32} << 30);
  facts.set("machine.isa", std::vector<std::string>{"avx2", "avx512_bf16", "avx512f"});
  facts.set("machine.compilers", std::vector<std::string>{"clang++-19", "g++"});
  facts.set("machine.allocators", std::vector<std::string>{"glibc", "glibc-large", "jemalloc", "tcmalloc"});
  facts.set("machine.containers", std::vector<std::string>{"host", "charliecloud"});
  facts.set("machine.cpu_model", std::string("A processor"));
  facts.set("machine.virtual", false);
  facts.set("machine.gpus", std::int64_t{0});
  facts.set("machine.huge_pages", std::string("madvise"));
  return facts;
}

}  // namespace nocturne::test
