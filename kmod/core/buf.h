/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Stream bytes in pages, addressed by position.  Byte p of the stream lies in
 * page p / KR_PAGE_SIZE at offset p % KR_PAGE_SIZE, so bytes may arrive in any
 * order, and two writers of the same position write the same place.  A ring of
 * page pointers covers what is held; it grows with that, so that whoever keeps
 * pointers to it or to slots does so under the lock only.  Pages are allocated
 * when written, and given back as positions are passed.
 */
#ifndef KRCORE_CORE_BUF_H
#define KRCORE_CORE_BUF_H

#include "env.h"
#include "limits.h"

struct kr_buf {
	void **pages;			/* nr_slots entries, or NULL */
	u32 nr_slots;			/* power of two */
	void *owner;			/* whom pages are charged to */
};

void kr_buf_init(struct kr_buf *b, void *owner);
void kr_buf_clean(struct kr_buf *b);

/* Pages held now, counted: a count kept would race with the writer's copying. */
u32 kr_buf_nr_pages(const struct kr_buf *b);

/*
 * Makes the ring wide enough that positions [lo, lo + bytes) have a slot each.
 * 0 or -ENOMEM.  @lo: the lowest position still held.
 */
int kr_buf_grow(struct kr_buf *b, u64 lo, u32 bytes);

/*
 * Room for writing at @pos: a pointer and in *len the bytes that follow in the
 * same page.  Allocates the page if needed; NULL when there is no memory.
 */
void *kr_buf_reserve(struct kr_buf *b, u64 pos, u32 *len, bool may_sleep);

/* Copies in; 0 or -ENOMEM (then some bytes may be written, which is harmless). */
int kr_buf_write(struct kr_buf *b, u64 pos, const void *src, u32 len);

/*
 * Takes @len bytes at @pos over from @from, where they are at the same position and
 * will not be looked at any more: whole pages change hands, others are copied.
 * The number taken; less than @len without memory.
 */
u32 kr_buf_move(struct kr_buf *b, struct kr_buf *from, u64 pos, u32 len);

/* Bytes at @pos that were written before: pointer and contiguous length. */
void *kr_buf_at(const struct kr_buf *b, u64 pos, u32 *len);
void kr_buf_read(const struct kr_buf *b, u64 pos, void *dst, u32 len);

/* Gives back the pages that lie wholly in [from, to). */
void kr_buf_free(struct kr_buf *b, u64 from, u64 to);

#endif
