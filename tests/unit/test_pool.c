// SPDX-License-Identifier: MIT
/* test_pool: the hosts that move most keep the RC QPs, without taking turns. */
#include <criterion/criterion.h>

#include "core/pool.h"

enum {
	HOSTS = 200,
	EARN = 1 << 20,
	BYTES_MAX = 1 << 30,		/* of one round in the simulations */
};

#define IDLE_NS (10 * KR_SEC)
#define LONG_NS (120 * KR_SEC)

static struct kr_pool pool;
static struct kr_member hosts[HOSTS];
static u64 now = 1000 * KR_SEC;

static struct kr_member *a = &hosts[0], *b = &hosts[1], *c = &hosts[2];

static struct kr_pool_limits limits = {
	.max = 2, .per_host = 1, .earn_bytes = EARN, .idle_ns = IDLE_NS,
};

static void setup(void)
{
	u32 i;

	kr_pool_init(&pool, &limits);
	for (i = 0; i < HOSTS; i++)
		kr_member_init(&hosts[i]);
}

TestSuite(pool, .init = setup);

static void limit(u32 max, u32 per_host)
{
	limits.max = max;
	limits.per_host = per_host;
	kr_pool_set_limits(&pool, &limits);
}

static u32 have(const struct kr_member *m)
{
	return m->nr_making + m->nr_up + m->nr_ending;
}

/* The next step is @act for @m. */
static void expect_step(enum kr_pool_act act, const struct kr_member *m)
{
	struct kr_member *of;

	cr_expect_eq(kr_pool_step(&pool, now, &of), act);
	cr_expect(of == m);
}

static void expect_nothing(void)
{
	expect_step(KR_POOL_NOTHING, NULL);
}

/* All that is to be done is done at once. */
static void settle(void)
{
	struct kr_member *m;
	enum kr_pool_act act;
	u32 i;

	for (i = 0; i < 10 * HOSTS; i++) {
		act = kr_pool_step(&pool, now, &m);
		if (act == KR_POOL_NOTHING)
			return;
		if (act == KR_POOL_MAKE)
			kr_pool_made(&pool, m, now);
		else
			kr_pool_ended(&pool, m);
	}
	cr_expect(false, "the pool never comes to rest");
}

static void note(struct kr_member *m, u64 bytes)
{
	kr_pool_note(&pool, m, bytes, now);
}

/* @m has a QP that is up, and its hold is over. */
static void get(struct kr_member *m, u64 bytes)
{
	note(m, bytes);
	settle();
	cr_assert_eq(m->nr_up, 1);
}

/* Both places are @a's and @b's, and may be evicted; @b is worth least. */
static void fill(void)
{
	get(a, 8 * EARN);
	get(b, 6 * EARN);
	now += KR_POOL_HOLD_NS;
}

static u64 score(struct kr_member *m)
{
	kr_pool_step(&pool, now, &(struct kr_member *){ NULL });
	return m->score;
}

Test(pool, set_limits__zero_ends_all_and_raised_again_they_are_made_again)
{
	u32 i;

	limit(8, 1);
	for (i = 0; i < 8; i++)
		note(&hosts[i], 64 * EARN);
	settle();
	cr_assert_eq(pool.nr_taken, 8);

	limit(0, 1);
	settle();
	cr_expect_eq(pool.nr_taken, 0);
	cr_expect_eq(pool.nr_acts[KR_POOL_END_LIMIT], 8);
	note(a, 64 * EARN);
	expect_nothing();
	cr_expect_eq(kr_pool_next_ns(&pool, now), ~0ull);

	limit(8, 1);
	for (i = 0; i < 8; i++)
		note(&hosts[i], 1);
	settle();
	cr_expect_eq(pool.nr_taken, 8);
}

Test(pool, set_limits__lowered_ends_the_least_and_those_that_end_count_once)
{
	u32 i;

	limit(6, 1);
	for (i = 0; i < 6; i++)
		note(&hosts[i], (8 + i) * EARN);
	settle();

	limit(4, 1);
	expect_step(KR_POOL_END_LIMIT, &hosts[0]);
	expect_step(KR_POOL_END_LIMIT, &hosts[1]);
	expect_nothing();
	cr_expect_eq(pool.nr_taken, 6);
	kr_pool_ended(&pool, &hosts[0]);
	expect_nothing();
	kr_pool_ended(&pool, &hosts[1]);
	expect_nothing();
	cr_expect_eq(pool.nr_taken, 4);
}

Test(pool, set_limits__one_being_made_is_ended_when_it_is_up)
{
	note(a, 4 * EARN);
	expect_step(KR_POOL_MAKE, a);

	limit(0, 1);
	expect_nothing();
	kr_pool_made(&pool, a, now);
	expect_step(KR_POOL_END_LIMIT, a);
}

Test(pool, set_limits__per_host_lowered)
{
	limit(8, 3);
	note(a, 64 * EARN);
	settle();
	cr_assert_eq(a->nr_up, 3);

	limit(8, 1);
	expect_step(KR_POOL_END_LIMIT, a);
	expect_step(KR_POOL_END_LIMIT, a);
	expect_nothing();
}

Test(pool, set_limits__without_earn_bytes_one_byte_earns)
{
	limits.earn_bytes = 0;
	kr_pool_set_limits(&pool, &limits);

	note(a, 1);

	expect_step(KR_POOL_MAKE, a);
}

Test(pool, clean__the_reservation_goes_with_the_member)
{
	fill();
	note(c, 64 * EARN);
	expect_step(KR_POOL_END_EVICTED, b);
	kr_pool_ended(&pool, b);

	kr_member_clean(&pool, c);

	cr_expect_eq(pool.nr_reserved, 0);
	cr_expect(kr_pool_take(&pool, &hosts[3], now));
}

Test(pool, note__half_is_forgotten_in_a_half_life_however_often_one_looks)
{
	u64 until = now + KR_POOL_HALF_NS;

	limits.idle_ns = ~0ull;
	limit(2, 1);
	get(a, 1024 * EARN);
	get(b, 1024 * EARN);
	for (; now < until; now += 7 * KR_MSEC)
		score(a);
	now = until;

	cr_expect_geq(score(a), 511 * EARN);
	cr_expect_leq(a->score, 513 * EARN);
	now += 9 * KR_POOL_HALF_NS;
	cr_expect_geq(score(b), EARN - EARN / 64);
	cr_expect_leq(b->score, EARN + EARN / 64);
}

Test(pool, note__part_of_a_half_life_forgets_part)
{
	get(a, 1024 * EARN);
	now += KR_POOL_HALF_NS / 2;

	cr_expect_geq(score(a), 724 * EARN);	/* 1024 / sqrt(2) */
	cr_expect_leq(a->score, 725 * EARN);
}

Test(pool, note__no_overflow)
{
	u32 i;

	get(a, ~0ull);
	get(b, EARN);
	for (i = 0; i < 100; i++)
		note(a, ~0ull);
	now += KR_POOL_HOLD_NS;

	cr_expect_gt(score(a), 1ull << 40);
	now += 5 * KR_POOL_HALF_NS;
	note(b, EARN);
	cr_expect_gt(score(a), b->score);
}

Test(pool, note__who_has_not_earned_one_is_not_walked)
{
	u32 i;

	for (i = 0; i < HOSTS; i++)
		note(&hosts[i], EARN - 1);

	cr_expect(list_empty(&pool.members));
	expect_nothing();
	cr_expect_eq(kr_pool_next_ns(&pool, now), ~0ull);
}

Test(pool, note__nothing_is_no_use)
{
	get(a, 2 * EARN);
	now += IDLE_NS;
	note(a, 0);

	expect_step(KR_POOL_END_IDLE, a);
}

Test(pool, step__earned_then_made)
{
	note(a, EARN - 1);
	expect_nothing();

	note(a, 1);
	expect_step(KR_POOL_MAKE, a);
	expect_nothing();
	kr_pool_made(&pool, a, now);
	expect_nothing();
	cr_expect_eq(pool.nr_taken, 1);
}

Test(pool, step__what_was_earned_long_ago_is_forgotten)
{
	limit(0, 1);
	note(a, EARN);
	limit(2, 1);
	now += KR_POOL_HALF_NS;
	note(a, EARN / 3);
	expect_nothing();
	cr_expect(list_empty(&pool.members));

	note(a, EARN / 5);
	expect_step(KR_POOL_MAKE, a);
}

Test(pool, step__the_one_of_most_worth_first)
{
	note(a, 2 * EARN);
	note(b, 5 * EARN);
	note(c, 3 * EARN);

	expect_step(KR_POOL_MAKE, b);
	expect_step(KR_POOL_MAKE, c);
	expect_nothing();
}

Test(pool, step__each_further_one_must_be_earned_twice_over)
{
	limit(8, 3);
	note(a, 2 * EARN - 1);
	settle();
	cr_expect_eq(a->nr_up, 1);

	note(a, 1);
	settle();
	cr_expect_eq(a->nr_up, 2);
	note(a, 2 * EARN);
	settle();
	cr_expect_eq(a->nr_up, 3);
	note(a, 1024 * EARN);
	settle();
	cr_expect_eq(a->nr_up, 3);
}

Test(pool, step__a_third_one_goes_before_the_first_of_somebody_else)
{
	limit(4, 3);
	note(a, 12 * EARN);		/* its third is worth 3 */
	get(b, 4 * EARN);
	cr_assert_eq(a->nr_up, 3);
	now += KR_POOL_HOLD_NS;

	note(c, 8 * EARN);

	expect_step(KR_POOL_END_EVICTED, a);
}

Test(pool, step__one_being_made_and_one_that_ends_occupy_a_place)
{
	note(a, 4 * EARN);
	expect_step(KR_POOL_MAKE, a);
	note(b, 4 * EARN);
	expect_step(KR_POOL_MAKE, b);
	note(c, 64 * EARN);
	expect_nothing();
	cr_expect_not(kr_pool_take(&pool, c, now));

	kr_pool_made(&pool, a, now);
	kr_pool_lost(&pool, a, now);
	expect_nothing();
	cr_expect_not(kr_pool_take(&pool, c, now));
	kr_pool_ended(&pool, a);
	expect_step(KR_POOL_MAKE, c);
}

Test(pool, step__a_place_that_ends_unreserved_is_waited_for)
{
	fill();
	kr_pool_lost(&pool, a, now);
	note(c, 64 * EARN);

	expect_nothing();
	kr_pool_ended(&pool, a);
	expect_step(KR_POOL_MAKE, c);
	expect_nothing();
}

Test(pool, step__only_twice_the_worth_evicts)
{
	fill();
	note(c, 2 * score(b) - 2);
	expect_nothing();

	note(c, 2);
	expect_step(KR_POOL_END_EVICTED, b);
	expect_nothing();
}

Test(pool, step__one_just_made_is_not_evicted)
{
	get(a, 2 * EARN);
	get(b, 2 * EARN);
	note(c, 1024 * EARN);
	now += KR_POOL_HOLD_NS - 1;
	expect_nothing();
	cr_expect_leq(kr_pool_next_ns(&pool, now), now + KR_POOL_NS);

	now++;
	expect_step(KR_POOL_END_EVICTED, a);
}

Test(pool, step__a_freed_place_is_not_taken_by_somebody_else)
{
	struct kr_member *d = &hosts[3];

	fill();
	note(c, 20 * EARN);
	expect_step(KR_POOL_END_EVICTED, b);
	note(d, 200 * EARN);
	expect_step(KR_POOL_END_EVICTED, a);	/* d gets a place of its own */
	kr_pool_ended(&pool, b);
	cr_expect_not(kr_pool_take(&pool, &hosts[4], now));
	kr_pool_ended(&pool, a);
	cr_expect_not(kr_pool_take(&pool, &hosts[4], now));

	note(&hosts[5], 2000 * EARN);
	expect_step(KR_POOL_MAKE, d);
	expect_step(KR_POOL_MAKE, c);
	expect_nothing();
	cr_expect_eq(pool.nr_reserved, 0);
}

Test(pool, step__a_reservation_is_for_one_place)
{
	limit(3, 1);
	note(a, 8 * EARN);
	note(b, 7 * EARN);
	note(c, 6 * EARN);
	settle();
	now += KR_POOL_HOLD_NS;
	note(&hosts[3], 64 * EARN);

	expect_step(KR_POOL_END_EVICTED, c);
	expect_nothing();
	kr_pool_lost(&pool, b, now);
	kr_pool_ended(&pool, b);
	expect_step(KR_POOL_MAKE, &hosts[3]);
	kr_pool_ended(&pool, c);
	cr_expect(kr_pool_take(&pool, &hosts[4], now));
}

Test(pool, step__a_reservation_lapses)
{
	fill();
	note(c, 1024 * EARN);
	expect_step(KR_POOL_END_EVICTED, b);

	/* Its victim takes too long to end. */
	now += KR_POOL_RESERVE_NS - 1;
	expect_nothing();
	cr_expect_eq(pool.nr_reserved, 1);
	cr_expect_eq(kr_pool_next_ns(&pool, now), now + 1);
	now++;
	expect_nothing();
	cr_expect_eq(pool.nr_reserved, 0);
}

Test(pool, step__a_reservation_that_is_not_wanted_any_more_lapses)
{
	fill();
	note(c, 13 * EARN);
	expect_step(KR_POOL_END_EVICTED, b);
	kr_pool_ended(&pool, b);
	limits.earn_bytes = 64 * EARN;
	kr_pool_set_limits(&pool, &limits);

	expect_nothing();
	cr_expect_eq(pool.nr_reserved, 0);
	cr_expect(kr_pool_take(&pool, &hosts[4], now));
}

Test(pool, step__idle_ones_end_and_do_not_come_back_for_old_bytes)
{
	get(a, 1ull << 40);
	cr_expect_eq(kr_pool_next_ns(&pool, now), now + IDLE_NS);
	now += IDLE_NS - 1;
	expect_nothing();

	now++;
	expect_step(KR_POOL_END_IDLE, a);
	kr_pool_ended(&pool, a);
	expect_nothing();
	cr_expect(list_empty(&pool.members));
	cr_expect_eq(kr_pool_next_ns(&pool, now), ~0ull);
	note(a, 1);
	expect_step(KR_POOL_MAKE, a);
}

Test(pool, step__all_of_an_idle_host_end)
{
	limit(8, 3);
	note(a, 8 * EARN);
	settle();
	cr_assert_eq(a->nr_up, 3);
	now += IDLE_NS;

	settle();

	cr_expect_eq(have(a), 0);
	cr_expect_eq(pool.nr_acts[KR_POOL_END_IDLE], 3);
}

Test(pool, step__used_ones_are_not_idle)
{
	u32 i;

	get(a, EARN);
	for (i = 0; i < 10; i++) {
		now += IDLE_NS - 1;
		note(a, 1);
		expect_nothing();
	}

	cr_expect_eq(a->nr_up, 1);
}

Test(pool, step__idle_time_without_bound)
{
	limits.idle_ns = ~0ull;
	limit(2, 1);
	get(a, EARN);
	now += 1ull << 60;

	expect_nothing();
	cr_expect_eq(kr_pool_next_ns(&pool, now), ~0ull);
}

Test(pool, step__the_clock_jumps)
{
	fill();
	note(c, 64 * EARN);
	expect_step(KR_POOL_END_EVICTED, b);
	now += 86400 * KR_SEC;
	note(a, EARN);

	expect_nothing();
	cr_expect_eq(pool.nr_reserved, 0);
	kr_pool_ended(&pool, b);
	cr_expect_leq(a->score, EARN);
	cr_expect_eq(c->score, 0);
	cr_expect_eq(kr_pool_next_ns(&pool, now), now + IDLE_NS);
	note(c, EARN);
	expect_step(KR_POOL_MAKE, c);
}

Test(pool, take__a_free_place_below_per_host)
{
	limit(3, 2);
	cr_expect(kr_pool_take(&pool, a, now));
	cr_expect(kr_pool_take(&pool, a, now));
	cr_expect_not(kr_pool_take(&pool, a, now));
	cr_expect(kr_pool_take(&pool, b, now));
	cr_expect_not(kr_pool_take(&pool, b, now));
	cr_expect_eq(pool.nr_refused, 2);
	cr_expect_eq(pool.nr_taken, 3);

	/* Nobody's bytes are behind them: they last until they are idle. */
	kr_pool_made(&pool, b, now);
	cr_expect_eq(kr_pool_next_ns(&pool, now), now + IDLE_NS);
	now += IDLE_NS;
	expect_step(KR_POOL_END_IDLE, b);
}

Test(pool, take__none_when_there_are_to_be_none)
{
	limit(0, 1);
	cr_expect_not(kr_pool_take(&pool, a, now));
	limit(1, 0);
	cr_expect_not(kr_pool_take(&pool, a, now));
}

Test(pool, take__uses_the_reservation_of_the_same_member)
{
	fill();
	note(c, 64 * EARN);
	expect_step(KR_POOL_END_EVICTED, b);
	cr_expect_not(kr_pool_take(&pool, c, now));
	kr_pool_ended(&pool, b);

	cr_expect(kr_pool_take(&pool, c, now));
	cr_expect_eq(pool.nr_reserved, 0);
	expect_nothing();
}

/* Each round has bytes, so that only the backoff delays an attempt. */
static u64 next_attempt(struct kr_member *m)
{
	struct kr_member *of;
	u64 since = now;

	for (; now - since < LONG_NS; now += KR_POOL_NS) {
		kr_pool_note(&pool, m, 8 * EARN, now);
		if (kr_pool_step(&pool, now, &of) == KR_POOL_MAKE)
			break;
	}
	return now - since;
}

Test(pool, failed__waits_twice_as_long_each_time_up_to_a_minute)
{
	static const u32 wait_s[] = { 0, 1, 2, 4, 8, 16, 32, 60, 60, 60 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wait_s); i++) {
		cr_expect_eq(next_attempt(a), wait_s[i] * KR_SEC);
		kr_pool_failed(&pool, a, now);
		cr_expect_eq(pool.nr_taken, 0);
	}
	cr_expect_eq(pool.nr_failed, ARRAY_SIZE(wait_s));

	/* It is looked at when the wait is over; the peer may ask before. */
	note(a, ~0ull);
	cr_expect_eq(kr_pool_next_ns(&pool, now), now + KR_POOL_RETRY_MAX_NS);
	cr_expect(kr_pool_take(&pool, a, now));
}

Test(pool, failed__does_not_keep_the_place_from_others)
{
	fill();
	note(c, 64 * EARN);
	note(&hosts[3], 32 * EARN);
	expect_step(KR_POOL_END_EVICTED, b);
	kr_pool_ended(&pool, b);
	expect_step(KR_POOL_MAKE, c);
	kr_pool_failed(&pool, c, now);

	expect_step(KR_POOL_MAKE, &hosts[3]);
	expect_nothing();
}

Test(pool, lost__one_that_keeps_dying_is_made_ever_more_rarely)
{
	static const u32 wait_s[] = { 0, 1, 2, 4, 8 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wait_s); i++) {
		cr_expect_eq(next_attempt(a), wait_s[i] * KR_SEC);
		kr_pool_made(&pool, a, now);
		now += 5 * KR_SEC;
		kr_pool_lost(&pool, a, now);
		kr_pool_ended(&pool, a);
	}
	cr_expect_eq(pool.nr_lost, ARRAY_SIZE(wait_s));
}

Test(pool, lost__one_that_lasted_was_good)
{
	u32 i;

	for (i = 0; i < 5; i++) {
		next_attempt(a);
		kr_pool_failed(&pool, a, now);
	}
	next_attempt(a);
	kr_pool_made(&pool, a, now);
	now += KR_POOL_RETRY_MAX_NS;
	kr_pool_lost(&pool, a, now);
	kr_pool_ended(&pool, a);

	cr_expect_eq(next_attempt(a), KR_POOL_RETRY_NS);
	kr_pool_failed(&pool, a, now);
	cr_expect_eq(next_attempt(a), 2 * KR_POOL_RETRY_NS);
}

Test(pool, ended__one_that_worked_to_its_end_was_good)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		next_attempt(a);
		kr_pool_failed(&pool, a, now);
	}
	next_attempt(a);
	kr_pool_made(&pool, a, now);
	now += IDLE_NS;
	settle();
	cr_assert_eq(have(a), 0);

	next_attempt(a);
	kr_pool_failed(&pool, a, now);
	cr_expect_eq(next_attempt(a), KR_POOL_RETRY_NS);
}

/* Many hosts for long: one round makes what the round before has decided. */

static u64 rng = 88172645463325252ull;

static u32 random_below(u32 n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 20) % n;
}

static void finish_all(void)
{
	u32 i;

	for (i = 0; i < HOSTS; i++) {
		while (hosts[i].nr_making)
			kr_pool_made(&pool, &hosts[i], now);
		while (hosts[i].nr_ending)
			kr_pool_ended(&pool, &hosts[i]);
	}
}

static void play_round(const u64 *mean)
{
	struct kr_member *m;
	u32 i;

	now += KR_POOL_NS;
	finish_all();
	/* From nothing to twice the mean. */
	for (i = 0; i < HOSTS; i++)
		note(&hosts[i], (mean[i] >> 10) * random_below(2048));
	while (kr_pool_step(&pool, now, &m) != KR_POOL_NOTHING)
		cr_assert_leq(pool.nr_taken, limits.max);
}

static void play(const u64 *mean, u64 ns)
{
	u64 until = now + ns;

	while (now < until)
		play_round(mean);
	finish_all();
}

/*
 * In the end no host that is out is worth twice one that is in, bursts aside.  Were one
 * of the first 6 out, the 16 places would reach to rank 17 or beyond, worth a third of
 * it; were one beyond 48 in, one of the first 16 would be out, worth three times as
 * much.  A score is the sum of about 12 rounds, so that bursts move it by a sixth.
 *
 * A move at least halves the rank of a place: after the first rounds have sorted the
 * hosts, there is less than one for each place.  When the order is reversed each place
 * must move, and while the scores cross may do so a few times.
 */
Test(pool, step__zipf)
{
	u64 mean[HOSTS], nr_settled;
	u32 i;

	limit(16, 1);
	for (i = 0; i < HOSTS; i++)
		mean[i] = BYTES_MAX / (i + 1);

	play(mean, LONG_NS);

	cr_expect_eq(pool.nr_taken, 16);
	for (i = 0; i < 6; i++)
		cr_expect_eq(hosts[i].nr_up, 1);
	for (i = 48; i < HOSTS; i++)
		cr_expect_eq(have(&hosts[i]), 0);
	cr_expect_leq(pool.nr_acts[KR_POOL_END_EVICTED], 16);

	/* Then the order is reversed: each place moves, and there is peace again. */
	for (i = 0; i < HOSTS; i++)
		mean[HOSTS - 1 - i] = BYTES_MAX / (i + 1);
	play(mean, LONG_NS);
	for (i = 0; i < 6; i++)
		cr_expect_eq(hosts[HOSTS - 1 - i].nr_up, 1);
	nr_settled = pool.nr_acts[KR_POOL_END_EVICTED];
	cr_expect_leq(nr_settled, 16 + 3 * 16);
	play(mean, LONG_NS);
	cr_expect_leq(pool.nr_acts[KR_POOL_END_EVICTED] - nr_settled, 2);
}

/* 200 equal hosts: chance alone makes one worth twice another, and that seldom. */
Test(pool, step__equal_hosts_do_not_take_turns)
{
	u64 mean[HOSTS];
	u32 i;

	limit(16, 1);
	for (i = 0; i < HOSTS; i++)
		mean[i] = BYTES_MAX / HOSTS;

	play(mean, LONG_NS);

	cr_expect_eq(pool.nr_taken, 16);
	cr_expect_leq(pool.nr_acts[KR_POOL_END_EVICTED], 16);
	cr_expect_eq(pool.nr_acts[KR_POOL_END_IDLE], 0);
}

/* At worst, when others are worth twice as much each round, the hold bounds the moves. */
Test(pool, step__moves_are_bounded_by_the_hold)
{
	enum { ROUNDS = 24, PLACES = 4 };
	u64 mean[HOSTS] = { 0 };
	u32 i, round;

	limit(PLACES, 1);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < PLACES; i++)
			note(&hosts[round * PLACES + i], 4ull * EARN << round);
		play_round(mean);
	}

	cr_expect_geq(pool.nr_acts[KR_POOL_END_EVICTED], PLACES);
	cr_expect_leq(pool.nr_acts[KR_POOL_END_EVICTED],
		      PLACES * (ROUNDS * KR_POOL_NS / KR_POOL_HOLD_NS));
}

/* Anything in any order: the counts agree and no bound is exceeded. */

static void expect_counts(void)
{
	u32 nr_taken = 0, nr_ending = 0, nr_reserved = 0, i;

	for (i = 0; i < HOSTS; i++) {
		nr_taken += have(&hosts[i]);
		nr_ending += hosts[i].nr_ending;
		nr_reserved += !!hosts[i].reserved_ns;
		if (have(&hosts[i]) || hosts[i].reserved_ns)
			cr_assert_not(list_empty(&hosts[i].node));
	}
	cr_assert_eq(pool.nr_taken, nr_taken);
	cr_assert_eq(pool.nr_ending, nr_ending);
	cr_assert_eq(pool.nr_reserved, nr_reserved);
}

static void step_one(void)
{
	struct kr_member *m;

	if (kr_pool_step(&pool, now, &m) == KR_POOL_MAKE) {
		cr_assert_leq(pool.nr_taken, limits.max);
		cr_assert_leq(have(m), limits.per_host);
	}
}

static void report_one(struct kr_member *m)
{
	switch (random_below(4)) {
	case 0:
		if (m->nr_making)
			kr_pool_made(&pool, m, now);
		break;
	case 1:
		if (m->nr_making)
			kr_pool_failed(&pool, m, now);
		break;
	case 2:
		if (m->nr_up && !random_below(8))
			kr_pool_lost(&pool, m, now);
		break;
	case 3:
		if (m->nr_ending)
			kr_pool_ended(&pool, m);
		break;
	}
}

static void do_anything(struct kr_member *m)
{
	switch (random_below(16)) {
	case 0:
		if (!random_below(50))
			limit(random_below(12), random_below(4));
		break;
	case 1:
		now += random_below(100) ? random_below(200) * KR_MSEC : IDLE_NS;
		break;
	case 2:
		if (kr_pool_take(&pool, m, now))
			cr_assert_leq(pool.nr_taken, limits.max);
		break;
	case 3:
		if (!have(m)) {
			kr_member_clean(&pool, m);
			kr_member_init(m);
		}
		break;
	case 4:
		if (!random_below(20))
			cr_assert_leq(kr_pool_reclaim(&pool, random_below(4), now), 3);
		break;
	case 5 ... 7:
		note(m, (u64)EARN << random_below(12));
		break;
	case 8 ... 11:
		step_one();
		break;
	default:
		report_one(m);
	}
}

Test(pool, any__counts_agree)
{
	u32 i;

	limit(10, 2);
	for (i = 0; i < 200000; i++) {
		do_anything(&hosts[random_below(24)]);
		expect_counts();
	}

	for (i = 1; i < KR_POOL_ACTS; i++)
		cr_expect_gt(pool.nr_acts[i], 20);
	limit(0, 0);
	finish_all();
	settle();
	cr_expect_eq(pool.nr_taken, 0);
}

/* When memory is short. */

Test(pool, reclaim__ends_the_least_recently_used_first)
{
	fill();
	now += KR_POOL_QUIET_NS;
	note(b, 1);
	now += KR_POOL_QUIET_NS;
	cr_expect_eq(kr_pool_reclaimable(&pool, now), 2);
	cr_expect_eq(kr_pool_reclaim(&pool, 1, now), 1);
	cr_expect_eq(kr_pool_reclaimable(&pool, now), 1, "one is as good as gone");
	expect_step(KR_POOL_END_MEMORY, a);
	expect_nothing();
	cr_expect_eq(pool.nr_acts[KR_POOL_END_MEMORY], 1);
}

Test(pool, reclaim__takes_no_more_than_there_are)
{
	fill();
	now += KR_POOL_QUIET_NS;
	cr_expect_eq(kr_pool_reclaim(&pool, 100, now), 2);
	cr_expect_eq(kr_pool_reclaim(&pool, 100, now), 0);
	settle();
	cr_expect_eq(pool.nr_taken, 0);
	cr_expect_eq(pool.nr_acts[KR_POOL_END_MEMORY], 2);
}

Test(pool, reclaim__leaves_those_in_use)
{
	fill();
	now += KR_POOL_QUIET_NS;
	note(a, 1);
	cr_expect_eq(kr_pool_reclaimable(&pool, now), 1);
	cr_expect_eq(kr_pool_reclaim(&pool, 2, now), 1);
	/* Used again before the step: it stays, and nobody else goes for it, then or later. */
	note(b, 1);
	expect_nothing();
	now += KR_POOL_QUIET_NS;
	expect_nothing();
	cr_expect_eq(kr_pool_reclaimable(&pool, now), 2);
}

Test(pool, reclaim__leaves_one_just_made)
{
	note(a, 8 * EARN);
	settle();
	now += KR_POOL_HOLD_NS - 1;
	cr_expect_eq(kr_pool_reclaimable(&pool, now), 0);
	cr_expect_eq(kr_pool_reclaim(&pool, 1, now), 0);
	expect_nothing();
}

Test(pool, reclaim__counts_each_qp_of_a_host)
{
	limit(8, 4);
	note(a, 64 * EARN);
	settle();
	cr_assert_eq(a->nr_up, 4);
	now += KR_POOL_HOLD_NS + KR_POOL_QUIET_NS;
	cr_expect_eq(kr_pool_reclaimable(&pool, now), 4);
	cr_expect_eq(kr_pool_reclaim(&pool, 3, now), 3);
	settle();
	cr_expect_eq(a->nr_up, 1);
}

Test(pool, reclaim__none_is_made_for_a_while)
{
	fill();
	now += KR_POOL_QUIET_NS;
	kr_pool_reclaim(&pool, 2, now);
	settle();
	note(a, 64 * EARN);
	expect_nothing();
	cr_expect_not(kr_pool_take(&pool, c, now), "nor for a peer that asks");
	cr_expect_geq(kr_pool_next_ns(&pool, now), now + KR_POOL_SHORT_NS);
	now += KR_POOL_SHORT_NS - 1;
	note(a, 64 * EARN);
	expect_nothing();
	now++;
	expect_step(KR_POOL_MAKE, a);
	cr_expect(kr_pool_take(&pool, c, now));
}
