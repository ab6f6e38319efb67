// SPDX-License-Identifier: MIT
/*
 * test_threads: a writer, a reader and the network at once, each with the lock where
 * kmod/io.c and kmod/host.c have it: bytes are copied without.  `make tsan` looks
 * whether anything else is touched without.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

#include "pair.h"

enum { TOTAL = 400000, CHUNK = 3 * KR_PAGE_SIZE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_all_read;		/* under the lock */

static u8 byte_at(u64 pos)
{
	return pos ^ pos >> 8;
}

/* As send_chunk() does it: @len bytes from tx.end on, copied without the lock. */
static void write_chunk(struct kr_tx *tx, u64 pos, u32 len)
{
	u32 room, i, done;
	u8 *to;

	for (done = 0; done < len; done += room) {
		to = kr_buf_reserve(&tx->buf, pos + done, &room, true);
		room = min(room, len - done);
		for (i = 0; i < room; i++)
			to[i] = byte_at(pos + done + i);
	}
}

static void *writer(void *arg)
{
	struct kr_vqp *v = &clients[0].v;
	struct kr_tx *tx = &v->tx;
	u64 pos = 0;
	u32 len;

	while (pos < TOTAL) {
		pthread_mutex_lock(&lock);
		len = min_t(u64, min_t(u32, kr_tx_room(tx), CHUNK), TOTAL - pos);
		if (len)
			kr_buf_grow(&tx->buf, tx->head, pos + len - tx->head);
		tx->is_held = len;
		pthread_mutex_unlock(&lock);
		write_chunk(tx, pos, len);
		pthread_mutex_lock(&lock);
		tx->is_held = false;
		if (len)
			kr_vqp_wrote(v, len, 0, now);
		pthread_mutex_unlock(&lock);
		pos += len;
		sched_yield();
	}
	return NULL;
}

/* As recv does it: where the bytes are is noted under the lock. */
static u32 look(struct kr_rx *rx, const u8 **pages, u32 *lens)
{
	u32 ready = min_t(u64, kr_rx_ready(rx), CHUNK), done;
	int i = 0;

	for (done = 0; done < ready; done += lens[i++]) {
		pages[i] = kr_buf_at(&rx->buf, rx->read + done, &lens[i]);
		lens[i] = min(lens[i], ready - done);
	}
	lens[i] = 0;
	return ready;
}

static void *reader(void *arg)
{
	struct kr_vqp *v = &servers[0].v;
	u32 lens[CHUNK / KR_PAGE_SIZE + 2], ready, k;
	const u8 *pages[CHUNK / KR_PAGE_SIZE + 2];
	u64 pos = 0, nr_wrong = 0;
	int i;

	while (pos < TOTAL) {
		pthread_mutex_lock(&lock);
		ready = look(&v->rx, pages, lens);
		pthread_mutex_unlock(&lock);
		for (i = 0; lens[i]; i++)
			for (k = 0; k < lens[i]; k++)
				nr_wrong += pages[i][k] != byte_at(pos++);
		pthread_mutex_lock(&lock);
		kr_vqp_consumed(v, ready, now);
		is_all_read = pos == TOTAL;
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	return (void *)(uintptr_t)nr_wrong;
}

static void *network(void *arg)
{
	bool is_done = false;

	while (!is_done) {
		pthread_mutex_lock(&lock);
		pass(KR_MSEC);
		is_done = is_all_read;
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	return NULL;
}

Test(threads, copy__needs_no_lock)
{
	void *(*const mains[])(void *) = { network, writer, reader };
	pthread_t threads[3];
	void *nr_wrong;
	int i;

	connected();

	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, mains[i], NULL);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], &nr_wrong);

	cr_expect_eq(nr_wrong, NULL, "%lu bytes are wrong", (unsigned long)nr_wrong);
	cr_expect_eq(clients[0].v.tx.end, TOTAL);
}
