// Counts what the calling thread allocates: malloc and its kin, whoever in the process calls them.
#ifndef TIDEGATE_ALLOCATIONS_H
#define TIDEGATE_ALLOCATIONS_H
#include <stdint.h>

// Allocations of the calling thread since it began; growing a block counts as one.
uint64_t allocations_count(void);
// The bytes that were asked for with them.
uint64_t allocations_bytes(void);
// Writes where the thread's next so many allocations come from to standard error, a line for each caller.
void allocations_trace(int count);

// Bytes of the process that are allocated and not freed, as the C library counts them.
uint64_t allocations_in_use(void);
// Gives the kernel back what it can of the memory that is not in use.
void allocations_trim(void);
// Resident memory of the process, bytes; 0 if the kernel does not say.
uint64_t allocations_resident(void);
#endif
