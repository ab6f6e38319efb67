// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Sets of position ranges: see ranges.h. */
#include "ranges.h"

void kr_ranges_init(struct kr_ranges *r, struct kr_range *at, u16 max)
{
	r->at = at;
	r->nr = 0;
	r->max = max;
}

/* Index of the first range that touches or follows @lo. */
static u16 find(const struct kr_ranges *r, u64 lo)
{
	u16 i = 0;

	while (i < r->nr && r->at[i].hi < lo)
		i++;
	return i;
}

bool kr_ranges_is_full_for(const struct kr_ranges *r, u64 lo, u64 hi)
{
	u16 i = find(r, lo);

	return r->nr == r->max && (i == r->nr || r->at[i].lo > hi);
}

static void remove_at(struct kr_ranges *r, u16 i, u16 nr)
{
	memmove(&r->at[i], &r->at[i + nr], (r->nr - i - nr) * sizeof(r->at[0]));
	r->nr -= nr;
}

static void merge_closest(struct kr_ranges *r)
{
	u16 i, best = 0;

	for (i = 1; i + 1 < r->nr; i++)
		if (r->at[i + 1].lo - r->at[i].hi <
		    r->at[best + 1].lo - r->at[best].hi)
			best = i;
	r->at[best].hi = r->at[best + 1].hi;
	remove_at(r, best + 1, 1);
}

void kr_ranges_add(struct kr_ranges *r, u64 lo, u64 hi)
{
	u16 i, j;

	if (lo >= hi)
		return;
	if (kr_ranges_is_full_for(r, lo, hi))
		merge_closest(r);
	i = find(r, lo);
	if (i == r->nr || r->at[i].lo > hi) {
		memmove(&r->at[i + 1], &r->at[i],
			(r->nr - i) * sizeof(r->at[0]));
		r->at[i].lo = lo;
		r->at[i].hi = hi;
		r->nr++;
		return;
	}
	for (j = i; j + 1 < r->nr && r->at[j + 1].lo <= hi; j++)
		;
	r->at[i].lo = min(r->at[i].lo, lo);
	r->at[i].hi = max(r->at[j].hi, hi);
	remove_at(r, i + 1, j - i);
}

void kr_ranges_cut(struct kr_ranges *r, u64 hi)
{
	u16 i = 0;

	while (i < r->nr && r->at[i].hi <= hi)
		i++;
	remove_at(r, 0, i);
	if (r->nr && r->at[0].lo < hi)
		r->at[0].lo = hi;
}
