// SPDX-License-Identifier: MIT
/* test_output: what goes into packets, in which order, and when. */
#include <criterion/criterion.h>

#include "pair.h"

static struct kr_assoc *a = &assocs[CLIENT], *b = &assocs[SERVER];
static struct kr_vqp *c = &clients[0].v, *s = &servers[0].v;
static u8 p[KR_PKT_MAX];
static u8 types[64];
static u32 nr_types;

/* Builds the next packet and notes the types of its messages. */
static u32 output(int from, bool is_data)
{
	u32 len = kr_assoc_output(&assocs[from], p, KR_PKT_MAX, is_data, now);
	const u8 *at = p + KR_HDR_LEN, *end;
	struct kr_hdr h;
	struct kr_msg m;

	nr_types = 0;
	if (!len)
		return 0;
	cr_assert(kr_wire_get_hdr(p, len, &h));
	end = at + h.body_len;
	while (at != end) {
		cr_assert(kr_wire_get_msg(&at, end, &m));
		types[nr_types++] = m.type;
	}
	return len;
}

static u32 count(u8 type)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_types; i++)
		nr += types[i] == type;
	return nr;
}

/* @nr open connections. */
static void connect_many(int nr)
{
	int i;

	pair_init();
	for (i = 0; i < nr; i++)
		dial(i);
	pass(10 * KR_MSEC);
	for (i = 0; i < nr; i++)
		cr_assert_eq(clients[i].v.state, KR_VQP_OPEN);
}

Test(output, nothing__to_say)
{
	connected();

	cr_expect_eq(output(CLIENT, true), 0);
	cr_expect_not(kr_assoc_has_output(a, now));
}

Test(output, path__waits_until_it_is_ready)
{
	assocs_init();
	dial(0);
	cr_expect_not(kr_assoc_has_output(a, now));
	cr_expect_eq(output(CLIENT, true), 0);
	kr_assoc_path_start(a, &ends[CLIENT], &ends[SERVER], 5, now);
	cr_expect_gt(output(CLIENT, true), 0);
	cr_expect_eq(types[0], KR_MSG_PATH_REQ);
	cr_expect_eq(nr_types, 1);
}

Test(output, packet__never_larger_than_the_mtu)
{
	u32 len, largest = 0;

	connected();
	put_zeros(c, 20000);
	while ((len = output(CLIENT, true)))
		largest = max(largest, len);

	cr_expect_gt(c->tx.next, 5000);
	cr_expect_eq(a->mtu, 1024);
	cr_expect_eq(largest, 1024);
}

Test(output, control__goes_without_a_window_data_does_not)
{
	connected();
	put_zeros(c, 60000);
	while (output(CLIENT, true))
		;
	cr_expect_lt(c->tx.next, 60000);
	kr_vqp_send(c, KR_SEND_WINDOW);
	cr_expect_gt(output(CLIENT, true), 0);

	cr_expect_eq(count(KR_MSG_WINDOW), 1);
	cr_expect_eq(count(KR_MSG_DATA), 0);
}

Test(output, control__only_when_asked_for)
{
	connected();
	put_zeros(c, 100);
	kr_vqp_send(c, KR_SEND_WINDOW);
	output(CLIENT, false);
	cr_expect_eq(count(KR_MSG_DATA), 0);
	cr_expect_eq(count(KR_MSG_WINDOW), 1);
	output(CLIENT, true);

	cr_expect_eq(count(KR_MSG_DATA), 1);
}

Test(output, data__of_many_vqps_shares_a_packet)
{
	int i;

	connect_many(10);
	for (i = 0; i < 10; i++)
		put_zeros(&clients[i].v, 10);
	output(CLIENT, true);

	cr_expect_eq(count(KR_MSG_DATA), KR_PKT_MSGS_MAX);
}

Test(output, data__takes_turns)
{
	connect_many(2);
	put_zeros(&clients[0].v, 20000);
	put_zeros(&clients[1].v, 20000);
	while (output(CLIENT, true))
		;

	cr_expect_gt(clients[0].v.tx.next, 3000);
	cr_expect_gt(clients[1].v.tx.next, 3000);
}

Test(output, data__last_packet_of_the_window_asks_for_its_answer)
{
	struct kr_hdr h = { 0 };
	u32 len;

	connected();
	put_zeros(c, 60000);
	while ((len = output(CLIENT, true)))
		kr_wire_get_hdr(p, len, &h);

	cr_expect_eq(h.flags, KR_PF_ACK_NOW);
}

Test(output, news__that_do_not_fit_follow_at_once)
{
	u32 nr = 0;
	int i;

	connect_many(VQPS);
	for (i = 0; i < VQPS; i++)
		say_data(SERVER, &servers[i].v, 0, 1, 0);
	b->ch.ack_ns = now;
	while (output(SERVER, true))
		nr += count(KR_MSG_WINDOW);

	cr_expect_eq(nr, VQPS);
	cr_expect(list_empty(&b->news));
}

Test(output, news__ride_on_data)
{
	connected();
	say_data(SERVER, s, 0, 10, 0);
	put(s, "x", 1);
	output(SERVER, true);

	cr_expect_eq(count(KR_MSG_DATA), 1);
	cr_expect_eq(count(KR_MSG_WINDOW), 0);
	cr_expect(list_empty(&b->news));
}

Test(output, memory__nothing_is_forgotten_without)
{
	pair_init();
	kr_channel_begin(&a->ch);
	free(a->ch.sent[a->ch.next_pn & (KR_SENT_RING - 1)]);
	a->ch.sent[a->ch.next_pn & (KR_SENT_RING - 1)] = NULL;
	dial(0);
	is_memory_short = true;
	cr_expect_eq(output(CLIENT, true), 0);
	cr_expect(kr_assoc_has_output(a, now));
	is_memory_short = false;
	output(CLIENT, true);

	cr_expect_eq(count(KR_MSG_CONNECT), 1);
}

Test(output, ring__full_of_numbers_says_so)
{
	int i;

	connected();
	for (i = 0; i < KR_SENT_RING + 10; i++) {
		kr_vqp_send(c, KR_SEND_WINDOW);
		if (!output(CLIENT, true))
			break;
	}

	cr_expect_leq(i, KR_SENT_RING);
	cr_expect_not(kr_assoc_has_output(a, now));
	now = kr_assoc_deadline(a);
	kr_assoc_timeout(a, now);
	cr_expect(kr_assoc_has_output(a, now));
	cr_expect_gt(output(CLIENT, true), 0);
}
