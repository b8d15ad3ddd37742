// Kernel calls that Swift's Glibc module does not show.
#ifndef TIDEGATE_CLINUX_H
#define TIDEGATE_CLINUX_H
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

// Declared in <sys/socket.h>, but under _GNU_SOURCE only. That header is not included: its constants would belong to
// this module or to Glibc depending on which is built first.
struct sockaddr;
extern int accept4(int descriptor, struct sockaddr *address, unsigned int *length, int flags);
static inline int clinux_accept4(int descriptor, void *address, uint32_t *length, int flags) {
  return accept4(descriptor, (struct sockaddr *)address, length, flags);
}

// The allocator's figures and its giving back (mallinfo2(3), malloc_trim(3)). Their header, <malloc.h>, is missing from
// the Glibc overlay and includes <stdio.h>, which is to stay Glibc's.
struct clinux_heap {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
extern struct clinux_heap clinux_mallinfo(void) __asm__("mallinfo2");
extern int clinux_malloc_trim(size_t pad) __asm__("malloc_trim");

// The path that execve(2) was given: AT_EXECFN of getauxval(3), whose header brings types that are to stay Glibc's.
extern unsigned long clinux_auxiliary_value(unsigned long type) __asm__("getauxval");
static inline const char *clinux_program_path(void) { return (const char *)clinux_auxiliary_value(31); }

// Has a new process close all descriptors from one on (posix_spawn_file_actions_addclosefrom_np, glibc 2.34): under
// _GNU_SOURCE only, and its header is to stay Glibc's.
extern int clinux_spawn_close_from(void *actions, int from) __asm__("posix_spawn_file_actions_addclosefrom_np");

// The interest set every socket is registered with, once: both directions, edge-triggered.
static inline uint32_t clinux_epoll_interest(void) {
  return EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
}

static inline uint64_t clinux_epoll_token(const struct epoll_event *event) { return event->data.u64; }

static inline int clinux_epoll_add(int set, int descriptor, uint32_t events, uint64_t token) {
  struct epoll_event event;
  event.events = events;
  event.data.u64 = token;
  return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}
static inline int clinux_epoll_remove(int set, int descriptor) {
  struct epoll_event event = {0};
  return epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &event);
}
static inline int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
#endif
