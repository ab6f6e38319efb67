// SPDX-License-Identifier: MIT
/* test_lane: numbers, credits, answers and doubts of one lane. */
#include <criterion/criterion.h>

#include "lanes.h"

static struct kr_assoc *a = &assocs[CLIENT], *b = &assocs[SERVER];
static struct kr_vqp *c = &clients[0].v, *s = &servers[0].v;

/* The lane alone. */

static struct kr_lane lane;
static u64 next_delivered, nr_told[2];

static void alone(u32 credits, u64 first_pn)
{
	lane.credits = credits;
	lane.next_pn = first_pn;
	lane.acked = first_pn - 1;
	next_delivered = first_pn;
}

static bool send_one(void)
{
	struct kr_sent *r;
	u64 pn = lane.next_pn;

	if (!kr_lane_has_credit(&lane))
		return false;
	r = kr_lane_begin(&lane);
	cr_assert_not_null(r);
	cr_assert_eq(r->nr_msgs, 0);
	r->nr_msgs = 1;
	r->msgs[0].vqp = pn;
	cr_assert_eq(kr_lane_commit(&lane, r, now), pn);
	return true;
}

static void send_many(u32 nr)
{
	while (nr--)
		cr_assert(send_one());
}

static void told(void *ctx, const struct kr_sent_msg *m, bool is_lost)
{
	nr_told[is_lost]++;
	if (!is_lost)
		cr_assert_eq(m->vqp, next_delivered++);
}

static bool answer(u64 ack)
{
	return kr_lane_on_ack(&lane, ack, now, told, NULL);
}

Test(lane, credit__bounds_what_waits_for_its_answer_exactly)
{
	alone(5, 1);
	send_many(4);
	cr_expect(kr_lane_has_credit(&lane));
	send_many(1);
	cr_expect_not(kr_lane_has_credit(&lane));
	cr_assert(answer(2));
	send_many(2);
	cr_expect_not(kr_lane_has_credit(&lane));
	cr_expect_eq(nr_told[false], 2);
}

static void wrap(u64 first_pn)
{
	u32 i;

	alone(KR_LANE_CREDITS_MAX, first_pn);
	send_many(KR_LANE_CREDITS_MAX);
	for (i = 0; i < 10 * KR_LANE_CREDITS_MAX; i++) {
		cr_assert_not(send_one());
		cr_assert(answer(lane.acked + 1));
		send_many(1);
	}
	cr_assert(answer(lane.next_pn - 1));
	cr_expect_eq(nr_told[false], 11 * KR_LANE_CREDITS_MAX);
	cr_expect_eq(next_delivered, first_pn + 11 * KR_LANE_CREDITS_MAX);
	cr_expect_eq(nr_told[true], 0);
	cr_expect_eq(nr_blocks, KR_LANE_CREDITS_MAX, "records are used again");
}

Test(lane, ring__each_message_is_told_with_its_own_number)
{
	wrap(1);
}

Test(lane, ring__goes_on_beyond_32_bits)
{
	wrap((1ull << 32) - KR_LANE_CREDITS_MAX - 3);
}

Test(lane, ring__goes_on_with_very_large_numbers)
{
	wrap((1ull << 63) - KR_LANE_CREDITS_MAX - 3);
}

Test(lane, on_ack__refuses_what_was_not_sent)
{
	alone(8, 1);
	cr_expect(answer(0));
	cr_expect_not(answer(1));
	send_many(3);
	cr_expect_not(answer(4));
	cr_expect_not(answer(~0ull));
	cr_expect_eq(nr_told[false], 0);
	cr_expect(answer(3));
	cr_expect_eq(nr_told[false], 3);
}

Test(lane, on_ack__refuses_to_go_back)
{
	alone(8, 1);
	send_many(4);
	cr_assert(answer(3));
	cr_expect(answer(3), "the same again says nothing");
	cr_expect_not(answer(2));
	cr_expect_not(answer(0));
	cr_expect_eq(nr_told[false], 3);
	cr_expect_eq(lane.acked, 3);
}

Test(lane, lose__tells_each_message_once)
{
	alone(8, 1);
	send_many(4);
	cr_assert(answer(1));
	kr_lane_lose(&lane, told, NULL);
	kr_lane_lose(&lane, told, NULL);
	cr_expect_eq(nr_told[true], 3);
	cr_expect(answer(4), "a late answer gives the credit back");
	cr_expect_eq(nr_told[false], 1);
	cr_expect_eq(kr_lane_waits_since(&lane), 0);
}

Test(lane, clean__tells_what_is_in_doubt_and_frees)
{
	alone(8, 1);
	send_many(8);
	cr_assert(answer(3));
	kr_lane_clean(&lane, told, NULL);
	cr_expect_eq(nr_told[true], 5);
	cr_expect_eq(nr_blocks, 0);
	for (u32 i = 0; i < KR_LANE_CREDITS_MAX; i++)
		cr_expect_null(lane.sent[i]);
}

Test(lane, begin__without_memory_changes_nothing)
{
	alone(8, 1);
	is_memory_short = true;
	cr_expect_null(kr_lane_begin(&lane));
	is_memory_short = false;
	send_many(8);
	cr_expect(answer(8));
}

Test(lane, took__every_second_packet_is_answered_at_once)
{
	kr_lane_took(&lane, now);
	cr_expect_not(kr_lane_is_ack_due(&lane, now));
	kr_lane_took(&lane, now);
	cr_expect(kr_lane_is_ack_due(&lane, now));
	cr_expect_eq(KR_LANE_ACK_EVERY, 2);
}

Test(lane, took__a_single_packet_is_answered_after_the_delay)
{
	kr_lane_took(&lane, now);
	cr_expect_not(kr_lane_is_ack_due(&lane, now + KR_ACK_DELAY_NS - 1));
	cr_expect(kr_lane_is_ack_due(&lane, now + KR_ACK_DELAY_NS));
}

Test(lane, answer__is_what_the_oldest_of_them_took)
{
	alone(8, 1);
	send_many(1);
	now += 5 * KR_MSEC;
	send_many(1);
	now += 3 * KR_MSEC;
	answer(2);
	cr_expect_eq(lane.answer_ns, 8 * KR_MSEC);
}

Test(lane, answer__is_a_slow_maximum)
{
	alone(8, 1);
	send_many(1);
	now += 8 * KR_MSEC;
	answer(1);
	send_many(1);
	now += KR_MSEC;
	answer(2);
	cr_expect_eq(lane.answer_ns, 7 * KR_MSEC);
	send_many(1);
	now += 20 * KR_MSEC;
	answer(3);
	cr_expect_eq(lane.answer_ns, 20 * KR_MSEC);
	answer(3);
	cr_expect_eq(lane.answer_ns, 20 * KR_MSEC, "nothing new measures nothing");
}

Test(lane, doubt__is_four_usual_answers_between_bounds)
{
	cr_expect_eq(kr_lane_doubt_ns(&lane), KR_LANE_DOUBT_MIN_NS);
	lane.answer_ns = KR_LANE_DOUBT_MIN_NS / 4 + 1;
	cr_expect_eq(kr_lane_doubt_ns(&lane), KR_LANE_DOUBT_MIN_NS + 4);
	lane.answer_ns = 10 * KR_SEC;
	cr_expect_eq(kr_lane_doubt_ns(&lane), KR_LANE_DOUBT_MAX_NS);
}

Test(lane, waits_since__the_oldest_without_an_answer)
{
	u64 start = now;

	alone(8, 1);
	cr_expect_eq(kr_lane_waits_since(&lane), 0);
	send_many(1);
	now += KR_MSEC;
	send_many(1);
	cr_expect_eq(kr_lane_waits_since(&lane), start);
	answer(1);
	cr_expect_eq(kr_lane_waits_since(&lane), start + KR_MSEC);
}

/* What a peer may say. */

/* The lane of the server is given up, once, and nothing else is. */
static void expect_failed(const char *what)
{
	struct kr_lane *l = lane_of(0, SERVER);

	cr_expect_eq(l->state, KR_LANE_FAILED, "%s", what);
	cr_expect_eq(nr_lanes_failed, 1, "%s", what);
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 77, .ack = 88 }, NULL, 0);
	cr_expect_eq(nr_lanes_failed, 1, "%s: told once", what);
	cr_expect_not(kr_assoc_lane_has_output(b, l, now + KR_SEC), "%s", what);
	cr_expect_eq(b->nr_up, 0, "%s", what);
	cr_expect_eq(s->state, KR_VQP_OPEN, "%s", what);
	cr_expect_eq(b->nr_replies, 0, "%s", what);
	nr_lanes_failed = 0;
	lane_break(0);
	lane_open(0, false);
	cr_assert_eq(lane_of(0, SERVER)->state, KR_LANE_UP);
}

static void say_raw(struct kr_hdr h, u32 len)
{
	u8 p[KR_HDR_LEN] = { 0 };

	kr_wire_put_hdr(p, &h);
	kr_assoc_lane_input(b, lane_of(0, SERVER), p, len, now);
}

Test(lane, input__what_breaks_the_format_ends_the_lane_once)
{
	struct kr_hdr h = { .lane = 1, .tag = 0x1001 };

	lane_connected();
	say_raw(h, KR_HDR_LEN);
	cr_assert_eq(nr_lanes_failed, 0, "this one is in order");
	say_raw(h, KR_HDR_LEN - 1);
	expect_failed("short");
	say_raw(h, 0);
	expect_failed("empty");
	h.body_len = 1;
	say_raw(h, KR_HDR_LEN);
	expect_failed("body beyond the end");
	h.body_len = 0;
	h.lane = 0;
	say_raw(h, KR_HDR_LEN);
	expect_failed("of the path");
	h.lane = 2;
	say_raw(h, KR_HDR_LEN);
	expect_failed("no such lane");
	h.lane = 1;
	h.flags = 0x80;
	say_raw(h, KR_HDR_LEN);
	expect_failed("flag");
	h.flags = 0;
	h.tag++;
	say_raw(h, KR_HDR_LEN);
	expect_failed("for another association");
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, (const u8[24]){ 0xff }, 24);
	expect_failed("no message");
}

Test(lane, input__a_wrong_number_ends_the_lane)
{
	lane_connected();
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 2 }, NULL, 0);
	expect_failed("one is missing");
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	cr_assert_eq(nr_lanes_failed, 0);
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	expect_failed("twice");
}

Test(lane, input__an_impossible_answer_ends_the_lane)
{
	lane_connected();
	put_zeros(s, LANE_BULK);
	kr_assoc_run_lanes(b, now);
	cr_assert_eq(lane_of(0, SERVER)->next_pn, 4);
	lanes_arrive(SERVER);
	lane_say(0, SERVER, (struct kr_hdr){ .ack = 2 }, NULL, 0);
	cr_assert_eq(nr_lanes_failed, 0);
	lane_say(0, SERVER, (struct kr_hdr){ .ack = 1 }, NULL, 0);
	expect_failed("backwards");
	lane_say(0, SERVER, (struct kr_hdr){ .ack = 1 }, NULL, 0);
	expect_failed("beyond what was sent");
	lanes_pass(KR_SEC);
	cr_expect_eq(kr_rx_ready(&c->rx), LANE_BULK, "and nothing is lost");
}

Test(lane, input__what_a_failed_lane_holds_goes_by_the_path_at_once)
{
	lane_connected();
	put_zeros(s, LANE_BULK);
	kr_assoc_run_lanes(b, now);
	cr_assert_eq(s->tx.inflight, 3);
	lane_cut(0, true);
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 2 }, NULL, 0);
	cr_assert_eq(nr_lanes_failed, 1);
	cr_expect_eq(s->tx.inflight, 0);
	lanes_pass(50 * KR_MSEC);
	cr_expect_eq(kr_rx_ready(&c->rx), LANE_BULK, "its owner has not closed it yet");
}

Test(lane, input__a_violation_of_a_connection_ends_it_and_not_the_lane)
{
	struct kr_data d = { .pos = 1 << 20, .len = 1, .payload = (const u8 *)"x" };
	struct kr_msg m = { 0 };
	u8 p[128];

	lane_connected();
	m.dst = s->id;
	m.src = s->peer_id;
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, p, kr_wire_put_data(p, &m, &d));
	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_eq(lane_of(0, SERVER)->state, KR_LANE_UP);
	cr_expect_eq(lane_of(0, SERVER)->taken, 1);
	cr_expect_eq(nr_lanes_failed, 0);
}

Test(lane, input__what_is_not_open_takes_nothing)
{
	lane_connected();
	lane_break(0);
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	cr_expect_eq(lane_of(0, SERVER)->rx_packets, 0);
	cr_expect_eq(nr_lanes_failed, 0);
}

Test(lane, input__is_counted_as_output_is)
{
	u64 tx, rx;

	lane_connected();
	tx = a->stats.tx_bytes;
	rx = b->stats.rx_bytes;
	put_zeros(c, LANE_BULK);
	kr_assoc_run_lanes(a, now);
	lanes_arrive(CLIENT);
	cr_expect_gt(a->stats.tx_bytes, tx + LANE_BULK);
	cr_expect_eq(b->stats.rx_bytes - rx, a->stats.tx_bytes - tx);
	cr_expect_eq(lane_of(0, SERVER)->rx_bytes, lane_of(0, CLIENT)->tx_bytes);
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 4 }, (const u8[24]){ 0xff }, 24);
	cr_expect_eq(b->stats.rx_malformed, 1);
	expect_failed("no message");
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 4 }, NULL, 0);
	cr_expect_eq(b->stats.rx_malformed, 2);
}

Test(lane, output__nothing_after_the_end)
{
	struct kr_lane *l = lane_of(0, SERVER);
	u8 p[LANE_SIZE];

	lane_connected();
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	now += KR_ACK_DELAY_NS;
	cr_assert(kr_assoc_lane_has_output(b, l, now), "an answer is due");
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	cr_assert_eq(l->state, KR_LANE_FAILED);
	cr_expect_not(kr_assoc_lane_has_output(b, l, now));
	cr_expect_eq(kr_assoc_lane_output(b, l, p, now), 0);
	kr_assoc_lane_close(b, l, now);
	cr_expect_not(kr_assoc_lane_has_output(b, l, now));
	cr_expect_eq(kr_assoc_lane_output(b, l, p, now), 0);
}

/* Answers. */

Test(lane, ack__alone_is_not_answered)
{
	struct lane_end *e = lane_ends[0];

	lane_connected();
	put_zeros(c, LANE_BULK);
	lanes_pass(KR_SEC);
	cr_assert_eq(kr_rx_ready(&s->rx), LANE_BULK);
	cr_assert_eq(e[CLIENT].nr_numbered, 3);
	cr_expect_eq(e[CLIENT].nr_bare, 0);
	cr_expect_eq(e[SERVER].nr_numbered, 0);
	cr_expect_eq(e[SERVER].nr_bare, 1);
	cr_expect_eq(e[CLIENT].lane.acked, 3);
}

Test(lane, ack__of_a_single_packet_waits_for_the_delay)
{
	lane_connected();
	put_zeros(c, KR_BULK_MIN);
	lane_ends[0][CLIENT].nr_slots = 1;
	lanes_settle();
	cr_assert_eq(lane_of(0, SERVER)->taken, 1);
	cr_expect_eq(kr_assoc_deadline(b), now + KR_ACK_DELAY_NS);
	now += KR_ACK_DELAY_NS - 1;
	cr_expect_not(kr_assoc_lane_has_output(b, lane_of(0, SERVER), now));
	now++;
	cr_expect(kr_assoc_lane_has_output(b, lane_of(0, SERVER), now));
	kr_assoc_run_lanes(b, now);
	cr_expect_eq(lane_ends[0][SERVER].nr_bare, 1);
	cr_expect_not(kr_assoc_lane_has_output(b, lane_of(0, SERVER), now));
}

Test(lane, ack__counts_anew_after_each)
{
	struct kr_lane *l = lane_of(0, SERVER);
	u64 pn;

	lane_connected();
	for (pn = 1; pn <= 2; pn++)
		lane_say(0, SERVER, (struct kr_hdr){ .pn = pn }, NULL, 0);
	kr_assoc_run_lanes(b, now);
	cr_assert_eq(lane_ends[0][SERVER].nr_bare, 1);
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 3 }, NULL, 0);
	cr_expect_not(kr_assoc_lane_has_output(b, l, now), "a single one");
	cr_expect_eq(kr_assoc_lane_deadline(b, l), now + KR_ACK_DELAY_NS);
}

/* What waits for a send slot does not wait for time. */
Test(lane, ack__that_is_due_sets_no_timer)
{
	struct kr_lane *l = lane_of(0, SERVER);

	lane_connected();
	lane_say(0, SERVER, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	now += KR_ACK_DELAY_NS;
	kr_assoc_timeout(b, now);
	lane_ends[0][SERVER].nr_slots = 0;
	cr_expect_eq(kr_assoc_run_lanes(b, now), KR_RUN_STARVED);
	cr_expect_eq(kr_assoc_lane_deadline(b, l), ~0ull);
}

Test(lane, ack__goes_with_data_that_goes_anyway)
{
	struct lane_end *e = lane_ends[0];

	lane_connected();
	put_zeros(c, KR_BULK_MIN);
	put_zeros(s, KR_BULK_MIN);
	lane_ends[0][CLIENT].nr_slots = 1;
	kr_assoc_run_lanes(a, now);
	lanes_arrive(CLIENT);
	kr_assoc_run_lanes(b, now);
	cr_assert_eq(e[SERVER].nr_numbered, 1);
	cr_expect_eq(e[SERVER].nr_bare, 0);
	lanes_arrive(SERVER);
	cr_expect_eq(e[CLIENT].lane.acked, 1);
}

/* Bytes that came by lane are told by lane, without the path. */
Test(lane, ack__brings_the_news)
{
	lane_connected();
	put_zeros(c, LANE_BULK);
	kr_assoc_run_lanes(a, now);
	lanes_arrive(CLIENT);
	cr_assert_eq(kr_rx_ready(&s->rx), LANE_BULK);
	kr_assoc_run_lanes(b, now);
	lanes_arrive(SERVER);
	cr_expect_eq(lane_ends[0][SERVER].nr_types[KR_MSG_WINDOW], 1);
	cr_expect_eq(lane_ends[0][SERVER].nr_bare, 1);
	cr_expect_not(kr_tx_has_unaccepted(&c->tx));
}

/* A lane that is full of DATA in both directions sends no answer alone. */
Test(lane, news__have_room_in_packets_full_of_data)
{
	struct lane_end *e = lane_ends[0];

	lane_connected();
	dial(1);
	lanes_pass(5 * KR_MSEC);
	put_zeros(c, LANE_BULK);
	kr_assoc_run_lanes(a, now);
	lanes_arrive(CLIENT);
	cr_assert_eq(kr_rx_ready(&s->rx), LANE_BULK);
	put_zeros(&servers[1].v, LANE_BULK);
	kr_assoc_run_lanes(b, now);
	cr_assert_eq(e[SERVER].nr_bare, 0);
	lanes_arrive(SERVER);

	cr_assert_gt(kr_rx_ready(&clients[1].v.rx), LANE_PAYLOAD);
	cr_expect_not(kr_tx_has_unaccepted(&c->tx));
}

/* Both directions full, answers late: the assertions of lanes.h hold. */
Test(lane, ack__alone_never_exceeds_the_buffers_for_it)
{
	struct lane_end *e = lane_ends[0];
	u32 i;

	lane_credits = 4;
	lane_size = 2048;
	lane_connected();
	e[SERVER].delay_ns = 20 * KR_MSEC;
	for (i = 0; i < 500; i++) {
		put_zeros(c, kr_tx_room(&c->tx));
		put_zeros(s, i < 250 || i % 3 ? 0 : kr_tx_room(&s->tx));
		lanes_pass(KR_MSEC);
		kr_vqp_consumed(s, kr_rx_ready(&s->rx), now);
		kr_vqp_consumed(c, kr_rx_ready(&c->rx), now);
	}
	cr_expect_gt(e[CLIENT].nr_numbered, 50);
	cr_expect_gt(e[SERVER].nr_bare, 10);
	cr_expect_leq(e[SERVER].nr_bare, e[CLIENT].nr_numbered);
	cr_expect_leq(e[CLIENT].nr_bare, e[SERVER].nr_numbered);
}

/* Time. */

/* All that may go is on the lane, and nobody answers. */
static u64 stuck(void)
{
	u64 start;

	lane_connected();
	lane_cut(0, true);
	put_zeros(c, LANE_BULK);
	start = now;
	kr_assoc_run_lanes(a, now);
	cr_assert_eq(c->tx.inflight, 3);
	return start;
}

Test(lane, time__no_answer_makes_doubt_then_an_end)
{
	struct kr_lane *l = lane_of(0, CLIENT);
	u64 start = stuck();

	cr_expect_eq(kr_assoc_deadline(a), start + KR_LANE_DOUBT_MIN_NS);
	now = start + KR_LANE_DOUBT_MIN_NS - 1;
	kr_assoc_timeout(a, now);
	cr_expect_eq(l->state, KR_LANE_UP);
	now++;
	kr_assoc_timeout(a, now);
	cr_expect_eq(l->state, KR_LANE_DOUBT);
	cr_expect_eq(l->nr_doubts, 1);
	cr_expect_eq(c->tx.inflight, 0, "what it holds goes another way");
	cr_expect_eq(kr_assoc_lane_deadline(a, l), start + KR_LANE_STALL_NS);
	lanes_pass(start + KR_LANE_STALL_NS - 1 - now);
	kr_assoc_timeout(a, now);
	cr_expect_eq(l->state, KR_LANE_DOUBT);
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK, "by UD");
	now++;
	kr_assoc_timeout(a, now);
	cr_expect_eq(l->state, KR_LANE_FAILED);
	cr_expect_eq(nr_lanes_failed, 1);
	cr_expect_eq(kr_assoc_lane_deadline(a, l), ~0ull);
}

Test(lane, time__a_late_answer_ends_the_doubt)
{
	struct kr_lane *l = lane_of(0, CLIENT);

	stuck();
	lanes_pass(KR_SEC);
	cr_assert_eq(l->state, KR_LANE_DOUBT);
	cr_assert_eq(kr_rx_ready(&s->rx), LANE_BULK);
	lane_cut(0, false);
	lanes_pass(10 * KR_MSEC);
	cr_expect_eq(l->state, KR_LANE_UP);
	cr_expect_eq(l->acked, 3);
	cr_expect_geq(l->answer_ns, KR_SEC - KR_MSEC);
	cr_expect_eq(kr_lane_doubt_ns(l), KR_LANE_DOUBT_MAX_NS);
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK, "each byte once");
	cr_expect_eq(s->state, KR_VQP_OPEN);
	cr_expect_eq(nr_lanes_failed, 0);
}

Test(lane, time__doubt_says_nothing_but_answers)
{
	struct lane_end *e = lane_ends[0];
	u32 nr;

	stuck();
	lanes_pass(KR_SEC);
	nr = e[CLIENT].nr_numbered;
	put_zeros(c, 4000);
	lane_say(0, CLIENT, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	lane_say(0, CLIENT, (struct kr_hdr){ .pn = 2 }, NULL, 0);
	lanes_settle();
	cr_expect_eq(e[CLIENT].lane.state, KR_LANE_DOUBT, "numbers are no answer");
	cr_expect_eq(e[CLIENT].nr_numbered, nr);
	cr_expect_eq(e[CLIENT].nr_bare, 1);
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK + 4000, "by UD");
}

Test(lane, time__without_another_way_it_has_longer)
{
	struct kr_lane *l = lane_of(0, CLIENT);
	u64 start = stuck();

	ud_lost();
	lanes_pass(start + KR_LANE_ALONE_NS - 1 - now);
	kr_assoc_timeout(a, now);
	cr_expect_eq(l->state, KR_LANE_DOUBT);
	cr_expect_eq(kr_assoc_lane_deadline(a, l), now + 1);
	now++;
	kr_assoc_timeout(a, now);
	cr_expect_eq(l->state, KR_LANE_FAILED);
}

Test(lane, time__another_lane_is_another_way)
{
	struct kr_lane *l = lane_of(0, CLIENT);
	u64 start = stuck();

	ud_lost();
	lane_open(1, true);
	lanes_pass(start + KR_LANE_STALL_NS - 1 - now);
	cr_expect_eq(l->state, KR_LANE_DOUBT);
	lanes_pass(2);
	cr_expect_eq(l->state, KR_LANE_FAILED);
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK);
}
