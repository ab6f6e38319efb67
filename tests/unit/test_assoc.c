// SPDX-License-Identifier: MIT
/* test_assoc: paths, tombstones, time and the end of an association. */
#include <criterion/criterion.h>

#include "pair.h"

static struct kr_assoc *a = &assocs[CLIENT], *b = &assocs[SERVER];
static struct kr_vqp *c = &clients[0].v, *s = &servers[0].v;

static struct kr_path_msg claim(u64 assoc)
{
	struct kr_path_msg pm = { .assoc = assoc, .peer_assoc = 0, .token = 5,
				  .end = ends[CLIENT] };

	memcpy(pm.instance, instances[CLIENT], 16);
	return pm;
}

Test(assoc, path_start__proves_in_both_directions)
{
	assocs_init();
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	cr_expect_eq(a->path, KR_PATH_PROBING);
	pass(20 * KR_MSEC);

	cr_expect_eq(a->path, KR_PATH_READY);
	cr_expect_eq(b->path, KR_PATH_READY);
	cr_expect_eq(a->remote_id, b->local_id);
	cr_expect_eq(b->remote_id, a->local_id);
	cr_expect_eq(path_events[KR_PATH_EV_READY], 2);
}

Test(assoc, path_start__both_at_once)
{
	assocs_init();
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	kr_assoc_path_start(b, &ends[SERVER], &ends[CLIENT], 5, now);
	pass(20 * KR_MSEC);

	cr_expect_eq(a->path, KR_PATH_READY);
	cr_expect_eq(b->path, KR_PATH_READY);
	cr_expect_eq(a->stats.rx_malformed + b->stats.rx_malformed, 0);
}

Test(assoc, path_start__survives_lost_packets)
{
	assocs_init();
	nr_drop[CLIENT] = 2;
	nr_drop[SERVER] = 1;
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	pass(KR_SEC);

	cr_expect_eq(a->path, KR_PATH_READY);
	cr_expect_eq(b->path, KR_PATH_READY);
}

Test(assoc, path_start__without_an_answer_fails)
{
	assocs_init();
	nr_drop[CLIENT] = ~0u;
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	pass(5 * KR_SEC);

	cr_expect_eq(a->path, KR_PATH_NONE);
	cr_expect_eq(path_events[KR_PATH_EV_FAILED], 1);
	cr_expect_eq(nr_sent[CLIENT], KR_PATH_TRIES);
	cr_expect_eq(kr_assoc_deadline(a), ~0ull);
}

Test(assoc, path_req__another_association_of_a_proven_peer_is_doubted)
{
	struct kr_path_msg pm = claim(0x7777);

	connected();
	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &pm, now), -EEXIST);
	cr_expect_eq(b->remote_id, a->local_id);
	cr_expect(b->is_ping_due, "it is asked for a sign of life");
}

Test(assoc, path_req__without_a_path_to_ask_over_hello_has_to)
{
	struct kr_path_msg pm = claim(0x7777);

	connected();
	kr_assoc_path_lost(b, now);

	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &pm, now), -ENOTCONN);
	cr_expect_eq(b->remote_id, a->local_id);
	cr_expect_not(b->is_ping_due);
}

Test(assoc, path_req__a_tagged_packet_before_it_proves_no_id)
{
	struct kr_path_msg pm = claim(0x7777);
	struct kr_hdr h = { .tag = 0x1001 };

	assocs_init();
	kr_assoc_input(b, &h, NULL, now);

	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &pm, now), 0);
	cr_expect_eq(b->remote_id, 0x7777);
}

Test(assoc, path_req__an_association_without_vqps_is_not_worth_a_doubt)
{
	struct kr_path_msg pm = claim(0x7777);

	pair_init();
	kr_assoc_path_lost(b, now);

	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &pm, now), -ESTALE);
	cr_expect_eq(b->path, KR_PATH_NONE);
}

Test(assoc, path_req__a_tombstone_is_worth_a_doubt)
{
	struct kr_path_msg pm = claim(0x7777);

	connected();
	kr_vqp_abort(s, ECONNRESET, KR_RST_ABORT, now);

	cr_assert_eq(b->nr_vqps, 0);
	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &pm, now), -EEXIST);
}

Test(assoc, path_req__a_late_one_does_not_bring_an_old_end_back)
{
	struct kr_end moved = ends[CLIENT];
	struct kr_path_msg late;

	connected();
	late = claim(a->local_id);
	late.end = a->local;
	moved.qpn++;
	kr_assoc_path_lost(a, now);
	kr_assoc_path_start(a, &moved, &ends[SERVER], 5, now);
	pass(KR_SEC);
	cr_expect_eq(a->path, KR_PATH_READY);
	cr_expect_eq(b->remote.qpn, moved.qpn);

	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &late, now), -EALREADY);
	cr_expect_eq(b->remote.qpn, moved.qpn);
	late.end = a->local;
	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &late, now), 0);
}

Test(assoc, path_req__of_a_peer_that_forgot_us_and_heard_an_old_request)
{
	struct kr_path_msg old;
	struct kr_hdr h;
	u8 p[KR_PKT_MAX];

	pair_init();
	old = claim(a->local_id);
	old.end = a->local;
	kr_assoc_end(b);
	kr_assoc_clean(b);
	kr_assoc_init(b, &ops, NULL, 0x1002, instances[SERVER], instances[CLIENT], now);
	kr_assoc_path_req(b, &ends[SERVER], &old, now);
	b->is_path_rep_due = false;
	kr_assoc_path_start(b, &ends[SERVER], &ends[CLIENT], 5, now);
	kr_wire_get_hdr(p, kr_assoc_output(b, p, sizeof(p), true, now), &h);

	kr_assoc_input(a, &h, p + KR_HDR_LEN, now);
	cr_assert_eq(nr_path_reqs, 1, "it is no malformed one");
	cr_expect_eq(kr_assoc_path_req(a, &ends[CLIENT], &path_req, now), -ESTALE);
}

Test(assoc, path_req__another_claim_does_not_prove_the_first)
{
	struct kr_path_msg first = claim(0x7777), second = claim(0x8888);
	struct kr_msg m = { .type = KR_MSG_PATH_REQ };
	u8 p[KR_PKT_MAX];

	assocs_init();
	kr_assoc_path_req(b, &ends[SERVER], &first, now);
	say(SERVER, 0, p, kr_wire_put_path(p, &m, &second));

	cr_expect_not(b->is_proven);
	cr_expect_neq(b->path, KR_PATH_READY);
	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &path_req, now), -ESTALE);
}

Test(assoc, path_rep__a_late_one_does_not_bring_an_old_end_back)
{
	struct kr_path_msg late, newer;

	connected();
	late = claim(b->local_id);
	memcpy(late.instance, a->peer_instance, 16);
	late.peer_assoc = a->local_id;
	late.end = b->local;
	newer = late;
	newer.end.qpn++;
	newer.end.nr++;
	kr_assoc_path_lost(a, now);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	cr_expect_eq(kr_assoc_path_req(a, &ends[CLIENT], &newer, now), 0);
	kr_assoc_path_rep(a, &late, now);

	cr_expect_eq(a->path, KR_PATH_PROBING);
	cr_expect_eq(a->remote.qpn, newer.end.qpn);
	kr_assoc_path_rep(a, &newer, now);
	cr_expect_eq(a->path, KR_PATH_READY);
}

/* Not in place: what the first one sent under our tag may still come. */
Test(assoc, path_req__an_unproven_claim_gives_way)
{
	struct kr_path_msg pm = claim(0x7777);

	assocs_init();
	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &pm, now), 0);
	pm.assoc = 0x8888;
	cr_expect_eq(kr_assoc_path_req(b, &ends[SERVER], &pm, now), -ESTALE);
	cr_expect_eq(b->remote_id, 0x7777);
}

Test(assoc, path_rep__of_another_instance_or_association_is_refused)
{
	struct kr_path_msg pm = { .assoc = 0x1001, .peer_assoc = 0x1000,
				  .end = ends[SERVER] };

	assocs_init();
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	kr_assoc_path_rep(a, &pm, now);
	cr_expect_eq(a->path, KR_PATH_PROBING, "no instance");
	memcpy(pm.instance, instances[SERVER], 16);
	pm.peer_assoc = 1;
	kr_assoc_path_rep(a, &pm, now);
	cr_expect_eq(a->path, KR_PATH_PROBING, "not our association");
	pm.peer_assoc = a->local_id;
	kr_assoc_path_rep(a, &pm, now);
	cr_expect_eq(a->path, KR_PATH_READY);
	kr_assoc_path_lost(a, now);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	pm.assoc++;
	kr_assoc_path_rep(a, &pm, now);
	cr_expect_eq(a->path, KR_PATH_PROBING, "not the peer's");
}

Test(assoc, path_lost__data_waits_and_goes_on)
{
	connected();
	put_zeros(c, 10000);
	take(CLIENT, (u8[KR_PKT_MAX]){ 0 });
	kr_assoc_path_lost(a, now);
	pass(10 * KR_SEC);
	cr_expect_eq(kr_rx_ready(&s->rx), 0);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	pass(2 * KR_SEC);

	cr_expect_eq(a->path, KR_PATH_READY);
	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(kr_rx_ready(&s->rx), 10000);
}

Test(assoc, path_lost__a_late_packet_does_not_bring_it_back)
{
	u8 p[KR_PKT_MAX];
	u32 len;

	connected();
	put(s, "x", 1);
	len = take(SERVER, p);
	kr_assoc_path_lost(a, now);
	give(CLIENT, p, len);

	cr_expect_eq(a->path, KR_PATH_NONE);
	cr_expect_eq(kr_rx_ready(&c->rx), 1, "its bytes are good");
}

Test(assoc, deadline__an_idle_association_asks_now_and_then)
{
	u32 sent;

	connected();
	pass(KR_SEC);
	sent = nr_sent[CLIENT] + nr_sent[SERVER];
	pass(100 * KR_SEC);
	sent = nr_sent[CLIENT] + nr_sent[SERVER] - sent;

	cr_expect_geq(sent, 8);
	cr_expect_leq(sent, 40);
}

Test(assoc, deadline__without_vqps_never)
{
	pair_init();
	pass(KR_SEC);

	cr_expect_eq(kr_assoc_deadline(a), ~0ull);
	cr_expect_eq(kr_assoc_deadline(b), ~0ull);
}

Test(assoc, deadline__what_is_due_waits_for_output)
{
	connected();
	put(c, "x", 1);
	give(SERVER, (u8[KR_PKT_MAX]){ 0 }, 0);
	now += 20 * KR_SEC;
	kr_assoc_timeout(a, now);
	cr_expect(kr_assoc_has_output(a, now));
	cr_expect_gt(kr_assoc_deadline(a), now);
}

Test(assoc, timeout__silence_is_told_once)
{
	connected();
	nr_drop[CLIENT] = ~0u;
	nr_drop[SERVER] = ~0u;
	put(c, "x", 1);
	pass(60 * KR_SEC);

	cr_expect_geq(path_events[KR_PATH_EV_SILENT], 1);
	cr_expect_leq(path_events[KR_PATH_EV_SILENT], 2);
}

Test(assoc, timeout__silence_is_told_again_for_a_new_vqp)
{
	pair_init();
	nr_drop[CLIENT] = ~0u;
	kr_assoc_ping(a);
	pass(0);
	dial(0);
	pass(20 * KR_SEC);
	cr_assert_eq(a->nr_vqps, 0);
	cr_assert_eq(path_events[KR_PATH_EV_SILENT], 1);
	dial(1);
	pass(20 * KR_SEC);

	cr_expect_eq(path_events[KR_PATH_EV_SILENT], 2);
}

Test(assoc, timeout__nobody_asks_a_dead_peer_for_nothing)
{
	u32 sent;

	pair_init();
	nr_drop[CLIENT] = ~0u;
	kr_assoc_ping(a);
	pass(5 * KR_SEC);
	sent = nr_sent[CLIENT];
	pass(100 * KR_SEC);

	cr_expect_leq(nr_sent[CLIENT] - sent, 2);
}

Test(assoc, timeout__a_silence_asks_with_ping)
{
	const u8 *at, *end;
	struct kr_hdr h;
	struct kr_msg m;
	u8 p[KR_PKT_MAX];
	bool is_ping = false;

	connected();
	put(c, "x", 1);
	take(CLIENT, p);
	now = kr_assoc_deadline(a);
	kr_assoc_timeout(a, now);
	while (take(CLIENT, p)) {
		kr_wire_get_hdr(p, KR_PKT_MAX, &h);
		end = p + KR_HDR_LEN + h.body_len;
		for (at = p + KR_HDR_LEN; kr_wire_get_msg(&at, end, &m); )
			is_ping |= m.type == KR_MSG_PING;
	}

	cr_expect(is_ping);
}

Test(assoc, tomb__is_freed_when_both_are_finished)
{
	u64 id;

	connected();
	id = c->id;
	kr_vqp_shutdown(c, now);
	kr_vqp_shutdown(s, now);
	pass(20 * KR_MSEC);

	cr_expect_null(kr_table_find(&a->table, id));
	cr_expect_eq(a->nr_tombs, 0);
	cr_expect_eq(b->nr_tombs, 0);
}

Test(assoc, tomb__too_many_push_out_the_oldest)
{
	struct user *u = &clients[1];
	u64 first = 0;
	u32 i;

	pair_init();
	nr_drop[CLIENT] = ~0u;
	for (i = 0; i < KR_TOMBS_MAX + 10; i++) {
		kr_vqp_init(&u->v, KR_KIND_STREAM, 100, 100, NULL);
		kr_vqp_connect(a, &u->v, 0, now);
		kr_vqp_opened(&u->v, i + 1, 100, now);
		first = first ? first : u->v.id;
		kr_vqp_abort(&u->v, ECONNRESET, KR_RST_ABORT, now);
		kr_vqp_clean(&u->v);
	}

	cr_expect_eq(a->nr_tombs, KR_TOMBS_MAX);
	cr_expect_null(kr_table_find(&a->table, first));
}

Test(assoc, end__nothing_goes_in_or_out)
{
	struct kr_path_msg pm = { .assoc = 0x1001, .end = ends[SERVER] };
	u64 nr_received;

	connected();
	nr_received = a->stats.rx_packets;
	put(c, "x", 1);
	kr_assoc_end(a);
	say_window(CLIENT, c, 0, ~0ull, 0);
	kr_assoc_timeout(a, now + KR_SEC);

	cr_expect_eq(a->stats.rx_packets, nr_received);
	cr_expect_eq(a->ch.nr_pto, 0);
	cr_expect_eq(kr_assoc_path_req(a, &ends[CLIENT], &pm, now), -EALREADY);

	cr_expect_not(kr_assoc_has_output(a, now));
	cr_expect_eq(take(CLIENT, (u8[KR_PKT_MAX]){ 0 }), 0);
	cr_expect_eq(kr_assoc_deadline(a), ~0ull);
	cr_expect_eq(kr_vqp_connect(a, &clients[1].v, now, now), -ECONNRESET);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	cr_expect_eq(a->path, KR_PATH_NONE);
}

Test(assoc, abort_some__in_batches)
{
	struct user *many = calloc(KR_ABORT_BATCH + 1, sizeof(*many));
	int i;

	pair_init();
	for (i = 0; i <= KR_ABORT_BATCH; i++) {
		kr_vqp_init(&many[i].v, KR_KIND_STREAM, 100, 100, NULL);
		kr_vqp_connect(a, &many[i].v, now + KR_SEC, now);
	}
	kr_assoc_end(a);
	cr_expect(kr_assoc_abort_some(a, ECONNRESET, now));
	cr_expect_not(kr_assoc_abort_some(a, ECONNRESET, now));

	for (i = 0; i <= KR_ABORT_BATCH; i++) {
		cr_expect_eq(many[i].nr_released, 1);
		kr_vqp_clean(&many[i].v);
	}
	cr_expect_eq(a->nr_vqps, 0);
	kr_assoc_clean(a);
	free(many);
}

Test(assoc, abort_some__open_ones_get_the_error_attempts_are_refused)
{
	connected();
	dial(1);
	kr_assoc_end(a);
	kr_assoc_abort_some(a, ECONNRESET, now);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ECONNRESET);
	cr_expect_eq(clients[1].v.state, KR_VQP_REFUSED);
}

Test(assoc, reply__too_many_are_counted)
{
	int i;

	pair_init();
	for (i = 0; i < KR_REPLIES_MAX + 3; i++)
		kr_assoc_reply(a, KR_MSG_RST, i, 0, KR_RST_UNKNOWN);

	cr_expect_eq(a->stats.replies_dropped, 3);
	settle();
	cr_expect_eq(a->nr_replies, 0);
}

Test(assoc, lost_window__is_repeated_with_all_that_it_said)
{
	struct kr_sent_msg m = { .type = KR_MSG_WINDOW };

	connected();
	m.vqp = c->id;
	m.flags = KR_MF_PROBE | KR_MF_AGAIN;
	kr_assoc_sent(a, &m, true);

	cr_expect(c->pending & KR_SEND_PROBE);
	cr_expect(c->pending & KR_SEND_AGAIN, "else the peer waits for ever");
}

/* The tombstone is told and waits for the peer's last word. */
Test(assoc, keepalive__asks_for_the_peer_of_a_tombstone)
{
	u32 sent;

	pair_init();
	pass(KR_SEC);
	sent = nr_sent[CLIENT];
	a->nr_tombs = 1;
	pass(2 * KR_KEEPALIVE_NS);

	cr_expect_gt(nr_sent[CLIENT], sent, "the peer may have rebooted in between");
}
