// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Slots and generations of VQP ids: see table.h. */
#include "table.h"

enum { LEVEL = 256 };

#define SLOT_MASK ((1u << KR_SLOT_BITS) - 1)

void kr_table_init(struct kr_table *t)
{
	memset(t, 0, sizeof(*t));
}

static struct kr_slot *at(const struct kr_table *t, u32 slot)
{
	void **mid = t->root[slot >> 16];

	return (struct kr_slot *)mid[slot >> 8 & 0xff] + (slot & 0xff);
}

void kr_table_clean(struct kr_table *t)
{
	void **mid;
	u32 i, j;

	for (i = 0; i < LEVEL && t->root[i]; i++) {
		mid = t->root[i];
		for (j = 0; j < LEVEL && mid[j]; j++)
			kr_env_free(mid[j]);
		kr_env_free(mid);
	}
	kr_table_init(t);
}

/* The leaf of the next slot never used; false without memory. */
static bool extend(struct kr_table *t)
{
	u32 slot = t->nr_slots;
	void **mid;

	if (slot > SLOT_MASK)
		return false;
	if (!t->root[slot >> 16])
		t->root[slot >> 16] = kr_env_alloc(LEVEL * sizeof(void *));
	mid = t->root[slot >> 16];
	if (!mid)
		return false;
	if (!mid[slot >> 8 & 0xff])
		mid[slot >> 8 & 0xff] = kr_env_alloc(LEVEL * sizeof(struct kr_slot));
	if (!mid[slot >> 8 & 0xff])
		return false;
	at(t, slot)->id = slot;
	t->nr_slots++;
	return true;
}

u64 kr_table_add(struct kr_table *t, void *obj, u8 kind)
{
	struct kr_slot *s;

	if (t->free_first) {
		s = at(t, t->free_first - 1);
		t->free_first = s->next_free;
		if (!t->free_first)
			t->free_last = 0;
	} else {
		if (!extend(t))
			return 0;
		s = at(t, t->nr_slots - 1);
	}
	s->id += 1ull << KR_SLOT_BITS;
	s->obj = obj;
	s->kind = kind;
	s->next_free = 0;
	return s->id;
}

struct kr_slot *kr_table_find(const struct kr_table *t, u64 id)
{
	u32 slot = id & SLOT_MASK;
	struct kr_slot *s;

	if (slot >= t->nr_slots)
		return NULL;
	s = at(t, slot);
	return s->obj && s->id == id ? s : NULL;
}

void kr_table_del(struct kr_table *t, u64 id)
{
	u32 slot = id & SLOT_MASK;
	struct kr_slot *s = kr_table_find(t, id);

	if (!s)
		return;
	s->obj = NULL;
	/* A slot whose generations are used up is never used again. */
	if (id >> KR_SLOT_BITS == (1ull << (64 - KR_SLOT_BITS)) - 1)
		return;
	if (t->free_last)
		at(t, t->free_last - 1)->next_free = slot + 1;
	else
		t->free_first = slot + 1;
	t->free_last = slot + 1;
}
