// SPDX-License-Identifier: MIT
/*
 * Several threads on the same and on different sockets.
 */
#include "harness.h"

struct blocked_recv {
	int fd;
	char buf[10];
	ssize_t got;
};

static void *recv_blocked(void *arg)
{
	struct blocked_recv *r = arg;

	r->got = recv(r->fd, r->buf, sizeof(r->buf), 0);
	return NULL;
}

/* A close does not wake a blocked recv; the socket ends when that returns. */
static void close_under_recv(struct side *s)
{
	struct blocked_recv r = { .fd = pair(s) };
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, recv_blocked, &r), 0);
	sleep_ms(300);
	CHECK_OK(close(r.fd));
	PEER_EQ(s, 10, AGENT_SEND, H_CONN, 0, 10);
	pthread_join(thread, NULL);
	CHECK_EQ(r.got, 10);
	expect_theirs(0, r.buf, 10);
	PEER_EQ(s, 0, AGENT_RECV_RAW, H_CONN, 0, 0);
}

static void reader_and_writer(struct side *s)
{
	int fd = pair(s);

	peer_start(s, 0, AGENT_DUPLEX, H_CONN, 1500000, 1000000);
	CHECK_EQ(stream_duplex(fd, SEED_CASE, 1000000, 1500000), 1500000);
	CHECK_EQ(peer_wait(s), 1000000);
}

enum { READERS = 4, WORDS = 20000 };

struct word_reader {
	pthread_t thread;
	int fd;
	uint64_t sum;
	uint64_t bytes;
};

static void *sum_bytes(void *arg)
{
	struct word_reader *r = arg;
	uint8_t buf[999];
	ssize_t n;

	while ((n = recv(r->fd, buf, sizeof(buf), 0)) > 0) {
		r->bytes += n;
		for (ssize_t i = 0; i < n; i++)
			r->sum += buf[i];
	}
	CHECK_EQ(n, 0);
	return NULL;
}

/* Readers that share a socket get each byte once among them. */
static void many_readers(struct side *s)
{
	struct word_reader r[READERS];
	uint64_t want = 0, sum = 0, bytes = 0;
	static uint8_t all[WORDS * 8];
	int fd = pair(s);

	for (int i = 0; i < READERS; i++) {
		r[i] = (struct word_reader){ .fd = fd };
		CHECK_EQ(pthread_create(&r[i].thread, NULL, sum_bytes, &r[i]),
			 0);
	}
	PEER_EQ(s, sizeof(all), AGENT_SEND, H_CONN, 0, sizeof(all));
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	for (int i = 0; i < READERS; i++) {
		pthread_join(r[i].thread, NULL);
		sum += r[i].sum;
		bytes += r[i].bytes;
	}
	stream_fill(SEED_AGENT, 0, all, sizeof(all));
	for (size_t i = 0; i < sizeof(all); i++)
		want += all[i];
	CHECK_EQ(bytes, sizeof(all));
	CHECK_EQ(sum, want);
}

enum { CALLERS = 8, CALLS = 10 };

struct caller {
	pthread_t thread;
	struct side *side;
	struct addr to;
};

static void *call_often(void *arg)
{
	struct caller *c = arg;

	for (int i = 0; i < CALLS; i++) {
		int fd = sock_new(c->side, 0);
		char buf[100], back[100];

		fill_ours(i, buf, sizeof(buf));
		CHECK_EQ(connect(fd, &c->to.sa, c->to.len), 0);
		CHECK_EQ(send(fd, buf, sizeof(buf), 0), sizeof(buf));
		CHECK_EQ(recv(fd, back, sizeof(back), MSG_WAITALL),
			 sizeof(back));
		CHECK(!memcmp(buf, back, sizeof(buf)));
		CHECK_OK(close(fd));
	}
	return NULL;
}

static void connect_at_once(struct side *s)
{
	int port = PEER_OK(s, AGENT_LISTEN, H_LISTEN, 128, 0);
	struct caller c[CALLERS];

	peer_start(s, 0, AGENT_SERVE, H_LISTEN, CALLERS * CALLS, 0);
	for (int i = 0; i < CALLERS; i++) {
		c[i].side = s;
		c[i].to = addr_port(&s->remote, port);
		CHECK_EQ(pthread_create(&c[i].thread, NULL, call_often, &c[i]),
			 0);
	}
	for (int i = 0; i < CALLERS; i++)
		pthread_join(c[i].thread, NULL);
	CHECK_EQ(peer_wait(s), CALLERS * CALLS);
}

static void *reset_later(void *arg)
{
	sleep_ms(200);
	for (int i = 0; i < 50; i++) {
		char byte;

		if (recv(*(int *)arg, &byte, 1, MSG_DONTWAIT) == 0)
			break;
		sleep_ms(5);
	}
	return NULL;
}

/* Polls, reads and a shutdown race; the stream ends once for all. */
static void shutdown_races(struct side *s)
{
	for (int round = 0; round < 10; round++) {
		int fd = pair(s);
		struct pollfd p = { .fd = fd, .events = POLLRDHUP };
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, reset_later, &fd), 0);
		peer_start(s, 0, AGENT_CLOSE, H_CONN, 0, 0);
		CHECK_EQ(poll(&p, 1, PATIENCE_MS), 1);
		CHECK_OK(shutdown(fd, SHUT_RDWR));
		CHECK_EQ(peer_wait(s), 0);
		pthread_join(thread, NULL);
		CHECK_OK(close(fd));
	}
}

const struct test_case threads_cases[] = {
	{ "threads.close_under_recv", close_under_recv, BOTH_ENDS },
	{ "threads.reader_and_writer", reader_and_writer, BOTH_ENDS },
	{ "threads.many_readers", many_readers, BOTH_ENDS },
	{ "threads.connect_at_once", connect_at_once, 0 },
	{ "threads.shutdown_races", shutdown_races, BOTH_ENDS },
	{ 0 },
};
