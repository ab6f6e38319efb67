// SPDX-License-Identifier: MIT
/*
 * Starts near a wrap or a word boundary, as after months of use: numbers of
 * packets and path ends, positions of streams, generations of VQP ids, clocks.
 */
#include "sim.h"

/* Just below 2^16, 2^32 or 2^@bits, whichever fit. */
static u64 near(struct sim *s, u32 bits)
{
	const u32 widths[] = { bits, min_t(u32, bits, 32), min_t(u32, bits, 16) };
	u32 width = widths[sim_below(&s->rng, ARRAY_SIZE(widths))];

	return (1ull << width) - sim_spread(&s->rng, 1, 5000);
}

static bool is_old(struct sim *s)
{
	return sim_chance(&s->rng, s->cfg.wrap);
}

/* Some slots have been used before; the last generation is not used again. */
static void wrap_table(struct sim *s, struct kr_table *t)
{
	u64 ids[8], nr, i;
	struct kr_slot *slot;

	for (nr = 0; nr < ARRAY_SIZE(ids); nr++) {
		ids[nr] = kr_table_add(t, s, KR_SLOT_VQP);
		if (!ids[nr])
			break;
	}
	for (i = 0; i < nr; i++) {
		slot = kr_table_find(t, ids[i]);
		slot->id = (((1ull << 40) - sim_between(&s->rng, 2, 20)) << KR_SLOT_BITS) | i;
		if (sim_chance(&s->rng, SIM_PPM / 2))
			slot->id = near(s, 40) << KR_SLOT_BITS | i;
		kr_table_del(t, slot->id);
	}
}

void sim_wrap_assoc(struct sim *s, struct kr_assoc *a)
{
	if (!is_old(s))
		return;
	a->ch.next_pn = near(s, 63);
	a->ch.low_pn = a->ch.next_pn;
	a->local.nr = 0xffff - sim_below(&s->rng, 3);
	wrap_table(s, &a->table);
}

u64 sim_wrap_stream(struct sim *s)
{
	return is_old(s) ? near(s, 63) : 0;
}

void sim_wrap_clocks(struct sim *s)
{
	u32 i;

	for (i = 0; i < s->cfg.hosts; i++)
		if (is_old(s))
			s->hosts[i].clock_ns = near(s, 62);
}
