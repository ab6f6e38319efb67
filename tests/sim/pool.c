// SPDX-License-Identifier: MIT
/*
 * Memory that is taken and given back for each packet: lists of free blocks by
 * size.  The build for the sanitizers (SIM_HAS_POOL 0) asks the C library every
 * time, so that they see each use of freed memory; here it is filled instead,
 * so that such a use does not go unnoticed.
 */
#include <stdlib.h>
#include "sim.h"

enum {
	STEP = 64,			/* sizes differ by */
	NR_SIZES = 80,			/* larger blocks are not kept */
	FILL = 0xa5,
	FILL_MAX = 256,			/* bytes of a block */
};

struct block {
	struct block *next;
	u64 nr_steps;
	u8 bytes[];
};

static struct block *free_blocks[NR_SIZES];

void *sim_pool_get(size_t size)
{
	u64 nr_steps = (size + sizeof(struct block) + STEP - 1) / STEP;
	struct block *b = NULL;

	if (SIM_HAS_POOL && nr_steps < NR_SIZES && free_blocks[nr_steps]) {
		b = free_blocks[nr_steps];
		free_blocks[nr_steps] = b->next;
		return b->bytes;
	}
	b = malloc(SIM_HAS_POOL ? nr_steps * STEP : sizeof(*b) + size);
	if (!b)
		abort();
	b->nr_steps = nr_steps;
	return b->bytes;
}

void sim_pool_put(void *p)
{
	struct block *b = container_of(p, struct block, bytes);
	u64 len;

	if (!SIM_HAS_POOL || b->nr_steps >= NR_SIZES) {
		free(b);
		return;
	}
	len = b->nr_steps * STEP - sizeof(*b);
	memset(p, FILL, min_t(u64, len, FILL_MAX));
	b->next = free_blocks[b->nr_steps];
	free_blocks[b->nr_steps] = b;
}
