// SPDX-License-Identifier: MIT
/*
 * Buffers and waiting: timeouts, low-water marks, a receiver that does not
 * read, and what it does to its sender and to nobody else.
 */
#include "harness.h"

enum { BUFFER = 65536, BOUND = 4 << 20 };

/* A connection with small buffers on both sides. */
static int small_pair(struct side *s, int handle)
{
	int fd = pair_at(s, handle);

	sock_set(fd, SOL_SOCKET, SO_SNDBUF, BUFFER);
	sock_set(fd, SOL_SOCKET, SO_RCVBUF, BUFFER);
	PEER_OK(s, AGENT_SETOPT, handle, SOL_SOCKET << 16 | SO_RCVBUF, BUFFER);
	PEER_OK(s, AGENT_SETOPT, handle, SOL_SOCKET << 16 | SO_SNDBUF, BUFFER);
	return fd;
}

static void stalled_sender(struct side *s)
{
	int fd = small_pair(s, H_CONN);
	uint64_t pos = send_until_full(fd, 0);

	CHECK(pos >= BUFFER / 2 && pos < BOUND);
	EVENTS_ARE(fd, 0);
	PEER_EQ(s, pos, AGENT_RECV, H_CONN, 0, pos);
	EVENTS_BECOME(fd, POLLOUT);
	send_ours(fd, pos, 1000);
	PEER_EQ(s, 1000, AGENT_RECV, H_CONN, pos, 1000);
}

static void stalls_nobody_else(struct side *s)
{
	int stuck = small_pair(s, H_CONN);
	int fd = pair_at(s, H_CONN + 1);
	uint64_t pos = send_until_full(stuck, 0);

	CHECK(pos < BOUND);
	for (int round = 0; round < 10; round++) {
		send_ours(fd, round * 5000, 5000);
		PEER_EQ(s, 5000, AGENT_RECV, H_CONN + 1, round * 5000, 5000);
		PEER_EQ(s, 5000, AGENT_SEND, H_CONN + 1, round * 5000, 5000);
		recv_theirs(fd, round * 5000, 5000);
	}
	peer_start(s, 0, AGENT_RECV, H_CONN + 1, 50000, 500000);
	CHECK_EQ(stream_send(fd, SEED_CASE, 50000, 500000), 500000);
	CHECK_EQ(peer_wait(s), 500000);
	EVENTS_ARE(stuck, 0);
	PEER_EQ(s, pos, AGENT_RECV, H_CONN, 0, pos);
}

/* A reader that takes little at a time: every byte still arrives. */
static void slow_reader(struct side *s)
{
	int fd = small_pair(s, H_CONN);
	uint64_t read = 0, total = 400000;

	peer_start(s, 0, AGENT_SEND, H_CONN, 0, total);
	sleep_ms(300);
	while (read < total) {
		uint64_t n = total - read < 7001 ? total - read : 7001;

		recv_theirs(fd, read, n);
		read += n;
		sleep_ms(3);
	}
	CHECK_EQ(peer_wait(s), total);
}

static void blocked_sender(struct side *s)
{
	int fd = small_pair(s, H_CONN);
	uint64_t total = 2 << 20;

	peer_start(s, 500, AGENT_RECV, H_CONN, 0, total);
	CHECK_EQ(stream_send(fd, SEED_CASE, 0, total), total);
	CHECK_EQ(peer_wait(s), total);
}

static void recv_timeout(struct side *s)
{
	struct timeval t = { .tv_usec = 150000 };
	int fd = pair(s);
	int64_t start = now_ms();
	char buf[100];

	CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
	CHECK_ERR(recv(fd, buf, 100, 0), EAGAIN);
	CHECK(now_ms() - start >= 140);
	PEER_EQ(s, 30, AGENT_SEND, H_CONN, 0, 30);
	wait_readable(fd, 30);
	CHECK_EQ(recv(fd, buf, 100, MSG_WAITALL), 30);
	expect_theirs(0, buf, 30);
}

static void send_timeout(struct side *s)
{
	struct timeval t = { .tv_usec = 150000 };
	int fd = small_pair(s, H_CONN);
	uint64_t pos = send_until_full(fd, 0);
	char byte;

	CHECK(pos < BOUND);
	fill_ours(pos, &byte, 1);
	CHECK_OK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)));
	CHECK_ERR(send(fd, &byte, 1, 0), EAGAIN);
	PEER_EQ(s, pos, AGENT_RECV, H_CONN, 0, pos);
	EVENTS_BECOME(fd, POLLOUT);
	CHECK_EQ(send(fd, &byte, 1, 0), 1);
	PEER_EQ(s, 1, AGENT_RECV, H_CONN, pos, 1);
}

/* A timed-out or non-blocking send says how much it took. */
static void partial_send(struct side *s)
{
	size_t len = BOUND + 1;
	char *buf = malloc(len);
	int fd = small_pair(s, H_CONN);
	ssize_t n;

	fill_ours(0, buf, len);
	n = CHECK_OK(send(fd, buf, len, MSG_DONTWAIT));
	CHECK(n > 0 && n < BOUND);
	PEER_EQ(s, n, AGENT_RECV, H_CONN, 0, n);
	send_ours(fd, n, 10);
	PEER_EQ(s, 10, AGENT_RECV, H_CONN, n, 10);
	free(buf);
}

static void low_water(struct side *s)
{
	int fd = pair(s);
	char buf[300];

	sock_set(fd, SOL_SOCKET, SO_RCVLOWAT, 100);
	PEER_EQ(s, 99, AGENT_SEND, H_CONN, 0, 99);
	wait_readable(fd, 99);
	EVENTS_ARE(fd, POLLOUT);
	PEER_EQ(s, 1, AGENT_SEND, H_CONN, 99, 1);
	EVENTS_BECOME(fd, POLLIN | POLLOUT);
	CHECK_EQ(recv(fd, buf, 300, 0), 100);
	expect_theirs(0, buf, 100);
	/* TCP sleeps for ever when a recv() takes a first piece of less than the mark. */
	peer_start(s, 500, AGENT_SEND_PIECES, H_CONN, 100, 100);
	CHECK_EQ(recv(fd, buf, 100, 0), 100);
	expect_theirs(100, buf, 100);
	CHECK_EQ(peer_wait(s), 100);
	PEER_EQ(s, 5, AGENT_SEND, H_CONN, 200, 5);
	wait_readable(fd, 5);
	CHECK_EQ(recv(fd, buf, 300, MSG_DONTWAIT), 5);
}

static void low_water_end(struct side *s)
{
	int fd = pair(s);
	char buf[300];

	sock_set(fd, SOL_SOCKET, SO_RCVLOWAT, 100);
	PEER_EQ(s, 5, AGENT_SEND, H_CONN, 0, 5);
	PEER_OK(s, AGENT_SHUTDOWN, H_CONN, SHUT_WR, 0);
	EVENTS_BECOME(fd, POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQ(recv(fd, buf, 300, 0), 5);
	CHECK_EQ(recv(fd, buf, 300, 0), 0);
}

/* Buffers made small before connect and listen count from the first byte. */
static void small_from_start(struct side *s)
{
	struct addr to = addr_port(&s->remote, PEER_OK(s, AGENT_LISTEN,
						       H_LISTEN, 4, 4096));
	int fd = sock_new(s, 0);
	uint64_t pos;

	sock_set(fd, SOL_SOCKET, SO_SNDBUF, 8192);
	CHECK_OK(connect(fd, &to.sa, to.len));
	PEER_OK(s, AGENT_ACCEPT, H_LISTEN, H_CONN, 0);
	pos = send_until_full(fd, 0);
	CHECK(pos < 512 << 10);
	peer_start(s, 0, AGENT_RECV, H_CONN, 0, pos + 100000);
	CHECK_EQ(stream_send(fd, SEED_CASE, pos, 100000), 100000);
	CHECK_EQ(peer_wait(s), pos + 100000);
}

const struct test_case buffer_cases[] = {
	{ "buffer.stalled_sender", stalled_sender, BOTH_ENDS },
	{ "buffer.stalls_nobody_else", stalls_nobody_else, BOTH_ENDS },
	{ "buffer.slow_reader", slow_reader, BOTH_ENDS },
	{ "buffer.blocked_sender", blocked_sender, BOTH_ENDS },
	{ "buffer.recv_timeout", recv_timeout, BOTH_ENDS },
	{ "buffer.send_timeout", send_timeout, BOTH_ENDS },
	{ "buffer.partial_send", partial_send, BOTH_ENDS },
	{ "buffer.low_water", low_water, BOTH_ENDS },
	{ "buffer.low_water_end", low_water_end, BOTH_ENDS },
	{ "buffer.small_from_start", small_from_start, 0 },
	{ 0 },
};
