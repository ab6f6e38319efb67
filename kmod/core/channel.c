// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Packet numbers, acknowledgement and loss: see channel.h. */
#include "channel.h"

#define KR_NEVER (~0ull)

void kr_channel_init(struct kr_channel *ch)
{
	memset(ch, 0, sizeof(*ch));
	ch->next_pn = 1;
	ch->low_pn = 1;
	ch->reorder = KR_REORDER_MIN;
	kr_cc_init(&ch->cc);
}

static struct kr_sent *record(const struct kr_channel *ch, u64 pn)
{
	return ch->sent[pn & (KR_SENT_RING - 1)];
}

static void tell(struct kr_sent *s, bool is_lost, kr_sent_fn fn, void *ctx)
{
	u8 i;

	for (i = 0; i < s->nr_msgs; i++)
		fn(ctx, &s->msgs[i], is_lost);
}

void kr_channel_clean(struct kr_channel *ch, kr_sent_fn fn, void *ctx)
{
	struct kr_sent *s;
	u32 i;

	for (i = 0; i < KR_SENT_RING; i++) {
		s = ch->sent[i];
		if (!s)
			continue;
		if (s->state == KR_SENT_INFLIGHT)
			tell(s, true, fn, ctx);
		kr_env_free(s);
		ch->sent[i] = NULL;
	}
	ch->inflight = 0;
}

bool kr_channel_may_send(const struct kr_channel *ch, bool is_control)
{
	u64 span = ch->next_pn - ch->low_pn;

	if (span >= KR_SENT_RING)
		return false;
	return is_control || ch->probes ||
	       ch->inflight < kr_cc_window(&ch->cc);
}

struct kr_sent *kr_channel_begin(struct kr_channel *ch)
{
	struct kr_sent **slot = &ch->sent[ch->next_pn & (KR_SENT_RING - 1)];

	if (!*slot)
		*slot = kr_env_alloc(sizeof(**slot));
	if (*slot) {
		(*slot)->state = KR_SENT_NONE;
		(*slot)->nr_msgs = 0;
	}
	return *slot;
}

static void settle_low(struct kr_channel *ch)
{
	while (ch->low_pn < ch->next_pn &&
	       record(ch, ch->low_pn)->state == KR_SENT_NONE)
		ch->low_pn++;
}

/* Numbers below @low that were told lost are not waited for any more. */
static void forget_lost(struct kr_channel *ch, u64 low)
{
	u64 pn;

	for (pn = ch->low_pn; pn < low; pn++)
		if (record(ch, pn)->state == KR_SENT_LOST)
			record(ch, pn)->state = KR_SENT_NONE;
	settle_low(ch);
}

u64 kr_channel_commit(struct kr_channel *ch, struct kr_sent *s, u64 now)
{
	s->time_ns = now;
	s->state = KR_SENT_INFLIGHT;
	if (!ch->inflight++)
		ch->missed_ns = now;
	ch->last_sent_ns = now;
	if (ch->probes)
		ch->probes--;
	ch->next_pn++;
	if (ch->next_pn - ch->low_pn >= KR_SENT_RING)
		forget_lost(ch, ch->next_pn - KR_SACK_BITS);
	return ch->next_pn - 1;
}

bool kr_channel_is_known(const struct kr_channel *ch, u64 pn)
{
	u64 back;

	if (pn >= ch->rx_next)
		return false;
	if (pn + 1 == ch->rx_next)
		return true;
	back = ch->rx_next - 2 - pn;
	if (back >= KR_SACK_BITS)
		return true;
	return ch->rx_map[back / 64] >> (back % 64) & 1;
}

/* The largest number grew by @by: the map moves with it. */
static void shift_map(struct kr_channel *ch, u64 by)
{
	u32 words = by / 64, bits = by % 64;
	u64 *map = ch->rx_map;
	int i;

	if (by >= KR_SACK_BITS) {
		memset(map, 0, sizeof(ch->rx_map));
		return;
	}
	for (i = KR_SACK_WORDS - 1; i >= 0; i--) {
		u64 low = i >= (int)words ? map[i - words] : 0;
		u64 carry = i > (int)words ? map[i - words - 1] : 0;

		map[i] = bits ? low << bits | carry >> (64 - bits) : low;
	}
}

static void mark(struct kr_channel *ch, u64 back)
{
	if (back < KR_SACK_BITS)
		ch->rx_map[back / 64] |= 1ull << (back % 64);
}

void kr_channel_receive(struct kr_channel *ch, u64 pn, bool is_ack_now, u64 now)
{
	bool is_gap = pn != ch->rx_next;
	u64 by;

	if (kr_channel_is_known(ch, pn)) {
		ch->nr_dup++;
		ch->ack_ns = now;
		return;
	}
	if (pn >= ch->rx_next) {
		by = pn + 1 - ch->rx_next;
		shift_map(ch, by);
		if (ch->rx_next)
			mark(ch, by - 1);
		ch->rx_next = pn + 1;
		ch->rx_largest_ns = now;
	} else {
		mark(ch, ch->rx_next - 2 - pn);
	}
	ch->rx_unacked++;
	if (is_ack_now || ch->rx_unacked >= KR_ACK_EVERY || is_gap)
		ch->ack_ns = now;
	else if (!ch->ack_ns)
		ch->ack_ns = now + KR_ACK_DELAY_NS;
}

void kr_channel_put_ack(struct kr_channel *ch, struct kr_hdr *h, u64 now)
{
	u64 delay = (now - ch->rx_largest_ns) >> 13;

	h->ack = ch->rx_next;
	memcpy(h->sack, ch->rx_map, sizeof(h->sack));
	h->ack_delay = ch->rx_next ? (u16)min_t(u64, delay, 0xffff) : 0;
	ch->ack_ns = 0;
	ch->rx_unacked = 0;
}

bool kr_channel_is_ack_due(const struct kr_channel *ch, u64 now)
{
	return ch->ack_ns && ch->ack_ns <= now;
}

static void update_rtt(struct kr_channel *ch, u64 rtt)
{
	u64 diff;

	if (!ch->min_rtt_ns || rtt < ch->min_rtt_ns)
		ch->min_rtt_ns = rtt;
	if (!ch->srtt_ns) {
		ch->srtt_ns = rtt;
		ch->rttvar_ns = rtt / 2;
		return;
	}
	diff = ch->srtt_ns > rtt ? ch->srtt_ns - rtt : rtt - ch->srtt_ns;
	ch->rttvar_ns = (3 * ch->rttvar_ns + diff) / 4;
	ch->srtt_ns = (7 * ch->srtt_ns + rtt) / 8;
}

static bool is_acked(const struct kr_hdr *h, u64 pn)
{
	u64 back;

	if (pn + 1 == h->ack)
		return true;
	back = h->ack - 2 - pn;
	return back < KR_SACK_BITS && h->sack[back / 64] >> (back % 64) & 1;
}

/* One newly acknowledged packet. */
static void ack_one(struct kr_channel *ch, u64 pn, kr_sent_fn fn, void *ctx)
{
	struct kr_sent *s = record(ch, pn);
	u64 distance;

	if (s->state == KR_SENT_LOST) {
		/* It was only late: wait longer for the next one. */
		distance = ch->largest_acked - 1 - pn;
		ch->reorder = min_t(u64, max_t(u64, ch->reorder, distance + 1),
				    KR_REORDER_MAX);
		ch->nr_spurious++;
	} else {
		ch->inflight--;
		tell(s, false, fn, ctx);
	}
	s->state = KR_SENT_NONE;
}

static void lose_one(struct kr_channel *ch, u64 pn, kr_sent_fn fn, void *ctx)
{
	struct kr_sent *s = record(ch, pn);

	s->state = KR_SENT_LOST;
	ch->inflight--;
	ch->nr_lost++;
	tell(s, true, fn, ctx);
}

/* Packets sent well before one that was acknowledged are lost (RFC 9002, 6.1). */
static void detect_loss(struct kr_channel *ch, u64 now, kr_sent_fn fn, void *ctx)
{
	u64 wait = max_t(u64, ch->srtt_ns + ch->srtt_ns / 8, KR_GRANULARITY_NS);
	u64 pn, lost_pn = 0;
	struct kr_sent *s;

	/* A network that reorders gets a quarter of a round trip more. */
	if (ch->reorder > KR_REORDER_MIN)
		wait += ch->srtt_ns / 4;
	ch->loss_ns = 0;
	for (pn = ch->low_pn; pn + 1 < ch->largest_acked; pn++) {
		s = record(ch, pn);
		if (s->state != KR_SENT_INFLIGHT)
			continue;
		if (ch->largest_acked - 1 - pn >= ch->reorder ||
		    s->time_ns + wait <= now) {
			lose_one(ch, pn, fn, ctx);
			lost_pn = pn;
		} else if (!ch->loss_ns) {
			ch->loss_ns = s->time_ns + wait;
		}
	}
	if (lost_pn)
		kr_cc_on_loss(&ch->cc, lost_pn, ch->next_pn);
}

/* A packet was acknowledged at once or after @delay: what the way itself took. */
static u64 way_ns(u64 rtt, u64 delay)
{
	return rtt > 2 * delay ? rtt - delay : rtt;
}

bool kr_channel_on_ack(struct kr_channel *ch, const struct kr_hdr *h, u64 now,
		       kr_sent_fn fn, void *ctx)
{
	bool is_full = ch->inflight + 1 >= kr_cc_window(&ch->cc);
	u64 pn, rtt, newest = 0, sent_ns = 0;
	u32 nr = 0;

	if (h->ack > ch->next_pn)
		return false;
	if (!h->ack)
		return true;
	ch->largest_acked = max(ch->largest_acked, h->ack);
	for (pn = ch->low_pn; pn < h->ack; pn++) {
		if (record(ch, pn)->state == KR_SENT_NONE || !is_acked(h, pn))
			continue;
		/* A number is used once, so a late answer measures as well. */
		newest = pn;
		sent_ns = record(ch, pn)->time_ns;
		nr++;
		ack_one(ch, pn, fn, ctx);
	}
	if (nr) {
		ch->pto_count = 0;
		ch->missed_ns = now;
		ch->probes = 0;
		if (newest + 1 == h->ack) {
			rtt = way_ns(now - sent_ns, (u64)h->ack_delay << 13);
			update_rtt(ch, rtt);
			kr_cc_on_ack(&ch->cc, nr, is_full);
		}
	}
	detect_loss(ch, now, fn, ctx);
	/* No acknowledgement can name numbers that far back any more. */
	forget_lost(ch, ch->largest_acked > KR_SACK_BITS ?
			ch->largest_acked - KR_SACK_BITS : 1);
	return true;
}

u64 kr_channel_pto_ns(const struct kr_channel *ch)
{
	u64 pto = ch->srtt_ns ? ch->srtt_ns : KR_RTT_INIT_NS;

	pto += max_t(u64, 4 * ch->rttvar_ns, KR_GRANULARITY_NS) + KR_ACK_DELAY_NS;
	return min_t(u64, pto << min_t(u32, ch->pto_count, 16), KR_PTO_MAX_NS);
}

static u64 pto_at(const struct kr_channel *ch)
{
	u64 pto = kr_channel_pto_ns(ch);

	return min(ch->last_sent_ns + pto, ch->missed_ns + 2 * pto);
}

u64 kr_channel_deadline(const struct kr_channel *ch, u64 now)
{
	u64 when = KR_NEVER;

	if (ch->inflight)
		when = ch->loss_ns ? ch->loss_ns : pto_at(ch);
	if (ch->ack_ns > now)
		when = min(when, ch->ack_ns);
	return when;
}

/* Numbers must be left for the next packets, or nothing could ever come back. */
static void leave_numbers(struct kr_channel *ch)
{
	u64 end = ch->next_pn;

	if (end - ch->low_pn > KR_SENT_RING / 2)
		forget_lost(ch, max(ch->low_pn + KR_SACK_BITS / 2,
				    end - KR_SENT_RING / 2));
}

void kr_channel_lose(struct kr_channel *ch, kr_sent_fn fn, void *ctx)
{
	u64 pn;

	for (pn = ch->low_pn; pn < ch->next_pn; pn++)
		if (record(ch, pn)->state == KR_SENT_INFLIGHT)
			lose_one(ch, pn, fn, ctx);
	leave_numbers(ch);
}

/*
 * Nothing came back: what the oldest packet carried goes out once more, and in
 * a silence what all of them carried, so that probes do not pile up.
 */
static void probe(struct kr_channel *ch, u64 now, kr_sent_fn fn, void *ctx)
{
	u64 pn, end = ch->next_pn;

	ch->pto_count++;
	ch->nr_pto++;
	ch->probes = 2;
	ch->missed_ns = now;
	ch->last_sent_ns = now;
	if (ch->pto_count == KR_PTO_SILENT)
		kr_cc_on_silence(&ch->cc);
	for (pn = ch->low_pn; pn < end; pn++) {
		if (record(ch, pn)->state != KR_SENT_INFLIGHT)
			continue;
		lose_one(ch, pn, fn, ctx);
		if (!kr_channel_is_silent(ch))
			break;
	}
	leave_numbers(ch);
}

void kr_channel_timeout(struct kr_channel *ch, u64 now, kr_sent_fn fn, void *ctx)
{
	if (!ch->inflight)
		return;
	if (ch->loss_ns) {
		if (ch->loss_ns <= now)
			detect_loss(ch, now, fn, ctx);
	} else if (pto_at(ch) <= now) {
		probe(ch, now, fn, ctx);
	}
}

bool kr_channel_is_ask_due(struct kr_channel *ch, u64 pn)
{
	u32 half = kr_cc_window(&ch->cc) / 2;

	if (ch->inflight < half || pn - ch->asked_pn < half)
		return false;
	ch->asked_pn = pn;
	return true;
}

bool kr_channel_is_silent(const struct kr_channel *ch)
{
	return ch->pto_count >= KR_PTO_SILENT;
}
