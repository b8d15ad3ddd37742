// What the load test calls and the Glibc module does not show.
#ifndef TIDEGATE_CLOAD_SHIM_H
#define TIDEGATE_CLOAD_SHIM_H
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
// Declared by string.h only with _GNU_SOURCE, which does not reach a header of another module.
void *memmem(const void *haystack, size_t haystack_length, const void *needle, size_t needle_length);
#endif
