// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Who gets one of a bounded number of RC QPs: see pool.h. */
#include "pool.h"

/* Scores fade in ticks, the same for all, so that it matters not when one looks. */
enum {
	KR_POOL_TICK_SHIFT = 28,
	KR_POOL_HALF_SHIFT = 3,		/* ticks to a half-life */
	KR_POOL_HALF_TICKS = 1 << KR_POOL_HALF_SHIFT,
	KR_POOL_KEEP_SHIFT = 16,
	KR_POOL_FAILS_MAX = 6,		/* doublings of the wait */
};

_Static_assert(KR_POOL_HALF_NS >> KR_POOL_TICK_SHIFT == KR_POOL_HALF_TICKS,
	       "a half-life is KR_POOL_HALF_TICKS ticks");
_Static_assert(KR_POOL_RETRY_NS << KR_POOL_FAILS_MAX >= KR_POOL_RETRY_MAX_NS,
	       "KR_POOL_FAILS_MAX doublings reach the longest wait");

/* Of 65536, kept after so many ticks: 2^(-n/8). */
static const u32 tick_keep[KR_POOL_HALF_TICKS] = {
	65536, 60097, 55109, 50535, 46341, 42495, 38968, 35734,
};

#define KR_POOL_SCORE_MAX ((1ull << (64 - KR_POOL_KEEP_SHIFT)) - 1)

/* Scores. */

static u64 halved(u64 score, u64 times)
{
	return times < 64 ? score >> times : 0;
}

static void fade(struct kr_member *m, u64 now)
{
	u64 tick = now >> KR_POOL_TICK_SHIFT, nr;

	if (tick <= m->scored_tick)
		return;
	nr = tick - m->scored_tick;
	m->scored_tick = tick;
	m->score = halved(m->score, nr >> KR_POOL_HALF_SHIFT);
	m->score = m->score * tick_keep[nr & (KR_POOL_HALF_TICKS - 1)] >> KR_POOL_KEEP_SHIFT;
}

/* Places that it will still have when all that ends is gone. */
static u32 nr_live(const struct kr_member *m)
{
	return m->nr_making + m->nr_up;
}

static u32 nr_have(const struct kr_member *m)
{
	return nr_live(m) + m->nr_ending;
}

static u64 worth_of_last(const struct kr_member *m)
{
	return halved(m->score, nr_live(m) - 1);
}

static u64 worth_of_next(const struct kr_member *m)
{
	return halved(m->score, nr_live(m));
}

static u64 idle_at(const struct kr_pool *p, const struct kr_member *m)
{
	return min(p->limits.idle_ns, ~0ull - m->used_ns) + m->used_ns;
}

/* The bytes of an idle one may count for long, but are no reason for a QP. */
static bool is_wanting(const struct kr_pool *p, const struct kr_member *m, u64 now)
{
	return p->limits.max && nr_have(m) < p->limits.per_host &&
	       worth_of_next(m) >= p->limits.earn_bytes && now < idle_at(p, m);
}

static bool is_asking(const struct kr_pool *p, const struct kr_member *m, u64 now)
{
	return is_wanting(p, m, now) && now >= m->retry_ns && now >= p->short_ns;
}

static u64 held_until(const struct kr_member *m)
{
	return m->made_ns ? m->made_ns + KR_POOL_HOLD_NS : 0;
}

static bool is_quiet(const struct kr_member *m, u64 now)
{
	return now >= m->used_ns + KR_POOL_QUIET_NS && now >= held_until(m);
}

/* Places. */

static u32 nr_pool_live(const struct kr_pool *p)
{
	return p->nr_taken - p->nr_ending;
}

/* Is there a place that is not reserved, now or when all that ends is gone? */
static bool has_unreserved(const struct kr_pool *p)
{
	return nr_pool_live(p) + p->nr_reserved < p->limits.max;
}

static bool has_place_for(const struct kr_pool *p, const struct kr_member *m)
{
	return p->nr_taken < p->limits.max && (m->reserved_ns || has_unreserved(p));
}

static void unreserve(struct kr_pool *p, struct kr_member *m)
{
	p->nr_reserved -= !!m->reserved_ns;
	m->reserved_ns = 0;
}

static void list_it(struct kr_pool *p, struct kr_member *m)
{
	if (list_empty(&m->node))
		list_add_tail(&m->node, &p->members);
}

static void occupy(struct kr_pool *p, struct kr_member *m)
{
	unreserve(p, m);
	m->nr_making++;
	p->nr_taken++;
	list_it(p, m);
}

static void start_ending(struct kr_pool *p, struct kr_member *m)
{
	KR_ASSERT(m->nr_up);
	m->nr_up--;
	m->nr_ending++;
	p->nr_ending++;
}

void kr_pool_init(struct kr_pool *p, const struct kr_pool_limits *limits)
{
	memset(p, 0, sizeof(*p));
	INIT_LIST_HEAD(&p->members);
	kr_pool_set_limits(p, limits);
}

void kr_pool_set_limits(struct kr_pool *p, const struct kr_pool_limits *limits)
{
	p->limits = *limits;
	/* A member without a byte wants nothing. */
	p->limits.earn_bytes = max_t(u64, limits->earn_bytes, 1);
}

void kr_member_init(struct kr_member *m)
{
	memset(m, 0, sizeof(*m));
	INIT_LIST_HEAD(&m->node);
}

void kr_member_clean(struct kr_pool *p, struct kr_member *m)
{
	KR_ASSERT(!nr_have(m));
	unreserve(p, m);
	list_del_init(&m->node);
}

void kr_pool_note(struct kr_pool *p, struct kr_member *m, u64 bytes, u64 now)
{
	if (!bytes)
		return;
	fade(m, now);
	m->score = min(m->score + min(bytes, KR_POOL_SCORE_MAX), KR_POOL_SCORE_MAX);
	m->used_ns = now;
	if (is_wanting(p, m, now))
		list_it(p, m);
}

/* Decisions. */

static void refresh(struct kr_pool *p, u64 now)
{
	struct kr_member *m, *next;

	list_for_each_entry_safe(m, next, &p->members, node) {
		fade(m, now);
		if (now >= m->reserved_ns || !is_asking(p, m, now))
			unreserve(p, m);
		if (!nr_have(m) && !is_wanting(p, m, now))
			list_del_init(&m->node);
	}
}

/* Who is first at what, NULL: nobody. */
struct firsts {
	struct kr_member *over;		/* beyond per_host */
	struct kr_member *idle;
	struct kr_member *quiet;	/* least recently used of those to reclaim */
	struct kr_member *least;	/* its last place is worth least of all */
	struct kr_member *victim;	/* the same, of those that may be evicted */
	struct kr_member *heir;		/* its next place is worth most, and there is one */
	struct kr_member *rival;	/* the same, but there is none */
};

static void rank_up(const struct kr_pool *p, struct firsts *f, struct kr_member *m, u64 now)
{
	if (nr_live(m) > p->limits.per_host)
		f->over = m;
	if (now >= idle_at(p, m) && now >= held_until(m))
		f->idle = m;
	if (is_quiet(m, now) && (!f->quiet || m->used_ns < f->quiet->used_ns))
		f->quiet = m;
	if (!f->least || worth_of_last(m) < worth_of_last(f->least))
		f->least = m;
	if (now < held_until(m))
		return;
	if (!f->victim || worth_of_last(m) < worth_of_last(f->victim))
		f->victim = m;
}

static void rank_asking(const struct kr_pool *p, struct firsts *f, struct kr_member *m)
{
	struct kr_member **first = &f->rival;

	if (has_place_for(p, m))
		first = &f->heir;
	else if (m->reserved_ns || has_unreserved(p))
		return;			/* a place that ends will do */
	if (!*first || worth_of_next(m) > worth_of_next(*first))
		*first = m;
}

static struct firsts find_firsts(struct kr_pool *p, u64 now)
{
	struct firsts f = { 0 };
	struct kr_member *m;

	list_for_each_entry(m, &p->members, node) {
		if (m->nr_up)
			rank_up(p, &f, m, now);
		if (is_asking(p, m, now))
			rank_asking(p, &f, m);
	}
	return f;
}

/* A rival is never its own victim: its next place is worth half its last. */
static bool is_worth_evicting(const struct firsts *f)
{
	return f->rival && f->victim &&
	       worth_of_next(f->rival) >> 1 >= worth_of_last(f->victim);
}

static enum kr_pool_act decide(struct kr_pool *p, u64 now, struct kr_member **m)
{
	struct firsts f = find_firsts(p, now);

	*m = nr_pool_live(p) > p->limits.max && f.least ? f.least : f.over;
	if (*m)
		return KR_POOL_END_LIMIT;
	if (!f.quiet)
		p->nr_to_reclaim = 0;
	*m = f.quiet;
	if (p->nr_to_reclaim) {
		p->nr_to_reclaim--;
		return KR_POOL_END_MEMORY;
	}
	*m = f.idle;
	if (*m)
		return KR_POOL_END_IDLE;
	*m = f.heir;
	if (*m)
		return KR_POOL_MAKE;
	if (!is_worth_evicting(&f))
		return KR_POOL_NOTHING;
	*m = f.victim;
	f.rival->reserved_ns = now + KR_POOL_RESERVE_NS;
	p->nr_reserved++;
	return KR_POOL_END_EVICTED;
}

enum kr_pool_act kr_pool_step(struct kr_pool *p, u64 now, struct kr_member **m)
{
	enum kr_pool_act act;

	refresh(p, now);
	act = decide(p, now, m);
	p->nr_acts[act]++;
	if (act == KR_POOL_NOTHING)
		return act;
	if (act == KR_POOL_MAKE) {
		occupy(p, *m);
		return act;
	}
	(*m)->nr_fails = 0;		/* it worked to the end */
	start_ending(p, *m);
	return act;
}

static u64 member_next_ns(const struct kr_pool *p, const struct kr_member *m, u64 now)
{
	u64 when = m->nr_up ? max(idle_at(p, m), held_until(m)) : ~0ull;

	if (m->reserved_ns)
		when = min(when, m->reserved_ns);
	if (is_wanting(p, m, now))
		when = min(when, max(max(m->retry_ns, p->short_ns), now + KR_POOL_NS));
	return when;
}

u64 kr_pool_next_ns(const struct kr_pool *p, u64 now)
{
	struct kr_member *m;
	u64 when = ~0ull;

	list_for_each_entry(m, &p->members, node)
		when = min(when, member_next_ns(p, m, now));
	return when;
}

bool kr_pool_take(struct kr_pool *p, struct kr_member *m, u64 now)
{
	if (now < p->short_ns || nr_have(m) >= p->limits.per_host || !has_place_for(p, m)) {
		p->nr_refused++;
		return false;
	}
	occupy(p, m);
	return true;
}

static u32 nr_quiet(const struct kr_pool *p, u64 now)
{
	struct kr_member *m;
	u32 nr = 0;

	list_for_each_entry(m, &p->members, node)
		if (is_quiet(m, now))
			nr += m->nr_up;
	return nr;
}

u32 kr_pool_reclaimable(const struct kr_pool *p, u64 now)
{
	u32 nr = nr_quiet(p, now);

	return nr - min(nr, p->nr_to_reclaim);
}

u32 kr_pool_reclaim(struct kr_pool *p, u32 nr, u64 now)
{
	nr = min(nr, kr_pool_reclaimable(p, now));
	p->nr_to_reclaim += nr;
	p->short_ns = now + KR_POOL_SHORT_NS;
	return nr;
}

/* How it went. */

static void back_off(struct kr_member *m, u64 now)
{
	/* What was made lasted: failures are counted anew. */
	if (m->made_ns && now >= m->made_ns + KR_POOL_RETRY_MAX_NS) {
		m->made_ns = 0;
		m->nr_fails = 0;
	}
	m->retry_ns = now + min(KR_POOL_RETRY_NS << m->nr_fails, KR_POOL_RETRY_MAX_NS);
	m->nr_fails = min_t(u32, m->nr_fails + 1, KR_POOL_FAILS_MAX);
}

void kr_pool_made(struct kr_pool *p, struct kr_member *m, u64 now)
{
	KR_ASSERT(m->nr_making);
	m->nr_making--;
	m->nr_up++;
	m->made_ns = now;
	m->used_ns = now;
}

void kr_pool_failed(struct kr_pool *p, struct kr_member *m, u64 now)
{
	KR_ASSERT(m->nr_making);
	m->nr_making--;
	p->nr_taken--;
	p->nr_failed++;
	back_off(m, now);
}

void kr_pool_lost(struct kr_pool *p, struct kr_member *m, u64 now)
{
	start_ending(p, m);
	p->nr_lost++;
	back_off(m, now);
}

void kr_pool_ended(struct kr_pool *p, struct kr_member *m)
{
	KR_ASSERT(m->nr_ending);
	m->nr_ending--;
	p->nr_ending--;
	p->nr_taken--;
}
