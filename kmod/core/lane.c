// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Numbers, credits and doubts of one lane: see lane.h. */
#include "lane.h"

static struct kr_sent *record(const struct kr_lane *l, u64 pn)
{
	return l->sent[pn % KR_LANE_CREDITS_MAX];
}

bool kr_lane_is_open(const struct kr_lane *l)
{
	return l->state == KR_LANE_UP || l->state == KR_LANE_DOUBT;
}

bool kr_lane_has_credit(const struct kr_lane *l)
{
	return l->next_pn - 1 - l->acked < l->credits;
}

bool kr_lane_is_ack_due(const struct kr_lane *l, u64 now)
{
	return l->ack_ns && l->ack_ns <= now;
}

struct kr_sent *kr_lane_begin(struct kr_lane *l)
{
	struct kr_sent **slot = &l->sent[l->next_pn % KR_LANE_CREDITS_MAX];

	if (!*slot)
		*slot = kr_env_alloc(sizeof(**slot));
	if (*slot)
		(*slot)->nr_msgs = 0;
	return *slot;
}

u64 kr_lane_commit(struct kr_lane *l, struct kr_sent *s, u64 now)
{
	s->time_ns = now;
	l->used_ns = now;
	return l->next_pn++;
}

static void tell(struct kr_sent *s, bool is_lost, kr_sent_fn fn, void *ctx)
{
	u8 i;

	for (i = 0; i < s->nr_msgs; i++)
		fn(ctx, &s->msgs[i], is_lost);
	s->nr_msgs = 0;
}

static void measure(struct kr_lane *l, u64 answer)
{
	l->answer_ns = max(answer, l->answer_ns - l->answer_ns / 8);
}

bool kr_lane_on_ack(struct kr_lane *l, u64 ack, u64 now, kr_sent_fn fn, void *ctx)
{
	if (ack < l->acked || ack >= l->next_pn)
		return false;
	if (ack > l->acked)
		measure(l, now - record(l, l->acked + 1)->time_ns);
	while (l->acked < ack)
		tell(record(l, ++l->acked), false, fn, ctx);
	return true;
}

void kr_lane_took(struct kr_lane *l, u64 now)
{
	l->taken++;
	l->used_ns = now;
	if (l->taken - l->told >= KR_LANE_ACK_EVERY)
		l->ack_ns = now;
	else if (!l->ack_ns)
		l->ack_ns = now + KR_ACK_DELAY_NS;
}

void kr_lane_lose(struct kr_lane *l, kr_sent_fn fn, void *ctx)
{
	u64 pn;

	for (pn = l->acked + 1; pn < l->next_pn; pn++)
		tell(record(l, pn), true, fn, ctx);
}

void kr_lane_clean(struct kr_lane *l, kr_sent_fn fn, void *ctx)
{
	u32 i;

	kr_lane_lose(l, fn, ctx);
	for (i = 0; i < KR_LANE_CREDITS_MAX; i++) {
		kr_env_free(l->sent[i]);
		l->sent[i] = NULL;
	}
}

u64 kr_lane_waits_since(const struct kr_lane *l)
{
	return l->acked + 1 < l->next_pn ? record(l, l->acked + 1)->time_ns : 0;
}

u64 kr_lane_doubt_ns(const struct kr_lane *l)
{
	return min_t(u64, max_t(u64, 4 * l->answer_ns, KR_LANE_DOUBT_MIN_NS),
		     KR_LANE_DOUBT_MAX_NS);
}
