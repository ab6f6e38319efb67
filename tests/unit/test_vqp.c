// SPDX-License-Identifier: MIT
/* test_vqp: what users and time do, and how VQPs end. */
#include <criterion/criterion.h>

#include "pair.h"

static struct kr_vqp *c = &clients[0].v, *s = &servers[0].v;

static void teardown(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		kr_assoc_end(&assocs[i]);
		while (kr_assoc_abort_some(&assocs[i], ECONNRESET, now))
			;
		kr_assoc_clean(&assocs[i]);
	}
	for (i = 0; i < VQPS; i++) {
		if (clients[i].v.id)
			kr_vqp_clean(&clients[i].v);
		if (servers[i].v.id)
			kr_vqp_clean(&servers[i].v);
	}
	cr_expect_eq(nr_pages, 0);
	cr_expect_eq(nr_blocks, 0);
}

/* Packets of both sides are lost from now on, or not any more. */
static void cut(bool is_cut)
{
	nr_drop[0] = is_cut ? ~0u : 0;
	nr_drop[1] = nr_drop[0];
}

static void check_all_gone(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		cr_expect_eq(assocs[i].nr_vqps, 0);
		cr_expect_eq(assocs[i].nr_tombs, 0);
		cr_expect_eq(assocs[i].ch.inflight, 0);
	}
}

TestSuite(vqp, .fini = teardown);

Test(vqp, connect__opens_both_ends)
{
	pair_init();
	dial(0);
	pass(5 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(s->state, KR_VQP_OPEN);
	cr_expect(clients[0].events & KR_EV_OPEN);
	cr_expect(servers[0].events & KR_EV_OPEN);
	cr_expect_eq(c->peer_id, s->id);
	cr_expect_eq(s->peer_id, c->id);
	cr_expect_eq(s->tuple.dport, 80);
}

Test(vqp, connect__without_memory_changes_nothing)
{
	pair_init();
	kr_vqp_init(c, KR_KIND_STREAM, 1000, 1000, NULL);
	is_memory_short = true;
	cr_expect_eq(kr_vqp_connect(&assocs[CLIENT], c, now + KR_SEC, now), -ENOMEM);
	is_memory_short = false;

	cr_expect_not(c->is_attached);
	check_all_gone();
}

Test(vqp, connect__gives_up_and_cancels)
{
	pair_init();
	incoming_answer = -EAGAIN;
	dial(0);
	pass(2 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_REFUSED);
	cr_expect_eq(c->refusal, KR_REFUSAL_TIMEOUT);
	cr_expect_eq(clients[0].nr_released, 1);
	check_all_gone();
}

Test(vqp, connect__a_full_backlog_is_a_syn_that_got_lost)
{
	pair_init();
	incoming_answer = -EAGAIN;
	dial(0);
	pass(50 * KR_MSEC);
	cr_expect_eq(c->state, KR_VQP_CONNECTING);
	incoming_answer = 0;
	pass(200 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_OPEN);
}

Test(vqp, connect__the_window_told_is_the_window_kept)
{
	pair_init();
	kr_vqp_init(c, KR_KIND_STREAM, 65536, 1000, NULL);
	c->tuple.family = 4;
	c->tuple.sport = 1;
	c->tuple.dport = 2;
	c->rx.limit = 30000;
	kr_vqp_connect(&assocs[CLIENT], c, now + KR_SEC, now);
	pass(5 * KR_MSEC);
	cr_assert_eq(s->state, KR_VQP_OPEN);
	put_zeros(s, 20000);
	pass(50 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(kr_rx_ready(&c->rx), 20000);
}

Test(vqp, wrote__arrives_and_is_accepted)
{
	connected();
	put(c, "hello", 5);
	pass(10 * KR_MSEC);

	cr_expect_eq(kr_rx_ready(&s->rx), 5);
	cr_expect(servers[0].events & KR_EV_READ);
	cr_expect(clients[0].events & KR_EV_WRITE);
	cr_expect_not(kr_tx_has_unaccepted(&c->tx));
}

Test(vqp, wrote__a_cork_ends_by_time)
{
	connected();
	kr_buf_grow(&c->tx.buf, 0, 10);
	kr_buf_write(&c->tx.buf, 0, "0123456789", 10);
	kr_vqp_wrote(c, 10, 900, now);
	pass(KR_CORK_NS / 2);
	cr_expect_eq(kr_rx_ready(&s->rx), 0);
	pass(KR_CORK_NS);

	cr_expect_eq(kr_rx_ready(&s->rx), 10);
}

Test(vqp, wrote__a_lost_packet_is_sent_again)
{
	connected();
	nr_drop[CLIENT] = 1;
	put(c, "hello", 5);
	pass(100 * KR_MSEC);

	cr_expect_eq(kr_rx_ready(&s->rx), 5);
}

Test(vqp, wrote__lost_answers_are_asked_for)
{
	connected();
	nr_drop[SERVER] = 2;
	put(c, "hello", 5);
	pass(KR_SEC);

	cr_expect_not(kr_tx_has_unaccepted(&c->tx));
}

Test(vqp, consumed__opens_a_closed_window)
{
	u32 i;

	rx_limit = 4000;
	connected();
	put_zeros(c, 10000);
	for (i = 0; i < 10; i++) {
		pass(10 * KR_MSEC);
		kr_vqp_consumed(s, kr_rx_ready(&s->rx), now);
	}

	cr_expect_eq(s->rx.read, 10000);
}

Test(vqp, consumed__a_lost_window_is_probed_for)
{
	rx_limit = 4000;
	connected();
	put_zeros(c, 10000);
	pass(50 * KR_MSEC);
	cr_expect_eq(kr_rx_ready(&s->rx), 4000);
	/* The window opens too little to say so. */
	kr_vqp_consumed(s, 100, now);
	pass(KR_SEC);

	cr_expect_gt(kr_rx_ready(&s->rx), 3900);
}

Test(vqp, shutdown__both_fins_end_it_without_a_trace)
{
	connected();
	put(c, "x", 1);
	kr_vqp_shutdown(c, now);
	pass(10 * KR_MSEC);
	cr_expect(kr_rx_is_fin(&s->rx));
	cr_expect_eq(c->state, KR_VQP_OPEN);
	kr_vqp_shutdown(s, now);
	pass(20 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_CLOSED);
	cr_expect_eq(s->state, KR_VQP_CLOSED);
	cr_expect_eq(clients[0].nr_released, 1);
	cr_expect_eq(servers[0].nr_released, 1);
	cr_expect_eq(kr_rx_ready(&s->rx), 1, "still to be read");
	check_all_gone();
}

Test(vqp, shutdown__simultaneous)
{
	connected();
	kr_vqp_shutdown(c, now);
	kr_vqp_shutdown(s, now);
	pass(20 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_CLOSED);
	cr_expect_eq(s->state, KR_VQP_CLOSED);
	check_all_gone();
}

Test(vqp, shutdown__waits_for_bytes_that_the_window_holds_back)
{
	rx_limit = 1000;
	connected();
	put_zeros(c, 1500);
	kr_vqp_shutdown(c, now);
	pass(20 * KR_MSEC);
	cr_expect_not(kr_rx_is_fin(&s->rx));
	kr_vqp_consumed(s, 1000, now);
	pass(20 * KR_MSEC);

	cr_expect(kr_rx_is_fin(&s->rx));
}

/* Whatever single packet of the farewell is lost, nothing is left. */
Test(vqp, shutdown__survives_any_lost_packet)
{
	u32 from, nth;

	pair_init();
	for (nth = 0; nth < 10; nth++) {
		from = nth % 2;
		dial(nth);
		pass(20 * KR_MSEC);
		kr_vqp_shutdown(&clients[nth].v, now);
		kr_vqp_shutdown(&servers[nth].v, now);
		pass(nth / 2 * 15 * KR_USEC);
		nr_drop[from] = 1;
		pass(3 * KR_SEC);
		cr_expect_eq(clients[nth].v.state, KR_VQP_CLOSED);
		cr_expect_eq(servers[nth].v.state, KR_VQP_CLOSED);
		check_all_gone();
	}
}

Test(vqp, close__unread_bytes_reset)
{
	connected();
	put(c, "x", 1);
	pass(5 * KR_MSEC);
	kr_vqp_close(s, now);
	pass(20 * KR_MSEC);

	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ECONNRESET);
	check_all_gone();
}

Test(vqp, close__bytes_that_come_later_reset)
{
	connected();
	kr_vqp_close(s, now);
	pass(5 * KR_MSEC);
	cr_expect_eq(c->state, KR_VQP_OPEN);
	put(c, "x", 1);
	pass(20 * KR_MSEC);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	check_all_gone();
}

Test(vqp, close__delivers_what_was_written)
{
	connected();
	put_zeros(c, 30000);
	kr_vqp_close(c, now);
	pass(50 * KR_MSEC);

	cr_expect_eq(kr_rx_ready(&s->rx), 30000);
	cr_expect(kr_rx_is_fin(&s->rx));
	kr_vqp_consumed(s, 30000, now);
	kr_vqp_close(s, now);
	pass(50 * KR_MSEC);
	cr_expect_eq(s->err, 0);
	check_all_gone();
}

Test(vqp, close__an_orphan_does_not_wait_for_ever)
{
	connected();
	kr_vqp_close(c, now);
	pass(c->opts.orphan_ns + KR_SEC);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(clients[0].nr_released, 1);
}

Test(vqp, close__of_an_attempt_cancels_it)
{
	pair_init();
	nr_drop[SERVER] = 1;
	dial(0);
	settle();
	cr_assert_eq(s->state, KR_VQP_ACCEPTING);
	kr_vqp_close(c, now);
	pass(KR_SEC);

	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_not(servers[0].events & KR_EV_OPEN);
	check_all_gone();
}

Test(vqp, abort__a_lost_rst_is_sent_again)
{
	connected();
	nr_drop[CLIENT] = 1;
	kr_vqp_abort(c, ECONNABORTED, KR_RST_ABORT, now);
	pass(KR_SEC);

	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_eq(s->err, ECONNRESET);
	check_all_gone();
}

Test(vqp, abort__while_a_writer_holds_pages)
{
	u32 len;

	connected();
	kr_buf_grow(&c->tx.buf, 0, 5000);
	kr_buf_reserve(&c->tx.buf, 0, &len, true);
	c->tx.is_held = true;
	kr_vqp_abort(c, ECONNRESET, 0, now);
	cr_expect_eq(nr_pages, 1);
	c->tx.is_held = false;
	kr_vqp_clean(c);

	cr_expect_eq(nr_pages, 0);
}

Test(vqp, set_opts__user_timeout_ends_it)
{
	struct kr_vqp_opts opts;

	connected();
	opts = c->opts;
	opts.user_timeout_ns = 3 * KR_SEC;
	kr_vqp_set_opts(c, &opts, now);
	cut(true);
	put(c, "x", 1);
	pass(2 * KR_SEC);
	cr_expect_eq(c->state, KR_VQP_OPEN);
	pass(2 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ETIMEDOUT);
}

Test(vqp, set_opts__keepalive_finds_a_dead_peer_only)
{
	struct kr_vqp_opts opts;

	connected();
	opts = c->opts;
	opts.keep_idle_ns = KR_SEC;
	opts.keep_intvl_ns = KR_SEC / 2;
	opts.keep_cnt = 3;
	kr_vqp_set_opts(c, &opts, now);
	pass(20 * KR_SEC);
	cr_expect_eq(c->state, KR_VQP_OPEN);
	cut(true);
	pass(5 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ETIMEDOUT);
}

Test(vqp, timeout__probes_of_a_closed_window_back_off)
{
	u32 sent;

	rx_limit = 1000;
	connected();
	put_zeros(c, 2000);
	pass(KR_SEC);
	sent = nr_sent[CLIENT];
	pass(100 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_OPEN, "a peer that answers is alive");
	cr_expect_lt(nr_sent[CLIENT] - sent, 60);
}

/* tcp_probe_timer() does so as well. */
Test(vqp, timeout__the_user_timeout_counts_for_a_reader_that_stops)
{
	struct kr_vqp_opts opts;

	rx_limit = 1000;
	connected();
	opts = c->opts;
	opts.user_timeout_ns = 30 * KR_SEC;
	kr_vqp_set_opts(c, &opts, now);
	put_zeros(c, 2000);
	pass(20 * KR_SEC);
	kr_vqp_consumed(s, 800, now);
	pass(20 * KR_SEC);
	cr_expect_eq(c->state, KR_VQP_OPEN, "something was read");
	pass(20 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
	cr_expect_eq(c->err, ETIMEDOUT);
}

Test(vqp, timeout__what_is_never_kept_is_not_sent_all_the_time)
{
	u32 sent;

	connected();
	put_zeros(c, 2000);
	is_memory_short = true;		/* for the receiver */
	pass(10 * KR_SEC);
	sent = nr_sent[CLIENT];
	pass(10 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_lt(nr_sent[CLIENT] - sent, 60);
}

Test(vqp, set_opts__the_user_timeout_stands_for_the_number_of_keepalives)
{
	struct kr_vqp_opts opts;

	connected();
	opts = c->opts;
	opts.keep_idle_ns = 5 * KR_SEC;
	opts.keep_intvl_ns = 5 * KR_SEC;
	opts.keep_cnt = 9;
	opts.user_timeout_ns = 10 * KR_SEC;
	kr_vqp_set_opts(c, &opts, now);
	cut(true);
	pass(16 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_ABORTED);
}

Test(vqp, close__without_time_for_orphans_the_bytes_have_some)
{
	struct kr_vqp_opts opts;

	rx_limit = 1000;
	connected();
	opts = c->opts;
	opts.orphan_ns = 0;
	kr_vqp_set_opts(c, &opts, now);
	put_zeros(c, 2000);
	kr_vqp_close(c, now);
	pass(KR_SEC);
	cr_expect_eq(c->state, KR_VQP_OPEN, "the reader pauses");
	kr_vqp_consumed(s, 1000, now);
	pass(KR_SEC);

	cr_expect(s->rx.accepted == 2000);
}

Test(vqp, timeout__an_idle_vqp_has_none)
{
	connected();
	put(c, "x", 1);
	pass(10 * KR_MSEC);
	kr_vqp_consumed(s, 1, now);
	pass(2 * KR_TRIM_NS);
	/* Timers that were set for more than is still waited for run out once. */
	kr_vqp_timeout(c, now);
	kr_vqp_timeout(s, now);

	cr_expect_eq(c->timer_ns, ~0ull);
	cr_expect_eq(s->timer_ns, ~0ull);
}

Test(vqp, timeout__an_idle_vqp_gives_its_buffers_back)
{
	connected();
	put(c, "x", 1);
	pass(10 * KR_MSEC);
	cr_expect_eq(nr_pages, 2, "pages stay for the next message");
	pass(2 * KR_TRIM_NS);
	cr_expect_eq(nr_pages, 1, "nobody has read the byte yet");
	kr_vqp_consumed(s, 1, now);
	pass(KR_TRIM_NS);
	cr_expect_eq(nr_pages, 0);
	cr_expect_null(c->tx.buf.pages);
	cr_expect_null(s->rx.buf.pages);
}

Test(vqp, timeout__an_unconfirmed_one_ends)
{
	pair_init();
	nr_drop[SERVER] = 1;
	dial(0);
	settle();
	cut(true);
	pass(6 * KR_SEC);

	cr_expect_eq(s->state, KR_VQP_ABORTED);
	cr_expect_not(servers[0].events & KR_EV_OPEN);
	cr_expect_eq(servers[0].nr_released, 1);
}

/* Minutes without a packet, with data waiting; then the network is back. */
Test(vqp, timeout__a_long_silence_is_survived)
{
	connected();
	cut(true);
	put_zeros(c, 20000);
	pass(800 * KR_SEC);
	cr_expect_eq(path_events[KR_PATH_EV_SILENT], 2, "told once by each side");
	cut(false);
	pass(5 * KR_SEC);

	cr_expect_eq(c->state, KR_VQP_OPEN);
	cr_expect_eq(kr_rx_ready(&s->rx), 20000);
	cr_expect_not(kr_tx_has_unaccepted(&c->tx));
}

Test(vqp, tick__sets_a_timer_anew_that_a_jump_of_the_clock_left_behind)
{
	u64 armed;

	connected();
	put_zeros(c, 100);
	armed = c->timer_ns;
	cr_assert_neq(armed, ~0ull);
	/* The timer itself still has all of its time to go. */
	now = armed + 300 * KR_SEC;
	kr_vqp_tick(c, now);

	cr_expect_geq(c->timer_ns, now);
	armed = c->timer_ns;
	now += KR_MSEC;
	kr_vqp_tick(c, now);
	cr_expect_eq(c->timer_ns, armed, "and is not put off by who looks often");
}
