/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A sorted set of disjoint half-open ranges of 64-bit positions, in an array
 * that the caller owns.  No allocation; the caller chooses what happens when
 * the array is full: refuse (out-of-order data) or merge (lost data).
 */
#ifndef KRCORE_CORE_RANGES_H
#define KRCORE_CORE_RANGES_H

#include "env.h"

struct kr_range {
	u64 lo;
	u64 hi;				/* exclusive */
};

struct kr_ranges {
	struct kr_range *at;
	u16 nr;
	u16 max;
};

void kr_ranges_init(struct kr_ranges *r, struct kr_range *at, u16 max);

/* Would adding [lo, hi) need a range that the array has no room for? */
bool kr_ranges_is_full_for(const struct kr_ranges *r, u64 lo, u64 hi);

/*
 * Adds [lo, hi).  When the array is full, the two neighbours with the smallest
 * gap become one range (so the set may cover more than was added).
 */
void kr_ranges_add(struct kr_ranges *r, u64 lo, u64 hi);

/* Removes everything below @hi. */
void kr_ranges_cut(struct kr_ranges *r, u64 hi);

#endif
