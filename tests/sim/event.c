// SPDX-License-Identifier: MIT
/*
 * What happens next.  Time only grows, so this is a radix heap: an event waits
 * in the bucket of the highest bit in which its time differs from the last one
 * that came.  The lowest bucket in use holds the next event; then its events
 * move to lower ones, in their order, so that those of the same time happen in
 * the order made.
 */
#include <stdlib.h>
#include "sim.h"

static u32 bucket_of(const struct sim_heap *h, u64 when)
{
	return when == h->last ? 0 : 64 - __builtin_clzll(when ^ h->last);
}

static void put(struct sim_heap *h, const struct sim_due *due)
{
	u32 nr = bucket_of(h, due->when);
	struct sim_bucket *b = &h->buckets[nr];

	if (b->nr == b->max) {
		b->max = b->max ? 2 * b->max : 16;
		b->at = realloc(b->at, b->max * sizeof(b->at[0]));
		if (!b->at)
			abort();
	}
	b->at[b->nr++] = *due;
	if (nr)
		h->used |= 1ull << (nr - 1);
}

static struct sim_event *take_place(struct sim_heap *h)
{
	u32 place = h->free;

	if (place) {
		h->free = h->events[place - 1].next_free;
		return &h->events[place - 1];
	}
	if (h->nr_places == h->max) {
		h->max = h->max ? 2 * h->max : 1024;
		h->events = realloc(h->events, h->max * sizeof(h->events[0]));
		if (!h->events)
			abort();
	}
	return &h->events[h->nr_places++];
}

static void push(struct sim *s, u64 when, struct sim_host *h, sim_fn fn, void *obj,
		 u64 arg, bool is_owner)
{
	struct sim_event *e = take_place(&s->heap);
	struct sim_due due = { .when = max(when, s->now), .place = e - s->heap.events };

	e->fn = fn;
	e->obj = obj;
	e->arg = arg;
	e->host = h;
	e->is_owner = is_owner;
	put(&s->heap, &due);
}

void sim_at(struct sim *s, u64 when, sim_fn fn, void *obj, u64 arg)
{
	push(s, when, NULL, fn, obj, arg, false);
}

void sim_host_at(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg)
{
	push(h->sim, when, h, fn, obj, arg, false);
}

void sim_host_at_owned(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg)
{
	push(h->sim, when, h, fn, obj, arg, true);
}

/* Moves those that are next to where they are due; false: later than @until. */
static bool advance(struct sim_heap *h, u64 until)
{
	struct sim_bucket *b;
	u64 least = ~0ull;
	u32 i;

	if (!h->used)
		return false;
	b = &h->buckets[__builtin_ctzll(h->used) + 1];
	for (i = 0; i < b->nr; i++)
		least = min(b->at[i].when, least);
	if (least > until)
		return false;
	h->used &= h->used - 1;
	h->buckets[0].nr = 0;
	h->nr_done = 0;
	h->last = least;
	for (i = 0; i < b->nr; i++)
		put(h, &b->at[i]);
	b->nr = 0;
	return true;
}

bool sim_step(struct sim *s, u64 until)
{
	struct sim_heap *h = &s->heap;
	struct sim_event *at, e;
	struct sim_due due;

	if (h->nr_done == h->buckets[0].nr && !advance(h, until)) {
		s->now = max(s->now, until);
		return false;
	}
	due = h->buckets[0].at[h->nr_done++];
	at = &h->events[due.place];
	s->now = h->last;
	s->nr_events++;
	if (s->has_digest)
		s->digest = sim_mix(s->digest ^ s->now ^ s->nr_events << 40);
	/* In order, all at once, when the host goes on. */
	if (at->host && at->host->paused_ns > s->now) {
		due.when = at->host->paused_ns;
		put(h, &due);
		return true;
	}
	e = *at;
	at->next_free = h->free;
	h->free = due.place + 1;
	e.fn(s, e.obj, e.arg);
	if (e.is_owner)
		sim_pool_put(e.obj);
	return true;
}

void sim_heap_clean(struct sim *s)
{
	struct sim_heap *h = &s->heap;
	const struct sim_event *e;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(h->buckets); i++) {
		for (j = i ? 0 : h->nr_done; j < h->buckets[i].nr; j++) {
			e = &h->events[h->buckets[i].at[j].place];
			if (e->is_owner)
				sim_pool_put(e->obj);
		}
		free(h->buckets[i].at);
	}
	free(h->events);
	memset(h, 0, sizeof(*h));
}
