// A request: refused with place and reason, or one whose directives are lines of the scheduler and nothing else.

#include <cstdlib>
#include <string>

#include "tests/fuzz/scratch.hpp"
#include "tuner/request/job_request.hpp"
#include "tuner/request/job_script.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nocturne;
  for (const bool strict : {false, true}) {
    const auto request = tuner::read_request(fuzz::as_text(data, size), "job.json", strict);
    if (!request) {
      if (request.error().empty()) std::abort();
      continue;
    }
    (void)tuner::demands_of(*request);
    for (const char* scheduler : {"slurm", "torque"}) {
      std::string text = tuner::job_directives(request->job_options, scheduler);
      for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
        if (!text.starts_with("#SBATCH ") && !text.starts_with("#PBS ")) std::abort();
      if (!text.empty()) std::abort();
    }
  }
  return 0;
}
