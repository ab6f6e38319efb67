// SPDX-License-Identifier: MIT
/* test_loop: both ends of a connection in one association. */
#include <criterion/criterion.h>

#include "pair.h"

static struct kr_assoc *a = &assocs[CLIENT];
static struct kr_vqp *c = &clients[0].v, *s = &servers[0].v;
static u8 in[300000], out[300000];

static void run(void)
{
	kr_loop_run(a, now);
}

static void init(void)
{
	u32 i;

	kr_assoc_init(a, &ops, NULL, 0x1000, instances[0], instances[0], now);
	kr_loop_init(a);
	for (i = 0; i < sizeof(in); i++)
		in[i] = i * 7 + i / 4096;
}

static void joined(void)
{
	init();
	dial(0);
	run();
	clients[0].events = 0;
	servers[0].events = 0;
}

/* The next @nr times of @v come; some only look whether it is time. */
static void pass_times(struct kr_vqp *v, u32 nr)
{
	while (nr-- && v->is_attached) {
		now = max(now, v->timer_ns);
		kr_vqp_timeout(v, now);
		run();
	}
}

/* The user of @v reads @len bytes. */
static void get(struct kr_vqp *v, void *bytes, u32 len)
{
	kr_buf_read(&v->rx.buf, v->rx.read, bytes, len);
	kr_vqp_consumed(v, len, now);
	run();
}

/* All of @in, through windows that are smaller. */
static void pump_through(struct kr_vqp *from, struct kr_vqp *to, u32 chunk)
{
	u32 sent = 0, got = 0, len;

	while (got < sizeof(in)) {
		len = min(min(chunk, kr_tx_room(&from->tx)), (u32)sizeof(in) - sent);
		if (len)
			put(from, in + sent, len);
		sent += len;
		run();
		len = kr_rx_ready(&to->rx);
		cr_assert(len, "the stream has stopped at %u of %u bytes", got, sent);
		get(to, out + got, len);
		got += len;
	}
	cr_expect(!memcmp(in, out, sizeof(in)));
}

static void all_gone(void)
{
	cr_expect_eq(a->nr_vqps, 0);
	cr_expect_eq(a->nr_tombs, 0);
	cr_expect_eq(a->stats.rx_malformed, 0);
	kr_vqp_clean(c);
	kr_vqp_clean(s);
	kr_assoc_clean(a);
	cr_expect_eq(nr_pages, 0);
	cr_expect_eq(nr_blocks, 0);
}

Test(loop, connect__is_over_in_one_run)
{
	init();
	dial(0);
	run();

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(s->state, KR_VQP_OPEN, "the client's confirmation does not wait");
	cr_expect(clients[0].events & KR_EV_OPEN);
	cr_expect(servers[0].events & KR_EV_OPEN);
	cr_expect_eq(kr_assoc_deadline(a), ~0ull, "an association with oneself has no timer");
}

Test(loop, connect__refused)
{
	init();
	incoming_answer = KR_REJECT_NO_LISTENER;
	dial(0);
	run();

	cr_expect_eq(c->state, KR_VQP_REFUSED);
	cr_expect_eq(c->refusal, KR_REJECT_NO_LISTENER);
	cr_expect_eq(a->nr_vqps, 0);
}

Test(loop, connect__a_full_backlog_is_tried_again)
{
	init();
	incoming_answer = -EAGAIN;
	dial(0);
	run();
	cr_expect_eq(c->state, KR_VQP_CONNECTING);
	incoming_answer = 0;
	pass_times(c, 1);

	cr_expect_eq(c->state, KR_VQP_OPEN);
}

Test(loop, connect__that_nobody_takes_gives_up)
{
	init();
	incoming_answer = -EAGAIN;
	dial(0);
	run();
	now += 2 * KR_SEC;
	kr_vqp_timeout(c, now);
	run();

	cr_expect_eq(c->state, KR_VQP_REFUSED);
	cr_expect_eq(c->refusal, KR_REFUSAL_TIMEOUT);
	cr_expect_eq(a->nr_vqps, 0);
}

Test(loop, data__whole_pages_change_hands)
{
	void *first, *second;
	u32 len;

	joined();
	put(c, in, 10000);
	first = kr_buf_at(&c->tx.buf, 0, &len);
	second = kr_buf_at(&c->tx.buf, 4096, &len);
	run();

	cr_expect_eq(kr_buf_at(&s->rx.buf, 0, &len), first);
	cr_expect_eq(kr_buf_at(&s->rx.buf, 4096, &len), second);
	cr_expect_eq(nr_pages, 4, "the last one is at both ends");
	cr_expect_eq(c->tx.head, 10000);
	cr_expect_eq(servers[0].events, KR_EV_READ);
	cr_expect_eq(clients[0].events, KR_EV_WRITE);
	get(s, out, 10000);
	cr_expect(!memcmp(in, out, 10000));
}

Test(loop, data__both_ways_in_chunks_of_any_size)
{
	static const u32 chunks[] = { 1000, 4096, 5000, 65536 };
	u32 i;

	joined();
	for (i = 0; i < ARRAY_SIZE(chunks); i++) {
		pump_through(c, s, chunks[i]);
		pump_through(s, c, chunks[i]);
	}
	cr_expect_eq(a->stats.rx_malformed, 0);
}

Test(loop, data__a_reader_that_does_not_read_stops_its_writer)
{
	joined();
	put(c, in, 65536);
	run();
	put(c, in, 65536);
	run();
	cr_expect_eq(kr_tx_room(&c->tx), 0);
	cr_expect_eq(kr_rx_ready(&s->rx), 65536);
	cr_expect_leq(nr_pages, 34, "both buffers and no more");
	clients[0].events = 0;
	get(s, out, 40000);

	cr_expect_eq(kr_rx_ready(&s->rx), 65536);
	cr_expect_eq(kr_tx_room(&c->tx), 40000);
	cr_expect_eq(clients[0].events, KR_EV_WRITE);
}

Test(loop, data__without_memory_comes_later)
{
	u32 i;

	joined();
	put(c, in, 10000);
	is_memory_short = true;
	run();
	cr_expect_eq(kr_rx_ready(&s->rx), 0, "not even a ring of pages");
	is_memory_short = false;
	cr_assert_eq(kr_buf_grow(&s->rx.buf, 0, 65536), 0);
	is_memory_short = true;
	for (i = 0; i < 3; i++) {
		pass_times(c, 2);
		cr_expect_eq(kr_rx_ready(&s->rx), 8192, "what needs no memory is there");
		cr_expect_eq(c->tx.head, 8192);
	}
	is_memory_short = false;
	put(c, in + 10000, 10000);
	run();
	cr_expect_eq(kr_rx_ready(&s->rx), 8192, "later bytes do not overtake");
	pass_times(c, 2);

	cr_expect_eq(kr_rx_ready(&s->rx), 20000);
	get(s, out, 20000);
	cr_expect(!memcmp(in, out, 20000));
	cr_expect_eq(a->stats.rx_malformed, 0);
}

Test(loop, data__what_a_writer_is_filling_stays_its_own)
{
	u32 len;
	u8 *at;

	joined();
	put(c, in, 4000);
	kr_buf_grow(&c->tx.buf, c->tx.head, 10000);
	c->tx.is_held = true;
	at = kr_buf_reserve(&c->tx.buf, 4000, &len, true);
	memcpy(at, in + 4000, len);
	run();
	cr_expect_eq(kr_rx_ready(&s->rx), 4000);
	kr_vqp_timeout(c, now + 10 * KR_SEC);
	at = kr_buf_at(&c->tx.buf, 4000, &len);
	cr_expect(!memcmp(at, in + 4000, len), "its page was not taken");
	c->tx.is_held = false;
	kr_vqp_wrote(c, len, 0, now);
	run();

	get(s, out, 4096);
	cr_expect(!memcmp(in, out, 4096));
}

Test(loop, cork__holds_back_until_its_time_is_over)
{
	joined();
	kr_buf_grow(&c->tx.buf, 0, 4096);
	kr_buf_write(&c->tx.buf, 0, in, 100);
	kr_vqp_wrote(c, 100, 4000, now);
	run();
	cr_expect_eq(kr_rx_ready(&s->rx), 0);
	pass_times(c, 2);

	cr_expect_eq(kr_rx_ready(&s->rx), 100);
}

Test(loop, shutdown__of_both_ends_leaves_nothing)
{
	joined();
	put(c, in, 100);
	kr_vqp_shutdown(c, now);
	run();
	cr_expect(kr_rx_is_fin(&s->rx));
	cr_expect_eq(c->state, KR_VQP_OPEN);
	kr_vqp_shutdown(s, now);
	run();

	cr_expect_eq(c->state, KR_VQP_CLOSED);
	cr_expect_eq(s->state, KR_VQP_CLOSED);
	cr_expect_eq(kr_rx_ready(&s->rx), 100, "and can still be read");
	all_gone();
}

Test(loop, close__with_bytes_under_way_still_delivers_them)
{
	joined();
	put(c, in, 65536);
	run();
	put(c, in, 1000);
	kr_vqp_close(c, now);
	run();
	cr_expect_eq(kr_rx_ready(&s->rx), 65536);
	get(s, out, 65536);
	cr_expect_eq(kr_rx_ready(&s->rx), 1000);
	get(s, out, 1000);
	cr_expect(kr_rx_is_eof(&s->rx));
	kr_vqp_close(s, now);
	run();

	cr_expect_eq(c->state, KR_VQP_CLOSED);
	all_gone();
}

Test(loop, close__with_unread_bytes_resets)
{
	joined();
	put(c, in, 100);
	run();
	kr_vqp_close(s, now);
	run();

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ECONNRESET);
	all_gone();
}

Test(loop, data__for_a_reader_that_is_gone_resets)
{
	joined();
	kr_vqp_close(s, now);
	run();
	put(c, in, 100);
	run();

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ECONNRESET);
	all_gone();
}

Test(loop, end__of_the_association_ends_both)
{
	joined();
	put(c, in, 100);
	kr_assoc_end(a);
	run();
	while (kr_assoc_abort_some(a, ECONNRESET, now))
		;

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(s->state, KR_VQP_ABORTED);
	all_gone();
}

Test(loop, input__a_packet_with_its_tag_is_not_taken)
{
	joined();
	say_code(CLIENT, KR_MSG_RST, c->id, s->id, KR_RST_ABORT);

	cr_expect_eq(c->state, KR_VQP_OPEN);
}

Test(loop, keepalive__an_idle_mate_is_alive)
{
	struct kr_vqp_opts opts = { .keep_idle_ns = KR_SEC, .keep_intvl_ns = KR_SEC,
				    .keep_cnt = 2, .orphan_ns = KR_SEC };
	joined();
	kr_vqp_set_opts(c, &opts, now);
	pass_times(c, 10);

	cr_expect_eq(c->state, KR_VQP_OPEN);
}

Test(loop, user_timeout__ends_one_whose_mate_takes_nothing)
{
	struct kr_vqp_opts opts = { .user_timeout_ns = KR_SEC, .orphan_ns = KR_SEC };

	joined();
	kr_vqp_set_opts(c, &opts, now);
	put(c, in, 65536);
	run();
	put(c, in, 65536);
	run();
	pass_times(c, 100);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ETIMEDOUT);
	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_eq(s->err, ETIMEDOUT);
}
