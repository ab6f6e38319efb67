// SPDX-License-Identifier: MIT
/* test_table: slots in turn, ids never twice. */
#include <criterion/criterion.h>

#include "core/table.h"
#include "core_env.h"

static struct kr_table t;

static u32 slot_of(u64 id)
{
	return id & ((1u << KR_SLOT_BITS) - 1);
}

Test(table, add__never_zero)
{
	kr_table_init(&t);
	cr_expect_neq(kr_table_add(&t, &t, 0), 0);
	kr_table_clean(&t);
	cr_expect_eq(nr_blocks, 0);
}

Test(table, add__reuses_slots_first_in_first_out_with_a_new_generation)
{
	u64 id[3], again[3];
	int i;

	kr_table_init(&t);
	for (i = 0; i < 3; i++)
		id[i] = kr_table_add(&t, &t, 0);
	kr_table_del(&t, id[1]);
	kr_table_del(&t, id[0]);
	kr_table_del(&t, id[2]);
	for (i = 0; i < 3; i++)
		again[i] = kr_table_add(&t, &t, 0);

	cr_expect_eq(slot_of(again[0]), slot_of(id[1]));
	cr_expect_eq(slot_of(again[1]), slot_of(id[0]));
	cr_expect_eq(slot_of(again[2]), slot_of(id[2]));
	cr_expect_neq(again[0], id[1]);
	kr_table_clean(&t);
}

Test(table, add__thousands)
{
	u64 id = 0;
	int i;

	kr_table_init(&t);
	for (i = 0; i < 70000; i++)
		id = kr_table_add(&t, &t, i & 1);

	cr_expect_eq(slot_of(id), 69999);
	cr_assert_not_null(kr_table_find(&t, id));
	cr_expect_eq(kr_table_find(&t, id)->kind, 1);
	kr_table_clean(&t);
	cr_expect_eq(nr_blocks, 0);
}

Test(table, add__without_memory_is_zero_and_recovers)
{
	kr_table_init(&t);
	is_memory_short = true;
	cr_expect_eq(kr_table_add(&t, &t, 0), 0);
	is_memory_short = false;
	cr_expect_neq(kr_table_add(&t, &t, 0), 0);
	kr_table_clean(&t);
}

Test(table, find__not_an_old_generation_nor_a_slot_never_used)
{
	u64 id;

	kr_table_init(&t);
	id = kr_table_add(&t, &t, 0);
	cr_expect_null(kr_table_find(&t, 0));
	cr_expect_null(kr_table_find(&t, id + 1));
	cr_expect_null(kr_table_find(&t, ~0ull));
	kr_table_del(&t, id);
	cr_expect_null(kr_table_find(&t, id));
	kr_table_add(&t, &t, 0);
	cr_expect_null(kr_table_find(&t, id));
	kr_table_clean(&t);
}

Test(table, del__twice_is_once)
{
	u64 a, b;

	kr_table_init(&t);
	a = kr_table_add(&t, &t, 0);
	kr_table_del(&t, a);
	kr_table_del(&t, a);
	a = kr_table_add(&t, &t, 0);
	b = kr_table_add(&t, &t, 0);

	cr_expect_neq(slot_of(a), slot_of(b));
	kr_table_clean(&t);
}

Test(table, del__last_generation_retires_the_slot)
{
	u64 id, next;

	kr_table_init(&t);
	id = kr_table_add(&t, &t, 0);
	kr_table_find(&t, id)->id |= ~0ull << KR_SLOT_BITS;
	kr_table_del(&t, ~0ull << KR_SLOT_BITS | slot_of(id));
	next = kr_table_add(&t, &t, 0);

	cr_expect_neq(slot_of(next), slot_of(id));
	kr_table_clean(&t);
}
