/* SPDX-License-Identifier: MIT */
/*
 * Core's memory in unit tests: counted, and refused on demand.  Each test
 * program includes this once; Criterion runs each test in a process of its own.
 */
#ifndef KRCORE_UNIT_CORE_ENV_H
#define KRCORE_UNIT_CORE_ENV_H

#include <stdlib.h>

#include "core/env.h"

static _Atomic u32 nr_blocks, nr_pages;	/* several threads may allocate */
static bool is_memory_short;

void *kr_env_alloc(size_t size)
{
	if (is_memory_short)
		return NULL;
	nr_blocks++;
	return calloc(1, size);
}

void kr_env_free(void *ptr)
{
	nr_blocks -= !!ptr;
	free(ptr);
}

void *kr_env_page_alloc(void *owner, bool may_sleep)
{
	if (is_memory_short)
		return NULL;
	nr_pages++;
	return malloc(KR_PAGE_SIZE);
}

void kr_env_page_free(void *page)
{
	nr_pages--;
	free(page);
}

#endif
