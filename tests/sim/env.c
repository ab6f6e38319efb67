// SPDX-License-Identifier: MIT
/* Core's memory: counted, and refused now and then. */
#include <stdlib.h>
#include "sim.h"

struct sim_env sim_env;

static bool is_refused(void)
{
	if (!sim_chance(&sim_env.rng, sim_env.fail))
		return false;
	sim_env.nr_failed++;
	return true;
}

/* More slots for a table of VQPs: 2^24 of them would be the end otherwise. */
static bool is_too_many(size_t size)
{
	return sim_env.has_small_tables && size == 256 * sizeof(struct kr_slot);
}

void *kr_env_alloc(size_t size)
{
	if (size > 16384)
		abort();
	if (is_refused() || is_too_many(size))
		return NULL;
	sim_env.nr_blocks++;
	return memset(sim_pool_get(size), 0, size);
}

void kr_env_free(void *ptr)
{
	if (!ptr)
		return;
	sim_env.nr_blocks--;
	sim_pool_put(ptr);
}

void *kr_env_page_alloc(void *owner, bool may_sleep)
{
	if ((owner && owner == sim_env.poor) || is_refused())
		return NULL;
	sim_env.nr_pages++;
	return sim_pool_get(KR_PAGE_SIZE);
}

void kr_env_page_free(void *page)
{
	sim_env.nr_pages--;
	sim_pool_put(page);
}
