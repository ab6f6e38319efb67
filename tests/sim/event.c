// SPDX-License-Identifier: MIT
/* A binary heap of events; those of the same time happen in the order made. */
#include <stdlib.h>
#include "sim.h"

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->when != b->when ? a->when < b->when : a->nr < b->nr;
}

static void swap_events(struct sim_event *a, struct sim_event *b)
{
	struct sim_event t = *a;

	*a = *b;
	*b = t;
}

static void push(struct sim *s, const struct sim_event *e)
{
	struct sim_heap *h = &s->heap;
	u64 i = h->nr;

	if (h->nr == h->max) {
		h->max = h->max ? 2 * h->max : 1024;
		h->at = realloc(h->at, h->max * sizeof(h->at[0]));
		if (!h->at)
			abort();
	}
	h->at[h->nr++] = *e;
	h->at[i].nr = h->next_nr++;
	while (i && is_before(&h->at[i], &h->at[(i - 1) / 2])) {
		swap_events(&h->at[i], &h->at[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

static struct sim_event pop(struct sim_heap *h)
{
	struct sim_event first = h->at[0];
	u64 i = 0, child;

	h->at[0] = h->at[--h->nr];
	for (;;) {
		child = 2 * i + 1;
		if (child >= h->nr)
			return first;
		if (child + 1 < h->nr && is_before(&h->at[child + 1], &h->at[child]))
			child++;
		if (!is_before(&h->at[child], &h->at[i]))
			return first;
		swap_events(&h->at[child], &h->at[i]);
		i = child;
	}
}

void sim_at(struct sim *s, u64 when, sim_fn fn, void *obj, u64 arg)
{
	struct sim_event e = { .when = max(when, s->now), .fn = fn, .obj = obj,
			       .arg = arg };

	push(s, &e);
}

void sim_host_at(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg)
{
	struct sim_event e = { .when = max(when, h->sim->now), .fn = fn,
			       .obj = obj, .arg = arg, .host = h };

	push(h->sim, &e);
}

void sim_host_at_owned(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg)
{
	struct sim_event e = { .when = max(when, h->sim->now), .fn = fn,
			       .obj = obj, .arg = arg, .host = h, .is_owner = true };

	push(h->sim, &e);
}

bool sim_step(struct sim *s, u64 until)
{
	struct sim_event e;

	if (!s->heap.nr || s->heap.at[0].when > until) {
		s->now = max(s->now, until);
		return false;
	}
	e = pop(&s->heap);
	s->now = e.when;
	s->nr_events++;
	if (s->has_digest)
		s->digest = sim_mix(s->digest ^ e.when ^ e.nr << 40);
	/* In order, all at once, when the host goes on. */
	if (e.host && e.host->paused_ns > s->now) {
		e.when = e.host->paused_ns;
		push(s, &e);
		return true;
	}
	e.fn(s, e.obj, e.arg);
	if (e.is_owner)
		free(e.obj);
	return true;
}

void sim_heap_clean(struct sim *s)
{
	u64 i;

	for (i = 0; i < s->heap.nr; i++)
		if (s->heap.at[i].is_owner)
			free(s->heap.at[i].obj);
	free(s->heap.at);
	memset(&s->heap, 0, sizeof(s->heap));
}
