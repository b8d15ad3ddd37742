// An executable's own malloc comes before the C library's for everything that is loaded into the process, Swift's
// runtime included (ld.so(8), "lookup scope"). glibc keeps its functions reachable by the names used here.
#include "allocations.h"
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static __thread uint64_t count;
static __thread uint64_t bytes;
static __thread int traces;

uint64_t allocations_count(void) { return count; }
uint64_t allocations_bytes(void) { return bytes; }
void allocations_trace(int next) { traces = next; }

static void trace(void) {
  void *frames[24];
  int left = traces - 1;
  // Unwinding may allocate itself.
  traces = 0;
  int depth = backtrace(frames, 24);
  backtrace_symbols_fd(frames + 2, depth - 2, 2);
  (void)!write(2, "\n", 1);
  traces = left;
}

static inline void note(size_t size) {
  count += 1;
  bytes += size;
  if (__builtin_expect(traces > 0, 0)) trace();
}

void *malloc(size_t size) {
  note(size);
  return __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
  note(items * size);
  return __libc_calloc(items, size);
}

void *realloc(void *block, size_t size) {
  note(size);
  return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
  note(size);
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}

uint64_t allocations_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void allocations_trim(void) { malloc_trim(0); }

uint64_t allocations_resident(void) {
  unsigned long size = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  int fields = fscanf(file, "%lu %lu", &size, &resident);
  fclose(file);
  return fields == 2 ? (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
