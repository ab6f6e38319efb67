// SPDX-License-Identifier: MIT
/* test_channel: numbers, acknowledgement, loss and silence. */
#include <criterion/criterion.h>

#include "core/channel.h"
#include "core_env.h"

static struct kr_channel ch, peer;
static u64 now = KR_SEC;
static u32 nr_delivered, nr_lost;
static u64 last_lost;

static void on_sent(void *ctx, const struct kr_sent_msg *m, bool is_lost)
{
	if (is_lost) {
		nr_lost++;
		last_lost = m->pos;
	} else {
		nr_delivered++;
	}
}

static void setup(void)
{
	kr_channel_init(&ch);
	kr_channel_init(&peer);
}

static void teardown(void)
{
	kr_channel_clean(&ch, on_sent, NULL);
	kr_channel_clean(&peer, on_sent, NULL);
	cr_expect_eq(nr_blocks, 0);
}

/* A packet with one message, whose pos is the packet's number. */
static u64 send_one(void)
{
	struct kr_sent *s = kr_channel_begin(&ch);

	cr_assert_not_null(s);
	s->nr_msgs = 1;
	memset(&s->msgs[0], 0, sizeof(s->msgs[0]));
	s->msgs[0].pos = ch.next_pn;
	return kr_channel_commit(&ch, s, now);
}

/* The peer's acknowledgement arrives. */
static bool ack(void)
{
	struct kr_hdr h = { 0 };

	kr_channel_put_ack(&peer, &h, now);
	return kr_channel_on_ack(&ch, &h, now, on_sent, NULL);
}

static void timeout(void)
{
	now = max(now, kr_channel_deadline(&ch, now));
	kr_channel_timeout(&ch, now, on_sent, NULL);
}

TestSuite(channel, .init = setup, .fini = teardown);

Test(channel, clean__tells_what_is_in_doubt_as_lost)
{
	send_one();
	send_one();
	kr_channel_clean(&ch, on_sent, NULL);

	cr_expect_eq(nr_lost, 2);
}

Test(channel, may_send__data_waits_for_the_window_control_does_not)
{
	while (kr_channel_may_send(&ch, false))
		send_one();

	cr_expect_eq(ch.inflight, KR_CWND_INIT);
	cr_expect(kr_channel_may_send(&ch, true));
}

Test(channel, may_send__nothing_beyond_the_ring)
{
	while (kr_channel_may_send(&ch, true))
		send_one();

	cr_expect_eq(ch.inflight, KR_SENT_RING);
}

Test(channel, begin__fails_without_memory)
{
	is_memory_short = true;
	cr_expect_null(kr_channel_begin(&ch));
}

Test(channel, commit__numbers_grow_from_one)
{
	cr_expect_eq(send_one(), 1);
	cr_expect_eq(send_one(), 2);
}

Test(channel, is_known__only_what_came)
{
	kr_channel_receive(&peer, 5, false, now);

	cr_expect(kr_channel_is_known(&peer, 5));
	cr_expect_not(kr_channel_is_known(&peer, 4));
	cr_expect_not(kr_channel_is_known(&peer, 6));
	kr_channel_receive(&peer, 4, false, now);
	cr_expect(kr_channel_is_known(&peer, 4));
	cr_expect_not(kr_channel_is_known(&peer, 3));
}

/* After number 1000 and one @by later, exactly these two are known. */
static void check_shift(u64 by)
{
	u64 pn, lowest = 1000 + by > KR_SACK_BITS ? 1000 + by - KR_SACK_BITS : 0;

	kr_channel_init(&peer);
	kr_channel_receive(&peer, 1000, false, now);
	kr_channel_receive(&peer, 1000 + by, false, now);
	for (pn = lowest; pn < 1000 + by; pn++)
		cr_expect_eq(kr_channel_is_known(&peer, pn), pn == 1000,
			     "by %lu: %lu", (unsigned long)by, (unsigned long)pn);
	cr_expect(kr_channel_is_known(&peer, 1000 + by));
	cr_expect(kr_channel_is_known(&peer, lowest ? lowest - 1 : 1000));
}

Test(channel, receive__the_map_shifts_by_any_number)
{
	static const u64 bys[] = { 1, 2, 63, 64, 65, 66, 127, 128, 129, 130,
				    191, 192, 193, 255, 256, 257, 500 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bys); i++)
		check_shift(bys[i]);
}

/* All of a window, then one that is @by later: the old ones keep their bits. */
Test(channel, receive__many_bits_move_together)
{
	u64 pn, by;

	for (by = 1; by < KR_SACK_BITS + 12; by++) {
		kr_channel_init(&peer);
		for (pn = 1; pn <= 200; pn += 3)
			kr_channel_receive(&peer, pn, false, now);
		kr_channel_receive(&peer, 199 + by, false, now);
		for (pn = 200 + by - KR_SACK_BITS; pn < 199 + by; pn++)
			cr_expect_eq(kr_channel_is_known(&peer, pn),
				     pn <= 200 && pn % 3 == 1);
	}
}

Test(channel, receive__acknowledges_every_few_packets_or_after_a_delay)
{
	u64 pn;

	kr_channel_receive(&peer, 1, false, now);
	kr_channel_put_ack(&peer, &(struct kr_hdr){ 0 }, now);
	for (pn = 2; pn < 2 + KR_ACK_EVERY - 1; pn++)
		kr_channel_receive(&peer, pn, false, now);
	cr_expect_not(kr_channel_is_ack_due(&peer, now));
	cr_expect(kr_channel_is_ack_due(&peer, now + KR_ACK_DELAY_NS));
	kr_channel_receive(&peer, pn, false, now);
	cr_expect(kr_channel_is_ack_due(&peer, now));
}

Test(channel, receive__a_gap_a_repetition_and_a_wish_are_answered_at_once)
{
	kr_channel_receive(&peer, 1, true, now);
	cr_expect(kr_channel_is_ack_due(&peer, now));
	kr_channel_put_ack(&peer, &(struct kr_hdr){ 0 }, now);
	kr_channel_receive(&peer, 3, false, now);
	cr_expect(kr_channel_is_ack_due(&peer, now), "a gap");
	kr_channel_put_ack(&peer, &(struct kr_hdr){ 0 }, now);
	kr_channel_receive(&peer, 3, false, now);
	cr_expect(kr_channel_is_ack_due(&peer, now), "a repetition");
	cr_expect_eq(peer.nr_dup, 1);
}

Test(channel, on_ack__tells_each_packet_once)
{
	u64 pn;

	for (pn = 1; pn <= 5; pn++)
		kr_channel_receive(&peer, send_one(), false, now);
	now += 100 * KR_USEC;
	cr_expect(ack());
	cr_expect(ack());

	cr_expect_eq(nr_delivered, 5);
	cr_expect_eq(ch.inflight, 0);
	cr_expect_eq(ch.srtt_ns, 100 * KR_USEC);
}

Test(channel, on_ack__refuses_what_was_not_sent)
{
	struct kr_hdr h = { .ack = 3 };

	send_one();
	cr_expect_not(kr_channel_on_ack(&ch, &h, now, on_sent, NULL));
	h.ack = 2;
	cr_expect(kr_channel_on_ack(&ch, &h, now, on_sent, NULL));
}

Test(channel, on_ack__a_gap_is_lost_after_three)
{
	u64 pn;

	for (pn = 1; pn <= 4; pn++)
		send_one();
	kr_channel_receive(&peer, 3, false, now);
	ack();
	cr_expect_eq(nr_lost, 0);
	kr_channel_receive(&peer, 4, false, now);
	ack();

	cr_expect_eq(nr_lost, 1);
	cr_expect_eq(last_lost, 1);
	cr_expect_eq(nr_delivered, 2);
}

Test(channel, on_ack__a_late_packet_teaches_to_wait)
{
	u64 pn;

	for (pn = 1; pn <= 10; pn++)
		send_one();
	kr_channel_receive(&peer, 10, false, now);
	ack();
	cr_expect_gt(nr_lost, 0);
	kr_channel_receive(&peer, 1, false, now);
	ack();

	cr_expect_eq(ch.nr_spurious, 1);
	cr_expect_eq(ch.reorder, 10);
	cr_expect_eq(nr_delivered, 1, "it was told lost, not delivered again");
}

Test(channel, on_ack__beyond_the_reach_of_the_map)
{
	const u64 nr = KR_SACK_BITS + 100;
	u64 pn;

	for (pn = 1; pn <= nr; pn++)
		send_one();
	for (pn = 2; pn <= nr; pn++)
		kr_channel_receive(&peer, pn, false, now);
	ack();

	/* 100..nr are named; what is older cannot be any more. */
	cr_expect_eq(nr_delivered, KR_SACK_BITS + 1);
	cr_expect_eq(nr_lost, 99);
	cr_expect_eq(ch.inflight, 0);
	cr_expect_eq(ch.low_pn, nr + 1);
}

Test(channel, timeout__a_gap_by_time)
{
	send_one();
	send_one();
	kr_channel_receive(&peer, 2, false, now);
	now += 100 * KR_USEC;
	ack();
	cr_expect_eq(nr_lost, 0);
	timeout();

	cr_expect_eq(nr_lost, 1);
	cr_expect_eq(ch.nr_pto, 0);
}

Test(channel, deadline__none_without_packets)
{
	cr_expect_eq(kr_channel_deadline(&ch, now), ~0ull);
	kr_channel_receive(&ch, 1, true, now);
	cr_expect_eq(kr_channel_deadline(&ch, now), ~0ull, "due now is output");
	kr_channel_put_ack(&ch, &(struct kr_hdr){ 0 }, now);
	kr_channel_receive(&ch, 2, false, now);
	cr_expect_eq(kr_channel_deadline(&ch, now), now + KR_ACK_DELAY_NS);
}

/* Who sends more often than the timeout is long still misses that nothing comes back. */
Test(channel, timeout__is_moved_only_so_far_by_what_is_sent_meanwhile)
{
	u64 start = now, pto = kr_channel_pto_ns(&ch);
	int i;

	for (i = 0; i < 2; i++) {
		send_one();
		cr_expect_eq(kr_channel_deadline(&ch, now), now + pto);
		now += pto / 2;
	}
	for (i = 0; i < 2; i++) {
		send_one();
		cr_expect_eq(kr_channel_deadline(&ch, now), start + 2 * pto);
		now += pto / 4;
	}
	/* An answer does: the others are missed from now on. */
	kr_channel_receive(&peer, 1, true, now);
	ack();
	pto = kr_channel_pto_ns(&ch);
	send_one();
	cr_expect_eq(ch.inflight, 4);
	cr_expect_eq(kr_channel_deadline(&ch, now), now + pto);
}

Test(channel, timeout__the_next_one_counts_from_it)
{
	u64 first;

	send_one();
	send_one();
	send_one();
	timeout();
	cr_expect_eq(ch.inflight, 2);
	first = now;
	cr_expect_eq(kr_channel_deadline(&ch, now), first + kr_channel_pto_ns(&ch));
	/* The probes are two packets more that are not answered. */
	now += KR_MSEC;
	send_one();
	cr_expect_eq(kr_channel_deadline(&ch, now), now + kr_channel_pto_ns(&ch));
	now += 3 * kr_channel_pto_ns(&ch) / 2;
	send_one();
	cr_expect_eq(kr_channel_deadline(&ch, now), first + 2 * kr_channel_pto_ns(&ch));
}

/* What was sent while an older packet was in doubt is not late with that one. */
Test(channel, timeout__a_gap_that_is_lost_leaves_the_next_packet_its_time)
{
	u64 rtt = 200 * KR_MSEC, sent;

	send_one();
	send_one();
	now += rtt;
	kr_channel_receive(&peer, 2, true, now);
	ack();
	ch.rttvar_ns = 0;
	now += 20 * KR_MSEC;
	sent = now;
	send_one();
	timeout();
	cr_assert_eq(nr_lost, 1);
	cr_expect_geq(kr_channel_deadline(&ch, now), sent + kr_channel_pto_ns(&ch));
}

Test(channel, timeout__counts_from_the_first_in_flight)
{
	send_one();
	kr_channel_receive(&peer, 1, true, now);
	ack();
	now += 10 * KR_SEC;
	send_one();
	cr_expect_eq(kr_channel_deadline(&ch, now), now + kr_channel_pto_ns(&ch));
}

Test(channel, timeout__backs_off_to_a_bound)
{
	u64 last = 0, start;
	int i;

	send_one();
	for (i = 0; i < 12; i++) {
		start = now;
		timeout();
		cr_expect_geq(now - start, last);
		cr_expect_leq(now - start, KR_PTO_MAX_NS);
		last = now - start;
		send_one();
	}
	cr_expect_eq(last, KR_PTO_MAX_NS);
	cr_expect(kr_channel_is_silent(&ch));
}

Test(channel, is_ask_due__once_in_half_a_window)
{
	u64 pn, nr_asked = 0;
	u32 i;

	for (i = 0; i < KR_CWND_INIT; i++) {
		pn = send_one();
		if (!kr_channel_is_ask_due(&ch, pn))
			continue;
		nr_asked++;
		cr_expect_eq(pn % (KR_CWND_INIT / 2), 0, "asked with %u", (u32)pn);
	}

	cr_expect_eq(nr_asked, 2);
}

Test(channel, is_ask_due__not_by_single_packets)
{
	u32 i;

	for (i = 0; i < 4 * KR_CWND_INIT; i++) {
		cr_expect_not(kr_channel_is_ask_due(&ch, send_one()));
		kr_channel_receive(&peer, ch.next_pn - 1, false, now);
		ack();
	}
}

Test(channel, timeout__an_answer_ends_the_backoff)
{
	send_one();
	timeout();
	timeout();
	kr_channel_receive(&peer, 1, false, now);
	ack();

	cr_expect_eq(ch.pto_count, 0, "even an answer to what was told lost");
}

/* Two packets for each timeout, for an hour: numbers must never run out. */
Test(channel, timeout__a_long_silence_never_uses_up_the_ring)
{
	int i;

	send_one();
	for (i = 0; i < 3600; i++) {
		timeout();
		cr_assert(kr_channel_may_send(&ch, true), "after %d timeouts", i);
		send_one();
		if (kr_channel_may_send(&ch, true))
			send_one();
		cr_assert_leq(ch.inflight, KR_SACK_BITS);
	}
	kr_channel_receive(&peer, ch.next_pn - 1, false, now);
	cr_expect(ack());
	cr_expect_not(kr_channel_is_silent(&ch));
}

/* A burst of control fills the ring and all of its answers are lost. */
Test(channel, timeout__a_full_ring_gets_room)
{
	while (kr_channel_may_send(&ch, true))
		send_one();
	timeout();

	cr_expect(kr_channel_may_send(&ch, true));
}

Test(channel, lose__a_full_ring_gets_room)
{
	u32 nr = 0;

	for (; kr_channel_may_send(&ch, true); nr++)
		send_one();
	kr_channel_lose(&ch, on_sent, NULL);

	cr_expect_eq(ch.inflight, 0);
	cr_expect_eq(nr_lost, nr);
	cr_expect(kr_channel_may_send(&ch, false));
}
