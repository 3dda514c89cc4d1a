/* Prints whether code for each architecture runs on each device, as 0 or 1. */

static int capability(int device);
#define COMPUTE_CAPABILITY_OF capability
#include "dispatcher.c"
#include "builds.h"

static int capability(int device) { return device; }

int main(void) {
  const char suffixes[] = " af";
  for (int number = 50; number <= 130; ++number)
    for (int suffix = 0; suffix < 3; ++suffix)
      for (int device = 50; device <= 130; ++device) putchar('0' + runs_on((struct arch){number, suffixes[suffix]}, device));
  return 0;
}
