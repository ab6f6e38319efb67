// SPDX-License-Identifier: MIT
/* test_cc: the window follows delay, and loss a little. */
#include <criterion/criterion.h>

#include "core/cc.h"

static struct kr_cc cc;
static u64 pn, now = KR_SEC;

/* One packet acknowledged after @rtt_us by a sender that fills its window. */
static void ack(u64 rtt_us)
{
	pn++;
	now += 10 * KR_USEC;
	kr_cc_on_ack(&cc, 1, pn, pn + kr_cc_window(&cc), rtt_us * KR_USEC, true, now);
}

Test(cc, init__starts_small)
{
	kr_cc_init(&cc);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT);
}

Test(cc, on_ack__slow_start_grows_by_each_packet_up_to_the_bound)
{
	int i;

	kr_cc_init(&cc);
	ack(20);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT + 1);
	for (i = 0; i < 1000; i++)
		ack(20);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_MAX);
}

Test(cc, on_ack__a_window_that_is_not_used_does_not_grow)
{
	kr_cc_init(&cc);
	kr_cc_on_ack(&cc, 8, 8, 9, 20 * KR_USEC, false, now);

	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT);
}

Test(cc, on_ack__delay_shrinks_once_in_a_round_trip)
{
	u32 before, once;

	kr_cc_init(&cc);
	ack(20);
	before = kr_cc_window(&cc);
	ack(1000000);
	once = kr_cc_window(&cc);
	ack(1000000);

	cr_expect_lt(once, before);
	cr_expect_geq(once, before / 2 - 1);
	cr_expect_eq(kr_cc_window(&cc), once);
}

Test(cc, on_ack__after_a_cut_growth_is_slow)
{
	u32 before;

	kr_cc_init(&cc);
	ack(20);
	ack(1000000);
	before = kr_cc_window(&cc);
	ack(20);
	ack(20);

	cr_expect_leq(kr_cc_window(&cc), before + 1);
}

Test(cc, on_ack__never_below_the_minimum)
{
	int i;

	kr_cc_init(&cc);
	ack(20);
	for (i = 0; i < 1000; i++)
		ack(1000000);

	cr_expect_eq(kr_cc_window(&cc), KR_CWND_MIN);
}

Test(cc, on_ack__a_longer_way_becomes_the_base)
{
	u32 i, shrunk;

	kr_cc_init(&cc);
	ack(20);
	for (i = 0; i < 200; i++)
		ack(300000);
	shrunk = kr_cc_window(&cc);
	for (i = 0; i < 100; i++) {
		now += KR_SEC;
		ack(300000);
	}

	cr_expect_gt(kr_cc_window(&cc), shrunk);
}

Test(cc, on_loss__mild_and_once)
{
	kr_cc_init(&cc);
	kr_cc_on_loss(&cc, 5, 20);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT * 205 / 256);
	kr_cc_on_loss(&cc, 19, 30);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT * 205 / 256);
	kr_cc_on_loss(&cc, 20, 30);
	cr_expect_lt(kr_cc_window(&cc), KR_CWND_INIT * 205 / 256);
}

Test(cc, on_silence__starts_again)
{
	kr_cc_init(&cc);
	kr_cc_on_silence(&cc);

	cr_expect_eq(kr_cc_window(&cc), KR_CWND_MIN);
	cr_expect(cc.is_slow_start);
}
