// SPDX-License-Identifier: MIT
/* test_stream: positions, windows, FIN and reassembly. */
#include <criterion/criterion.h>

#include "core/stream.h"
#include "core_env.h"

enum { LIMIT = 8192 };

static struct kr_tx tx;
static struct kr_rx rx;
static struct kr_tx_piece piece;
static bool is_progress;
static u8 bytes[65536];

static void teardown(void)
{
	kr_tx_clean(&tx);
	kr_rx_clean(&rx);
	cr_expect_eq(nr_pages, 0);
	cr_expect_eq(nr_blocks, 0);
}

/* @len bytes written, the peer's window is @edge. */
static void tx_with(u32 len, u64 edge)
{
	kr_tx_init(&tx, LIMIT, NULL);
	kr_rx_init(&rx, LIMIT, NULL);
	cr_assert_eq(kr_buf_grow(&tx.buf, 0, LIMIT), 0);
	cr_assert_eq(kr_buf_write(&tx.buf, 0, bytes, len), 0);
	tx.end = len;
	tx.edge = edge;
}

static void rx_with(u32 limit)
{
	kr_tx_init(&tx, LIMIT, NULL);
	kr_rx_init(&rx, limit, NULL);
}

static bool took(u32 room, u64 pos, u32 len, bool is_fin)
{
	return kr_tx_take(&tx, room, 0, &piece) && piece.pos == pos &&
	       piece.len == len && piece.is_fin == is_fin;
}

TestSuite(stream, .fini = teardown);

Test(stream, tx_room__counts_what_is_not_accepted)
{
	tx_with(1000, 1000);

	cr_expect_eq(kr_tx_room(&tx), LIMIT - 1000);
	cr_expect(took(1000, 0, 1000, false));
	cr_expect(kr_tx_merge(&tx, 600, 1000, &is_progress));
	cr_expect_eq(kr_tx_room(&tx), LIMIT - 400);
	tx.limit = 100;
	cr_expect_eq(kr_tx_room(&tx), 0);
}

Test(stream, tx_is_sendable__the_window_closes_it)
{
	tx_with(1000, 0);

	cr_expect_not(kr_tx_is_sendable(&tx, 0));
	tx.edge = 1;
	cr_expect(kr_tx_is_sendable(&tx, 0));
}

Test(stream, tx_is_sendable__a_cork_holds_small_pieces)
{
	tx_with(100, 5000);

	cr_expect_not(kr_tx_is_sendable(&tx, 101));
	cr_expect(kr_tx_is_sendable(&tx, 100));
	tx.is_fin = true;
	cr_expect(kr_tx_is_sendable(&tx, 101), "the FIN ends all waiting");
}

Test(stream, tx_is_sendable__a_small_window_beats_the_cork)
{
	tx_with(1000, 100);

	cr_expect(kr_tx_is_sendable(&tx, 500));
	tx.inflight = 1;
	cr_expect_not(kr_tx_is_sendable(&tx, 500));
}

Test(stream, tx_take__stops_at_the_window_and_at_the_room)
{
	tx_with(1000, 500);

	cr_expect(took(300, 0, 300, false));
	cr_expect(took(300, 300, 200, false));
	cr_expect_not(kr_tx_take(&tx, 300, 0, &piece));
	cr_expect_eq(tx.inflight, 2);
}

Test(stream, tx_take__fin_rides_on_the_last_piece)
{
	tx_with(400, 1000);
	tx.is_fin = true;

	cr_expect(took(300, 0, 300, false));
	cr_expect(took(300, 300, 100, true));
	cr_expect_not(kr_tx_take(&tx, 300, 0, &piece));
}

Test(stream, tx_take__fin_alone_needs_no_window)
{
	tx_with(100, 100);
	cr_expect(took(300, 0, 100, false));
	tx.is_fin = true;

	cr_expect(took(300, 100, 0, true));
}

Test(stream, tx_take__fin_waits_for_bytes_that_the_window_holds_back)
{
	tx_with(100, 50);
	tx.is_fin = true;

	cr_expect(took(300, 0, 50, false));
	cr_expect_not(kr_tx_take(&tx, 300, 0, &piece));
}

Test(stream, tx_lost__goes_first_and_only_what_is_not_accepted)
{
	tx_with(1000, 1000);
	cr_expect(took(400, 0, 400, false));
	cr_expect(took(400, 400, 400, false));
	cr_expect(kr_tx_merge(&tx, 100, 1000, &is_progress));
	kr_tx_lost(&tx, 0, 400, false);

	cr_expect(took(1000, 100, 300, false));
	cr_expect(took(1000, 800, 200, false));
}

Test(stream, tx_lost__fin_is_sent_again_unless_accepted)
{
	tx_with(10, 10);
	tx.is_fin = true;
	cr_expect(took(100, 0, 10, true));
	kr_tx_lost(&tx, 0, 10, true);
	cr_expect(took(100, 0, 10, true));
	cr_expect(kr_tx_merge(&tx, 11, 10, &is_progress));
	kr_tx_lost(&tx, 0, 10, true);

	cr_expect_not(kr_tx_is_sendable(&tx, 0));
	cr_expect_not(kr_tx_has_unaccepted(&tx));
}

Test(stream, tx_lost__more_ranges_than_there_is_room_for)
{
	u32 i, len = 0;

	tx_with(4000, 4000);
	for (i = 0; i < 40; i++)
		cr_expect(took(100, 100 * i, 100, false));
	for (i = 0; i < 40; i += 2)
		kr_tx_lost(&tx, 100 * i, 100, false);
	while (kr_tx_take(&tx, 100, 0, &piece))
		len += piece.len;

	cr_expect_geq(len, 2000);
	cr_expect_leq(len, 3900);
}

Test(stream, tx_merge__refuses_what_was_never_sent)
{
	tx_with(100, 50);
	cr_expect(took(50, 0, 50, false));

	cr_expect_not(kr_tx_merge(&tx, 51, 1000, &is_progress));
	cr_expect_eq(tx.edge, 50);
	cr_expect_not(kr_tx_merge(&tx, 101, 1000, &is_progress), "a FIN never sent");
	cr_expect(kr_tx_merge(&tx, 50, 1000, &is_progress));
}

Test(stream, tx_merge__old_words_are_harmless)
{
	tx_with(100, 100);
	cr_expect(took(100, 0, 100, false));
	cr_expect(kr_tx_merge(&tx, 80, 200, &is_progress));
	cr_expect(is_progress);
	cr_expect(kr_tx_merge(&tx, 30, 150, &is_progress));

	cr_expect_not(is_progress);
	cr_expect_eq(tx.head, 80);
	cr_expect_eq(tx.edge, 200);
}

Test(stream, tx_merge__frees_pages_but_not_under_a_writer)
{
	u32 len;

	tx_with(5000, 5000);
	cr_expect(took(5000, 0, 5000, false));
	cr_expect(kr_tx_merge(&tx, 4096, 5000, &is_progress));
	cr_expect_eq(kr_buf_nr_pages(&tx.buf), 1);
	tx.is_held = true;
	kr_buf_reserve(&tx.buf, 5000, &len, true);
	cr_expect(kr_tx_merge(&tx, 5000, 5000, &is_progress));
	cr_expect_eq(kr_buf_nr_pages(&tx.buf), 1);
}

Test(stream, tx_is_trimmable__empty_with_memory_and_no_writer)
{
	cr_expect_not(kr_tx_is_trimmable(&tx));
	tx_with(5000, 5000);
	cr_expect_not(kr_tx_is_trimmable(&tx));
	cr_expect(took(5000, 0, 5000, false));
	cr_expect(kr_tx_merge(&tx, 5000, 5000, &is_progress));
	cr_expect_eq(kr_buf_nr_pages(&tx.buf), 1);
	cr_expect(kr_tx_is_trimmable(&tx));
	tx.is_held = true;
	cr_expect_not(kr_tx_is_trimmable(&tx));
}

Test(stream, rx_data__in_order)
{
	rx_with(LIMIT);

	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 100, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_ready(&rx), 100);
	cr_expect(kr_rx_has_news(&rx));
}

Test(stream, rx_data__out_of_order_joins)
{
	rx_with(LIMIT);

	cr_expect_eq(kr_rx_data(&rx, 200, bytes, 100, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_data(&rx, 100, bytes, 50, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_ready(&rx), 0);
	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 100, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_ready(&rx), 150);
	cr_expect_eq(kr_rx_data(&rx, 120, bytes, 100, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_ready(&rx), 300);
	cr_expect_eq(rx.ooo.nr, 0);
}

Test(stream, rx_data__a_piece_over_several_gaps_joins_all)
{
	rx_with(LIMIT);
	kr_rx_data(&rx, 10, bytes, 10, false);
	kr_rx_data(&rx, 30, bytes, 10, false);
	kr_rx_data(&rx, 50, bytes, 10, false);

	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 35, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_ready(&rx), 40);
	cr_expect_eq(kr_rx_data(&rx, 40, bytes, 15, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_ready(&rx), 60);
	cr_expect_eq(rx.ooo.nr, 0);
}

Test(stream, rx_data__known_bytes_are_a_duplicate)
{
	rx_with(LIMIT);
	kr_rx_data(&rx, 0, bytes, 100, false);

	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 100, false), KR_RX_DUPLICATE);
	cr_expect_eq(kr_rx_data(&rx, 50, bytes, 50, false), KR_RX_DUPLICATE);
	cr_expect_eq(kr_rx_data(&rx, 100, bytes, 0, false), KR_RX_DUPLICATE);
	cr_expect_eq(kr_rx_data(&rx, 50, bytes, 51, false), KR_RX_TAKEN);
}

Test(stream, rx_data__refused_when_pieces_are_too_many)
{
	u32 i;

	rx_with(LIMIT);
	for (i = 0; i < KR_OOO_RANGES; i++)
		cr_expect_eq(kr_rx_data(&rx, 10 + 10 * i, bytes, 1, false), KR_RX_TAKEN);

	cr_expect_eq(kr_rx_data(&rx, 1000, bytes, 1, false), KR_RX_REFUSED);
	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 10, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_data(&rx, 1000, bytes, 1, false), KR_RX_TAKEN);
}

Test(stream, rx_data__refused_without_memory)
{
	rx_with(LIMIT);
	is_memory_short = true;
	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 100, false), KR_RX_REFUSED);
	is_memory_short = false;
	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 100, true), KR_RX_TAKEN);
	cr_expect(kr_rx_is_fin(&rx));
}

Test(stream, rx_data__violations)
{
	rx_with(LIMIT);

	cr_expect_eq(kr_rx_data(&rx, LIMIT, bytes, 1, false), KR_RX_VIOLATION);
	cr_expect_eq(kr_rx_data(&rx, ~0ull, bytes, 2, false), KR_RX_VIOLATION);
	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 100, true), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_data(&rx, 100, bytes, 1, false), KR_RX_VIOLATION);
	cr_expect_eq(kr_rx_data(&rx, 50, bytes, 10, true), KR_RX_VIOLATION);
}

Test(stream, rx_data__fin_before_known_bytes_is_a_violation)
{
	rx_with(LIMIT);
	kr_rx_data(&rx, 200, bytes, 100, false);

	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 250, true), KR_RX_VIOLATION);
}

Test(stream, rx_data__early_fin_counts_when_all_bytes_are_there)
{
	rx_with(LIMIT);

	cr_expect_eq(kr_rx_data(&rx, 100, bytes, 0, true), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_accepted(&rx), 0);
	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 100, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_accepted(&rx), 101);
	cr_expect_not(kr_rx_is_eof(&rx));
	kr_rx_consume(&rx, 100);
	cr_expect(kr_rx_is_eof(&rx));
}

Test(stream, rx_data__fin_of_an_empty_stream)
{
	rx_with(LIMIT);

	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 0, true), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_accepted(&rx), 1);
	cr_expect(kr_rx_is_eof(&rx));
	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 0, true), KR_RX_DUPLICATE);
}

Test(stream, rx_data__nobody_reads)
{
	rx_with(LIMIT);
	kr_rx_data(&rx, 0, bytes, 10, false);
	rx.is_discard = true;

	cr_expect_eq(kr_rx_data(&rx, 0, bytes, 10, false), KR_RX_DUPLICATE);
	cr_expect_eq(kr_rx_data(&rx, 10, bytes, 1, false), KR_RX_UNWANTED);
	cr_expect_eq(kr_rx_data(&rx, 10, bytes, 0, true), KR_RX_TAKEN);
}

/* The peer was told 60 KiB; a smaller limit afterwards must not fold them. */
Test(stream, rx_data__limit_lowered_after_it_was_told)
{
	u8 out[2];

	rx_with(60 * 1024 * 2);
	rx.limit = 1024;
	cr_expect_eq(kr_rx_data(&rx, 0, "a", 1, false), KR_RX_TAKEN);
	cr_expect_eq(kr_rx_data(&rx, 65536, "b", 1, false), KR_RX_TAKEN);
	kr_buf_read(&rx.buf, 0, out, 1);

	cr_expect_eq(out[0], 'a');
}

Test(stream, rx_data__limit_raised_after_the_first_byte)
{
	u8 out[1];

	rx_with(4096);
	kr_rx_data(&rx, 0, "a", 1, false);
	rx.limit = 1 << 20;
	kr_rx_tell(&rx);
	cr_expect_eq(kr_rx_data(&rx, 65536, "b", 1, false), KR_RX_TAKEN);
	kr_buf_read(&rx.buf, 0, out, 1);

	cr_expect_eq(out[0], 'a');
}

Test(stream, rx_consume__frees_pages_and_opens_the_window)
{
	rx_with(LIMIT);
	kr_rx_data(&rx, 0, bytes, LIMIT, false);
	kr_rx_tell(&rx);
	cr_expect_eq(kr_rx_edge(&rx), LIMIT);
	kr_rx_consume(&rx, LIMIT / 2 - 1);
	cr_expect_not(kr_rx_is_edge_due(&rx));
	kr_rx_consume(&rx, 1);
	cr_expect(kr_rx_is_edge_due(&rx));
	cr_expect_eq(kr_buf_nr_pages(&rx.buf), 1);
	cr_expect_not(kr_rx_is_trimmable(&rx));
	kr_rx_consume(&rx, LIMIT / 2);
	cr_expect(kr_rx_is_trimmable(&rx));
	kr_rx_tell(&rx);
	cr_expect_not(kr_rx_is_edge_due(&rx));
}

Test(stream, rx_edge__never_goes_back)
{
	rx_with(LIMIT);
	rx.limit = 10;

	cr_expect_eq(kr_rx_edge(&rx), LIMIT);
}
