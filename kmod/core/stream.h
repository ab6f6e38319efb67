/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The two directions of a byte stream.  struct kr_tx keeps every byte until the
 * peer's VQP has accepted its position; struct kr_rx takes bytes in any order,
 * more than once, and hands each out exactly once and in order.
 *
 *   tx:   head <= next <= end      head: accepted by the peer, bytes below are freed
 *                                  next: never sent from here on
 *                                  end:  written by the user up to here
 *   rx:   read <= accepted <= edge
 *
 * The FIN takes the position after the last byte, so that it is accepted like
 * data: with it, "accepted" reaches final + 1.
 */
#ifndef KRCORE_CORE_STREAM_H
#define KRCORE_CORE_STREAM_H

#include "buf.h"
#include "ranges.h"

#define KR_POS_NONE (~0ull)

struct kr_tx {
	u64 head;
	u64 next;
	u64 end;
	u64 edge;			/* peer's window edge */
	u32 limit;			/* bytes the user may have in here */
	u32 inflight;			/* DATA messages on a carrier */
	bool is_fin;			/* the user ends the stream at end */
	bool is_fin_sent;
	bool is_fin_lost;
	bool is_fin_accepted;
	bool is_held;			/* a writer is filling pages past end */
	struct kr_ranges lost;
	struct kr_range lost_at[KR_LOST_RANGES];
	struct kr_buf buf;
};

struct kr_rx {
	u64 read;
	u64 accepted;			/* bytes only, FIN not counted */
	u64 edge;			/* last one told to the peer */
	u64 final;			/* position of the FIN, or KR_POS_NONE */
	u64 told;			/* last "accepted" told to the peer */
	u32 limit;			/* window in bytes */
	bool is_discard;		/* nobody will read: data means RST */
	struct kr_ranges ooo;
	struct kr_range ooo_at[KR_OOO_RANGES];
	struct kr_buf buf;
};

/* What kr_rx_data() found. */
enum kr_rx_result {
	KR_RX_TAKEN,			/* kept, or nothing new in it */
	KR_RX_DUPLICATE,		/* only known bytes: the peer missed our answer */
	KR_RX_REFUSED,			/* no room or memory: not accepted */
	KR_RX_VIOLATION,		/* contradicts the stream so far */
	KR_RX_UNWANTED,			/* new bytes for a reader that is gone */
};

/* One DATA message to build: len bytes at pos, then the FIN or not. */
struct kr_tx_piece {
	u64 pos;
	u32 len;
	bool is_fin;
};

void kr_tx_init(struct kr_tx *tx, u32 limit, void *owner);
void kr_tx_clean(struct kr_tx *tx);

/* Bytes that the user may write now. */
u32 kr_tx_room(const struct kr_tx *tx);
bool kr_tx_has_unaccepted(const struct kr_tx *tx);

/* Empty, yet its buffer has memory, which the next bytes would use. */
bool kr_tx_is_trimmable(const struct kr_tx *tx);

/* Is there something that may be sent now? @cork: whole pieces of @cork bytes only. */
bool kr_tx_is_sendable(const struct kr_tx *tx, u32 cork);

/* So much may be sent that a lane is worth its while. */
bool kr_tx_is_bulk(const struct kr_tx *tx);

/* The next piece of at most @room bytes, lost ones first, and marks it sent. */
bool kr_tx_take(struct kr_tx *tx, u32 room, u32 cork, struct kr_tx_piece *piece);

/* A carrier is done with a piece: it was delivered, or is lost and must be sent again. */
void kr_tx_delivered(struct kr_tx *tx);
void kr_tx_lost(struct kr_tx *tx, u64 pos, u32 len, bool is_fin);

/* The peer kept nothing past what it accepted: all of it is sent once more. */
void kr_tx_again(struct kr_tx *tx);

/*
 * Merges what the peer told.  Returns false when it is impossible (then
 * nothing changed); *is_progress tells whether "accepted" grew.
 */
bool kr_tx_merge(struct kr_tx *tx, u64 accepted, u64 edge, bool *is_progress);

void kr_rx_init(struct kr_rx *rx, u32 limit, void *owner);
void kr_rx_clean(struct kr_rx *rx);

enum kr_rx_result kr_rx_data(struct kr_rx *rx, u64 pos, const void *bytes,
			     u32 len, bool is_fin);
/*
 * The same, from the pages of a sender on this host, next in order.  Of what is
 * REFUSED some may have been accepted.
 */
enum kr_rx_result kr_rx_move(struct kr_rx *rx, u64 pos, struct kr_buf *from,
			     u32 len, bool is_fin);

/* Bytes readable now. */
u64 kr_rx_ready(const struct kr_rx *rx);
bool kr_rx_is_eof(const struct kr_rx *rx);	/* FIN accepted, all bytes read */
bool kr_rx_is_fin(const struct kr_rx *rx);	/* FIN accepted */

/* The user has consumed @len bytes; frees the pages that they filled. */
void kr_rx_consume(struct kr_rx *rx, u32 len);
bool kr_rx_is_trimmable(const struct kr_rx *rx);	/* as kr_tx_is_trimmable() */

/* What to tell the peer: accepted (with the FIN) and edge.  told: and note it. */
u64 kr_rx_accepted(const struct kr_rx *rx);
u64 kr_rx_edge(const struct kr_rx *rx);
void kr_rx_tell(struct kr_rx *rx);
bool kr_rx_has_news(const struct kr_rx *rx);	/* accepted grew since told */
bool kr_rx_is_edge_due(const struct kr_rx *rx);	/* the window opened enough to say so */

#endif
