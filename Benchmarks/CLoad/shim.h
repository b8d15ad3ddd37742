// What the load test calls and the Glibc module does not show.
#ifndef TIDEGATE_CLOAD_SHIM_H
#define TIDEGATE_CLOAD_SHIM_H
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
// Declared by string.h only with _GNU_SOURCE, which does not reach a header of another module.
void *memmem(const void *haystack, size_t haystack_length, const void *needle, size_t needle_length);

// Lets process `to` run on the processors that process `from` may run on. Returns 0, or -1 with errno.
static inline int cload_copy_affinity(int from, int to) {
  unsigned long mask[128];
  long bytes = syscall(SYS_sched_getaffinity, from, sizeof mask, mask);
  return bytes < 0 ? -1 : (int)syscall(SYS_sched_setaffinity, to, bytes, mask);
}
#endif
