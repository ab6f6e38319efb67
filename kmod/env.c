// SPDX-License-Identifier: GPL-2.0
/*
 * The allocators that core is given in the kernel.  Pages for stream bytes are
 * charged to the memory cgroup of the socket that will hold them; everything
 * else is small and bounded by core's own limits.
 */
#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "core/env.h"

/**
 * kr_env_alloc() - zeroed memory for core
 * @size: bytes, at most 16 KiB
 *
 * Context: any but NMI and hard interrupt.
 * Return: the memory, or NULL.
 */
void *kr_env_alloc(size_t size)
{
	return kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);
}

/**
 * kr_env_free() - give back what kr_env_alloc() gave
 * @ptr: the memory, or NULL
 */
void kr_env_free(void *ptr)
{
	kfree(ptr);
}

/**
 * kr_env_page_alloc() - one page for stream bytes, not zeroed
 * @owner: a struct mem_cgroup that pays for it, or NULL for nobody
 * @may_sleep: whether the caller may wait for memory
 *
 * Context: any but NMI and hard interrupt.
 * Return: the page's address, or NULL.
 */
void *kr_env_page_alloc(void *owner, bool may_sleep)
{
	gfp_t gfp = may_sleep ? GFP_KERNEL : GFP_ATOMIC;	/* the latter passes limits */
	struct mem_cgroup *old;
	unsigned long page;

	BUILD_BUG_ON(PAGE_SIZE < KR_PAGE_SIZE);
	gfp |= __GFP_NOWARN;
	if (!owner)
		return (void *)__get_free_page(gfp);

	if (!may_sleep)
		gfp = GFP_NOWAIT | __GFP_NOWARN;
	old = set_active_memcg(owner);
	page = __get_free_page(gfp | __GFP_ACCOUNT);
	set_active_memcg(old);
	return (void *)page;
}

/**
 * kr_env_page_free() - give back what kr_env_page_alloc() gave
 * @page: the page's address, or NULL
 */
void kr_env_page_free(void *page)
{
	free_page((unsigned long)page);
}
