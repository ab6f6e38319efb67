/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * VQP ids of one association.  An id is a 24-bit slot and a 40-bit generation;
 * slots are reused first-in-first-out, an id never.  Three levels of 256, made
 * on demand.  An entry holds an object of the caller and its kind.
 */
#ifndef KRCORE_CORE_TABLE_H
#define KRCORE_CORE_TABLE_H

#include "env.h"
#include "limits.h"

struct kr_slot {
	u64 id;				/* current, or last when free */
	void *obj;			/* NULL: free */
	u32 next_free;
	u8 kind;			/* of obj, the caller's */
};

struct kr_table {
	void *root[256];
	u32 nr_slots;			/* ever used */
	u32 free_first;			/* slot + 1, 0: none */
	u32 free_last;
};

void kr_table_init(struct kr_table *t);
void kr_table_clean(struct kr_table *t);

/* A new id for @obj, or 0 when there is no memory or slot. */
u64 kr_table_add(struct kr_table *t, void *obj, u8 kind);

/* The entry of @id, or NULL. */
struct kr_slot *kr_table_find(const struct kr_table *t, u64 id);
void kr_table_del(struct kr_table *t, u64 id);

#endif
