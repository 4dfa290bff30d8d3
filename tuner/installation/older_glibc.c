// Linked into portable programs alone. They are made where the C library is 2.36, and run where it is 2.34 (RHEL 9) or 2.35
// (Ubuntu 22.04): what they would take from a younger one stands here. .ci/portable_check finds what is missing.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// Hidden, or the loader would give these to libraries that ask for the C library's own.
__asm__(".hidden hypot\n.hidden arc4random");

// The one of before 2.35, when it got a second version that leaves errno alone.
__asm__(".symver hypot_of_2_2_5, hypot@GLIBC_2.2.5");
double hypot_of_2_2_5(double x, double y);
double hypot(double x, double y) { return hypot_of_2_2_5(x, y); }

// std::random_device of GCC 12 takes it from the C library, which has it since 2.36.
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
    if (errno != EINTR) {
      abort();  // no kernel that these programs run on lacks it
    }
  }
  return number;
}
