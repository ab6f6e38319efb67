// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Positions, windows and reassembly of a byte stream: see stream.h. */
#include "stream.h"

void kr_tx_init(struct kr_tx *tx, u32 limit, void *owner)
{
	memset(tx, 0, sizeof(*tx));
	tx->limit = min_t(u32, limit, KR_BUF_BYTES_MAX);
	kr_ranges_init(&tx->lost, tx->lost_at, KR_LOST_RANGES);
	kr_buf_init(&tx->buf, owner);
}

void kr_tx_clean(struct kr_tx *tx)
{
	kr_buf_clean(&tx->buf);
	tx->lost.nr = 0;
}

u32 kr_tx_room(const struct kr_tx *tx)
{
	u64 used = tx->end - tx->head;

	return used < tx->limit ? tx->limit - used : 0;
}

bool kr_tx_is_trimmable(const struct kr_tx *tx)
{
	return tx->buf.pages && tx->head == tx->end && !tx->is_held;
}

bool kr_tx_has_unaccepted(const struct kr_tx *tx)
{
	return tx->head < tx->end || (tx->is_fin && !tx->is_fin_accepted);
}

/* Never-sent bytes that the peer's window allows. */
static u64 fresh_bytes(const struct kr_tx *tx)
{
	u64 hi = min(tx->end, tx->edge);

	return hi > tx->next ? hi - tx->next : 0;
}

static bool is_fin_due(const struct kr_tx *tx)
{
	return tx->is_fin && (!tx->is_fin_sent || tx->is_fin_lost);
}

bool kr_tx_is_sendable(const struct kr_tx *tx, u32 cork)
{
	u64 fresh = fresh_bytes(tx);

	if (tx->lost.nr)
		return true;
	if (tx->is_fin && tx->next + fresh == tx->end)
		return fresh || is_fin_due(tx);
	/* A window smaller than a whole piece must not hold it back. */
	return fresh && (fresh >= cork ||
			 (tx->edge < tx->end && !tx->inflight));
}

bool kr_tx_is_bulk(const struct kr_tx *tx)
{
	return fresh_bytes(tx) >= KR_BULK_MIN ||
	       (tx->lost.nr && tx->lost.at[0].hi - tx->lost.at[0].lo >= KR_BULK_MIN);
}

bool kr_tx_take(struct kr_tx *tx, u32 room, u32 cork, struct kr_tx_piece *piece)
{
	struct kr_range *lost = tx->lost.at;

	if (!kr_tx_is_sendable(tx, cork))
		return false;
	if (tx->lost.nr) {
		piece->pos = lost->lo;
		piece->len = min_t(u64, room, lost->hi - lost->lo);
		kr_ranges_cut(&tx->lost, piece->pos + piece->len);
	} else {
		piece->pos = tx->next;
		piece->len = min_t(u64, room, fresh_bytes(tx));
		tx->next += piece->len;
	}
	piece->is_fin = piece->pos + piece->len == tx->end && is_fin_due(tx);
	if (!piece->len && !piece->is_fin)
		return false;
	if (piece->is_fin) {
		tx->is_fin_sent = true;
		tx->is_fin_lost = false;
	}
	tx->inflight++;
	return true;
}

void kr_tx_delivered(struct kr_tx *tx)
{
	KR_ASSERT(tx->inflight);
	tx->inflight--;
}

void kr_tx_lost(struct kr_tx *tx, u64 pos, u32 len, bool is_fin)
{
	kr_tx_delivered(tx);
	kr_ranges_add(&tx->lost, max(pos, tx->head), pos + len);
	if (is_fin && !tx->is_fin_accepted)
		tx->is_fin_lost = true;
}

void kr_tx_again(struct kr_tx *tx)
{
	kr_ranges_add(&tx->lost, tx->head, tx->next);
	if (tx->is_fin_sent && !tx->is_fin_accepted)
		tx->is_fin_lost = true;
}

bool kr_tx_merge(struct kr_tx *tx, u64 accepted, u64 edge, bool *is_progress)
{
	u64 bytes = accepted;

	*is_progress = false;
	if (tx->is_fin_sent && accepted == tx->end + 1)
		bytes = tx->end;
	if (bytes > tx->next)
		return false;
	tx->edge = max(tx->edge, edge);
	if (bytes != accepted && !tx->is_fin_accepted) {
		tx->is_fin_accepted = true;
		tx->is_fin_lost = false;
		*is_progress = true;
	}
	if (bytes <= tx->head)
		return true;
	*is_progress = true;
	kr_buf_free(&tx->buf, tx->head, bytes);
	tx->head = bytes;
	kr_ranges_cut(&tx->lost, bytes);
	return true;
}

void kr_rx_init(struct kr_rx *rx, u32 limit, void *owner)
{
	memset(rx, 0, sizeof(*rx));
	rx->limit = min_t(u32, limit, KR_BUF_BYTES_MAX);
	rx->edge = rx->limit;
	rx->final = KR_POS_NONE;
	kr_ranges_init(&rx->ooo, rx->ooo_at, KR_OOO_RANGES);
	kr_buf_init(&rx->buf, owner);
}

void kr_rx_clean(struct kr_rx *rx)
{
	kr_buf_clean(&rx->buf);
	rx->ooo.nr = 0;
}

/* The out-of-order bytes that now follow the accepted ones join them. */
static void rx_advance(struct kr_rx *rx, u64 hi)
{
	rx->accepted = max(rx->accepted, hi);
	while (rx->ooo.nr && rx->ooo.at[0].lo <= rx->accepted) {
		rx->accepted = max(rx->accepted, rx->ooo.at[0].hi);
		kr_ranges_cut(&rx->ooo, rx->accepted);
	}
}

/* Stores the new bytes of [pos, pos + len); false: no room or memory. */
static bool rx_store(struct kr_rx *rx, u64 pos, const u8 *bytes, u32 len)
{
	u64 hi = pos + len;

	if (pos < rx->accepted) {
		bytes += rx->accepted - pos;
		pos = rx->accepted;
	}
	if (kr_buf_grow(&rx->buf, rx->read, hi - rx->read))
		return false;
	if (pos > rx->accepted && kr_ranges_is_full_for(&rx->ooo, pos, hi))
		return false;
	if (kr_buf_write(&rx->buf, pos, bytes, hi - pos))
		return false;
	if (pos > rx->accepted)
		kr_ranges_add(&rx->ooo, pos, hi);
	else
		rx_advance(rx, hi);
	return true;
}

static u64 highest(const struct kr_rx *rx)
{
	return rx->ooo.nr ? rx->ooo.at[rx->ooo.nr - 1].hi : rx->accepted;
}

/* TAKEN: there is something new in it, which may be kept. */
static enum kr_rx_result look_at(const struct kr_rx *rx, u64 pos, u32 len, bool is_fin)
{
	u64 hi = pos + len;

	if (hi < pos || hi > rx->edge)
		return KR_RX_VIOLATION;
	if (rx->final != KR_POS_NONE && (hi > rx->final || (is_fin && hi != rx->final)))
		return KR_RX_VIOLATION;
	if (is_fin && hi < highest(rx))
		return KR_RX_VIOLATION;
	if ((hi <= rx->accepted || !len) && (!is_fin || rx->final != KR_POS_NONE))
		return KR_RX_DUPLICATE;
	return len && hi > rx->accepted && rx->is_discard ? KR_RX_UNWANTED : KR_RX_TAKEN;
}

enum kr_rx_result kr_rx_data(struct kr_rx *rx, u64 pos, const void *bytes,
			     u32 len, bool is_fin)
{
	enum kr_rx_result result = look_at(rx, pos, len, is_fin);
	u64 hi = pos + len;

	if (result != KR_RX_TAKEN)
		return result;
	if (len && hi > rx->accepted && !rx_store(rx, pos, bytes, len))
		return KR_RX_REFUSED;
	if (is_fin)
		rx->final = hi;
	return KR_RX_TAKEN;
}

enum kr_rx_result kr_rx_move(struct kr_rx *rx, u64 pos, struct kr_buf *from,
			     u32 len, bool is_fin)
{
	enum kr_rx_result result = look_at(rx, pos, len, is_fin);
	u32 nr;

	KR_ASSERT(pos == rx->accepted);
	if (result != KR_RX_TAKEN)
		return result;
	if (len && kr_buf_grow(&rx->buf, rx->read, pos + len - rx->read))
		return KR_RX_REFUSED;
	nr = kr_buf_move(&rx->buf, from, pos, len);
	rx->accepted += nr;
	if (nr < len)
		return KR_RX_REFUSED;
	if (is_fin)
		rx->final = rx->accepted;
	return KR_RX_TAKEN;
}

u64 kr_rx_ready(const struct kr_rx *rx)
{
	return rx->accepted - rx->read;
}

bool kr_rx_is_fin(const struct kr_rx *rx)
{
	return rx->accepted == rx->final;
}

bool kr_rx_is_eof(const struct kr_rx *rx)
{
	return rx->read == rx->final;
}

void kr_rx_consume(struct kr_rx *rx, u32 len)
{
	u64 to = rx->read + len;

	KR_ASSERT(to <= rx->accepted);
	kr_buf_free(&rx->buf, rx->read, to);
	rx->read = to;
}

bool kr_rx_is_trimmable(const struct kr_rx *rx)
{
	return rx->buf.pages && rx->read == rx->accepted && !rx->ooo.nr;
}

u64 kr_rx_accepted(const struct kr_rx *rx)
{
	return rx->accepted + kr_rx_is_fin(rx);
}

u64 kr_rx_edge(const struct kr_rx *rx)
{
	return max(rx->edge, rx->read + rx->limit);
}

void kr_rx_tell(struct kr_rx *rx)
{
	rx->told = kr_rx_accepted(rx);
	rx->edge = kr_rx_edge(rx);
}

bool kr_rx_has_news(const struct kr_rx *rx)
{
	return rx->told != kr_rx_accepted(rx);
}

bool kr_rx_is_edge_due(const struct kr_rx *rx)
{
	u64 gain = kr_rx_edge(rx) - rx->edge;
	u32 half = rx->limit / 2;

	if (kr_rx_is_fin(rx))
		return false;
	/* Half of the window is news; so is a packet to a peer that is stuck. */
	return gain >= half || (rx->edge - rx->accepted < KR_PKT_MAX &&
				gain >= min_t(u32, half, KR_PKT_MAX));
}
