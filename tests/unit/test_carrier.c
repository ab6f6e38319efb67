// SPDX-License-Identifier: MIT
/* test_carrier: which carrier takes what, and lanes that come and go. */
#include <criterion/criterion.h>

#include "lanes.h"

static struct kr_assoc *a = &assocs[CLIENT], *b = &assocs[SERVER];
static struct kr_vqp *c = &clients[0].v, *s = &servers[0].v;

/* Byte @pos of what is sent. */
static u8 pattern(u64 pos)
{
	return pos * 7 + (pos >> 8) * 13 + (pos >> 16);
}

static u32 write_some(struct kr_vqp *v, u32 max_len)
{
	static u8 bytes[65536];
	u32 i, len = min(max_len, kr_tx_room(&v->tx));

	for (i = 0; i < len; i++)
		bytes[i] = pattern(v->tx.end + i);
	if (len)
		put(v, bytes, len);
	return len;
}

static u32 read_all(struct kr_vqp *v)
{
	static u8 bytes[65536];
	u32 i, len = kr_rx_ready(&v->rx);

	kr_buf_read(&v->rx.buf, v->rx.read, bytes, len);
	for (i = 0; i < len; i++)
		cr_assert_eq(bytes[i], pattern(v->rx.read + i));
	if (v->is_attached)
		kr_vqp_consumed(v, len, now);
	else
		kr_rx_consume(&v->rx, len);
	return len;
}

/* Each of @len bytes comes once and right, in time. */
static void transfer(struct kr_vqp *from, struct kr_vqp *to, u32 len, u64 in_time)
{
	u64 until = now + in_time, got = 0, put_len = 0;

	while (got < len && now < until) {
		put_len += write_some(from, len - put_len);
		lanes_pass(KR_MSEC);
		got += read_all(to);
	}
	cr_expect_eq(got, len);
}

static u32 nr_data(int nr, int side)
{
	return lane_ends[nr][side].nr_types[KR_MSG_DATA];
}

/* Connection @i is open; whatever carries it. */
static void dial_open(int i)
{
	dial(i);
	lanes_pass(20 * KR_MSEC);
	cr_assert_eq(clients[i].v.state, KR_VQP_OPEN);
	cr_assert_eq(servers[i].v.state, KR_VQP_OPEN);
}

Test(carrier, data__much_of_it_goes_by_lane)
{
	u32 sent;

	lane_connected();
	sent = nr_sent[CLIENT];
	put_zeros(c, LANE_BULK);
	lanes_settle();
	cr_expect_eq(nr_data(0, CLIENT), 3);
	cr_expect_eq(nr_sent[CLIENT], sent);
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK);
	cr_expect_eq(a->bulk_bytes, LANE_BULK);
}

Test(carrier, data__little_of_it_goes_by_the_path)
{
	lane_connected();
	put_zeros(c, KR_BULK_MIN - 1);
	lanes_settle();
	cr_expect_eq(nr_data(0, CLIENT), 0);
	cr_expect_eq(kr_rx_ready(&s->rx), KR_BULK_MIN - 1);
	cr_expect_eq(a->bulk_bytes, 0);
	put_zeros(c, KR_BULK_MIN);
	lanes_settle();
	cr_expect_eq(nr_data(0, CLIENT), 1, "the bound itself is much");
	cr_expect_eq(kr_rx_ready(&s->rx), 2 * KR_BULK_MIN - 1);
}

Test(carrier, data__much_of_it_without_a_lane_goes_by_the_path)
{
	connected();
	put_zeros(c, LANE_BULK);
	cr_expect(list_empty(&a->bulk));
	lanes_pass(50 * KR_MSEC);
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK);
}

Test(carrier, control__goes_by_the_path)
{
	struct lane_end *e = lane_ends[0];

	lane_connected();
	dial_open(1);
	kr_vqp_close(&clients[1].v, now);
	kr_vqp_close(&servers[1].v, now);
	lanes_pass(KR_SEC);
	cr_expect_eq(clients[1].v.state, KR_VQP_CLOSED);
	cr_expect_eq(e[CLIENT].nr_numbered + e[SERVER].nr_numbered, 0);
	cr_expect_eq(e[CLIENT].nr_bare + e[SERVER].nr_bare, 0);
}

Test(carrier, idle__a_lane_says_nothing)
{
	struct lane_end *e = lane_ends[0];

	lane_connected();
	lanes_pass(100 * KR_SEC);
	cr_expect_eq(e[CLIENT].nr_numbered + e[SERVER].nr_numbered, 0);
	cr_expect_eq(e[CLIENT].nr_bare + e[SERVER].nr_bare, 0);
	cr_expect_eq(e[CLIENT].lane.state, KR_LANE_UP);
	cr_expect_eq(kr_assoc_lane_deadline(a, &e[CLIENT].lane), ~0ull);
}

Test(carrier, down__what_waits_for_the_last_lane_goes_by_the_path)
{
	lane_connected();
	lane_ends[0][CLIENT].nr_slots = 0;
	put_zeros(c, LANE_BULK);
	lanes_pass(50 * KR_MSEC);
	cr_expect_not(list_empty(&a->bulk), "it waits for slots");
	cr_expect_eq(kr_rx_ready(&s->rx), 0);
	lane_break(0);
	cr_expect(list_empty(&a->bulk));
	cr_expect_eq(a->nr_bulk_up, 0);
	lanes_pass(50 * KR_MSEC);
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK);
}

/* Some of it arrived, and nobody knows: each byte is taken once. */
static void break_in_doubt(u32 nr_arrived)
{
	lane_connected();
	write_some(c, LANE_BULK);
	kr_assoc_run_lanes(a, now);
	cr_assert_eq(lane_ends[0][CLIENT].nr_queued, 3);
	while (nr_arrived--) {
		struct lane_packet q = lane_pop(&lane_ends[0][CLIENT]);

		kr_assoc_lane_input(b, lane_of(0, SERVER), q.bytes, q.len, now);
		free(q.bytes);
	}
	lane_break(0);
	cr_expect_eq(c->tx.inflight, 0);
	lanes_pass(100 * KR_MSEC);
	cr_expect_eq(read_all(s), LANE_BULK);
	cr_expect_not(kr_tx_has_unaccepted(&c->tx));
	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(s->state, KR_VQP_OPEN);
}

Test(carrier, close__nothing_of_it_arrived)
{
	break_in_doubt(0);
}

Test(carrier, close__some_of_it_arrived)
{
	break_in_doubt(2);
}

Test(carrier, close__all_of_it_arrived)
{
	break_in_doubt(3);
}

Test(carrier, close__twice_is_once)
{
	lane_connected();
	lane_break(0);
	lane_break(0);
	cr_expect_eq(a->nr_lanes, 0);
	cr_expect_eq(a->nr_up, 0);
	cr_expect(list_empty(&a->lanes));
}

Test(carrier, doubt__goes_back_to_the_path_and_late_copies_do_no_harm)
{
	lane_connected();
	lane_cut(0, true);
	write_some(c, LANE_BULK);
	lanes_pass(KR_LANE_DOUBT_MIN_NS + 50 * KR_MSEC);
	cr_assert_eq(lane_of(0, CLIENT)->state, KR_LANE_DOUBT);
	cr_expect_eq(read_all(s), LANE_BULK);
	lanes_pass(500 * KR_MSEC);
	lane_cut(0, false);
	lanes_pass(10 * KR_MSEC);
	cr_assert_eq(lane_of(0, CLIENT)->state, KR_LANE_UP);
	transfer(c, s, 500000, KR_SEC);
	cr_expect_geq(nr_data(0, CLIENT), 500000 / LANE_PAYLOAD);
}

Test(carrier, two__both_carry_when_one_has_no_credit)
{
	lane_connected();
	lane_open(1, false);
	lane_cut(0, true);
	lane_ends[0][CLIENT].lane.credits = 1;
	write_some(c, LANE_BULK);
	lanes_settle();
	cr_expect_eq(nr_data(0, CLIENT), 1);
	cr_expect_geq(nr_data(1, CLIENT), 2);
	cr_expect_eq(kr_rx_ready(&s->rx), 0, "the first bytes are stuck");
	lane_cut(0, false);
	lanes_settle();
	cr_expect_eq(read_all(s), LANE_BULK);
}

Test(carrier, two__one_goes_the_other_stays)
{
	lane_connected();
	lane_open(1, false);
	lane_cut(0, true);
	write_some(c, LANE_BULK);
	lanes_settle();
	lane_break(0);
	cr_expect_eq(a->nr_bulk_up, 1);
	lanes_settle();
	cr_expect_eq(nr_data(1, CLIENT), 3);
	cr_expect_eq(read_all(s), LANE_BULK);
}

/* The last way. */

Test(carrier, last__is_not_used_while_the_path_works)
{
	struct lane_end *e = lane_ends[0];

	connected();
	lane_open(0, true);
	cr_expect_eq(a->nr_up, 1);
	cr_expect_eq(a->nr_bulk_up, 0);
	transfer(c, s, 500000, KR_SEC);
	cr_expect_eq(e[CLIENT].nr_numbered + e[SERVER].nr_numbered, 0);
	cr_expect_eq(e[CLIENT].nr_bare + e[SERVER].nr_bare, 0);
}

Test(carrier, last__takes_all_without_the_path)
{
	connected();
	lane_open(0, true);
	ud_lost();
	transfer(c, s, 500000, KR_SEC);
	transfer(s, c, 100, KR_SEC);
}

Test(carrier, last__waits_while_another_lane_is_up)
{
	connected();
	lane_open(0, true);
	lane_open(1, false);
	ud_lost();
	transfer(c, s, 500000, KR_SEC);
	cr_expect_eq(nr_data(0, CLIENT), 0);
	lane_break(1);
	transfer(c, s, 500000, KR_SEC);
	cr_expect_gt(nr_data(0, CLIENT), 0);
}

/* Without a path. */

static void by_lanes(void)
{
	lane_connected();
	ud_lost();
	lanes_pass(10 * KR_MSEC);
	cr_assert(kr_assoc_is_by_lanes(a));
	cr_assert(kr_assoc_is_by_lanes(b));
	nr_sent[CLIENT] = nr_sent[SERVER] = 0;
}

Test(carrier, by_lanes__connect_data_and_the_end)
{
	struct lane_end *e = lane_ends[0];

	by_lanes();
	dial_open(1);
	cr_expect_eq(e[CLIENT].nr_types[KR_MSG_CONNECT], 1);
	cr_expect_eq(e[SERVER].nr_types[KR_MSG_ACCEPT], 1);
	transfer(&clients[1].v, &servers[1].v, 300000, KR_SEC);
	transfer(&servers[1].v, &clients[1].v, 10, KR_SEC);
	kr_vqp_close(&clients[1].v, now);
	lanes_pass(5 * KR_MSEC);
	kr_vqp_close(&servers[1].v, now);
	lanes_pass(KR_SEC);
	cr_expect_eq(clients[1].v.state, KR_VQP_CLOSED);
	cr_expect_eq(servers[1].v.state, KR_VQP_CLOSED);
	cr_expect_gt(e[SERVER].nr_types[KR_MSG_CLOSED], 0);
	cr_expect_eq(a->nr_tombs + b->nr_tombs, 0);
	cr_expect_eq(nr_sent[CLIENT] + nr_sent[SERVER], 0);
}

Test(carrier, by_lanes__the_confirmation_alone)
{
	by_lanes();
	dial(1);
	lanes_settle();
	cr_expect_eq(servers[1].v.state, KR_VQP_OPEN, "the client says nothing else");
}

Test(carrier, by_lanes__refusals_and_resets)
{
	struct lane_end *e = lane_ends[0];

	by_lanes();
	incoming_answer = KR_REJECT_POLICY;
	dial(1);
	lanes_pass(20 * KR_MSEC);
	cr_expect_eq(clients[1].v.state, KR_VQP_REFUSED);
	cr_expect_eq(clients[1].v.refusal, KR_REJECT_POLICY);
	cr_expect_eq(e[SERVER].nr_types[KR_MSG_REJECT], 1);
	kr_vqp_abort(c, ECONNRESET, KR_RST_ABORT, now);
	lanes_pass(20 * KR_MSEC);
	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_eq(s->err, ECONNRESET);
	cr_expect_eq(a->nr_vqps + b->nr_vqps, 0);
	cr_expect_eq(a->nr_tombs, 0, "it was delivered");
}

Test(carrier, by_lanes__the_last_word_of_a_lane_that_broke_comes_by_the_next)
{
	by_lanes();
	lane_open(1, false);
	lane_cut(0, true);
	kr_vqp_abort(c, ECONNRESET, KR_RST_ABORT, now);
	lanes_settle();
	cr_assert_eq(s->state, KR_VQP_OPEN);
	lane_break(0);
	lanes_pass(10 * KR_MSEC);
	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_eq(a->nr_tombs, 0);
}

Test(carrier, by_lanes__an_attempt_on_a_lane_that_broke_goes_on)
{
	by_lanes();
	lane_cut(0, true);
	dial(1);
	lanes_settle();
	lane_break(0);
	lane_open(1, false);
	lanes_pass(20 * KR_MSEC);
	cr_expect_eq(clients[1].v.state, KR_VQP_OPEN);
	cr_expect_eq(nr_incoming, 2);
}

Test(carrier, by_lanes__one_side_has_the_path_and_believes_the_other)
{
	lane_connected();
	kr_assoc_path_lost(b, now);
	cr_expect_not(kr_assoc_is_by_lanes(a));
	lanes_settle();
	cr_expect(lane_ends[0][SERVER].flags & KR_PF_DEAF);
	cr_expect_eq(lane_ends[0][SERVER].nr_types[KR_MSG_PING], 1);
	cr_assert(a->is_peer_deaf);
	cr_expect_eq(a->path, KR_PATH_READY);
	nr_sent[CLIENT] = 0;
	dial_open(1);
	transfer(c, s, 100, 20 * KR_MSEC);
	cr_expect_leq(nr_sent[CLIENT], 2, "PINGs that ask whether the path is of use");
	cr_expect_not(lane_ends[0][CLIENT].flags & KR_PF_DEAF, "the peer does reach us");
}

Test(carrier, by_lanes__a_lane_that_comes_later_tells_as_well)
{
	connected();
	kr_assoc_path_lost(b, now);
	lane_open(0, false);
	lanes_settle();
	cr_expect(a->is_peer_deaf);
	transfer(c, s, 100, 20 * KR_MSEC);
}

Test(carrier, by_lanes__without_a_lane_the_peer_is_not_deaf_any_more)
{
	lane_connected();
	kr_assoc_path_lost(b, now);
	lanes_settle();
	cr_assert(a->is_peer_deaf);
	lane_break(0);
	cr_expect_not(a->is_peer_deaf);
	cr_expect_not(kr_assoc_is_by_lanes(a));
}

/* The peer is not heard of otherwise: neither path nor data. */
Test(carrier, by_lanes__an_idle_lane_asks_for_the_peer)
{
	by_lanes();
	lanes_pass(60 * KR_SEC);
	cr_expect_gt(a->heard_ns + 2 * KR_KEEPALIVE_NS, now);
	cr_expect_leq(lane_ends[0][CLIENT].nr_types[KR_MSG_PING], 7);
	lane_cut(0, true);
	lanes_pass(20 * KR_SEC);
	cr_expect_eq(a->nr_up, 0, "nobody answers");
	lanes_pass(KR_LANE_ALONE_NS);
	cr_expect_geq(nr_lanes_failed, 1);
}

Test(carrier, by_lanes__nobody_here_nobody_asked)
{
	by_lanes();
	kr_vqp_abort(c, ECONNRESET, KR_RST_ABORT, now);
	lanes_pass(KR_SEC);
	cr_assert_eq(a->nr_vqps + a->nr_tombs, 0);
	cr_expect_eq(kr_assoc_deadline(a), ~0ull);
}

Test(carrier, silent__the_path_is_asked_and_all_else_goes_by_lanes)
{
	u32 sent;

	lane_connected();
	nr_drop[CLIENT] = ~0u;
	write_some(c, 100);
	lanes_pass(2 * KR_SEC);
	cr_assert(kr_channel_is_silent(&a->ch));
	cr_expect_eq(read_all(s), 100, "nothing is lost with the path");
	cr_expect(lane_ends[0][CLIENT].flags & KR_PF_DEAF);
	transfer(c, s, 300000, KR_SEC);
	dial_open(1);
	sent = nr_sent[CLIENT];
	lanes_pass(10 * KR_SEC);
	cr_expect_gt(nr_sent[CLIENT], sent, "is it back?");
}

Test(carrier, silent__both_ways)
{
	lane_connected();
	nr_drop[CLIENT] = nr_drop[SERVER] = ~0u;
	transfer(c, s, 100000, 2 * KR_SEC);
	transfer(s, c, 100, 2 * KR_SEC);
	transfer(c, s, 100, 2 * KR_SEC);
}

static void expect_by_ud(void)
{
	u32 ud, nr = lane_ends[0][CLIENT].nr_numbered;

	cr_expect_not(kr_assoc_is_by_lanes(a));
	cr_expect_not(kr_assoc_is_by_lanes(b));
	ud = nr_sent[CLIENT];
	transfer(c, s, 100, 20 * KR_MSEC);
	cr_expect_gt(nr_sent[CLIENT], ud);
	cr_expect_eq(lane_ends[0][CLIENT].nr_numbered, nr);
}

Test(carrier, return__of_a_silent_path)
{
	lane_connected();
	nr_drop[CLIENT] = nr_drop[SERVER] = ~0u;
	transfer(c, s, 100, 2 * KR_SEC);
	lanes_pass(2 * KR_SEC);
	cr_assert(kr_assoc_is_by_lanes(a));
	nr_drop[CLIENT] = nr_drop[SERVER] = 0;
	lanes_pass(5 * KR_SEC);
	expect_by_ud();
}

Test(carrier, return__of_a_lost_path)
{
	by_lanes();
	transfer(c, s, 300000, KR_SEC);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	lanes_pass(50 * KR_MSEC);
	expect_by_ud();
}

Test(carrier, return__of_the_path_of_one_side)
{
	lane_connected();
	kr_assoc_path_lost(b, now);
	lanes_settle();
	cr_assert(kr_assoc_is_by_lanes(a));
	kr_assoc_path_start(b, &ends[SERVER], &ends[CLIENT], 5, now);
	lanes_pass(50 * KR_MSEC);
	expect_by_ud();
}

Test(carrier, path_lost__with_data_in_flight)
{
	connected();
	lane_open(0, true);
	nr_drop[CLIENT] = ~0u;
	write_some(c, 60000);
	lanes_settle();
	cr_assert_gt(a->ch.inflight, 0);
	kr_assoc_path_lost(a, now);
	lanes_settle();
	cr_expect_eq(read_all(s), 60000);
}

Test(carrier, path_lost__while_both_carriers_are_full)
{
	u32 i;

	lane_connected();
	dial_open(1);
	write_some(c, LANE_BULK);
	write_some(&clients[1].v, 10000);
	kr_assoc_run_lanes(a, now);
	for (i = 0; i < 5; i++)
		cr_assert(take(CLIENT, (u8[KR_PKT_MAX]){ 0 }));
	ud_lost();
	lanes_pass(20 * KR_MSEC);
	cr_expect_eq(read_all(s), LANE_BULK);
	cr_expect_eq(read_all(&servers[1].v), 10000);
}

/* Coming and going all the time, each byte comes once. */
Test(carrier, chaos__each_byte_comes_once)
{
	u64 sent = 0, got = 0, back = 0, seed = 1;
	u32 i, what;

	lane_connected();
	for (i = 0; i < 3000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		what = seed >> 33;
		sent += write_some(c, what % 3 ? 65536 : 500);
		write_some(s, what % 5 ? 100 : 30000);
		lane_cut(what / 8 % 3, what / 64 % 8 == 0);
		if (what % 31 == 0)
			lane_break(what / 31 % 3);
		if (what % 29 == 0 && !lane_of(what / 29 % 3, CLIENT)->state)
			lane_open(what / 29 % 3, what / 256 % 2);
		if (what % 37 == 0)
			ud_lost();
		if (what % 41 == 0)
			kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
		nr_drop[what / 512 % 2] = what % 7;
		lanes_pass(what / 1024 % 40 * KR_MSEC);
		got += read_all(s);
		back += read_all(c);
		cr_assert_eq(c->state, KR_VQP_OPEN);
		cr_assert_eq(s->state, KR_VQP_OPEN);
	}
	for (i = 0; i < 3; i++)
		lane_break(i);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	for (i = 0; i < 1000; i++) {
		lanes_pass(100 * KR_MSEC);
		got += read_all(s);
		back += read_all(c);
	}
	cr_expect_eq(got, sent);
	cr_expect_eq(back, s->tx.end);
	cr_expect_gt(sent, 1 << 20);
	cr_expect_eq(a->stats.rx_malformed + b->stats.rx_malformed, 0);
}

/* Opening and ending. */

Test(carrier, open__needs_a_proven_association)
{
	assocs_init();
	cr_expect_eq(lane_open_end(0, CLIENT, false), -ECONNRESET);
	cr_expect_eq(a->nr_lanes, 0);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	pass(20 * KR_MSEC);
	cr_expect_eq(lane_open_end(0, CLIENT, false), 0);
	cr_expect_eq(a->nr_lanes, 1);
	kr_assoc_end(b);
	cr_expect_eq(lane_open_end(0, SERVER, false), -ECONNRESET);
}

Test(carrier, open__so_many_and_no_more)
{
	int i;

	pair_init();
	for (i = 0; i < KR_LANES_MAX; i++)
		cr_expect_eq(lane_open_end(i, CLIENT, i % 2), 0);
	cr_expect_eq(lane_open_end(KR_LANES_MAX, CLIENT, false), -EMFILE);
	cr_expect_eq(lane_of(KR_LANES_MAX, CLIENT)->state, KR_LANE_CLOSED);
	lane_break(3);
	cr_expect_eq(lane_open_end(3, CLIENT, false), 0);
	cr_expect_eq(a->nr_lanes, KR_LANES_MAX);
	cr_expect_eq(a->nr_up, KR_LANES_MAX);
}

Test(carrier, open__takes_no_more_than_there_is_room_for)
{
	lane_size = 1 << 20;
	lane_credits = 1000;
	pair_init();
	lane_open(0, false);
	cr_expect_eq(lane_of(0, CLIENT)->size, KR_LANE_SIZE_MAX);
	cr_expect_eq(lane_of(0, CLIENT)->credits, KR_LANE_CREDITS_MAX);
}

Test(carrier, size__a_packet_of_the_largest_size_is_full)
{
	lane_size = KR_LANE_SIZE_MAX;
	lane_connected();
	write_some(c, 65536);
	kr_assoc_run_lanes(a, now);
	cr_expect_eq(lane_ends[0][CLIENT].queue[0].len, KR_LANE_SIZE_MAX);
	lanes_pass(20 * KR_MSEC);
	cr_expect_eq(read_all(s), 65536);
}

Test(carrier, size__the_smallest_carries_all_messages)
{
	lane_size = KR_PKT_MIN;
	lane_credits = 1;
	by_lanes();
	dial_open(1);
	transfer(&clients[1].v, &servers[1].v, 20000, KR_SEC);
	transfer(&servers[1].v, &clients[1].v, 20000, KR_SEC);
}

Test(carrier, end__with_lanes_open)
{
	u8 p[LANE_SIZE];

	lane_connected();
	lane_cut(0, true);
	write_some(c, LANE_BULK);
	lanes_settle();
	kr_assoc_end(a);
	cr_expect_eq(kr_assoc_deadline(a), ~0ull);
	cr_expect_not(kr_assoc_lane_has_output(a, lane_of(0, CLIENT), now + KR_SEC));
	cr_expect_eq(kr_assoc_lane_output(a, lane_of(0, CLIENT), p, now + KR_SEC), 0);
	lane_say(0, CLIENT, (struct kr_hdr){ .pn = 9 }, NULL, 0);
	cr_expect_eq(nr_lanes_failed, 0);
	kr_assoc_timeout(a, now + 100 * KR_SEC);
	cr_expect_eq(nr_lanes_failed, 0);
	cr_expect_not(kr_assoc_abort_some(a, ECONNRESET, now));
	kr_assoc_lane_close(a, lane_of(0, CLIENT), now);
	kr_assoc_clean(a);
	kr_vqp_clean(c);
	lane_break(0);
	kr_assoc_end(b);
	kr_assoc_abort_some(b, ECONNRESET, now);
	kr_assoc_clean(b);
	kr_vqp_clean(s);
	cr_expect_eq(nr_blocks, 0);
	cr_expect_eq(nr_pages, 0);
}

Test(carrier, end__a_lane_closed_before_the_connections_end)
{
	lane_connected();
	lane_cut(0, true);
	write_some(c, LANE_BULK);
	lanes_settle();
	kr_assoc_end(a);
	kr_assoc_lane_close(a, lane_of(0, CLIENT), now);
	cr_expect_eq(c->tx.inflight, 0);
	cr_expect_not(kr_assoc_abort_some(a, ECONNRESET, now));
	cr_expect_eq(c->state, KR_VQP_ABORTED);
	kr_assoc_clean(a);
}

Test(carrier, memory__without_a_record_it_is_tried_again)
{
	lane_connected();
	put_zeros(c, LANE_BULK);
	is_memory_short = true;
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_NO_MEMORY);
	cr_expect_eq(lane_ends[0][CLIENT].nr_put, 1);
	cr_expect_not(list_empty(&a->bulk));
	is_memory_short = false;
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_DONE);
	lanes_settle();
	cr_expect_eq(kr_rx_ready(&s->rx), LANE_BULK);
}

/* An answer needs no record. */
Test(carrier, memory__answers_go_without)
{
	lane_connected();
	put_zeros(c, LANE_BULK);
	kr_assoc_run_lanes(a, now);
	lanes_arrive(CLIENT);
	put_zeros(s, LANE_BULK);
	is_memory_short = true;
	cr_expect_eq(kr_assoc_run_lanes(b, now), KR_RUN_NO_MEMORY);
	cr_expect_eq(lane_ends[0][SERVER].nr_bare, 1);
	cr_expect_eq(lane_ends[0][SERVER].nr_numbered, 0);
}

Test(carrier, deadline__the_soonest_of_all)
{
	u64 start;

	lane_connected();
	lanes_pass(20 * KR_MSEC);
	lane_cut(0, true);
	put_zeros(c, LANE_BULK);
	start = now;
	kr_assoc_run_lanes(a, now);
	cr_expect_eq(kr_assoc_deadline(a), start + KR_LANE_DOUBT_MIN_NS);
	now += KR_MSEC;
	lane_say(0, CLIENT, (struct kr_hdr){ .pn = 1 }, NULL, 0);
	cr_expect_eq(kr_assoc_deadline(a), now + KR_ACK_DELAY_NS);
	now += KR_ACK_DELAY_NS;
	kr_assoc_run_lanes(a, now);
	cr_expect_eq(kr_assoc_deadline(a), start + KR_LANE_DOUBT_MIN_NS);
	now = start + KR_LANE_DOUBT_MIN_NS;
	kr_assoc_timeout(a, now);
	kr_assoc_path_lost(a, now);
	cr_expect_eq(kr_assoc_deadline(a), start + KR_LANE_ALONE_NS);
}

Test(carrier, pool__who_only_receives_has_use_for_the_lane)
{
	u64 before;

	lane_connected();
	before = b->bulk_bytes;
	transfer(c, s, 300000, KR_SEC);
	cr_expect_gt(b->bulk_bytes, before + 200000);
}

Test(carrier, pool__what_has_no_other_way_counts_although_it_is_little)
{
	u64 before;

	lane_connected();
	ud_lost();
	lanes_settle();
	before = a->bulk_bytes;
	transfer(c, s, 100, KR_SEC);
	cr_expect_gt(a->bulk_bytes, before);
}

Test(carrier, deaf__is_forgotten_with_the_last_lane_also_when_it_was_doubted)
{
	struct kr_hdr h = { .flags = KR_PF_DEAF };

	lane_connected();
	lane_cut(0, true);
	transfer(c, s, 100000, KR_SEC);
	cr_assert_eq(lane_of(0, CLIENT)->state, KR_LANE_DOUBT);
	h.ack = lane_of(0, CLIENT)->acked;
	lane_say(0, CLIENT, h, NULL, 0);
	cr_expect(a->is_peer_deaf);
	lane_break(0);
	cr_expect_not(a->is_peer_deaf);
}
