/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-ins for the few kernel facilities core uses: see env.h. */
#ifndef KRCORE_CORE_ENV_USER_H
#define KRCORE_CORE_ENV_USER_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef int32_t s32;

#define KR_ASSERT(cond) assert(cond)

/* As in the kernel, each argument is evaluated once; none is negative. */
static inline u64 kr_least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 kr_largest(u64 a, u64 b)
{
	return a > b ? a : b;
}

#define min(a, b) ((__typeof__((a) + (b)))kr_least(a, b))
#define max(a, b) ((__typeof__((a) + (b)))kr_largest(a, b))
#define min_t(t, a, b) ((t)kr_least((t)(a), (t)(b)))
#define max_t(t, a, b) ((t)kr_largest((t)(a), (t)(b)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BIT(n) (1UL << (n))
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define KR_UNALIGNED(nr) \
static inline u##nr get_unaligned_be##nr(const void *p) \
{ \
	u##nr v; \
\
	memcpy(&v, p, sizeof(v)); \
	return be##nr##toh(v); \
} \
\
static inline void put_unaligned_be##nr(u##nr v, void *p) \
{ \
	v = htobe##nr(v); \
	memcpy(p, &v, sizeof(v)); \
}
KR_UNALIGNED(16)
KR_UNALIGNED(32)
KR_UNALIGNED(64)
#undef KR_UNALIGNED

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list_head *n, struct list_head *l)
{
	n->prev = l->prev;
	n->next = l;
	l->prev->next = n;
	l->prev = n;
}

static inline void list_del_init(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	INIT_LIST_HEAD(n);
}

static inline void list_move_tail(struct list_head *n, struct list_head *l)
{
	list_del_init(n);
	list_add_tail(n, l);
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *l)
{
	while (!list_empty(from))
		list_move_tail(from->next, l);
}

#define list_first_entry(l, type, member) \
	container_of((l)->next, type, member)
#define list_for_each_entry(pos, head, member) \
	for (pos = container_of((head)->next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = container_of(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_safe(pos, n, head, member) \
	for (pos = container_of((head)->next, __typeof__(*pos), member), \
	     n = container_of(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = n, n = container_of(n->member.next, __typeof__(*n), member))

#endif
