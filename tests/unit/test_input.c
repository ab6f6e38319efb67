// SPDX-License-Identifier: MIT
/* test_input: what each message does, also when it is late, twice or wrong. */
#include <criterion/criterion.h>

#include "pair.h"

static struct kr_assoc *a = &assocs[CLIENT], *b = &assocs[SERVER];
static struct kr_vqp *c = &clients[0].v, *s = &servers[0].v;
static struct kr_vqp *c1 = &clients[1].v, *s1 = &servers[1].v;

/* A CONNECT of the client's VQP @src arrives (again). */
static void say_connect(u64 src, u8 kind)
{
	struct kr_connect cn = { .edge = 1000, .kind = kind,
				 .tuple = { .family = 4, .sport = 1, .dport = 2 } };
	struct kr_msg m = { .src = src };
	u8 p[128];

	say(SERVER, 0, p, kr_wire_put_connect(p, &m, &cn));
}

static void say_accept(u64 dst, u64 src)
{
	struct kr_msg m = { .type = KR_MSG_ACCEPT, .dst = dst, .src = src };
	u8 p[64];

	say(CLIENT, 0, p, kr_wire_put_u64(p, &m, 1000));
}

static void say_closed(int to, struct kr_vqp *v, u64 accepted)
{
	struct kr_msg m = { .type = KR_MSG_CLOSED, .dst = v->id, .src = v->peer_id };
	u8 p[64];

	say(to, 0, p, kr_wire_put_u64(p, &m, accepted));
}

static void say_cancel(u64 src)
{
	struct kr_msg m = { .type = KR_MSG_CANCEL, .src = src };
	u8 p[64];

	say(SERVER, 0, p, kr_wire_put_msg(p, &m));
}

Test(input, connect__twice_is_one_vqp)
{
	pair_init();
	say_connect(0x1000001, KR_KIND_STREAM);
	say_connect(0x1000001, KR_KIND_STREAM);

	cr_expect_eq(nr_incoming, 1);
	cr_expect_eq(s->state, KR_VQP_ACCEPTING);
}

Test(input, connect__a_late_copy_never_reaches_accept)
{
	connected();
	say_connect(c->id, KR_KIND_STREAM);
	cr_expect_eq(nr_incoming, 2);
	pass(KR_SEC);

	cr_expect_eq(servers[1].v.state, KR_VQP_ABORTED);
	cr_expect_not(servers[1].events & KR_EV_OPEN);
	cr_expect_eq(c->state, KR_VQP_OPEN, "the real one is not disturbed");
	cr_expect_eq(s->state, KR_VQP_OPEN);
}

Test(input, connect__reject_says_why)
{
	pair_init();
	incoming_answer = KR_REJECT_POLICY;
	dial(0);
	pass(5 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_REFUSED);
	cr_expect_eq(c->refusal, KR_REJECT_POLICY);
	cr_expect(clients[0].events & KR_EV_REFUSED);
	cr_expect_eq(a->nr_vqps, 0);
}

Test(input, reject__after_accept_is_too_late)
{
	connected();
	say_code(CLIENT, KR_MSG_REJECT, c->id, 0, KR_REJECT_POLICY);

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(clients[0].nr_released, 0);
}

Test(input, connect__other_kinds_are_rejected)
{
	pair_init();
	say_connect(0x1000001, KR_KIND_MESSAGE);

	cr_expect_eq(nr_incoming, 0);
	cr_expect_eq(b->nr_replies, 1);
	cr_expect_eq(b->replies[b->reply_first].code, KR_REJECT_KIND);
}

Test(input, connect__without_memory_for_the_vqp_is_rejected_and_released)
{
	pair_init();
	is_memory_short = true;
	say_connect(0x1000001, KR_KIND_STREAM);

	cr_expect_eq(servers[0].nr_released, 1);
	cr_expect_eq(b->replies[b->reply_first].code, KR_REJECT_MEMORY);
}

Test(input, accept__a_second_one_of_another_vqp_is_reset)
{
	connected();
	say_accept(c->id, 0x5000005);

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(a->nr_replies, 1);
	cr_expect_eq(a->replies[a->reply_first].type, KR_MSG_RST);
	cr_expect_eq(a->replies[a->reply_first].dst, 0x5000005);
}

Test(input, accept__again_is_confirmed_again)
{
	u32 sent;

	connected();
	sent = nr_sent[CLIENT];
	say_accept(c->id, s->id);
	settle();

	cr_expect_gt(nr_sent[CLIENT], sent);
	cr_expect_eq(c->state, KR_VQP_OPEN);
}

/* The client is open, and has not said so yet. */
static void half_connected(void)
{
	/* The very first packet is acknowledged at once. */
	connected();
	dial(1);
	settle();
	cr_assert_eq(c1->state, KR_VQP_OPEN);
	cr_assert_eq(s1->state, KR_VQP_ACCEPTING);
}

Test(input, accept__is_confirmed_by_the_first_bytes)
{
	u32 sent;

	half_connected();
	sent = nr_sent[CLIENT];
	put(c1, "x", 1);
	settle();

	cr_expect_eq(s1->state, KR_VQP_OPEN);
	cr_expect_eq(kr_rx_ready(&s1->rx), 1);
	pass(5 * KR_MSEC);
	cr_expect_eq(nr_sent[CLIENT], sent + 1, "and by nothing else");
}

Test(input, accept__is_confirmed_with_the_acknowledgement)
{
	half_connected();
	pass(5 * KR_MSEC);

	cr_expect_eq(s1->state, KR_VQP_OPEN);
	cr_expect_eq(c1->pending, 0);
}

Test(input, accept__is_confirmed_again_when_that_was_lost)
{
	half_connected();
	nr_drop[CLIENT] = 1;
	pass(5 * KR_MSEC);
	cr_assert_eq(s1->state, KR_VQP_ACCEPTING);
	pass(KR_SEC);

	cr_expect_eq(s1->state, KR_VQP_OPEN);
}

Test(input, accept__is_confirmed_at_once_for_one_who_waits)
{
	half_connected();

	cr_expect(kr_vqp_hurry(c1));
	cr_expect_not(kr_vqp_hurry(c1), "once");
	settle();
	cr_expect_eq(s1->state, KR_VQP_OPEN);
}

Test(input, accept__is_confirmed_with_another_connections_packet)
{
	half_connected();
	dial(2);
	settle();

	cr_expect_eq(s1->state, KR_VQP_OPEN);
}

Test(input, accept__is_confirmed_by_a_reset)
{
	half_connected();
	kr_vqp_abort(c1, ECONNRESET, KR_RST_ABORT, now);
	settle();

	cr_expect(servers[1].events & KR_EV_OPEN, "as TCP, accept() returns it");
	cr_expect_eq(s1->state, KR_VQP_ABORTED);
	cr_expect_eq(s1->err, ECONNRESET);
}

Test(input, accept__is_not_confirmed_by_one_who_knows_nothing_of_it)
{
	half_connected();
	say_code(SERVER, KR_MSG_RST, s1->id, s1->peer_id, KR_RST_UNKNOWN);

	cr_expect_not(servers[1].events & KR_EV_OPEN);
	cr_expect_eq(s1->state, KR_VQP_ABORTED);
}

Test(input, accept__is_noted_before_the_user_hears_of_it)
{
	half_connected();

	cr_expect_eq(clients[1].pending_at_open, KR_SEND_CONFIRM);
}

Test(input, accept__is_confirmed_by_a_close)
{
	half_connected();
	kr_vqp_close(c1, now);
	settle();

	cr_expect_eq(s1->state, KR_VQP_OPEN);
	cr_expect(kr_rx_is_fin(&s1->rx));
}

Test(input, accept__after_the_attempt_was_given_up_is_reset)
{
	pair_init();
	nr_drop[SERVER] = 1;
	dial(0);
	settle();
	kr_vqp_close(c, now);
	a->nr_replies = 0;		/* the CANCEL is lost */
	say_accept(c->id, s->id);
	pass(KR_SEC);

	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_not(servers[0].events & KR_EV_OPEN);
}

Test(input, accept__for_a_server_is_reset)
{
	struct kr_msg m = { .type = KR_MSG_ACCEPT };
	u8 p[64];

	connected();
	m.dst = s->id;
	m.src = s->peer_id;
	say(SERVER, 0, p, kr_wire_put_u64(p, &m, 1000));

	cr_expect_eq(s->state, KR_VQP_OPEN);
	cr_expect_eq(b->stats.rx_unknown, 1);
}

Test(input, cancel__ends_only_what_is_not_confirmed)
{
	connected();
	say_cancel(c->id);
	cr_expect_eq(s->state, KR_VQP_OPEN);
	say_connect(0x9000009, KR_KIND_STREAM);
	cr_assert_eq(servers[1].v.state, KR_VQP_ACCEPTING);
	say_cancel(0x9000009);

	cr_expect_eq(servers[1].v.state, KR_VQP_ABORTED);
	cr_expect_eq(servers[1].nr_released, 1);
}

Test(input, cancel__before_its_connect_leaves_an_unconfirmed_vqp_that_ends)
{
	pair_init();
	say_cancel(0x9000009);
	say_connect(0x9000009, KR_KIND_STREAM);
	pass(KR_SEC);

	cr_expect_eq(servers[0].nr_released, 1);
	cr_expect_not(servers[0].events & KR_EV_OPEN);
}

Test(input, data__confirms)
{
	pair_init();
	say_connect(0x1000001, KR_KIND_STREAM);
	say_data(SERVER, s, 0, 10, 0);

	cr_expect_eq(s->state, KR_VQP_OPEN);
	cr_expect(servers[0].events & KR_EV_OPEN);
	cr_expect_eq(kr_rx_ready(&s->rx), 10);
}

Test(input, data__beyond_the_window_is_a_violation)
{
	connected();
	say_data(SERVER, s, s->rx.edge, 1, 0);
	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_eq(s->err, EPROTO);
	pass(20 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_ABORTED, "the peer is told");
}

Test(input, data__twice_is_answered_not_kept)
{
	connected();
	say_data(SERVER, s, 0, 10, 0);
	settle();
	say_data(SERVER, s, 0, 10, 0);

	cr_expect_eq(kr_rx_ready(&s->rx), 10);
	cr_expect(s->pending & KR_SEND_WINDOW);
}

Test(input, data__without_memory_comes_again)
{
	connected();
	/* Records of packets exist; pages do not. */
	put(s, "x", 1);
	pass(20 * KR_MSEC);
	put_zeros(c, 100);
	is_memory_short = true;
	settle();
	cr_expect_eq(kr_rx_ready(&s->rx), 0);
	cr_expect_eq(b->stats.rx_refused, 1);
	is_memory_short = false;
	pass(KR_SEC);

	cr_expect_eq(kr_rx_ready(&s->rx), 100);
	cr_expect_eq(a->ch.nr_lost, 0, "no sign of a bad path");
}

Test(input, data__for_nobody_is_reset)
{
	connected();
	s->id += 1ull << KR_SLOT_BITS;
	say_data(SERVER, s, 0, 1, 0);
	s->id -= 1ull << KR_SLOT_BITS;

	cr_expect_eq(b->stats.rx_unknown, 1);
	cr_expect_eq(b->replies[b->reply_first].code, KR_RST_UNKNOWN);
	cr_expect_eq(s->state, KR_VQP_OPEN);
}

Test(input, data__for_an_attempt_is_reset)
{
	connected();
	nr_drop[CLIENT] = ~0u;
	dial(1);
	settle();
	say_data(CLIENT, c1, 0, 1, 0);
	say_window(CLIENT, c1, 0, 1000, 0);

	cr_expect_eq(c1->state, KR_VQP_CONNECTING);
	cr_expect_eq(a->stats.rx_unknown, 2);
}

Test(input, data__of_another_peer_vqp_is_reset)
{
	connected();
	s->peer_id++;
	say_data(SERVER, s, 0, 1, 0);
	s->peer_id--;
	/* say_data() wrote the wrong source; the VQP must not have taken it. */
	cr_expect_eq(s->state, KR_VQP_OPEN);
}

Test(input, window__merges_by_maximum)
{
	connected();
	say_window(CLIENT, c, 0, 500000, 0);
	say_window(CLIENT, c, 0, 400000, 0);

	cr_expect_eq(c->tx.edge, 500000);
}

Test(input, window__accepting_what_was_not_sent_is_a_violation)
{
	connected();
	say_window(CLIENT, c, 1, 100, 0);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, EPROTO);
}

Test(input, window__a_probe_is_answered)
{
	connected();
	say_window(CLIENT, c, 0, 0, KR_MF_PROBE);

	cr_expect(c->pending & KR_SEND_WINDOW);
}

Test(input, window__a_stale_one_is_answered_by_the_tombstone)
{
	connected();
	kr_vqp_abort(c, ECONNABORTED, KR_RST_ABORT, now);
	take(CLIENT, (u8[KR_PKT_MAX]){ 0 });
	cr_assert(list_empty(&a->tomb_control));
	say_window(CLIENT, c, 0, 100, 0);

	cr_expect_not(list_empty(&a->tomb_control));
}

Test(input, rst__ends_with_the_error_of_its_code)
{
	connected();
	dial(1);
	pass(5 * KR_MSEC);
	say_code(CLIENT, KR_MSG_RST, c->id, c->peer_id, KR_RST_ABORT);
	say_code(CLIENT, KR_MSG_RST, clients[1].v.id, clients[1].v.peer_id,
		 KR_RST_TIMEOUT);

	cr_expect_eq(c->err, ECONNRESET);
	cr_expect_eq(clients[1].v.err, ETIMEDOUT);
	cr_expect_eq(a->nr_tombs, 0, "an RST is not answered");
}

Test(input, rst__of_another_vqp_or_for_an_attempt_is_ignored)
{
	connected();
	say_code(CLIENT, KR_MSG_RST, c->id, c->peer_id + 1, KR_RST_ABORT);
	cr_expect_eq(c->state, KR_VQP_OPEN);
	nr_drop[CLIENT] = ~0u;
	dial(1);
	settle();
	say_code(CLIENT, KR_MSG_RST, clients[1].v.id, 0x7000007, KR_RST_UNKNOWN);

	cr_expect_eq(clients[1].v.state, KR_VQP_CONNECTING);
}

/* A CONNECT that does not arrive. */
static void attempt(void)
{
	pair_init();
	nr_drop[CLIENT] = ~0u;
	dial(0);
	settle();
}

/* Its server VQP is gone: an OPEN client would wait for it for ever. */
Test(input, rst__of_an_attempt_overtakes_its_accept)
{
	attempt();
	say_code(CLIENT, KR_MSG_RST, c->id, 0x5000005, KR_RST_ABORT);
	say_code(CLIENT, KR_MSG_RST, c->id, 0x5000005, KR_RST_ABORT);
	say_accept(c->id, 0x5000005);
	cr_expect_eq(c->state, KR_VQP_CONNECTING);
	cr_expect_eq(a->nr_replies, 0);
	say_accept(c->id, 0x6000006);
	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(c->peer_id, 0x6000006);
}

Test(input, rst__of_an_attempt_makes_it_ask_again)
{
	attempt();
	say_code(CLIENT, KR_MSG_RST, c->id, 0x5000005, KR_RST_ABORT);
	nr_drop[CLIENT] = 0;
	pass(3 * KR_CONNECT_RETRY_NS);
	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(nr_incoming, 1);
}

Test(input, rst__of_a_second_server_of_an_attempt_ends_it)
{
	attempt();
	say_code(CLIENT, KR_MSG_RST, c->id, 0x5000005, KR_RST_ABORT);
	say_code(CLIENT, KR_MSG_RST, c->id, 0x6000006, KR_RST_TIMEOUT);
	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ETIMEDOUT);
	cr_expect_eq(a->nr_tombs, 0, "an RST is not answered");
}

Test(input, rst__frees_the_tombstone)
{
	connected();
	kr_vqp_abort(c, ECONNABORTED, KR_RST_ABORT, now);
	cr_assert_eq(a->nr_tombs, 1);
	say_code(CLIENT, KR_MSG_RST, c->id, c->peer_id, KR_RST_UNKNOWN);

	cr_expect_eq(a->nr_tombs, 0);
}

Test(input, closed__says_that_all_was_accepted)
{
	connected();
	kr_vqp_shutdown(c, now);
	settle();
	cr_assert_eq(c->state, KR_VQP_OPEN);
	/* The peer's FIN was lost or is late; its CLOSED cannot be true. */
	say_closed(CLIENT, c, 1);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, EPROTO);
}

Test(input, closed__ends_an_end_that_lacks_only_the_last_word)
{
	connected();
	kr_vqp_shutdown(c, now);
	take(CLIENT, (u8[KR_PKT_MAX]){ 0 });
	say_data(CLIENT, c, 0, 0, KR_MF_FIN);
	cr_assert_eq(c->state, KR_VQP_OPEN);
	say_closed(CLIENT, c, 1);

	cr_expect_eq(c->state, KR_VQP_CLOSED);
	cr_expect(list_first_entry(&a->tombs, struct kr_tomb, node)->is_peer_done);
}

Test(input, closed__accepting_what_was_not_sent_is_a_violation)
{
	connected();
	say_closed(CLIENT, c, 100);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, EPROTO);
}

Test(input, closed__for_one_that_is_not_connected_is_ignored)
{
	pair_init();
	nr_drop[SERVER] = ~0u;
	dial(0);
	settle();
	cr_assert_eq(s->state, KR_VQP_ACCEPTING);
	say_closed(CLIENT, c, 1);
	say_closed(SERVER, s, 1);

	cr_expect_eq(c->state, KR_VQP_CONNECTING);
	cr_expect_eq(s->state, KR_VQP_ACCEPTING);
}

Test(input, closed__for_nobody_is_harmless)
{
	connected();
	c->id += 1ull << KR_SLOT_BITS;
	say_closed(CLIENT, c, 1);
	c->id -= 1ull << KR_SLOT_BITS;

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(a->nr_replies, 0);
}

Test(input, gone__never_counts_with_a_tag)
{
	struct kr_msg m = { .type = KR_MSG_GONE };
	u8 p[64];

	connected();
	say(CLIENT, 0, p, kr_wire_put_u64(p, &m, b->local_id));

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(a->stats.rx_malformed, 1);
}

Test(input, packet__a_known_number_is_acknowledged_not_obeyed)
{
	u8 p[KR_PKT_MAX];
	u32 len;

	connected();
	put(c, "x", 1);
	len = take(CLIENT, p);
	give(SERVER, p, len);
	settle();
	give(SERVER, p, len);

	cr_expect_eq(b->ch.nr_dup, 1);
	cr_expect_not(s->pending & KR_SEND_WINDOW);
}

Test(input, packet__an_impossible_acknowledgement_drops_it)
{
	struct kr_hdr h = { .tag = 0x1000, .ack = 1ull << 40 };

	connected();
	kr_assoc_input(a, &h, NULL, now);

	cr_expect_eq(a->stats.rx_malformed, 1);
}

Test(input, packet__garbage_in_the_middle_stops_it_there)
{
	struct kr_msg m = { .type = KR_MSG_CANCEL, .src = 1 };
	u64 before;
	u8 p[64];
	size_t len;

	connected();
	before = b->ch.rx_next;
	len = kr_wire_put_msg(p, &m);
	memset(p + len, 0xff, 8);
	say(SERVER, 1000, p, len + 8);

	cr_expect_eq(b->stats.rx_malformed, 1);
	cr_expect_eq(b->ch.rx_next, before, "not acknowledged");
}
