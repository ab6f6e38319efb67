// SPDX-License-Identifier: MIT
/* What core decides for the owner of an association. */
#include <criterion/criterion.h>
#include "core/drive.h"
#include "lanes.h"

enum { SLOTS_MAX = 8 };

/* A port with a number of slots, some of them for packets without data. */
struct port {
	u32 nr_free, nr_kept;
	u32 nr_posted, nr_put;
	u8 bytes[KR_PKT_MAX];
};

static void *slot_get(void *arg, bool is_control, u8 **bytes)
{
	struct port *p = arg;

	if (p->nr_free <= (is_control ? 0 : p->nr_kept))
		return NULL;
	p->nr_free--;
	*bytes = p->bytes;
	return p;
}

static void slot_put(void *arg, void *slot)
{
	struct port *p = arg;

	p->nr_free++;
	p->nr_put++;
}

static void slot_post(void *arg, void *slot, u32 len)
{
	struct port *p = arg;

	p->nr_posted++;
}

static const struct kr_port_ops port_ops = {
	.get = slot_get,
	.put = slot_put,
	.post = slot_post,
};

static struct kr_assoc *const a = &assocs[CLIENT];

static void close_client(void)
{
	kr_vqp_abort(&clients[0].v, ECONNABORTED, KR_RST_ABORT, now);
}

static enum kr_check check(u64 host_timeout_ns, int *err)
{
	u64 after_ns = 0;
	enum kr_check what;

	what = kr_assoc_check(a, host_timeout_ns, now, &after_ns, err);
	if (what == KR_CHECK_LATER || what == KR_CHECK_ASK)
		cr_expect_gt(after_ns, 0);
	return what;
}

Test(drive, run__sends_all_while_there_are_slots)
{
	struct port p = { .nr_free = SLOTS_MAX };

	connected();
	put_zeros(&clients[0].v, 3000);
	cr_expect_eq(kr_assoc_run(a, &port_ops, &p, now), KR_RUN_DONE);
	cr_expect_geq(p.nr_posted, 3);
	cr_expect_eq(p.nr_put, 0);
}

Test(drive, run__keeps_the_last_slots_for_packets_without_data)
{
	struct port p = { .nr_free = 2, .nr_kept = 2 };

	connected();
	put_zeros(&clients[0].v, 3000);
	cr_expect_eq(kr_assoc_run(a, &port_ops, &p, now), KR_RUN_STARVED);
	cr_expect_eq(p.nr_posted, 0);
	cr_expect_eq(p.nr_free, 2);
	kr_assoc_ping(a);
	cr_expect_eq(kr_assoc_run(a, &port_ops, &p, now), KR_RUN_STARVED);
	cr_expect_eq(p.nr_posted, 1);
}

Test(drive, run__without_any_slot_is_starved)
{
	struct port p = { 0 };

	connected();
	kr_assoc_ping(a);
	cr_expect_eq(kr_assoc_run(a, &port_ops, &p, now), KR_RUN_STARVED);
}

/* Its peer accepted all of it while it waited its turn to send it again. */
static void wait_for_nothing(void)
{
	put_zeros(&clients[0].v, LANE_BULK);
	clients[0].v.tx.next = clients[0].v.tx.end;
}

Test(drive, run__is_done_when_what_waited_has_nothing_to_send)
{
	struct port p = { .nr_free = 2, .nr_kept = 1 };

	connected();
	pass(KR_SEC / 10);
	wait_for_nothing();
	cr_assert(kr_assoc_has_output(a, now));
	cr_expect_eq(kr_assoc_run(a, &port_ops, &p, now), KR_RUN_DONE);
	cr_expect_eq(p.nr_put, 1);
	cr_expect_eq(p.nr_posted, 0);
}

Test(drive, run_lanes__are_done_when_what_waited_has_nothing_to_send)
{
	lane_connected();
	wait_for_nothing();
	cr_assert(kr_assoc_lane_has_output(a, lane_of(0, CLIENT), now));
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_DONE);
	cr_expect_eq(lane_ends[0][CLIENT].nr_slots, LANE_SLOTS);
}

Test(drive, run_at__tries_again_soon_without_memory)
{
	connected();
	pass(KR_SEC);
	cr_expect_gt(kr_assoc_run_at(a, KR_RUN_DONE, now), now + KR_NO_MEMORY_NS);
	cr_expect_eq(kr_assoc_run_at(a, KR_RUN_NO_MEMORY, now), now + KR_NO_MEMORY_NS);
}

Test(drive, run_lanes__without_lanes_there_is_nothing_to_do)
{
	connected();
	put_zeros(&clients[0].v, LANE_BULK);
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_DONE);
}

Test(drive, run_lanes__sends_all_while_there_are_slots)
{
	struct lane_end *e = &lane_ends[0][CLIENT];

	lane_connected();
	put_zeros(&clients[0].v, LANE_BULK);
	e->nr_slots = 3;
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_DONE);
	cr_expect_eq(e->nr_numbered, 3);
	cr_expect_eq(e->nr_put, 0);
}

Test(drive, run_lanes__one_that_is_starved_does_not_hold_the_others)
{
	lane_connected();
	lane_open(1, false);
	lane_ends[0][CLIENT].nr_slots = 1;
	put_zeros(&clients[0].v, LANE_BULK);
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_STARVED);
	cr_expect_eq(lane_ends[0][CLIENT].nr_numbered, 1);
	cr_expect_eq(lane_ends[1][CLIENT].nr_numbered, 2);
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_DONE);
}

Test(drive, run_lanes__without_memory_gives_the_slot_back)
{
	struct lane_end *e = &lane_ends[0][CLIENT];

	lane_connected();
	lane_open(1, false);
	put_zeros(&clients[0].v, LANE_BULK);
	lane_ends[1][CLIENT].nr_slots = 0;
	is_memory_short = true;
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_NO_MEMORY, "says more than STARVED");
	cr_expect_eq(e->nr_slots, LANE_SLOTS);
	cr_expect_eq(e->nr_put, 1);
	is_memory_short = false;
	cr_expect_eq(kr_assoc_run_lanes(a, now), KR_RUN_DONE);
	cr_expect_eq(e->nr_numbered, 3);
}

Test(drive, path_need__follows_the_path_to_the_ends_of_the_answer)
{
	struct kr_end answer[2] = { ends[CLIENT], ends[SERVER] };

	assocs_init();
	cr_expect_eq(kr_assoc_path_need(a, answer, 2), KR_PATH_IS_WANTED);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	cr_expect_eq(kr_assoc_path_need(a, answer, 2), KR_PATH_IS_PROBED);
	cr_expect_eq(kr_assoc_path_need(a, answer, 1), KR_PATH_IS_WANTED, "elsewhere");
	pass(KR_SEC / 10);
	cr_expect_eq(kr_assoc_path_need(a, answer, 2), KR_PATH_IS_PROVEN);
	kr_assoc_path_lost(a, now);
	cr_expect_eq(kr_assoc_path_need(a, answer, 2), KR_PATH_IS_WANTED);
}

/* The peer took a late PATH_REQ for ours: it hears us and answers to nobody. */
Test(drive, path_need__of_a_silent_path_tells_the_peer_where_we_are)
{
	struct kr_end stray = ends[CLIENT];

	connected();
	stray.qpn += 100;
	assocs[SERVER].remote = stray;
	nr_drop[SERVER] = ~0u;
	kr_assoc_ping(a);
	pass(10 * KR_SEC);
	cr_assert(kr_channel_is_silent(&a->ch));
	cr_assert_eq(a->path, KR_PATH_READY);
	cr_assert_eq(kr_assoc_path_need(a, &ends[SERVER], 1), KR_PATH_IS_WANTED);
	nr_drop[SERVER] = 0;
	kr_assoc_path_lost(a, now);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	pass(KR_SEC);

	cr_expect_eq(a->path, KR_PATH_READY);
	cr_expect_eq(assocs[SERVER].remote.qpn, ends[CLIENT].qpn);
	cr_expect_eq(kr_assoc_path_need(a, &ends[SERVER], 1), KR_PATH_IS_PROVEN);
}

Test(drive, check__a_peer_that_never_showed_itself_is_forgotten)
{
	int err = 0;

	assocs_init();
	cr_expect_eq(check(0, &err), KR_CHECK_LATER);
	now += KR_UNPROVEN_NS;
	cr_expect_eq(check(0, &err), KR_CHECK_END);
	cr_expect_eq(err, ECONNRESET);
}

Test(drive, check__a_reachable_peer_is_left_alone)
{
	int err;

	connected();
	now += 1000 * KR_SEC;
	cr_expect_eq(check(KR_SEC, &err), KR_CHECK_NOTHING);
}

Test(drive, check__somebody_who_waits_has_the_peer_looked_for)
{
	int err;

	connected();
	kr_assoc_path_lost(a, now);
	now += 1000 * KR_SEC;
	cr_expect_eq(check(0, &err), KR_CHECK_ASK);
}

Test(drive, check__a_silent_peer_is_looked_for_although_there_is_a_path)
{
	int err;

	connected();
	nr_drop[CLIENT] = ~0u;
	put_zeros(&clients[0].v, 10);
	pass(20 * KR_SEC);
	cr_expect_eq(a->path, KR_PATH_READY);
	cr_expect_eq(check(0, &err), KR_CHECK_ASK);
}

Test(drive, check__the_bound_for_whole_hosts_ends_those_who_wait)
{
	int err = 0;

	connected();
	kr_assoc_path_lost(a, now);
	now += 10 * KR_SEC;
	cr_expect_eq(check(11 * KR_SEC, &err), KR_CHECK_ASK);
	cr_expect_eq(check(9 * KR_SEC, &err), KR_CHECK_END);
	cr_expect_eq(err, ETIMEDOUT);
}

/* Without a path an idle lane still tells whether the host is there. */
Test(drive, check__a_host_that_lanes_reach_is_alive)
{
	int err = 0;

	lane_connected();
	ud_lost();
	lanes_pass(9 * KR_SEC);
	cr_expect_eq(check(KR_SEC, &err), KR_CHECK_ASK, "a path is wanted");
	lane_cut(0, true);
	lanes_pass(30 * KR_SEC);
	cr_expect_eq(check(KR_SEC, &err), KR_CHECK_END);
	cr_expect_eq(err, ETIMEDOUT);
}

Test(drive, check__last_words_are_not_kept_for_ever)
{
	int err = 0;

	connected();
	nr_drop[CLIENT] = ~0u;
	close_client();
	pass(20 * KR_SEC);
	cr_expect_eq(a->nr_vqps, 0);
	cr_expect_eq(a->nr_tombs, 1);
	cr_expect_eq(check(0, &err), KR_CHECK_ASK);
	cr_expect_eq(check(KR_SEC, &err), KR_CHECK_ASK, "nobody here waits for the host");
	now += KR_LAST_WORDS_NS;
	cr_expect_eq(check(0, &err), KR_CHECK_END);
}

Test(drive, check__last_words_of_a_connection_that_waited_have_their_time)
{
	int err = 0;

	connected();
	kr_assoc_path_lost(a, now);
	now += 2 * KR_LAST_WORDS_NS;
	a->now = now;
	close_client();
	cr_expect_eq(a->nr_tombs, 1);
	cr_expect_eq(check(0, &err), KR_CHECK_ASK);
}

Test(drive, check__an_ended_association_needs_nothing)
{
	int err;

	connected();
	kr_assoc_end(a);
	now += 1000 * KR_SEC;
	cr_expect_eq(check(KR_SEC, &err), KR_CHECK_NOTHING);
}

Test(drive, sort__a_tag_decides_first)
{
	u8 bytes[KR_PKT_MAX];
	struct kr_packet p;
	struct kr_end end;
	u32 len;

	pair_init();
	kr_assoc_ping(a);
	len = take(CLIENT, bytes);
	kr_packet_sort(bytes, len, &p);
	cr_expect_eq(p.kind, KR_PACKET_TAGGED);
	cr_expect_eq(p.hdr.tag, assocs[SERVER].local_id);
	cr_expect(kr_packet_wants_gone(&p, &end), "a PING");
	cr_expect(kr_end_is_same(&end, &ends[CLIENT]));
	kr_packet_sort(bytes, len - 1, &p);
	cr_expect_eq(p.kind, KR_PACKET_MALFORMED);
}

Test(drive, sort__a_packet_of_a_lane_does_not_come_by_ud)
{
	struct kr_hdr h = { .tag = 0x1001, .lane = 1 };
	u8 bytes[KR_HDR_LEN];
	struct kr_packet p;

	kr_wire_put_hdr(bytes, &h);
	kr_packet_sort(bytes, sizeof(bytes), &p);
	cr_expect_eq(p.kind, KR_PACKET_MALFORMED);
	h.lane = 0;
	kr_wire_put_hdr(bytes, &h);
	kr_packet_sort(bytes, sizeof(bytes), &p);
	cr_expect_eq(p.kind, KR_PACKET_TAGGED);
}

Test(drive, sort__data_for_nobody_asks_for_nothing)
{
	u8 bytes[KR_PKT_MAX];
	struct kr_packet p;
	struct kr_end end;

	connected();
	put_zeros(&clients[0].v, 10);
	kr_packet_sort(bytes, take(CLIENT, bytes), &p);
	cr_expect_eq(p.kind, KR_PACKET_TAGGED);
	cr_expect_not(kr_packet_wants_gone(&p, &end));
}

Test(drive, sort__a_path_request_comes_without_a_tag)
{
	u8 bytes[KR_PKT_MAX];
	struct kr_packet p;

	assocs_init();
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	kr_packet_sort(bytes, take(CLIENT, bytes), &p);
	cr_expect_eq(p.kind, KR_PACKET_PATH_REQ);
	cr_expect_eq(p.pm.token, 5);
	cr_expect(kr_end_is_same(&p.pm.end, &ends[CLIENT]));
}

Test(drive, gone__is_what_sort_reads)
{
	u8 bytes[KR_PACKET_GONE_LEN];
	struct kr_packet p;
	u32 len = kr_packet_put_gone(bytes, 0x123456789abcull);

	cr_assert_eq(len, sizeof(bytes));
	kr_packet_sort(bytes, len, &p);
	cr_expect_eq(p.kind, KR_PACKET_GONE);
	cr_expect_eq(p.gone_id, 0x123456789abcull);
	bytes[KR_HDR_LEN] = KR_MSG_DATA;
	kr_packet_sort(bytes, len, &p);
	cr_expect_eq(p.kind, KR_PACKET_MALFORMED);
}

Test(drive, rate__counts_by_the_second)
{
	struct kr_rate r = { 0 };
	u32 i;

	for (i = 0; i < 3; i++)
		cr_expect(kr_rate_is_ok(&r, 3, now + i * KR_MSEC));
	cr_expect_not(kr_rate_is_ok(&r, 3, now + KR_SEC - 1));
	cr_expect(kr_rate_is_ok(&r, 3, now + KR_SEC));
}

Test(drive, last_lane__is_wanted_when_there_is_something_to_carry_and_no_way)
{
	struct kr_lane_terms terms = {
		.size = KR_LANE_SIZE_MAX, .credits = 1, .is_last = true, .ops = &port_ops,
	};
	struct kr_lane lane = { 0 };

	connected();
	cr_expect_not(kr_assoc_wants_last_lane(a), "the path works");
	kr_assoc_path_lost(a, now);
	cr_expect(kr_assoc_wants_last_lane(a));
	cr_assert_eq(kr_assoc_lane_open(a, &lane, &terms, now), 0);
	cr_expect_not(kr_assoc_wants_last_lane(a), "it has one");
	kr_assoc_lane_close(a, &lane, now);
	cr_expect(kr_assoc_wants_last_lane(a));
	kr_assoc_end(a);
	cr_expect_not(kr_assoc_wants_last_lane(a), "ended");
}

Test(drive, last_lane__is_wanted_beside_one_in_doubt)
{
	lane_connected();
	lane_cut(0, true);
	kr_assoc_path_lost(a, now);
	cr_assert_not(kr_assoc_wants_last_lane(a), "the lane carries all");
	put_zeros(&clients[0].v, LANE_BULK);
	lanes_pass(2 * KR_LANE_DOUBT_MAX_NS);
	cr_assert_eq(lane_of(0, CLIENT)->state, KR_LANE_DOUBT);
	cr_expect(kr_assoc_wants_last_lane(a));
	cr_assert_eq(lane_open_end(1, CLIENT, true), 0);
	cr_expect_not(kr_assoc_wants_last_lane(a), "it has one");
	lanes_pass(2 * KR_LANE_DOUBT_MAX_NS);
	cr_assert_eq(lane_of(1, CLIENT)->state, KR_LANE_DOUBT);
	cr_expect_not(kr_assoc_wants_last_lane(a), "a second one would be no better");
}

Test(drive, last_lane__is_not_wanted_for_nothing)
{
	assocs_init();
	cr_expect_not(kr_assoc_wants_last_lane(a), "nobody uses it");
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	pass(KR_SEC / 10);
	cr_assert_eq(a->path, KR_PATH_READY);
	kr_assoc_path_lost(a, now);
	cr_expect_not(kr_assoc_wants_last_lane(a));
}

Test(drive, last_lane__is_wanted_when_the_path_is_silent)
{
	connected();
	nr_drop[SERVER] = ~0u;
	nr_drop[CLIENT] = ~0u;
	kr_assoc_ping(a);
	pass(10 * KR_SEC);
	cr_assert_eq(a->path, KR_PATH_READY);
	cr_expect(kr_assoc_wants_last_lane(a));
}
