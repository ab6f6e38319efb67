/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One lane of reliable messaging over UD: packet numbers, acknowledgement, round
 * trip time, loss detection (RFC 9002) and the window.  The channel keeps no
 * bytes.  A packet number is never used twice; for each packet in doubt the
 * channel remembers which messages it carried, and tells the association when
 * they were delivered or lost, which then builds what is still needed anew.
 */
#ifndef KRCORE_CORE_CHANNEL_H
#define KRCORE_CORE_CHANNEL_H

#include "cc.h"
#include "wire.h"

/* A message in a packet that is in doubt. */
struct kr_sent_msg {
	u64 vqp;			/* local VQP id, 0: association level */
	u64 pos;
	u16 len;
	u8 type;
	u8 flags;
};

enum kr_sent_state {
	KR_SENT_NONE,
	KR_SENT_INFLIGHT,
	KR_SENT_LOST,			/* told so; an ack proves us wrong */
};

struct kr_sent {
	u64 time_ns;
	u8 state;			/* enum kr_sent_state */
	u8 nr_msgs;
	struct kr_sent_msg msgs[KR_PKT_MSGS_MAX];
};

struct kr_channel {
	/* sending */
	u64 next_pn;			/* first is 1 */
	u64 low_pn;			/* every number below is settled */
	u32 inflight;			/* packets */
	struct kr_sent *sent[KR_SENT_RING];
	struct kr_cc cc;
	u64 srtt_ns, rttvar_ns, min_rtt_ns;
	u64 last_sent_ns;		/* or last timeout */
	u64 missed_ns;			/* since when an answer is missed: sending does not move it */
	u64 loss_ns;			/* when a gap becomes a loss, 0: no gap */
	u64 largest_acked;		/* + 1, 0: none */
	u32 reorder;			/* packets, proven by the network */
	u32 pto_count;
	u32 probes;			/* packets allowed beyond the window */
	u64 asked_pn;			/* last number that asked for its answer */

	/* receiving */
	u64 rx_next;			/* largest number received + 1 */
	u64 rx_map[KR_SACK_WORDS];			/* as kr_hdr.sack */
	u64 rx_largest_ns;		/* when the largest came */
	u64 ack_ns;			/* acknowledgement due, 0: none */
	u32 rx_unacked;			/* numbered packets since the last one */

	/* counters */
	u64 nr_lost, nr_spurious, nr_pto, nr_dup;
};

/* How the channel tells what became of a message. */
typedef void (*kr_sent_fn)(void *ctx, const struct kr_sent_msg *m, bool is_lost);

void kr_channel_init(struct kr_channel *ch);
/* Tells every message in doubt as lost, then frees. */
void kr_channel_clean(struct kr_channel *ch, kr_sent_fn fn, void *ctx);

/* May a numbered packet leave now?  @is_control: outside the data window. */
bool kr_channel_may_send(const struct kr_channel *ch, bool is_control);

/* Takes the next number: an empty record to fill, or NULL without memory. */
struct kr_sent *kr_channel_begin(struct kr_channel *ch);
/* The record is filled; the packet leaves now.  Returns its number. */
u64 kr_channel_commit(struct kr_channel *ch, struct kr_sent *s, u64 now);

/* Received numbered packets. */
bool kr_channel_is_known(const struct kr_channel *ch, u64 pn);
void kr_channel_receive(struct kr_channel *ch, u64 pn, bool is_ack_now, u64 now);

/* The acknowledgement in a header; false when it acknowledges what was not sent. */
bool kr_channel_on_ack(struct kr_channel *ch, const struct kr_hdr *h, u64 now,
		       kr_sent_fn fn, void *ctx);
/* Writes the acknowledgement fields and notes that it was sent. */
void kr_channel_put_ack(struct kr_channel *ch, struct kr_hdr *h, u64 now);
bool kr_channel_is_ack_due(const struct kr_channel *ch, u64 now);

/*
 * When kr_channel_timeout() wants to be called, or an acknowledgement becomes
 * due; ~0: never.  One that is due @now already is output, not time.
 */
u64 kr_channel_deadline(const struct kr_channel *ch, u64 now);
void kr_channel_timeout(struct kr_channel *ch, u64 now, kr_sent_fn fn, void *ctx);
/* All that is in flight is told as lost: the peer says that nothing arrives. */
void kr_channel_lose(struct kr_channel *ch, kr_sent_fn fn, void *ctx);

/*
 * Shall the packet @pn, just committed, ask for its answer at once?  When half of the
 * window or more is in flight, once for each half: the answer to the first half lets
 * the next packets go even if a full queue on the way drops the end of the second,
 * and those show the gap.
 */
bool kr_channel_is_ask_due(struct kr_channel *ch, u64 pn);

u64 kr_channel_pto_ns(const struct kr_channel *ch);
bool kr_channel_is_silent(const struct kr_channel *ch);

#endif
