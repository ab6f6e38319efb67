/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What core needs from the world it is compiled into: integer types, unaligned
 * big-endian access, an intrusive list, assertions and two allocators.  This is
 * the only place in the tree that asks whether it is in the kernel.
 *
 * The allocators are the only way core gets memory.  All may be called in
 * atomic context and may fail; kr_env_page_alloc(true) may sleep.
 */
#ifndef KRCORE_CORE_ENV_H
#define KRCORE_CORE_ENV_H

#ifdef __KERNEL__
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/unaligned.h>
#define KR_ASSERT(cond) WARN_ON_ONCE(!(cond))
#else
#include "env_user.h"
#endif

#define KR_PAGE_SIZE 4096u

/* Zeroed memory of @size bytes (at most 16 KiB), or NULL. */
void *kr_env_alloc(size_t size);
void kr_env_free(void *ptr);

/* One page for stream bytes, charged to @owner (may be NULL), or NULL. */
void *kr_env_page_alloc(void *owner, bool may_sleep);
void kr_env_page_free(void *page);

#endif
