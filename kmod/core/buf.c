// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Position-addressed page buffers: see buf.h. */
#include "buf.h"

enum { KR_BUF_SLOTS_MIN = 4 };

static void **slot_of(const struct kr_buf *b, u64 pos)
{
	return &b->pages[(pos / KR_PAGE_SIZE) & (b->nr_slots - 1)];
}

void kr_buf_init(struct kr_buf *b, void *owner)
{
	memset(b, 0, sizeof(*b));
	b->owner = owner;
}

void kr_buf_clean(struct kr_buf *b)
{
	u32 i;

	for (i = 0; i < b->nr_slots; i++)
		if (b->pages[i])
			kr_env_page_free(b->pages[i]);
	kr_env_free(b->pages);
	kr_buf_init(b, b->owner);
}

u32 kr_buf_nr_pages(const struct kr_buf *b)
{
	u32 i, nr = 0;

	for (i = 0; i < b->nr_slots; i++)
		nr += !!b->pages[i];
	return nr;
}

int kr_buf_grow(struct kr_buf *b, u64 lo, u32 bytes)
{
	struct kr_buf wide = *b;
	u32 nr = KR_BUF_SLOTS_MIN;
	u32 i;

	/* One page more than the bytes fill: the window is not page aligned. */
	while (nr * KR_PAGE_SIZE < bytes + KR_PAGE_SIZE)
		nr *= 2;
	if (nr <= b->nr_slots)
		return 0;
	wide.nr_slots = nr;
	wide.pages = kr_env_alloc(nr * sizeof(wide.pages[0]));
	if (!wide.pages)
		return -ENOMEM;
	for (i = 0; i < b->nr_slots; i++) {
		u64 pos = lo + (u64)i * KR_PAGE_SIZE;

		*slot_of(&wide, pos) = *slot_of(b, pos);
	}
	kr_env_free(b->pages);
	*b = wide;
	return 0;
}

void *kr_buf_reserve(struct kr_buf *b, u64 pos, u32 *len, bool may_sleep)
{
	u32 offset = pos % KR_PAGE_SIZE;
	void **slot = slot_of(b, pos);

	if (!*slot) {
		*slot = kr_env_page_alloc(b->owner, may_sleep);
		if (!*slot)
			return NULL;
	}
	*len = KR_PAGE_SIZE - offset;
	return (u8 *)*slot + offset;
}

int kr_buf_write(struct kr_buf *b, u64 pos, const void *src, u32 len)
{
	const u8 *from = src;
	u32 room;
	u8 *to;

	while (len) {
		to = kr_buf_reserve(b, pos, &room, false);
		if (!to)
			return -ENOMEM;
		room = min(room, len);
		memcpy(to, from, room);
		pos += room;
		from += room;
		len -= room;
	}
	return 0;
}

u32 kr_buf_move(struct kr_buf *b, struct kr_buf *from, u64 pos, u32 len)
{
	void **old, **new;
	u32 done, part;

	for (done = 0; done < len; done += part) {
		part = min(KR_PAGE_SIZE - (u32)((pos + done) % KR_PAGE_SIZE), len - done);
		old = slot_of(from, pos + done);
		new = slot_of(b, pos + done);
		if (part == KR_PAGE_SIZE && !*new) {
			*new = *old;
			*old = NULL;
		} else if (kr_buf_write(b, pos + done,
					(u8 *)*old + (pos + done) % KR_PAGE_SIZE, part)) {
			break;
		}
	}
	return done;
}

void *kr_buf_at(const struct kr_buf *b, u64 pos, u32 *len)
{
	u32 offset = pos % KR_PAGE_SIZE;

	*len = KR_PAGE_SIZE - offset;
	return (u8 *)*slot_of(b, pos) + offset;
}

void kr_buf_read(const struct kr_buf *b, u64 pos, void *dst, u32 len)
{
	u8 *to = dst;
	u32 have;
	void *from;

	while (len) {
		from = kr_buf_at(b, pos, &have);
		have = min(have, len);
		memcpy(to, from, have);
		pos += have;
		to += have;
		len -= have;
	}
}

void kr_buf_free(struct kr_buf *b, u64 from, u64 to)
{
	u64 pos = from - from % KR_PAGE_SIZE;
	void **slot;

	if (!b->pages)
		return;
	for (; pos + KR_PAGE_SIZE <= to; pos += KR_PAGE_SIZE) {
		slot = slot_of(b, pos);
		if (!*slot)
			continue;
		kr_env_page_free(*slot);
		*slot = NULL;
	}
}
