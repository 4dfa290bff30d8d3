/// nocturne-supervisor: started by the tuner for each run, with a socket as file descriptor 3. Not for use by hand.

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>

#include "measure/supervisor/client.hpp"
#include "measure/supervisor/supervisor.hpp"

int main(int argc, char** argv) {
  pid_t tuner = 0;
  if (argc == 2) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), tuner);
  if (tuner <= 0) {
    std::fputs("nocturne-supervisor is started by nocturne for each run; it is not used by hand\n", stderr);
    return 2;
  }
  // Whatever else the tuner had open is none of the worker's business.
  (void)::close_range(nocturne::measure::kControlDescriptor + 1, ~0U, 0);
  try {
    return nocturne::measure::supervise(nocturne::measure::kControlDescriptor, tuner);
  } catch (const std::exception&) {
    return 1;  // memory is exhausted; the worker dies with this process, the tuner sees the socket close
  }
}
