// SPDX-License-Identifier: MIT
/*
 * fuzz_stream: any DATA and WINDOW at both directions of a stream, against a model of
 * the receiver that knows one byte for each position.  Byte p of the stream is always
 * the same, whatever piece carries it; it must read so, once and in order.
 */
#include "core/stream.h"
#include "fuzz.h"
#include "unit/core_env.h"

enum { LIMIT = 20000, SPAN = 1 << 16 };

static u8 stream[SPAN];			/* filled in once */

struct model {
	bool has[SPAN];
	u64 accepted;
	u64 final;			/* KR_POS_NONE: no FIN yet */
	u64 top;			/* end of what came */
};

static struct model model;

static void start(void)
{
	u32 i;

	memset(&model, 0, sizeof(model));
	model.final = KR_POS_NONE;
	for (i = stream[1] ? SPAN : 0; i < SPAN; i++)
		stream[i] = i ^ i >> 8;
}

/* What PROTOCOL.md section 7 says of @len bytes at @pos. */
static bool is_violation(u64 edge, u64 pos, u32 len, bool is_fin)
{
	if (pos + len < pos || pos + len > edge)
		return true;
	if (is_fin && ((model.final != KR_POS_NONE && model.final != pos + len) ||
		       model.top > pos + len))
		return true;
	return model.final != KR_POS_NONE && pos + len > model.final;
}

static void note(u64 pos, u32 len, bool is_fin)
{
	memset(model.has + pos, true, len);
	if (len)
		model.top = max(model.top, pos + len);
	if (is_fin)
		model.final = pos + len;
	while (model.accepted < SPAN && model.has[model.accepted])
		model.accepted++;
}

/* False: the stream is over. */
static bool data_comes(struct kr_rx *rx, struct input *in)
{
	bool is_fin = input_byte(in) & 1;
	u64 pos = input_byte(in) & 0x80 ? input_number(in, 8) :
					  rx->read + input_number(in, 2);
	u32 len = input_number(in, 2) % 4096;
	bool is_wrong = is_violation(rx->edge, pos, len, is_fin);
	enum kr_rx_result result;

	result = kr_rx_data(rx, pos, stream + (is_wrong ? 0 : pos), len, is_fin);
	check((result == KR_RX_VIOLATION) == is_wrong);
	if (result == KR_RX_TAKEN || result == KR_RX_DUPLICATE)
		note(pos, len, is_fin);
	return !is_wrong;
}

static void read_some(struct kr_rx *rx, u32 wanted)
{
	u32 len = min_t(u64, kr_rx_ready(rx), wanted);
	u8 bytes[4096];

	kr_buf_read(&rx->buf, rx->read, bytes, len);
	check(!memcmp(bytes, stream + rx->read, len));
	kr_rx_consume(rx, len);
	if (kr_rx_is_edge_due(rx))
		kr_rx_tell(rx);
}

static void receive(struct input *in)
{
	struct kr_rx rx;

	start();
	kr_rx_init(&rx, LIMIT, NULL);
	while (in->len && rx.edge < SPAN - LIMIT) {
		is_memory_short = input_byte(in) % 8 == 7;
		if (!data_comes(&rx, in))
			break;
		check(rx.accepted == model.accepted && rx.final == model.final);
		check(rx.edge - rx.read <= LIMIT && rx.ooo.nr <= KR_OOO_RANGES);
		check(kr_rx_is_fin(&rx) == (model.accepted == model.final));
		check(nr_pages <= LIMIT / KR_PAGE_SIZE + 2);
		read_some(&rx, input_byte(in) * 16);
	}
	is_memory_short = false;
	kr_rx_clean(&rx);
	check(!nr_pages && !nr_blocks);
}

/* What the peer tells only grows, and what was not sent is never accepted. */
static void tell(struct kr_tx *tx, struct input *in)
{
	u64 accepted = input_byte(in) & 0x80 ? input_number(in, 8) : input_number(in, 2);
	u64 edge = input_byte(in) & 0x80 ? input_number(in, 8) : input_number(in, 3);
	u64 sent = tx->next + tx->is_fin_sent, head = tx->head, old_edge = tx->edge;
	bool is_progress = false;

	if (!kr_tx_merge(tx, accepted, edge, &is_progress)) {
		check(accepted > sent && tx->head == head && tx->edge == old_edge);
		return;
	}
	check(accepted <= sent);
	check(tx->edge == max(edge, old_edge));
	check(tx->head >= head && tx->head <= tx->next && tx->next <= tx->end);
	check(tx->is_fin_accepted || tx->head == max(head, accepted));
}

static void send_piece(struct kr_tx *tx, u32 room, bool is_lost)
{
	struct kr_tx_piece piece;

	if (!kr_tx_take(tx, room, 0, &piece))
		return;
	check(piece.len <= room && piece.pos >= tx->head && piece.pos + piece.len <= tx->next);
	check(piece.len == 0 || piece.pos + piece.len <= tx->edge);
	check(!piece.is_fin || (tx->is_fin && piece.pos + piece.len == tx->end));
	if (is_lost)
		kr_tx_lost(tx, piece.pos, piece.len, piece.is_fin);
	else
		kr_tx_delivered(tx);
}

static void transmit(struct input *in)
{
	struct kr_tx tx;
	u32 len, wanted;

	kr_tx_init(&tx, LIMIT, NULL);
	while (in->len) {
		u8 what = input_byte(in);

		wanted = input_byte(in) * 16;
		len = min(wanted, kr_tx_room(&tx));
		if (!tx.is_fin && !kr_buf_grow(&tx.buf, tx.head, tx.end - tx.head + len) &&
		    !kr_buf_write(&tx.buf, tx.end, stream, len))
			tx.end += len;
		tx.is_fin |= what >> 7;
		send_piece(&tx, 1 + input_byte(in) * 16, what & 1);
		if (what & 2)
			kr_tx_again(&tx);
		if (what & 4)
			tell(&tx, in);
		check(tx.lost.nr <= KR_LOST_RANGES && tx.end - tx.head <= LIMIT);
	}
	kr_tx_clean(&tx);
	check(!nr_pages && !nr_blocks);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct input in = { data, len };

	if (input_byte(&in) & 1)
		receive(&in);
	else
		transmit(&in);
	return 0;
}
