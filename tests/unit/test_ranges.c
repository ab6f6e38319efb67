// SPDX-License-Identifier: MIT
/* test_ranges: adding, merging and cutting ranges of positions. */
#include <criterion/criterion.h>

#include "core/ranges.h"

enum { MAX = 4 };

static struct kr_range at[MAX];
static struct kr_ranges r;

/* The ranges [1, 2), [11, 12), ... */
static void fill(int nr)
{
	int i;

	kr_ranges_init(&r, at, MAX);
	for (i = 0; i < nr; i++)
		kr_ranges_add(&r, 10 * i + 1, 10 * i + 2);
}

static bool is_range(int i, u64 lo, u64 hi)
{
	return i < r.nr && at[i].lo == lo && at[i].hi == hi;
}

Test(ranges, is_full_for__only_when_a_new_range_is_needed)
{
	fill(MAX);

	cr_expect(kr_ranges_is_full_for(&r, 5, 6));
	cr_expect(kr_ranges_is_full_for(&r, 50, 51));
	cr_expect(kr_ranges_is_full_for(&r, 0, 0));
	cr_expect_not(kr_ranges_is_full_for(&r, 2, 3), "touches on the left");
	cr_expect_not(kr_ranges_is_full_for(&r, 10, 11), "touches on the right");
	cr_expect_not(kr_ranges_is_full_for(&r, 5, 40));
}

Test(ranges, add__keeps_order)
{
	kr_ranges_init(&r, at, MAX);
	kr_ranges_add(&r, 20, 30);
	kr_ranges_add(&r, 0, 10);
	kr_ranges_add(&r, 40, 41);

	cr_expect_eq(r.nr, 3);
	cr_expect(is_range(0, 0, 10));
	cr_expect(is_range(1, 20, 30));
	cr_expect(is_range(2, 40, 41));
}

Test(ranges, add__joins_neighbours_that_touch)
{
	fill(3);
	kr_ranges_add(&r, 2, 11);

	cr_expect_eq(r.nr, 2);
	cr_expect(is_range(0, 1, 12));
	cr_expect(is_range(1, 21, 22));
}

Test(ranges, add__swallows_many)
{
	fill(4);
	kr_ranges_add(&r, 0, 100);

	cr_expect_eq(r.nr, 1);
	cr_expect(is_range(0, 0, 100));
}

Test(ranges, add__inside_changes_nothing)
{
	kr_ranges_init(&r, at, MAX);
	kr_ranges_add(&r, 10, 20);
	kr_ranges_add(&r, 12, 15);
	kr_ranges_add(&r, 15, 15);
	kr_ranges_add(&r, 30, 20);

	cr_expect_eq(r.nr, 1);
	cr_expect(is_range(0, 10, 20));
}

Test(ranges, add__full_merges_the_closest)
{
	kr_ranges_init(&r, at, MAX);
	kr_ranges_add(&r, 0, 1);
	kr_ranges_add(&r, 100, 101);
	kr_ranges_add(&r, 103, 104);
	kr_ranges_add(&r, 200, 201);
	kr_ranges_add(&r, 150, 151);

	cr_expect_eq(r.nr, 4);
	cr_expect(is_range(1, 100, 104));
	cr_expect(is_range(2, 150, 151));
}

Test(ranges, add__full_into_the_merged_gap)
{
	kr_ranges_init(&r, at, 2);
	kr_ranges_add(&r, 0, 1);
	kr_ranges_add(&r, 10, 11);
	kr_ranges_add(&r, 5, 6);

	cr_expect_eq(r.nr, 1);
	cr_expect(is_range(0, 0, 11));
}

Test(ranges, cut__drops_and_shortens)
{
	fill(4);
	kr_ranges_add(&r, 11, 20);
	kr_ranges_cut(&r, 15);

	cr_expect_eq(r.nr, 3);
	cr_expect(is_range(0, 15, 20));
	kr_ranges_cut(&r, 20);
	cr_expect(is_range(0, 21, 22));
	kr_ranges_cut(&r, ~0ull);
	cr_expect_eq(r.nr, 0);
}
