// SPDX-License-Identifier: MIT
/* A hash of objects by a number that is not 0: linear probing, at most half full. */
#include <stdlib.h>
#include "sim.h"

enum { MAP_MIN = 64 };

static u64 home(const struct sim_map *m, u64 key)
{
	return sim_mix(key) & (m->max - 1);
}

/* Where @key is, or the free place where it belongs. */
static struct sim_map_slot *find(const struct sim_map *m, u64 key)
{
	u64 i = home(m, key);

	while (m->at[i].key && m->at[i].key != key)
		i = (i + 1) & (m->max - 1);
	return &m->at[i];
}

void *sim_map_get(const struct sim_map *m, u64 key)
{
	return m->max ? find(m, key)->obj : NULL;
}

static void grow(struct sim_map *m)
{
	struct sim_map old = *m;
	u64 i;

	m->max = old.max ? 2 * old.max : MAP_MIN;
	m->at = calloc(m->max, sizeof(m->at[0]));
	if (!m->at)
		abort();
	for (i = 0; i < old.max; i++)
		if (old.at[i].key)
			*find(m, old.at[i].key) = old.at[i];
	free(old.at);
}

void sim_map_add(struct sim_map *m, u64 key, void *obj)
{
	if (2 * m->nr >= m->max)
		grow(m);
	m->nr++;
	*find(m, key) = (struct sim_map_slot){ .key = key, .obj = obj };
}

/* What follows moves up, so that it is found without the key before it. */
void sim_map_remove(struct sim_map *m, u64 key)
{
	struct sim_map_slot *hole = find(m, key);
	u64 mask = m->max - 1, i = hole - m->at, j = i;

	m->nr--;
	for (;;) {
		m->at[i] = (struct sim_map_slot){ 0 };
		do {
			j = (j + 1) & mask;
			if (!m->at[j].key)
				return;
		} while (((j - home(m, m->at[j].key)) & mask) < ((j - i) & mask));
		m->at[i] = m->at[j];
		i = j;
	}
}

void sim_map_clean(struct sim_map *m)
{
	free(m->at);
	memset(m, 0, sizeof(*m));
}
