// SPDX-License-Identifier: MIT
/* test_cc: the window grows to its bound, and loss shrinks it a little. */
#include <criterion/criterion.h>

#include "core/cc.h"

static struct kr_cc cc;

Test(cc, init__starts_small)
{
	kr_cc_init(&cc);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT);
}

Test(cc, on_ack__slow_start_grows_by_each_packet_up_to_the_bound)
{
	int i;

	kr_cc_init(&cc);
	kr_cc_on_ack(&cc, 3, true);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT + 3);
	for (i = 0; i < 1000; i++)
		kr_cc_on_ack(&cc, 1, true);
	cr_expect_eq(kr_cc_window(&cc), KR_CWND_MAX);
}

Test(cc, on_ack__a_window_that_is_not_used_does_not_grow)
{
	kr_cc_init(&cc);
	kr_cc_on_ack(&cc, 8, false);

	cr_expect_eq(kr_cc_window(&cc), KR_CWND_INIT);
}

Test(cc, on_ack__after_a_loss_growth_is_one_per_round_trip)
{
	u32 before, i;

	kr_cc_init(&cc);
	kr_cc_on_loss(&cc, 1, 20);
	before = kr_cc_window(&cc);
	for (i = 0; i < before; i++)
		kr_cc_on_ack(&cc, 1, true);

	cr_expect_leq(kr_cc_window(&cc), before + 1);
	for (i = 0; i < 2 * before; i++)
		kr_cc_on_ack(&cc, 1, true);
	cr_expect_gt(kr_cc_window(&cc), before);
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

Test(cc, on_loss__never_below_the_minimum)
{
	u64 pn;

	kr_cc_init(&cc);
	for (pn = 1; pn < 1000; pn++)
		kr_cc_on_loss(&cc, pn, pn + 1);

	cr_expect_eq(kr_cc_window(&cc), KR_CWND_MIN);
}

Test(cc, on_silence__starts_again)
{
	kr_cc_init(&cc);
	kr_cc_on_silence(&cc);

	cr_expect_eq(kr_cc_window(&cc), KR_CWND_MIN);
	cr_expect(cc.is_slow_start);
}
